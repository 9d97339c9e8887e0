"""What all errors share, and an error as a value that travels."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from kafka_mirror.errors.next_step import NextStep, Part, Remedy, remedies
from kafka_mirror.errors.words import visible


@dataclass(frozen=True)
class Runbook:
    """What the runbook says of one error class: what it means, in one sentence and in `more`; whether anything is lost; what to do; and the
    decisions that answer it. Code stands in backticks."""

    means: str
    lost: str
    do: str
    decisions: tuple[Remedy, ...] = ()
    more: str = ""


TOPIC = "TOPIC"
"""Stands for a topic in the commands of the runbook."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong in the configuration: which property, its value (never a secret), what is allowed, and where the property stands."""

    property: str
    message: str
    value: str | None = None
    file: str = ""
    """Empty if it is about no file, or not known."""
    line: int | None = None
    """None if the property does not stand in the file."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        return f"{place}{self.property}: {self.message}" + (f" (it is '{self.value}')" if self.value is not None else "")


@dataclass(frozen=True)
class ErrorReport:
    """An error as a value: what travels from a Spark worker, stands in `--json` and in the verdict."""

    code: str
    message: str
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    retriable: bool = False
    next: str = ""
    remedies: tuple[Remedy, ...] = ()
    """The decisions of which `next` has the commands."""
    commands: tuple[str, ...] = ()
    """What in `next` is to be typed, in its order."""
    problems: tuple[Problem, ...] = ()
    """Of an error of the configuration: everything that is wrong."""

    @property
    def kind(self) -> type["MirrorError"]:
        """The class of the error, which says what holds for all of its kind."""
        return class_of(self.code)

    @property
    def step(self) -> NextStep:
        """The next step with its commands."""
        return NextStep(self.next, self.commands)

    def with_next(self, *parts: Part) -> "ErrorReport":
        """The report with another next step, and the decisions in that."""
        step = NextStep.of(*parts)
        return replace(self, next=step.text, commands=step.commands, remedies=remedies(parts))

    def of_flow(self, flow: str) -> "ErrorReport":
        """The report with the flow's name in the commands to run next."""
        return self._with(self.step.with_flow(flow))

    def of_times(self, start: str, end: str) -> "ErrorReport":
        """The report with a backfill's times in the commands to run next."""
        return self._with(self.step.with_times(start, end))

    def _with(self, step: NextStep) -> "ErrorReport":
        return replace(self, next=step.text, commands=step.commands)

    @property
    def lines(self) -> list[str]:
        """The error as a log shows it: what happened and what state is left, whether anything is lost, and the next step, of which each
        command has a line of its own."""
        runbook = getattr(self.kind, "runbook", None)
        lost = [f"Lost: {runbook.lost}"] if runbook else []
        steps = [f"    {text}" if is_command else text.strip() for text, is_command in self.step.pieces]
        return [*f"{self.code}: {self.message}".splitlines(), *lost, *(["Next: " + steps[0].strip(), *steps[1:]] if steps else [])]

    def __str__(self) -> str:
        return f"{self.code}: {_with_next(self.message, self.next)}"


def separate_next(message: str) -> str:
    """What parts a message from its next step, which has a line of its own after a message of several lines."""
    return "\n" if "\n" in message else " "


def _with_next(message: str, next: str) -> str:
    return f"{message}{separate_next(message)}Next: {next}" if next else message


class MirrorError(Exception):
    """The base of all: a message, where it happened, whether to retry, and the next step for a person.

    `next` is given as text, or as its parts: text, commands, and the decisions (`Remedy`) that answer the error.

    What holds for every error of a class are attributes of the class, for others to ask: `retriable`, `partition_state`, `means_loss`. What
    the runbook says of it stands there too: the docstring's first paragraph is what the error means, `more` goes on with that, and `lost`,
    `do` and `answered_by` are the answers to its questions.
    """

    retriable: ClassVar[bool] = False
    partition_state: ClassVar[str] = "failed"
    """How a partition stands that has this error."""
    means_loss: ClassVar[bool] = False
    """Whether records are missing after it, or may be."""
    answered_by: ClassVar[Remedy | None] = None
    """The decision of a person that answers it, as the runbook names it: for `TOPIC`, or for the alias `ALIAS`."""
    lost: ClassVar[str] = "No."
    do: ClassVar[str]
    more: ClassVar[str] = ""
    runbook: ClassVar[Runbook]
    """What the runbook says of the class."""

    topic: str | None
    partition: int | None
    offset: int | None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "do" in vars(cls):
            means = " ".join((cls.__doc__ or "").partition("\n\n")[0].split())
            cls.runbook = Runbook(means, cls.lost, cls.do, (cls.answered_by,) if cls.answered_by else (), cls.more)
            _CLASSES[cls.__name__] = cls

    def __init__(
        self,
        message: str,
        *,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        next: str | Sequence[Part] = "",
    ) -> None:
        self.message = visible(message)
        super().__init__(self.message)
        self.topic = topic
        self.partition = partition
        self.offset = offset
        parts = (next,) if isinstance(next, str) else next
        self.step = NextStep.of(*parts)
        self.remedies = remedies(parts)

    @property
    def next(self) -> str:
        """The next step as text."""
        return self.step.text

    @property
    def code(self) -> str:
        """The class name: stable, for programs."""
        return type(self).__name__

    def report(self) -> ErrorReport:
        """This error as a value."""
        where = self.topic, self.partition, self.offset
        return ErrorReport(self.code, self.message, *where, self.retriable, self.step.text, self.remedies, self.step.commands)

    def of_flow(self, flow: str) -> "MirrorError":
        """This error with the flow's name in the commands to run next."""
        self.step = self.step.with_flow(flow)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, vars(self))

    def add_next(self, before: str = "", after: str = "") -> None:
        """Puts sentences before the next step and after it."""
        self.step = NextStep(" ".join(filter(None, (before, self.step.text, after))), self.step.commands)

    def __str__(self) -> str:
        return _with_next(self.message, self.next)


_CLASSES: dict[str, type[MirrorError]] = {}


def class_of(code: str) -> type[MirrorError]:
    """The class of the errors with this code; `MirrorError` for a code without one, as `Unexpected`."""
    return _CLASSES.get(code, MirrorError)


def _restore(kind: type[MirrorError], args: tuple[Any, ...], facts: dict[str, Any]) -> MirrorError:
    error = kind.__new__(kind, *args)
    vars(error).update(facts)
    return error


@contextmanager
def name_flow_in_errors(flow: str) -> Iterator[None]:
    """What is raised inside has the flow's name in the commands to run next."""
    try:
        yield
    except MirrorError as error:
        error.of_flow(flow)
        raise
