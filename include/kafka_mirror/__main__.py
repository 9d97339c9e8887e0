# PYTHON_ARGCOMPLETE_OK
"""The command line: `python -m kafka_mirror <command>`, installed also as `kafka-mirror`. Every step that a DAG's task runs can be run by
hand.

Exit code 0: done; 1: failed; 2: bad usage or configuration; 3: waiting. Human words go to standard error, the result to standard output.
"""

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import kafka_mirror.airflow  # noqa: F401 — tells the configuration how to ask for Airflow's connections; imports no Airflow
from kafka_mirror import __version__
from kafka_mirror.cli.answer import DONE, FAILED, UNUSABLE, WAITING, Answer
from kafka_mirror.cli.options import check, complete, load_configured, unknown_names_notice
from kafka_mirror.cli.parser import parser
from kafka_mirror.cli.terminal import say, say_error, say_flow
from kafka_mirror.config import Configuration, Flow, InvalidFlow
from kafka_mirror.config.support import describe_installed
from kafka_mirror.errors import ConfigurationError, ErrorReport, MirrorError, Problem, UsageError, report_unexpected
from kafka_mirror.errors.next_step import note_program
from kafka_mirror.status.steps import pairs_of
from kafka_mirror.watchdog.watch import kill_if_hung

EXIT_CODES = {FAILED: 1, UNUSABLE: 2, WAITING: 3}
INTERRUPTED = 130
EXAMPLE = "mm2.properties"
"""The annotated configuration to begin with."""
_RUN_AGAIN = "Run it again: what was not committed is aborted then, and nothing is lost or doubled."

Answers = Iterator[tuple[str | None, Answer]]
"""Flow name (None: the whole configuration, or the command line itself) and what is said of it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit code."""
    if arguments is None:
        note_program(sys.argv[0])
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(given)
    except KeyboardInterrupt:
        print("Interrupted. What was committed stays, and the next run goes on after it.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output (`| head`) has gone; nothing that is still buffered can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CODES[FAILED]


def _run(given: Sequence[str]) -> int:
    # A command line that cannot be read, as far as it decides how that is said.
    options = argparse.Namespace(json="--json" in given, command=next((word for word in given if not word.startswith("-")), None))
    top = parser()
    complete(top)
    try:
        options = top.parse_args(given)
        if options.version:
            lines = describe_installed() if options.with_support else ()
            print(f"airflow-kafka-mirror {__version__}", *lines, sep="\n")
            return 0
        if options.command is None and not options.json:
            top.print_help()
            return 0
        check(options)
    except UsageError as error:
        return _tell(options, iter([(None, _refuse(error))]))
    if options.command == "config" and options.example:
        package = Path(__file__).parent
        example = next(path for path in (package / EXAMPLE, package.parent / EXAMPLE) if path.is_file())  # beside it in a checkout
        print(example.read_text(encoding="utf-8"), end="")
        return 0
    if options.command == "spark":
        try:
            return work_of("spark")(options)  # type: ignore[no-any-return]
        except MirrorError as error:
            return _tell(options, iter([(None, _refuse(error))]))
    if options.verbose:
        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    if getattr(options, "watch", None) is not None:
        from kafka_mirror.cli.rich_output import watch  # it draws on a terminal

        return watch(options.watch, lambda: list(_answers(options)), lambda answers: _tell(options, iter(answers)))
    return _tell(options, _answers(options))


def work_of(command: str) -> Callable[..., Any]:
    """What does the work of a command, for each flow or (`each_flow` is false) once. Only its own file is imported, with all that it needs:
    `--help` and the shell's completion pay for none."""
    match command:
        case "status":
            from kafka_mirror.cli.status import run
        case "plan" | "copy":
            from kafka_mirror.cli.copy import run
        case "translate":
            from kafka_mirror.cli.translate import run
        case "freshness":
            from kafka_mirror.cli.freshness import run
        case "audit":
            from kafka_mirror.cli.audit import run
        case "backfill":
            from kafka_mirror.cli.backfill import run
        case "decide":
            from kafka_mirror.cli.decide import run
        case "cutover":
            from kafka_mirror.cli.cutover_parts import run_part as run
        case "config" | "pools" | "spark":
            from kafka_mirror.cli import setup

            works: dict[str, Callable[..., Any]] = {"config": setup.show_config, "pools": setup.show_pools, "spark": setup.run_spark}
            return works[command]
        case _:
            from kafka_mirror.cli.step import run
    return run


def _refuse(error: MirrorError) -> Answer:
    """The answer to an error that no work was done before, or that ended it."""
    return Answer(UNUSABLE if isinstance(error, ConfigurationError | UsageError) else FAILED, errors=(error.report(),))


def _answers(options: argparse.Namespace) -> Answers:
    try:
        configuration = load_configured(options)
    except ConfigurationError as error:
        yield None, _refuse(error)
        return
    for notice in configuration.notices:
        print(f"Notice: {notice}", file=sys.stderr)
    if options.each_flow:
        yield from _answer_flows(options, configuration)
    else:
        for invalid in configuration.invalid:
            print(f"Notice: {invalid.error.message}", file=sys.stderr)
        yield None, work_of(options.command)(configuration, options)
        yield from ((None, _refuse(error)) for error in configuration.unreadable)


def _answer_flows(options: argparse.Namespace, configuration: Configuration) -> Answers:
    """The answer for the flow that is named, or for each."""
    name = options.flow
    try:
        configuration = pairs_of(options.command, configuration)
        for invalid in configuration.invalid:
            if name in (None, invalid.name):
                _say_notices(invalid)
        flows = _flows(configuration, name)
        if getattr(options, "follow", None) and len(flows) > 1:
            raise UsageError("copy --follow follows one flow.", next="Name it with --flow, and start one command for each flow.")
    except (ConfigurationError, UsageError) as error:
        yield name, _refuse(error)
        return
    known_names: set[str] = set()
    for flow in flows:
        answer = _one(options, flow)
        known_names |= answer.known_names
        yield flow.name, answer
    if name is None:
        if (missed := unknown_names_notice(options, known_names)) is not None:
            yield None, missed
        for invalid in configuration.invalid:
            yield invalid.name, _refuse(invalid.error)
        yield from ((None, _refuse(error)) for error in configuration.unreadable)


def _flows(configuration: Configuration, name: str | None) -> Sequence[Flow]:
    if name is not None:
        return [configuration.flow(name)]
    if not configuration.flows and not configuration.invalid and not configuration.unreadable:
        switch = "enabled" if configuration.kind == "enabled" else "emit.heartbeats.enabled"
        raise UsageError(f"No flow is {configuration.kind}.", next=f"Set <source>-><target>.{switch}=true in the configuration.")
    return configuration.flows


def _say_notices(flow: Flow | InvalidFlow) -> None:
    for notice in flow.notices:
        print(f"Notice: {flow.name}: {notice}", file=sys.stderr)


def _one(options: argparse.Namespace, flow: Flow) -> Answer:
    _say_notices(flow)
    try:
        # Airflow logs to standard output once it is asked for a connection, and that is the answer's alone.
        with redirect_stdout(sys.stderr), kill_if_hung(f"`{options.command}` of {flow.name}", _RUN_AGAIN):
            answer: Answer = work_of(options.command)(flow, options)
        return answer
    except MirrorError as error:
        return _refuse(error)
    except Exception as failure:  # noqa: BLE001 — the answer of this flow; its traceback is logged, and the other flows go on
        report = report_unexpected(options.command, failure, "Report it with the lines above; the ledger is consistent.")
        return Answer(FAILED, errors=(report,))


def _tell(options: argparse.Namespace, answers: Answers) -> int:
    """Says each answer as soon as it is there; with `--json`, all of them in one document at the end."""
    documents, code = [], 0
    said: set[Problem] = set()
    for flow, answer in answers:
        documents.append(answer.as_document(flow))
        code = max(code, EXIT_CODES.get(answer.state, 0))
        if not options.json:
            state = _show_state(options, answer)
            if flow is not None and state is not None:
                say_flow(flow, state)
            say(answer.pieces)
        for error in answer.errors:
            say_error(flow, _shorten(error, said))
    if options.json:
        print(json.dumps({"command": options.command, "flows": documents}, indent=2))
    sys.stdout.flush()
    return code


def _show_state(options: argparse.Namespace, answer: Answer) -> str | None:
    """What the output says of the flow beside its name; None: not even that.

    Where a command only looked, `done` would read as if the mirroring were done; where the command line is wrong, `unusable` as if the
    flow were.
    """
    if any(error.kind is UsageError for error in answer.errors):
        return None
    looked = getattr(options, "looks", False) or getattr(options, "dry_run", False)
    return "" if looked and answer.state == DONE else answer.state


def _shorten(error: ErrorReport, said: set[Problem]) -> ErrorReport:
    """The error, or a sentence if all its problems stand at another flow: what stands at the top of a file is wrong for all flows."""
    if error.problems and said.issuperset(error.problems):
        return replace(error, message="The configuration cannot be used, for reasons that stand above.", next="")
    said.update(error.problems)
    return error


if __name__ == "__main__":
    sys.exit(main())
