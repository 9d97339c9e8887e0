"""The command line: `python -m mirror <command>`. Every step that a DAG's task runs can be run by hand.

Exit code 0: done; 1: failed; 2: bad usage or configuration. Human words go to standard error, the result to standard output.
"""

import argparse
import json
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import mirror.airflow  # noqa: F401 — tells the configuration how to ask for Airflow's connections; imports no Airflow
from mirror.commands.answer import FAILED, UNUSABLE, Answer
from mirror.commands.parser import parser
from mirror.commands.selection import unknown_to_all
from mirror.config import Configuration, Flow, load
from mirror.errors import ConfigurationError, MirrorError, UsageError, unexpected
from mirror.sync.step import pairs_of

EXIT_CODES = {FAILED: 1, UNUSABLE: 2}
INTERRUPTED = 130

Answers = Iterator[tuple[str | None, Answer]]
"""Flow name (None: the whole configuration, or the command line itself) and what is said of it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(given)
    except KeyboardInterrupt:
        print("Interrupted. What was committed stays, and the next run goes on behind it.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output (`| head`) has gone; nothing that is still buffered can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CODES[FAILED]


def _run(given: Sequence[str]) -> int:
    try:
        options = parser().parse_args(given)
    except UsageError as error:
        return _tell(_unread(given), iter([(None, Answer(UNUSABLE, errors=(error.report(),)))]))
    if options.verbose:
        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    return _tell(options, _answers(options))


def _unread(given: Sequence[str]) -> argparse.Namespace:
    """The options of a command line that could not be read, as far as they decide how that is said."""
    return argparse.Namespace(json="--json" in given, command=next((word for word in given if not word.startswith("-")), None))


def _answers(options: argparse.Namespace) -> Answers:
    name = options.flow if options.each_flow else None
    try:
        configuration = load([Path(part.strip()) for part in options.config.split(",")] if options.config else None)
        for notice in configuration.notices:
            print(f"Notice: {notice}", file=sys.stderr)
        if not options.each_flow:
            yield None, options.run(configuration)
            yield from _unreadable(configuration)
            return
        configuration = pairs_of(options.command, configuration)
        flows = _flows(configuration, name)
    except (ConfigurationError, UsageError) as error:
        yield name, Answer(UNUSABLE, errors=(error.report(),))
        return
    known: set[str] = set()
    for flow in flows:
        answer = _one(options, flow)
        known |= answer.known
        yield flow.name, answer
    if name is None:
        if (missed := unknown_to_all(options, known)) is not None:
            yield None, missed
        for invalid in configuration.invalid:
            yield invalid.name, Answer(UNUSABLE, errors=(invalid.error.report(),))
        yield from _unreadable(configuration)


def _unreadable(configuration: Configuration) -> Answers:
    """What is said of the files that cannot be read; the flows of the others were answered before."""
    for error in configuration.unreadable:
        yield None, Answer(UNUSABLE, errors=(error.report(),))


def _flows(configuration: Configuration, name: str | None) -> Sequence[Flow]:
    if name is not None:
        return [configuration.flow(name)]
    if not configuration.flows and not configuration.invalid and not configuration.unreadable:
        switch = "enabled" if configuration.kind == "enabled" else "emit.heartbeats.enabled"
        raise UsageError(f"No flow is {configuration.kind}.", next=f"Set <source>-><target>.{switch}=true in the configuration.")
    return configuration.flows


def _one(options: argparse.Namespace, flow: Flow) -> Answer:
    for notice in flow.notices:
        print(f"Notice: {flow.name}: {notice}", file=sys.stderr)
    try:
        answer: Answer = options.run(flow, options)
        return answer
    except (ConfigurationError, UsageError) as error:
        return Answer(UNUSABLE, errors=(error.report(),))
    except MirrorError as error:
        return Answer(FAILED, errors=(error.report(),))
    except Exception as failure:  # noqa: BLE001 — the answer of this flow; its traceback is logged, and the other flows go on
        report = unexpected(options.command, failure, "Report it with the lines above; the ledger is consistent.")
        return Answer(FAILED, errors=(report,))


def _tell(options: argparse.Namespace, answers: Answers) -> int:
    """Says each answer as soon as it is there; with `--json`, all of them in one document at the end."""
    documents, code = [], 0
    for flow, answer in answers:
        documents.append(answer.document(flow))
        code = max(code, EXIT_CODES.get(answer.state, 0))
        if not options.json:
            _print(flow, answer)
        for error in answer.errors:
            print(f"{flow}: {error}" if flow else error, file=sys.stderr)
    if options.json:
        print(json.dumps({"command": options.command, "flows": documents}, indent=2))
    sys.stdout.flush()
    return code


def _print(flow: str | None, answer: Answer) -> None:
    if flow is not None:
        print(f"{flow}: {answer.state}")
    if answer.text:
        print(answer.text)


if __name__ == "__main__":
    sys.exit(main())
