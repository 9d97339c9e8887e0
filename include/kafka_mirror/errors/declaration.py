"""Errors that are declared: their facts are fields, and what they say are templates over these.

A class needs no constructor and no code for its texts:

    class TransactionTimeoutRefused(DeclaredError):
        # its docstring: The target does not allow transactions of `mirror.transaction.timeout.ms`.
        cluster: str
        seconds: float
        text = "Cluster '{cluster}' does not allow transactions of {seconds:g} s. Nothing was copied."
        next_text = "Set mirror.transaction.timeout.ms to at most the brokers' transaction.max.timeout.ms."
        do = "Set `mirror.transaction.timeout.ms` to at most the brokers' `transaction.max.timeout.ms`."

Fields that are called `topic`, `partition` and `offset` are the place where it happened.
"""

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import ClassVar, dataclass_transform

from kafka_mirror.errors.base import MirrorError
from kafka_mirror.errors.next_step import Command, Part, Remedy, mirror_command
from kafka_mirror.errors.words import show

_COMMANDS = {"mirror": mirror_command, "shell": Command}
_CONVERSIONS = {"r": show, "q": shlex.quote}


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class DeclaredError(MirrorError):
    """An error that is made from its fields.

    In a template `{name}` is an attribute of the error: a field, or a property for what depends on several. `{seconds:.0f}` formats it as
    Python does. `{group!r}` shows a name that others chose, safely. Several names stand there with commas. `{remedy}` is the decision that
    answers the error, `{mirror:plan}` a command of the mirror, `{shell:kafka-topics.sh}` another one; `{topic!q}` is quoted for it. What no
    template can say, a class says in `_describe` or `_advise`.
    """

    text: ClassVar[str]
    next_text: ClassVar[str] = ""

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
        return tuple(self._fill(self.next_text))

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
