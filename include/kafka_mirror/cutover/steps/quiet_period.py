"""Since when nobody writes to a wave: ends of partitions, look after look. Pure.

             log start                      last stable offset       end
source  ─────────┼──────────────────────────────┼─ open transaction ──┤
                 quiet: the last stable offset is the end, and the end stands still
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import LogOffsets


@dataclass(frozen=True)
class QuietPeriod:
    """What looks at the ends of a wave's partitions saw so far. Times are seconds of one clock.

    `since`: when the newest look that saw something move, hold back, not answer or be led anew was; the first look, if none did. `growth`
    counts the offsets by which each partition grew since the first look, if it did, and `grew_at` when it was last seen to. `silent` are
    partitions whose leader did not answer the last look.
    """

    partitions: frozenset[TopicPartition]
    begun: float
    since: float
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    growth: Mapping[TopicPartition, int] = field(default_factory=dict)
    grew_at: Mapping[TopicPartition, float] = field(default_factory=dict)
    open_from: Mapping[TopicPartition, int] = field(default_factory=dict)
    """The last stable offset of each partition that an open transaction holds back."""
    silent: frozenset[TopicPartition] = frozenset()
    epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    """The leader epoch of each partition in the last look that told one: in another epoch other records may stand at the same offsets."""

    @property
    def is_still(self) -> bool:
        """Whether the last look saw every partition, and nothing open."""
        return not self.open_from and not self.silent

    @property
    def last_growth(self) -> float | None:
        """When a partition was last seen to grow; None if none ever was."""
        return max(self.grew_at.values(), default=None)

    def growth_after(self, moment: float) -> dict[TopicPartition, int]:
        """By how many offsets each partition grew since the first look, of those that were seen to grow after a moment."""
        return {tp: offsets for tp, offsets in self.growth.items() if self.grew_at[tp] > moment}

    def lasts(self, seconds: float, now: float) -> bool:
        """Whether nobody has written for so long, and no transaction is open."""
        return self.is_still and now - self.since >= seconds


def first_look(partitions: Collection[TopicPartition], offsets: Mapping[TopicPartition, LogOffsets], now: float) -> QuietPeriod:
    """What one look shows: no growth, for that takes two."""
    return next_look(QuietPeriod(frozenset(partitions), now, now), offsets, now)


def next_look(period: QuietPeriod, offsets: Mapping[TopicPartition, LogOffsets], now: float) -> QuietPeriod:
    """The period with one more look. `now`: when the look was over, so that what it saw to move moved before."""
    answers = {tp: log for tp, log in offsets.items() if log.end >= 0 and log.stable >= 0}
    moved = {tp: log.end - period.ends[tp] for tp, log in answers.items() if tp in period.ends and log.end != period.ends[tp]}
    open_from = {tp: log.stable for tp, log in answers.items() if log.stable < log.end}
    silent = period.partitions - answers.keys()
    epochs = {tp: log.leader_epoch for tp, log in answers.items() if log.leader_epoch is not None}
    is_led_anew = any(period.epochs.get(tp, epoch) != epoch for tp, epoch in epochs.items())
    growth = {**period.growth, **{tp: period.growth.get(tp, 0) + offsets for tp, offsets in moved.items()}}
    return replace(
        period,
        since=now if moved or open_from or silent or is_led_anew else period.since,
        ends={**period.ends, **{tp: log.end for tp, log in answers.items()}},
        growth=growth,
        grew_at={**period.grew_at, **dict.fromkeys(moved, now)},
        open_from=open_from,
        silent=silent,
        epochs={**period.epochs, **epochs},
    )
