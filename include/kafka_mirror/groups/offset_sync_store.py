"""MirrorMaker 2's OffsetSyncStore (KAFKA-14666): its checkpoints translate group offsets with it, and ours where the ledger knows nothing.

Of each source partition it keeps 64 references to pairs of offsets, slot 0 the newest one, slot 63 the oldest; between them the distances
may double from slot to slot, so a translation gets coarser the further a group is behind. The rules are the Java class's to the bit, whose
sums are those of signed 64-bit numbers, and which asks whether two slots hold the very same pair, not an equal one.
"""

from typing import NamedTuple

from kafka_mirror.formats.mm2 import OffsetSync
from kafka_mirror.formats.offsets.partition import TopicPartition

SLOTS = 64
TOO_OLD = -1
"""The translation of an offset that is older than everything the store knows."""

_LONG = 1 << 64
_LARGEST = (1 << 63) - 1


class SyncPair(NamedTuple):
    """A record's offset on the source, and the one it got on the target. Two equal pairs are still two."""

    upstream: int
    downstream: int


class OffsetSyncStore:
    """Give it the records of an offset syncs topic in their order. (MirrorMaker 2 that does not know its own checkpoints begins with the
    newest one of each partition that is there.)"""

    def __init__(self) -> None:
        self._slots: dict[TopicPartition, list[SyncPair]] = {}

    def sync(self, offset_sync: OffsetSync) -> None:
        """Takes the next record of the topic. One with a smaller upstream offset than the newest makes the partition forget the rest."""
        partition = TopicPartition(offset_sync.topic, offset_sync.partition)
        new = SyncPair(offset_sync.upstream, offset_sync.downstream)
        slots = self._slots.get(partition)
        if slots is None or new.upstream < slots[0].upstream:
            self._slots[partition] = [new] * SLOTS
        else:
            _insert(slots, new)

    def translate(self, topic: str, partition: int, offset: int) -> int | None:
        """The target offset from which a group that is at this source offset misses nothing.

        It is that of the nearest pair at or before the source offset, plus one if the pair is before it. TOO_OLD (−1) if all pairs are
        after the offset; None if there is no pair of the partition. In both cases MirrorMaker 2 writes no checkpoint.
        """
        slots = self._slots.get(TopicPartition(topic, partition))
        if slots is None:
            return None
        pair = next((pair for pair in slots if pair.upstream <= offset), slots[-1])
        if pair.upstream > offset:
            return TOO_OLD
        return pair.downstream if pair.upstream == offset else _to_long(pair.downstream + 1)

    def pairs(self, topic: str, partition: int) -> tuple[SyncPair, ...]:
        """What the slots of a partition hold, from the newest to the oldest; empty if there is nothing."""
        return tuple(self._slots.get(TopicPartition(topic, partition), ()))


def _insert(slots: list[SyncPair], new: SyncPair) -> None:
    """Puts a pair into slot 0 and moves the others on, until a slot may keep what it has."""
    old = list(slots)
    slots[0] = carried = new
    source = 0
    for slot in range(1, SLOTS):
        before = slot - 1
        while True:
            candidate = old[source]
            far_from_before = _is_far(before, slots[before], candidate)
            fits = (
                far_from_before
                and _is_near(before, slots[before], candidate)
                and (slot == SLOTS - 1 or _is_far(slot, candidate, slots[slot + 1]))
            )
            repeated = source < SLOTS - 1 and old[source + 1] is candidate
            drop = repeated or not far_from_before
            if fits:
                carried = candidate
            if fits or drop:
                source += 1
            if not (source < slot and drop):
                break
        if _is_near(before, slots[before], slots[slot]):
            return
        slots[slot] = carried


def _is_near(slot: int, newer: SyncPair, older: SyncPair) -> bool:
    """Whether `newer` may sit in a slot when `older` sits in the next one: at most 2^slot source offsets after it."""
    if newer is older:
        return True
    bound = _to_long(older.upstream + (1 << slot))
    return bound < 0 or newer.upstream <= bound


def _is_far(slot: int, newer: SyncPair, older: SyncPair) -> bool:
    """Whether `newer`, in a slot, is so far in front of `older` that both are worth keeping: 2^(slot−2) source offsets."""
    if newer is older:
        return True
    bound = _to_long(older.upstream + (1 << max(slot - 2, 0)))
    return bound >= 0 and newer.upstream >= bound


def _to_long(number: int) -> int:
    return number if -_LARGEST <= number <= _LARGEST else (number + (1 << 63)) % _LONG - (1 << 63)
