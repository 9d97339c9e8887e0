"""Skipped offsets in the ledger: what was passed over without being copied, and why. None of it is ever forgotten.

They stand in the ledger's value as the field `skipped`, a list of lists `[start, end, reason]`, with the count after them where not all
offsets between start and end were passed over.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kafka_mirror.formats.documents import string, whole

MAX_INTERVALS = 64
"""How many skipped intervals a record keeps. Of more the oldest are not dropped but drawn together (`merge_skips`)."""


@dataclass(frozen=True)
class Skipped:
    """Source offsets `[start, end)` that were passed over without being copied, and why. `count`: how many of them, where not all were."""

    start: int
    end: int
    reason: str
    count: int | None = None

    @property
    def offsets(self) -> int:
        """How many offsets were passed over."""
        return self.end - self.start if self.count is None else self.count

    def joined_with(self, later: "Skipped") -> "Skipped":
        """One interval over this and a later one, and over what was copied between them."""
        count = self.offsets + later.offsets
        reason = self.reason if self.reason == later.reason else "several reasons"
        return Skipped(self.start, later.end, reason, None if count == later.end - self.start else count)

    def before(self, offset: int) -> "Skipped":
        """What of it lies in front of an offset after its start."""
        if self.end <= offset:
            return self
        return replace(self, end=offset, count=None if self.count is None else min(self.count, offset - self.start))


def merge_skips(skipped: Iterable[Skipped]) -> tuple[Skipped, ...]:
    """Joins the intervals to as few as possible. Intervals that touch and have one reason become one. If more are left than the ledger
    keeps, the oldest are joined over what was copied between them, those of one reason first, with how many offsets were passed over."""
    result: list[Skipped] = []
    for skip in skipped:
        if result and result[-1].end == skip.start and result[-1].reason == skip.reason:
            result[-1] = result[-1].joined_with(skip)
        else:
            result.append(skip)
    return tuple(_drop_oldest(_drop_oldest(result, same_reason=True), same_reason=False))


def _drop_oldest(skipped: list[Skipped], same_reason: bool) -> list[Skipped]:
    excess, result = len(skipped) - MAX_INTERVALS, skipped[:1]
    for skip in skipped[1:]:
        if excess > 0 and (result[-1].reason == skip.reason or not same_reason):
            result[-1] = result[-1].joined_with(skip)
            excess -= 1
        else:
            result.append(skip)
    return result


def to_document(skip: Skipped) -> list[Any]:
    """An interval as JSON has it."""
    return [skip.start, skip.end, skip.reason, *([] if skip.count is None else [skip.count])]


def from_document(start: Any, end: Any, reason: Any, *number: Any) -> Skipped:
    """Reads an interval from the parts of its list in JSON. Raises ValueError or TypeError for any other list."""
    (counted,) = number or (None,)
    fields = {"reason": reason}
    return Skipped(whole(start, "start"), whole(end, "end"), string(fields, "reason"), whole(counted, "count") if number else None)
