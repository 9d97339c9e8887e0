"""The grammar of the command line."""

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from mirror.commands import audit, backfill, config, copy, decide, freshness, handover, plan, pools, status, step, translate
from mirror.errors import UsageError

_EPILOG = """exit codes:
  0  done
  1  something failed; every error says what, where and what to do next
  2  the command line or the configuration has to be corrected
With several flows each is tried, and the highest code counts. Results go to standard output, everything else to standard error."""


class Parser(argparse.ArgumentParser):
    """Raises UsageError instead of leaving the program, so that a wrong command line is answered like any other error."""

    def error(self, message: str) -> NoReturn:
        """What argparse calls for everything that it does not understand."""
        raise UsageError(f"The command line cannot be used: {message}.", next=f"See {self.prog} --help.")


def parser() -> Parser:
    """All commands; `options.run` is the function to call, for each flow or (`options.each_flow` is false) for the whole configuration."""
    top = Parser(
        prog="python -m mirror",
        description="Mirrors Apache Kafka clusters as MirrorMaker 2 does, in short batches.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_common(top, config=None, json=False, verbose=False)
    steps = top.add_subparsers(dest="command", required=True, metavar="command", title="commands")
    _add(steps, "config", "show the effective configuration and where each value is from; asks no broker", config.run)
    _add(steps, "plan", "say what the next copy has to do; writes nothing", plan.run)
    copying = _add(steps, "copy", "plan, copy and publish", copy.run, writes=True)
    copying.add_argument("--without-spark", action="store_true", help="copy in this process instead of a Spark job")
    copying.add_argument(
        "--master",
        metavar="URL",
        help="the Spark cluster, such as spark://host:7077 (default: that of mirror.spark.connection, else local[*,4])",
    )
    filling = _add(
        steps, "backfill", "bring a time interval to the target, with the history below the copy's start", backfill.run, writes=True
    )
    backfill.add_arguments(filling)
    _add(steps, "refresh-topics", "find topics, create remote topics and partitions", step.run, writes=True)
    _add(steps, "topic-configs", "give remote topics the configs of their source topics", step.run, writes=True)
    _add(steps, "topic-acls", "let readers of source topics read the remote topics", step.run, writes=True)
    _add(steps, "heartbeats", "write one heartbeat for each pair of clusters that beats", step.run, writes=True)
    _add(steps, "refresh-groups", "find the consumer groups whose offsets are translated; writes nothing", step.run)
    _add(steps, "checkpoints", "translate group offsets and write checkpoints", step.run, writes=True)
    _add(steps, "group-offsets", "commit translated offsets for groups that are idle on the target", step.run, writes=True)
    translating = _add(steps, "translate", "say where a group would go on on the target; writes nothing", translate.run)
    translate.add_arguments(translating)
    standing = _add(steps, "status", "say how each partition stands: how far behind, stuck, since when; writes nothing", status.run)
    standing.add_argument("--topic", metavar="TOPIC", help="only the partitions of this topic")
    standing.add_argument("--problems", action="store_true", help="only the partitions that the next run does not simply serve")
    judging = _add(steps, "freshness", "say what is over its limit: how far behind, stuck, broken; writes nothing", freshness.run)
    freshness.add_arguments(judging)
    auditing = _add(steps, "audit", "compare what is copied with what stands on the target; writes nothing", audit.run)
    audit.add_arguments(auditing)
    deciding = _add(
        steps, "decide", "decide what only a person can: accept a gap, restart, pause; the next copy acts on it", decide.run, writes=True
    )
    decide.add_arguments(deciding)
    taking = _add(steps, "take-over", "go on where MirrorMaker 2 stopped with a flow", handover.take_over, writes=True)
    handover.add_take_over_arguments(taking)
    handing = _add(steps, "hand-back", "let MirrorMaker 2 go on where the mirror stopped with a flow", handover.hand_back, writes=True)
    handover.add_arguments(handing)
    _add(steps, "pools", "print the pools for `airflow pools import`", pools.run, each_flow=False)
    return top


def _add(
    steps: Any, name: str, summary: str, run: Callable[..., Any], *, each_flow: bool = True, writes: bool = False
) -> argparse.ArgumentParser:
    step: argparse.ArgumentParser = steps.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    step.set_defaults(run=run, each_flow=each_flow)
    _add_common(step)
    if each_flow:
        step.add_argument("--flow", metavar="'A->B'", help="one flow, such as 'east->west' (default: all enabled flows)")
    if writes:
        step.add_argument("--dry-run", action="store_true", help="say what would be done and write nothing")
    return step


def _add_common(step: argparse.ArgumentParser, **defaults: Any) -> None:
    """What may stand in front of the command and behind it; only the parser in front sets the defaults."""

    def default(name: str) -> Any:
        return defaults.get(name, argparse.SUPPRESS)

    step.add_argument(
        "--config",
        metavar="FILE",
        default=default("config"),
        help="mm2.properties, several separated by commas (default: MIRROR_CONFIG, else include/mm2.properties)",
    )
    step.add_argument("--json", action="store_true", default=default("json"), help="print one JSON document")
    step.add_argument(
        "-v", "--verbose", action="store_true", default=default("verbose"), help="log to standard error, the Kafka client's own lines too"
    )
