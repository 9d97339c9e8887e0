"""What became of a backfill, in one value: per interval, and together for a date range."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kafka_mirror.backfill.model import BackfillPart, Resolution, TimeInterval, show_times
from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.words import first_lines
from kafka_mirror.formats.documents import to_document

DONE, FAILED, MISSING = "done", "failed", "no result"
_SHOWN = 20


@dataclass(frozen=True)
class BackfillSummary:
    """One interval: its state (done or failed), the records that were copied, and what could not be had. `audit` is the audit's state, ''
    without one."""

    flow: str
    times: TimeInterval
    state: str
    live_records: int = 0
    history_records: int = 0
    owed: int = 0
    provisional: int = 0
    audit: str = ""
    errors: tuple[ErrorReport, ...] = ()
    not_had: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """Records copied, live and history."""
        return self.live_records + self.history_records

    def as_document(self) -> dict[str, Any]:
        """Plain JSON; at most 20 of the errors and of what could not be had, with their numbers."""
        shortened = replace(self, errors=self.errors[:_SHOWN], not_had=self.not_had[:_SHOWN])
        return {**to_document(shortened), "error_count": len(self.errors), "not_had_count": len(self.not_had)}

    def __str__(self) -> str:
        copied = f"the copy brought {self.live_records:,} records on its way past these times, and {self.history_records:,} came as history"
        owed = f"; {self.owed:,} offsets are left" if self.owed else ""
        audit = f"; audit: {self.audit}" if self.audit else ""
        provisional = f"; {self.provisional} partitions reach the end and are provisional" if self.provisional else ""
        return f"{self.flow} {show_times(self.times)}: {self.state}: {copied}{owed}{audit}{provisional}"


def summary(
    resolution: Resolution, live: BackfillPart, history: BackfillPart, audit: str = "", errors: Iterable[ErrorReport] = ()
) -> BackfillSummary:
    """The summary of an interval. It failed if anything did, or if something is left."""
    all_errors = tuple(dict.fromkeys((*resolution.errors, *live.errors, *history.errors, *errors)))
    owed = live.owed + history.owed
    return BackfillSummary(
        flow=resolution.flow,
        times=resolution.times,
        state=FAILED if all_errors or owed else DONE,
        live_records=live.records,
        history_records=history.records,
        owed=owed,
        provisional=sum(interval.is_provisional for interval in resolution.intervals),
        audit=audit,
        errors=all_errors,
        not_had=(*resolution.not_had, *live.not_had, *history.not_had),
    )


@dataclass(frozen=True)
class RangeSummary:
    """A date range, interval by interval: what is reported once, when all of it has ended."""

    flow: str
    intervals: tuple[BackfillSummary, ...]

    @property
    def state(self) -> str:
        """`done` if every interval is."""
        return DONE if all(summary.state == DONE for summary in self.intervals) else FAILED

    @property
    def times(self) -> TimeInterval:
        """From the first interval to the last."""
        return TimeInterval(min(summary.times.start for summary in self.intervals), max(summary.times.end for summary in self.intervals))

    def headline(self) -> str:
        """One sentence."""
        good = sum(summary.state == DONE for summary in self.intervals)
        records = sum(summary.records for summary in self.intervals)
        return (
            f"Backfill of {self.flow} {show_times(self.times)}: {good} of {len(self.intervals)} intervals done, {records} records copied."
        )

    def detail(self) -> str:
        """What failed and what could not be had, a line each."""
        lines = [str(summary) for summary in self.intervals if summary.state != DONE]
        failed = dict.fromkeys(f"failed: {error}" for summary in self.intervals for error in summary.errors)
        not_had = dict.fromkeys(f"could not be had: {text}" for summary in self.intervals for text in summary.not_had)
        lines += first_lines(failed, most=_SHOWN, rest="more failed")
        lines += first_lines(not_had, most=_SHOWN, rest="more could not be had")
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.headline(), self.detail())))
