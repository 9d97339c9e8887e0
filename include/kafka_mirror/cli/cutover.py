"""`cutover`: a command of its own for each part of a move, and what each takes."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kafka_mirror.cli.options import FLOW, Parser, add_common_of_a_flow, read_as
from kafka_mirror.cutover.wave.record import read_name
from kafka_mirror.cutover.wave.selection import parse_patterns
from kafka_mirror.cutover.wave.step import BY_HAND, FENCES, MODES, PLANNED, STEPS
from kafka_mirror.errors import UsageError
from kafka_mirror.errors.next_step import mirror_command

PLAN, RUN, STATUS, ROLLBACK, REPORT = "plan", "run", "status", "rollback", "report"
COMPARE, REOPEN = "compare", "reopen"
_COMPARE = "say what a source that came back holds beside what was copied of it, and export what only it has; writes to neither cluster"
_REOPEN = "let a flow copy again that a failover closed"
_PARTS: Mapping[str, str] = {
    PLAN: "say everything that would stop a wave of topics and groups from moving to the target; writes nothing",
    RUN: "move a wave: run its steps from the first that is not done; with --dry-run say what each would do",
    STATUS: "list the waves of a flow with their steps, times and what to do next; writes nothing",
    ROLLBACK: "take back what the steps of a wave did, until it is open",
    REPORT: "say who moved a wave and when, how long it paused, and every position, as Markdown; writes nothing",
}


def add_arguments(step: Parser) -> None:
    """Adds the parts."""
    step.add_commands("part", title="parts")
    step.set_defaults(check=_check, prog=step.prog)
    unset = dict.fromkeys(("topics", "groups", "wave", "max_lag", "mode", "until", "step", "by", "reason", "who", "output"))
    adders: Mapping[str, tuple[Callable[[Parser], object], ...]] = {
        PLAN: (_add_wave, _add_lag),
        RUN: (_add_wave, _add_name, _add_run, _add_wait, _add_person, _add_output),
        STATUS: (_add_name,),
        ROLLBACK: (_add_name, _add_wait, _add_person),
        REPORT: (_add_name, _add_output),
    }
    for name, add_to in adders.items():
        # What stands in front of the part holds, unless it is said again after it.
        part = step.add_command(name, _PARTS[name], argument_default=argparse.SUPPRESS)
        part.set_defaults(**unset)
        for add in add_to:
            add(part)
        add_common_of_a_flow(part, name in (RUN, ROLLBACK))
        part.set_defaults(looks=name not in (RUN, ROLLBACK))
        part.need(*_NEEDED.get(name, ()))
    _add_compare(step)
    _add_reopen(step)


_NEEDED: Mapping[str, tuple[str, ...]] = {
    PLAN: (FLOW, "--topics"),
    RUN: (FLOW,),
    STATUS: (),
    ROLLBACK: (FLOW, "--wave"),
    REPORT: (FLOW, "--wave"),
}


def _check(options: argparse.Namespace) -> None:
    """Raises UsageError if no part is named, or a run names no wave."""
    if options.part is None:
        said = "The command line cannot be used: cutover needs to know what to do."
        raise UsageError(said, next=(f"Possible are: {', '.join((*_PARTS, COMPARE, REOPEN))}. See ", mirror_command("cutover --help"), "."))
    if options.part == RUN and options.topics is None and options.wave is None:
        said = "The command line cannot be used: cutover run needs --topics, or --wave for one that was begun."
        raise UsageError(said, next=("See ", mirror_command("cutover run --help"), "."))
    if options.part == RUN and options.mode != PLANNED and options.mode is not None and not (options.reason or options.wave):
        said = f"The command line cannot be used: --mode {options.mode} needs --reason, for a person declares that the source is lost."
        raise UsageError(said, next=("See ", mirror_command("cutover run --help"), "."))


def _add_wave(part: Parser) -> None:
    part.add_argument("--topics", metavar="PATTERNS", type=read_as(parse_patterns), help="the wave's topics: Java patterns between commas")
    groups = "the wave's consumer groups: Java patterns between commas (default: all with a position in one of its topics)"
    part.add_argument("--groups", metavar="PATTERNS", type=read_as(parse_patterns), help=groups)


def _add_name(part: Parser) -> None:
    text = "the wave's name, as `cutover status` lists it (default of a new one: made of flow, topics and groups)"
    part.add_argument("--wave", metavar="NAME", type=read_as(read_name), help=text)


def _add_lag(part: Parser, **default: Any) -> None:
    late = "how many records a partition may be behind before producers are held off (default: 1000; plan only says the lag)"
    part.add_argument("--max-lag", metavar="N", type=read_as(_count), help=late, **default)


def _add_output(part: Parser) -> None:
    part.add_argument("--output", metavar="FILE", help="write the report into this file; as JSON if its name ends in .json")


def _add_run(part: Parser) -> None:
    part.add_argument("--mode", choices=MODES, help=f"failover: the source is lost, or you declare it lost (default: {PLANNED})")
    of_steps = {"metavar": "STEP", "choices": STEPS}
    part.add_one_of(
        ("--until", {**of_steps, "help": "end after this step"}),
        ("--step", {**of_steps, "help": "run this step alone; those before it must be done"}),
    )
    _add_lag(part, default=1000)
    fence = f"who keeps producers off: you, a DENY of WRITE that the mirror sets, or no one, and it looks only once (default: {BY_HAND})"
    part.add_argument("--by", choices=FENCES, help=fence)
    quiet = "how long the ends must stand still after the fence (default: 5)"
    part.add_argument("--quiet-seconds", metavar="N", type=read_as(_seconds), default=5.0, help=quiet)
    part.add_argument("--full-audit", action="store_true", default=False, help="audit the wave whole, not only since its last good audit")


def _add_compare(step: Parser) -> None:
    compare = step.add_command(COMPARE, _COMPARE, argument_default=argparse.SUPPRESS)
    compare.add_argument(
        "--topics", metavar="PATTERNS", type=read_as(parse_patterns), help="only these topics: Java patterns between commas"
    )
    export = "write the records that only the source has there, as JSON lines; run again, it goes on where it ended"
    compare.add_argument("--export", metavar="DIR", type=Path, help=export)
    fast = "compare offsets and leader epochs alone, and do not read what was copied"
    compare.add_argument("--without-audit", action="store_true", default=False, help=fast)
    add_common_of_a_flow(compare, writes=False)
    compare.need(FLOW)
    compare.set_defaults(looks=True)


def _add_reopen(step: Parser) -> None:
    reopen = step.add_command(REOPEN, _REOPEN, argument_default=argparse.SUPPRESS)
    reopen.add_argument("--reason", metavar="TEXT", help="why, for those who read it later")
    add_common_of_a_flow(reopen, writes=True)
    reopen.need(FLOW, "--reason")
    reopen.set_defaults(looks=False)


def _add_wait(part: Parser) -> None:
    wait = "how long a step waits for people and clusters before the command ends as waiting, with exit code 3 (default: 600)"
    part.add_argument("--wait", metavar="SECONDS", type=read_as(_seconds), default=600.0, help=wait)


def _add_person(part: Parser) -> None:
    part.add_argument("--reason", metavar="WHY", help="why; it is kept with the wave")
    part.add_argument("--who", metavar="NAME", help="who moves it (default: user@host)")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{text!r} is no number of records")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"{text!r} is no number of seconds")
    return seconds
