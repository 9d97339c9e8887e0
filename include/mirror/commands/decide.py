"""`decide`: what only a person can decide, written where the next run finds it."""

import argparse
import getpass
import socket
from typing import Any

from mirror.commands.answer import DONE, Answer, table
from mirror.config import Flow
from mirror.decide.model import Made
from mirror.decide.request import AS_CONFIGURED, DECISIONS, EARLIEST, LATEST, Request, offset_of, rate_of
from mirror.decide.request import request as checked
from mirror.errors import UsageError
from mirror.formats.control import THROTTLE, UNLIMITED, Decision, as_document
from mirror.formats.fields import moment_text

LIST = "list"


def add_arguments(step: argparse.ArgumentParser) -> None:
    """The arguments of this command alone."""
    step.add_argument("decision", choices=(*DECISIONS, LIST), help="what to decide; `list` shows what was decided, in force and used up")
    step.add_argument("--topic", metavar="T", help="the topic, by its name on the source")
    step.add_argument("--partition", metavar="P", type=offset_of, help="one partition (default: all of the topic that need it)")
    step.add_argument("--reason", metavar="WHY", help="why; it is kept with the decision")
    step.add_argument("--who", metavar="NAME", help="who decides (default: user@host)")
    step.add_argument("--alias", metavar="A", help="adopt-cluster: the alias of the cluster that was replaced")
    step.add_argument(
        "--bytes-per-second",
        metavar="N",
        type=_rate,
        help=f"throttle: how fast the flow copies; {UNLIMITED}: as fast as it can; `{AS_CONFIGURED}`: as mirror.max.bytes.per.second says",
    )
    start = step.add_mutually_exclusive_group()
    start.add_argument("--to-earliest", dest="start", action="store_const", const=EARLIEST, help="restart: where the source's log starts")
    start.add_argument("--to-latest", dest="start", action="store_const", const=LATEST, help="restart: where it ends")
    start.add_argument("--to-offset", dest="start", metavar="N", type=offset_of, help="restart: a source offset; needs --partition")


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Takes one decision about one flow, or lists the decisions."""
    from mirror.decide.run import decide, decisions_of

    if options.decision == LIST:
        return _listed(decisions_of(flow))
    made = decide(flow, request(options), options.dry_run)
    verb = "would be decided" if options.dry_run else "decided"
    lines = [f"{_about(each.decision)}: {verb}: {each.effect}." for each in made]
    if not options.dry_run and options.decision != THROTTLE:
        lines.append("The next run of the copy acts on it.")
    return Answer(DONE, {"decisions": [_document(each) for each in made]}, text="\n".join(lines))


def request(options: argparse.Namespace) -> Request:
    """What is asked for. Raises UsageError for what is not complete or does not fit together."""
    if options.flow is None:
        raise UsageError(
            f"The command line cannot be used: decide {options.decision} needs --flow: a decision is about one flow.",
            next="See python -m mirror decide --help.",
        )
    return checked(
        options.decision,
        who=(options.who or "").strip() or whoever(),
        why=options.reason,
        topic=options.topic,
        partition=options.partition,
        alias=options.alias,
        start=options.start,
        bytes_per_second=options.bytes_per_second,
    )


def whoever() -> str:
    """Who runs the command: `user@host`."""
    return f"{_user()}@{socket.gethostname()}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return "somebody"


def _rate(text: str) -> str:
    rate_of(text)
    return text


def _listed(decisions: list[tuple[Decision, bool]]) -> Answer:
    rows = [(_about(each), "in force" if counts else "used up", moment_text(each.when), each.who, each.why) for each, counts in decisions]
    lines = table(("decision", "state", "when", "who", "why"), rows) or ["Nothing was decided."]
    documents = [{**as_document(each), "in_force": counts} for each, counts in decisions]
    return Answer(DONE, {"decisions": documents}, text="\n".join(lines))


def _document(made: Made) -> dict[str, Any]:
    return {**as_document(made.decision), "effect": made.effect}


def _about(decision: Decision) -> str:
    where = decision.alias if decision.topic is None else decision.topic
    return " ".join([decision.decision, *([where] if where else [])]) + (f"-{decision.partition}" if decision.partition is not None else "")
