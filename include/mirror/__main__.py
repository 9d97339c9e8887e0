"""The command line: `python -m mirror <command>`. Every step that a DAG's task runs can be run by hand.

Exit code 0: done; 1: failed; 2: bad usage or configuration. Human words go to standard error, the result to standard output.
"""

import argparse
import json
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mirror import commands
from mirror.config import Configuration, Flow, load
from mirror.errors import ConfigurationError, ErrorReport, MirrorError, UsageError

DONE, FAILED, UNUSABLE = 0, 1, 2


@dataclass(frozen=True)
class FlowOutcome:
    """One flow's part of the answer, in the shape that `--json` prints."""

    flow: str
    state: str
    result: Any = None
    errors: tuple[ErrorReport, ...] = ()
    text: str = field(default="", repr=False)

    def document(self) -> dict[str, Any]:
        """The JSON of this flow."""
        return {"flow": self.flow, "state": self.state, "result": self.result, "errors": [asdict(error) for error in self.errors]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit code."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO if options.verbose else logging.WARNING, format="%(levelname)s %(message)s", stream=sys.stderr)
    try:
        configuration = load([Path(part) for part in options.config.split(",")] if options.config else None)
        outcomes = _run(options, configuration)
    except (ConfigurationError, UsageError) as error:
        outcomes = [FlowOutcome(options.flow or "", "unusable", errors=(error.report(),))]
    _print(options, outcomes)
    states = {outcome.state for outcome in outcomes}
    return UNUSABLE if "unusable" in states else FAILED if "failed" in states else DONE


def _run(options: argparse.Namespace, configuration: Configuration) -> list[FlowOutcome]:
    for notice in configuration.notices:
        print(f"Notice: {notice}", file=sys.stderr)
    if options.whole is not None:
        return [FlowOutcome("", "done", *options.whole(configuration))]
    flows = [configuration.flow(options.flow)] if options.flow else list(configuration.flows)
    outcomes = [_one(options, flow) for flow in flows]
    if not options.flow:
        outcomes += [FlowOutcome(bad.name, "unusable", errors=(bad.error.report(),)) for bad in configuration.invalid]
    if not outcomes:
        raise UsageError("No flow is enabled.", next="Set <source>-><target>.enabled=true in the configuration.")
    return outcomes


def _one(options: argparse.Namespace, flow: Flow) -> FlowOutcome:
    for notice in flow.notices:
        print(f"Notice: {flow.name}: {notice}", file=sys.stderr)
    try:
        answer = options.each(flow, options)
    except ConfigurationError as error:
        return FlowOutcome(flow.name, "unusable", errors=(error.report(),))
    except MirrorError as error:
        return FlowOutcome(flow.name, "failed", errors=(error.report(),))
    return FlowOutcome(flow.name, answer.state, answer.result, answer.errors, answer.text)


def _print(options: argparse.Namespace, outcomes: Sequence[FlowOutcome]) -> None:
    if options.json:
        print(json.dumps({"command": options.command, "flows": [outcome.document() for outcome in outcomes]}, indent=2))
    for outcome in outcomes:
        name = f"{outcome.flow}: " if outcome.flow else ""
        if outcome.text and not options.json:
            print(outcome.text)
        if not options.json and outcome.state != "unusable" and not options.whole:
            print(f"{name}{outcome.state}")
        for error in outcome.errors:
            print(f"{name}{error}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mirror", description="Mirrors Apache Kafka clusters as MirrorMaker 2 does, in batches.")
    parser.add_argument("--config", help="mm2.properties, several separated by commas (default: MIRROR_CONFIG, else include/mm2.properties)")
    parser.add_argument("--verbose", action="store_true", help="say more on standard error")
    steps = parser.add_subparsers(dest="command", required=True, metavar="command")
    _add(steps, "plan", "what the next copy has to do; writes nothing", each=commands.plan_only)
    copy = _add(steps, "copy", "plan, copy and publish", each=commands.copy, dry_run=True)
    copy.add_argument("--without-spark", action="store_true", help="copy in this process instead of a Spark job")
    _add(steps, "refresh-topics", "find topics, create remote topics and partitions", each=commands.refresh, dry_run=True)
    _add(steps, "config", "the effective configuration of each flow, secrets masked", each=commands.effective_config)
    _add(steps, "pools", "the pools for `airflow pools import`", whole=commands.pools)
    return parser


def _add(
    steps: Any, name: str, summary: str, *, each: Callable[..., Any] | None = None, whole: Callable[..., Any] | None = None, dry_run: bool = False
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = steps.add_parser(name, help=summary, description=summary)
    parser.set_defaults(each=each, whole=whole)
    parser.add_argument("--flow", help="such as 'east->west' (default: all flows)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    if dry_run:
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, write nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
