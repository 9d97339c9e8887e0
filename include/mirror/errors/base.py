"""What all errors share, and an error as a value that travels."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from mirror.errors.next_step import FLOW, TIMES, Remedy


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

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ErrorReport":
        """The report whose `as_dict` this is; one of an older version has no remedies."""
        return cls(**{**fields, "remedies": tuple(Remedy(**each) for each in fields.get("remedies", ()))})

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, as the command line's JSON has them."""
        return {**asdict(self), "remedies": [asdict(each) for each in self.remedies]}

    def of_flow(self, flow: str) -> "ErrorReport":
        """The report with the flow's name in the command to run next."""
        return replace(self, next=self.next.replace(FLOW, flow))

    def of_times(self, start: str, end: str) -> "ErrorReport":
        """The report with a backfill's times in the command to run next."""
        return replace(self, next=self.next.replace(TIMES, f"--from {start} --to {end}"))

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" Next: {self.next}" if self.next else "")


class MirrorError(Exception):
    """The base of all: a message, where it happened, whether to retry, and the next step for a person."""

    retriable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        next: str = "",
        remedies: Sequence[Remedy] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.next = next
        self.remedies = tuple(remedies)

    @property
    def code(self) -> str:
        """The class name: stable, for programs."""
        return type(self).__name__

    def report(self) -> ErrorReport:
        """This error as a value."""
        return ErrorReport(self.code, self.message, self.topic, self.partition, self.offset, self.retriable, self.next, self.remedies)

    def of_flow(self, flow: str) -> "MirrorError":
        """This error with the flow's name in the command to run next."""
        self.next = self.next.replace(FLOW, flow)
        return self

    def __str__(self) -> str:
        return f"{self.message} Next: {self.next}" if self.next else self.message


@contextmanager
def named_with(flow: str) -> Iterator[None]:
    """What is raised inside has the flow's name in the command to run next."""
    try:
        yield
    except MirrorError as error:
        error.of_flow(flow)
        raise
