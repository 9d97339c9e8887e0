"""A stretch: source offsets and the target offsets that hold their copies, which are compared with each other; and what was found of it."""

from bisect import bisect_right
from dataclasses import dataclass

from kafka_mirror.audit.digest import Digest
from kafka_mirror.audit.model import AuditFigures
from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition


@dataclass(frozen=True)
class LogBounds:
    """What a partition holds on both sides. `source_end` and `target_end` are the ends of what can be read."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int


@dataclass(frozen=True)
class AuditRange:
    """Source offsets and the target offsets that hold their copies.

    `source_left` and `target_left` are offsets in between that are no part of it. `source_ahead` and `target_ahead`: that side may have
    records in front of the first one that both have; both end with the stretch. The log ends are those of what can be read. `unsure`:
    source offsets of which some were skipped, it is unknown which. `runs` tie offsets together.
    """

    source: TopicPartition
    remote: TopicPartition
    start: int
    end: int
    target_start: int
    target_end: int
    source_log_end: int
    target_log_end: int
    source_left: tuple[Interval, ...] = ()
    target_left: tuple[Interval, ...] = ()
    source_ahead: bool = False
    target_ahead: bool = False
    unsure: tuple[Interval, ...] = ()
    most_unsure: int = 0
    """How many of the offsets in `unsure` were skipped at most."""
    runs: tuple[Run, ...] = ()
    watermark: int = 0
    """Up to which source offset copies were written, after the stretch too."""
    lenient: bool = False
    """Whether records may stand on the target that are no copies: a merge, or a person's decision."""
    compacted: bool = False
    """Whether one of the two topics drops records that have a newer one of the same key."""
    timed: bool = True
    """Whether timestamps are compared: not where the target stamps its records itself."""

    @property
    def is_head(self) -> bool:
        """Whether it is unknown which records both sides have first."""
        return self.source_ahead or self.target_ahead

    @property
    def target_read_end(self) -> int:
        """Where reading the target ends: a log that was cut off ends early."""
        return min(self.target_end, self.target_log_end)

    @property
    def remote_goes_on(self) -> bool:
        """Whether more than the marker of our own transaction stands after it on the target."""
        return self.target_log_end > self.target_end + 1

    def source_of(self, target: int) -> int | None:
        """The source offset of a target offset, where the offset map knows it."""
        index = bisect_right(self.runs, target, key=lambda run: run.target) - 1
        if index < 0 or target >= self.runs[index].target + self.runs[index].length:
            return None
        return self.runs[index].source + target - self.runs[index].target

    @property
    def offsets(self) -> int:
        """How many offsets are to be read on the source: an upper bound of its records."""
        return self.end - self.start


@dataclass(frozen=True)
class Outcome(AuditFigures):
    """What was found of one stretch. `error`: it was not compared."""

    stretch: AuditRange
    error: ErrorReport | None = None

    @staticmethod
    def of(stretch: AuditRange, source: Digest, target: Digest) -> "Outcome":
        """What is found by the digests of both sides alone."""
        return Outcome(
            stretch,
            source_records=source.records,
            target_records=target.records,
            source_digest=source.text,
            target_digest=target.text,
        )
