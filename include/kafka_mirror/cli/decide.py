"""`decide`: what only a person can decide, written where the next run finds it."""

import argparse
import getpass
import socket
from collections.abc import Callable
from typing import Any

from kafka_mirror.cli.answer import DONE, Answer, table
from kafka_mirror.cli.options import FLOW, Parser, typed
from kafka_mirror.config import Flow
from kafka_mirror.decide.binding import DecisionWithEffect
from kafka_mirror.decide.request import (
    ALIAS,
    AS_CONFIGURED,
    DECISIONS,
    EARLIEST,
    KINDS,
    LATEST,
    OPTIONS,
    PARTITION,
    RATE,
    START,
    TOPIC,
    DecisionRequest,
    parse_offset,
    parse_rate,
)
from kafka_mirror.decide.request import request as complete
from kafka_mirror.errors import UsageError
from kafka_mirror.errors.next_step import own
from kafka_mirror.formats.documents import moment_text
from kafka_mirror.ledger.control_records import THROTTLE, UNLIMITED, Decision, as_document

LIST = "list"
_LIST = "show what was decided, what of it is in force, and what is used up; writes nothing"


def add_arguments(step: Parser, add_common: Callable[[Parser, bool], None]) -> None:
    """A command of its own for each decision, with the options that it has a use for. `add_common` adds those of every command, for one
    that writes or not.

    All options may also stand in front of the decision, where `--help` does not show them.
    """
    for name in (*OPTIONS, *_ALWAYS):
        _ADD[name](step, hidden=True)
    step.add_commands("decision", title="decisions")
    step.set_defaults(check=check, prog=step.prog)
    for word, kind in KINDS.items():
        decision = step.add_command(word, _summary(kind.explanation), kind.explanation, argument_default=_UNSET)
        for name in (*kind.needs, *kind.takes, *_ALWAYS):
            _ADD[name](decision)
        add_common(decision, True)
        decision.need(FLOW, *(OPTIONS[name] for name in kind.needs), "--reason")
    list_command = step.add_command(LIST, _LIST, argument_default=_UNSET)
    add_common(list_command, False)
    list_command.set_defaults(looks=True)


def _summary(explanation: str) -> str:
    first = explanation.partition(". ")[0].removesuffix(".")
    return first[0].lower() + first[1:]


def _add(step: Any, option: str, hidden: bool, help: str, **how: Any) -> None:
    step.add_argument(option, help=argparse.SUPPRESS if hidden else help, **how)


def _add_rate(step: argparse.ArgumentParser, hidden: bool = False) -> None:
    text = f"bytes a second: 5000000, 5MB, 5MiB; {UNLIMITED}: as fast as it can; `{AS_CONFIGURED}`: as mirror.max.bytes.per.second says"
    _add(step, "--bytes-per-second", hidden, text, metavar="N", type=typed(_rate))


def _add_start(step: Parser, hidden: bool = False) -> None:
    def starts(help: str, **how: Any) -> dict[str, Any]:
        return {"dest": "start", "help": argparse.SUPPRESS if hidden else help, **how}

    step.add_one_of(
        ("--to-earliest", starts("where the source's log starts", action="store_const", const=EARLIEST)),
        ("--to-latest", starts("where it ends", action="store_const", const=LATEST)),
        ("--to-offset", starts("a source offset; needs --partition", metavar="N", type=typed(parse_offset))),
    )


def _adder(option: str, help: str, **how: Any) -> Callable[..., None]:
    return lambda step, hidden=False: _add(step, option, hidden, help, **how)


_UNSET = argparse.SUPPRESS
"""The default of an option after the decision: what stood before it holds."""

_ALWAYS = ("reason", "who")
_ADD: dict[str, Callable[..., None]] = {
    TOPIC: _adder("--topic", "the topic, by its name on the source", metavar="T"),
    PARTITION: _adder("--partition", "one partition (default: all of the topic that need it)", metavar="P", type=typed(parse_offset)),
    ALIAS: _adder("--alias", "the alias of the cluster that was replaced", metavar="A"),
    START: _add_start,
    RATE: _add_rate,
    "reason": _adder("--reason", "why; it is kept with the decision", metavar="WHY"),
    "who": _adder("--who", "who decides (default: user@host)", metavar="NAME"),
}
"""How each option is added to a command."""


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Takes one decision about one flow, or lists the decisions."""
    from kafka_mirror.decide.run import decide, decisions_of

    if options.decision == LIST:
        return _list_decisions(decisions_of(flow))
    decisions = decide(flow, request(options), options.dry_run)
    verb = "would be decided" if options.dry_run else "decided"
    lines = [f"{_describe_subject(effect.decision)}: {verb}: {effect.effect}." for effect in decisions]
    if not options.dry_run and options.decision != THROTTLE:
        lines.append("The next run of the copy acts on it.")
    return Answer(DONE, {"decisions": [_document(effect) for effect in decisions]}, text="\n".join(lines))


def check(options: argparse.Namespace) -> None:
    """Raises UsageError if no decision is named, or what is asked for does not fit together."""
    if options.decision is None:
        decisions = ", ".join((*DECISIONS, LIST))
        raise UsageError(
            "The command line cannot be used: decide needs to know what to decide.",
            next=(f"Possible are: {decisions}. See ", own("decide --help"), "."),
        )
    if options.decision != LIST:
        request(options)


def request(options: argparse.Namespace) -> DecisionRequest:
    """What is asked for. Raises UsageError for what is not complete or does not fit together."""
    return complete(
        options.decision,
        who=(options.who or "").strip() or user_at_host(),
        why=options.reason,
        topic=options.topic,
        partition=options.partition,
        alias=options.alias,
        start=options.start,
        bytes_per_second=options.bytes_per_second,
    )


def user_at_host() -> str:
    """Who runs the command: `user@host`."""
    return f"{_user()}@{socket.gethostname()}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return "somebody"


def _rate(text: str) -> str:
    parse_rate(text)
    return text


def _list_decisions(decisions: list[tuple[Decision, bool]]) -> Answer:
    rows = [
        (_describe_subject(decision), "in force" if counts else "used up", moment_text(decision.when), decision.who, decision.why)
        for decision, counts in decisions
    ]
    lines = table(("decision", "state", "when", "who", "why"), rows) or ["Nothing was decided."]
    documents = [{**as_document(decision), "in_force": counts} for decision, counts in decisions]
    return Answer(DONE, {"decisions": documents}, text=lines)


def _document(decision: DecisionWithEffect) -> dict[str, Any]:
    return {**as_document(decision.decision), "effect": decision.effect}


def _describe_subject(decision: Decision) -> str:
    where = decision.alias if decision.topic is None else decision.topic
    return " ".join([decision.decision, *([where] if where else [])]) + (f"-{decision.partition}" if decision.partition is not None else "")
