"""What all errors share: an error that is raised, one as a value that travels, and one that is declared by its fields and templates.

A class needs no constructor and no code for its texts:

    class TransactionTimeoutRefused(DeclaredError):
        # its docstring: The target does not allow transactions of `mirror.transaction.timeout.ms`.
        cluster: str
        seconds: float
        text = "Cluster '{cluster}' does not allow transactions of {seconds:g} s. Nothing was copied."
        next_text = "Set `mirror.transaction.timeout.ms` to at most the brokers' `transaction.max.timeout.ms`."

Fields that are called `topic`, `partition` and `offset` are the place where it happened.
"""

import logging
import shlex
import traceback
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from string import Formatter
from typing import Any, ClassVar, dataclass_transform

from kafka_mirror.errors.next_step import FLOW, Command, NextStep, Part, Remedy, mirror_command, remedies
from kafka_mirror.errors.words import show, visible

log = logging.getLogger(__name__)

_COMMANDS = {"mirror": mirror_command, "shell": Command}
_CONVERSIONS = {"r": show, "q": shlex.quote}


@dataclass(frozen=True)
class Runbook:
    """What the runbook says of one error class or alert, with code in backticks: what it means, in one sentence and in `more`; whether
    anything is lost; what to do; the decision that answers it; and whether it is tried again, or usually ends, by itself."""

    means: str
    lost: str
    do: str
    decision: Remedy | None = None
    more: str = ""
    retriable: bool = False


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
        """The class of the error, which says what holds for all of its kind; `MirrorError` for a code without one."""
        return CLASSES.get(self.code, MirrorError)

    @property
    def step(self) -> NextStep:
        """The next step with its commands."""
        return NextStep(self.next, self.commands)

    def with_next(self, *parts: Part) -> "ErrorReport":
        """The report with another next step, and the decisions in that."""
        return replace(self._with_step(NextStep.of(*parts)), remedies=remedies(parts))

    def with_flow(self, flow: str) -> "ErrorReport":
        """The report with the flow's name in the commands to run next."""
        return self._with_step(self.step.with_flow(flow))

    def with_times(self, start: str, end: str) -> "ErrorReport":
        """The report with a backfill's times in the commands to run next."""
        return self._with_step(self.step.with_times(start, end))

    def _with_step(self, step: NextStep) -> "ErrorReport":
        return replace(self, next=step.text, commands=step.commands)

    @property
    def lines(self) -> list[str]:
        """The error as a log shows it: what happened and what state is left, whether anything is lost, and the next step, of which each
        command has a line of its own."""
        lost = [f"Lost: {self.kind.runbook.lost}"] if self.code in CLASSES else []
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
    `do` and `answered_by` are the answers to its questions. Without `do` it is the `next_text`.
    """

    retriable: ClassVar[bool] = False
    partition_state: ClassVar[str] = "failed"
    """How a partition stands that has this error."""
    means_loss: ClassVar[bool] = False
    """Whether records are missing after it, or may be."""
    answered_by: ClassVar[Remedy | None] = None
    """The decision of a person that answers it, as the runbook names it: for `TOPIC`, or for the alias `ALIAS`."""
    next_text: ClassVar[str] = ""
    lost: ClassVar[str] = "No."
    do: ClassVar[str]
    more: ClassVar[str] = ""
    runbook: ClassVar[Runbook]
    """What the runbook says of the class. Bases have none."""

    topic: str | None
    partition: int | None
    offset: int | None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        do = vars(cls).get("do") or _show_step(vars(cls).get("next_text", ""))
        do += "." if do.endswith("`") else ""
        if do:
            means = " ".join((cls.__doc__ or "").partition("\n\n")[0].split())
            cls.runbook = Runbook(means, cls.lost, do, cls.answered_by, cls.more, cls.retriable)
            CLASSES[cls.__name__] = cls

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

    def with_flow(self, flow: str) -> "MirrorError":
        """This error with the flow's name in the commands to run next."""
        self.step = self.step.with_flow(flow)
        return self

    def add_next(self, before: str = "", after: str = "") -> None:
        """Puts sentences before the next step and after it."""
        self.step = NextStep(" ".join(filter(None, (before, self.step.text, after))), self.step.commands)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, vars(self))

    def __str__(self) -> str:
        return _with_next(self.message, self.next)


def _show_step(template: str) -> str:
    """A `next_text` for the runbook, which knows no facts: with `<name>` for each, and commands in backticks, without the flow."""
    sentences = ""
    for text, name, form, _ in Formatter().parse(template):
        sentences += text
        if name:
            code = _show_step(form or "").replace(f" --flow '{FLOW}'", "").replace("`", "") if name in _COMMANDS else f"<{name}>"
            sentences += code if sentences.count("`") % 2 else f"`{code}`"
    return sentences


CLASSES: dict[str, type[MirrorError]] = {}
"""Every error that may be reported, by its code, in the order of their files. An error of another process has the code that it was raised
with."""


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
        error.with_flow(flow)
        raise


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class DeclaredError(MirrorError):
    """An error that is made from its fields.

    In a template `{name}` is an attribute of the error: a field, or a property for what depends on several. `{seconds:.0f}` formats it as
    Python does. `{group!r}` shows a name that others chose, safely. Several names stand there with commas. `{remedy}` is the decision that
    answers the error, `{mirror:plan}` a command of the mirror, `{shell:kafka-topics.sh}` another one; `{topic!q}` is quoted for it. What no
    template can say, a class says in `_describe` or `_advise`. Backticks of `next_text` are for the runbook alone.
    """

    text: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(eq=False, repr=False)(cls)

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, Collection) and not isinstance(value, str):
                setattr(self, name, tuple(value))
        topic, partition, offset = self._place()
        super().__init__(self._describe(), topic=topic, partition=partition, offset=offset, next=self._advise())

    def _describe(self) -> str:
        """The message."""
        return "".join(map(str, self._fill(self.text)))

    def _advise(self) -> Sequence[Part]:
        """The parts of the next step."""
        return tuple(self._fill(self.next_text.replace("`", "")))

    def _place(self) -> tuple[str | None, int | None, int | None]:
        """Topic, partition and offset where it happened, as far as there are any."""
        return getattr(self, "topic", None), getattr(self, "partition", None), getattr(self, "offset", None)

    @property
    def remedy(self) -> Remedy:
        """The decision that answers this error: with its topic and partition, or its alias."""
        decision = self.answered_by or Remedy("")
        topic, partition, _ = self._place() if decision.topic else (None, None, None)
        return replace(decision, topic=topic, partition=partition, alias=getattr(self, "alias", None))

    def _fill(self, template: str) -> Iterator[Part]:
        for text, name, form, conversion in Formatter().parse(template):
            yield text
            if name in _COMMANDS:
                yield _COMMANDS[name]("".join(map(str, self._fill(form or ""))))
                continue
            value = getattr(self, name) if name else ""
            if isinstance(value, Command | Remedy):
                yield value
            elif isinstance(value, tuple):
                yield ", ".join(value)
            else:
                yield _CONVERSIONS[conversion](value) if conversion else format(value, form or "")


class TopicError(DeclaredError):
    """An error of one topic."""

    topic: str


class GroupError(DeclaredError):
    """An error of one consumer group."""

    group: str


class PartitionError(DeclaredError):
    """An error of one partition."""

    topic: str
    partition: int


class OffsetError(PartitionError):
    """An error at one offset of a partition."""

    offset: int


class Unexpected(MirrorError):
    """The mirror itself has a mistake."""

    lost = "No. The ledger is consistent, whatever happened."
    do = (
        "Report it with its message, which has file, line and function of every call. The whole traceback is in the task's log, or in the "
        "standard error of a Spark cluster's executor."
    )


_FRAMES = 12
_PACKAGES = PurePath(__file__).parents[2]


def report_unexpected(what: str, failure: BaseException, next: str) -> ErrorReport:
    """The error of what failed otherwise than by an error of ours, and its traceback in the log.

    A worker's log may stand on another host than the task's, so the error itself has file, line and function of every call, outermost
    first, and those of what caused it.
    """
    log.error("%s failed unexpectedly", what, exc_info=failure)
    return Unexpected(f"{what} failed unexpectedly: {_describe_chain(failure)}.", next=next).report()


def _describe_chain(failure: BaseException) -> str:
    cause = failure.__cause__ or (None if failure.__suppress_context__ else failure.__context__)
    calls = traceback.extract_tb(failure.__traceback__)[-_FRAMES:]
    stack = " > ".join(f"{_name_file(call.filename)}:{call.lineno} {call.name}" for call in calls) or "nowhere"
    line = f"{type(failure).__name__}: {failure} ({stack})"
    return f"{line}, caused by {_describe_chain(cause)}" if cause is not None else line


def _name_file(path: str) -> str:
    """The file as it is called in the package, or its name: where a host keeps it is not for the log."""
    file = PurePath(path)
    return file.relative_to(_PACKAGES).as_posix() if file.is_relative_to(_PACKAGES / "kafka_mirror") else file.name
