"""From an error to the button that answers it, and what each decision means to who presses it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kafka_mirror.decide.kinds import ABOUT_A_TOPIC, KINDS
from kafka_mirror.errors import ErrorReport, Remedy
from kafka_mirror.errors.words import first_few


@dataclass(frozen=True)
class ErrorGroup:
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
        return first_few(self.partitions[1:], most=12)


def code_spans(text: str) -> list[tuple[str, bool]]:
    """A text of the runbook in its pieces, each with whether it is code: what stands in backticks."""
    return [(piece, number % 2 == 1) for number, piece in enumerate(text.split("`")) if piece]


def title(decision: str) -> str:
    """A decision as a person presses it."""
    return KINDS[decision].title if decision in KINDS else decision.replace("-", " ").capitalize()


def explained(decision: str) -> str:
    """What a decision does, in a sentence or two."""
    return KINDS[decision].explanation if decision in KINDS else ""


def needs_topic(decision: str) -> bool:
    """Whether a decision is about a topic."""
    return decision in ABOUT_A_TOPIC


def problems(errors: Iterable[ErrorReport]) -> list[ErrorGroup]:
    """The errors, those of a flow as a whole first; many of one kind about one topic are one, and one decision answers them."""
    grouped: dict[tuple[str, str | None, str], list[ErrorReport]] = {}
    for error in errors:
        grouped.setdefault((error.code, error.topic, "" if error.topic else error.message), []).append(error)
    found = [_problem(each) for each in grouped.values()]
    return sorted(found, key=lambda problem: (problem.error.topic is not None, problem.error.retriable))


def _problem(errors: list[ErrorReport]) -> ErrorGroup:
    first = errors[0]
    numbers = tuple(sorted({each.partition for each in errors if each.partition is not None}))
    answers = first.remedies
    if len(numbers) > 1:
        answers = tuple(replace(answer, partition=None) for answer in answers)
    return ErrorGroup(first, numbers, answers)
