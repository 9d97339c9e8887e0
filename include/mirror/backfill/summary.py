"""What became of a backfill, in one value: per interval, and together for a date range."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mirror.backfill.model import Part, Resolution
from mirror.backfill.tiling import TimeInterval
from mirror.backfill.times import text_of
from mirror.errors import ErrorReport

DONE, FAILED, MISSING = "done", "failed", "no result"
_SHOWN = 20


@dataclass(frozen=True)
class Summary:
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
        shown = {"errors": [each.as_dict() for each in self.errors[:_SHOWN]], "not_had": list(self.not_had[:_SHOWN])}
        counts = {"error_count": len(self.errors), "not_had_count": len(self.not_had)}
        return {**asdict(self), "times": [self.times.start, self.times.end], **shown, **counts}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Summary":
        """The summary of a document that `as_document` gave."""
        fields = {name: document[name] for name in cls.__dataclass_fields__}
        errors, not_had = tuple(ErrorReport.from_dict(each) for each in document["errors"]), tuple(document["not_had"])
        return cls(**{**fields, "times": TimeInterval(*document["times"]), "errors": errors, "not_had": not_had})

    def __str__(self) -> str:
        copied = f"{self.live_records} records copied live, {self.history_records} as history"
        left = f", {self.owed} offsets left" if self.owed else ""
        audit = f"; audit: {self.audit}" if self.audit else ""
        provisional = f"; {self.provisional} partitions reach the end and are provisional" if self.provisional else ""
        return f"{self.flow} {text_of(self.times)}: {self.state}: {copied}{left}{audit}{provisional}"


def summary(resolution: Resolution, live: Part, history: Part, audit: str = "", errors: Iterable[ErrorReport] = ()) -> Summary:
    """The summary of an interval. It failed if anything did, or if something is left."""
    found = tuple(dict.fromkeys((*resolution.errors, *live.errors, *history.errors, *errors)))
    owed = live.owed + history.owed
    return Summary(
        flow=resolution.flow,
        times=resolution.times,
        state=FAILED if found or owed else DONE,
        live_records=live.records,
        history_records=history.records,
        owed=owed,
        provisional=sum(each.is_provisional for each in resolution.intervals),
        audit=audit,
        errors=found,
        not_had=(*resolution.not_had, *live.not_had, *history.not_had),
    )


@dataclass(frozen=True)
class RangeSummary:
    """A date range, interval by interval: what is told to people once, when all of it has ended."""

    flow: str
    intervals: tuple[Summary, ...]

    @property
    def state(self) -> str:
        """`done` if every interval is."""
        return DONE if all(each.state == DONE for each in self.intervals) else FAILED

    @property
    def times(self) -> TimeInterval:
        """From the first interval to the last."""
        return TimeInterval(min(each.times.start for each in self.intervals), max(each.times.end for each in self.intervals))

    def headline(self) -> str:
        """One sentence."""
        good = sum(each.state == DONE for each in self.intervals)
        records = sum(each.records for each in self.intervals)
        return f"Backfill of {self.flow} {text_of(self.times)}: {good} of {len(self.intervals)} intervals done, {records} records copied."

    def detail(self) -> str:
        """What failed and what could not be had, a line each."""
        lines = [str(each) for each in self.intervals if each.state != DONE]
        lines += _some("failed", list(dict.fromkeys(str(error) for each in self.intervals for error in each.errors)))
        lines += _some("could not be had", list(dict.fromkeys(text for each in self.intervals for text in each.not_had)))
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.headline(), self.detail())))


def _some(what: str, texts: Sequence[str]) -> list[str]:
    more = [f"… and {len(texts) - _SHOWN} more {what}"] if len(texts) > _SHOWN else []
    return [f"{what}: {text}" for text in texts[:_SHOWN]] + more
