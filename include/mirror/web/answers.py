"""From an error to the button that answers it, and what each decision means to who presses it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from mirror.decide.request import ABOUT_A_TOPIC
from mirror.errors import ErrorReport, Remedy

WORDS = {
    "accept-gap": ("Accept the gap", "Go on where the source's log starts. What is gone stays gone, and is kept in the ledger as skipped."),
    "skip-record": ("Skip the record", "Pass over the one record that blocks its partition. The ledger keeps it as skipped."),
    "restart": ("Restart", "Go on at another source offset: the one that the error calls for, unless you name one."),
    "accept-records": ("Accept the records", "Leave what stands in the remote partition, and write behind it."),
    "pause": ("Pause", "Leave the topic, or one partition of it, out of every plan until somebody resumes it."),
    "resume": ("Resume", "Copy again what was paused, from where it was left."),
    "adopt-cluster": ("Adopt the cluster", "Take the ledger's records for those of the cluster that the alias leads to now."),
    "take-ownership": ("Take ownership", "Write although another installation did just now. Stop that one first."),
    "begin-ledger": (
        "Begin a new ledger",
        "The old one is gone. Every remote partition that holds records waits for a decision afterwards.",
    ),
    "throttle": ("Throttle", "How fast the flow copies, from the next transaction on: bytes a second, -1 for no limit, or `configured`."),
    "begin-control": ("Begin the control topic", "What it holds now is all that was decided; let the copy go on."),
}
"""Each decision as a person presses it, and what it does."""

_ANY_COMMAND = re.compile(
    r"(python -m mirror decide .*?--reason \"…\"|python -m mirror (?:[^.;(]|\.(?=\S))*[^.;( ]|kafka-[a-z-]+\.sh [^;]*)"
)


@dataclass(frozen=True)
class Problem:
    """Errors of one kind about one topic, or about no topic: the first of them, and which partitions have it."""

    error: ErrorReport
    partitions: tuple[int, ...] = ()
    answers: tuple[Remedy, ...] = ()

    @property
    def where(self) -> str:
        """The topic, with its one partition, or how many they are; empty for a flow as a whole."""
        if self.error.topic is None:
            return ""
        if len(self.partitions) == 1:
            return f"{self.error.topic}-{self.partitions[0]}"
        return self.error.topic

    @property
    def others(self) -> str:
        """The partitions beside the first, as far as they are told one by one."""
        listed = ", ".join(map(str, self.partitions[1:13]))
        return listed + (f" and {len(self.partitions) - 13} more" if len(self.partitions) > 13 else "")


def parts(next_step: str) -> list[tuple[str, bool]]:
    """A next step in its parts, each with whether it is a command."""
    return [(text, number % 2 == 1) for number, text in enumerate(_ANY_COMMAND.split(next_step)) if text]


def title(decision: str) -> str:
    """A decision as a person presses it."""
    return WORDS[decision][0] if decision in WORDS else decision.replace("-", " ").capitalize()


def explained(decision: str) -> str:
    """What a decision does, in a sentence or two."""
    return WORDS[decision][1] if decision in WORDS else ""


def needs_topic(decision: str) -> bool:
    """Whether a decision is about a topic."""
    return decision in ABOUT_A_TOPIC


def problems(errors: Iterable[ErrorReport]) -> list[Problem]:
    """The errors, those of a flow as a whole first; many of one kind about one topic are one, and one decision answers them."""
    grouped: dict[tuple[str, str | None, str], list[ErrorReport]] = {}
    for error in errors:
        grouped.setdefault((error.code, error.topic, "" if error.topic else error.message), []).append(error)
    found = [_problem(each) for each in grouped.values()]
    return sorted(found, key=lambda problem: (problem.error.topic is not None, problem.error.retriable))


def _problem(errors: list[ErrorReport]) -> Problem:
    first = errors[0]
    numbers = tuple(sorted({each.partition for each in errors if each.partition is not None}))
    answers = first.remedies
    if len(numbers) > 1:
        answers = tuple(replace(answer, partition=None) for answer in answers)
    return Problem(first, numbers, answers)
