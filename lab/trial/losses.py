"""Judges a failover: compares what is missing on the target with the report, and finds what groups read again or never. Pure.

on the target             said to be missing at most            unknown
───────────────── watermark ──────────────────────── end ──────────────────→ all of it acknowledged after `complete_until`
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from lab.trial.journal import Number, list_first


@dataclass(frozen=True)
class Acknowledged:
    """A record that the source acknowledged: its offset there (-1: its client did not learn it), and when its producer heard of it (ms)."""

    number: Number
    offset: int
    time: int


@dataclass(frozen=True)
class Said:
    """What a report said of one partition: source offsets from `watermark` on may be missing; those from `end` on only if they were
    acknowledged after `complete_until` (ms)."""

    watermark: int
    end: int
    complete_until: float


@dataclass(frozen=True)
class LossVerdict:
    """What is missing, how many offsets were said to be missing at most (`said`), and where the report was wrong.

    `unsaid`: missing records of which the report does not say so; `there`: records that were said to be missing, and are not.
    """

    acknowledged: int
    lost: frozenset[Number]
    said: int
    later: int
    unsaid: tuple[Number, ...]
    there: tuple[Number, ...]

    def wrong(self) -> Iterable[str]:
        """A sentence for each kind of error in the report."""
        if self.unsaid:
            yield f"{len(self.unsaid)} records are missing of which nothing was said: {list_first(self.unsaid)}"
        if self.there:
            yield f"{len(self.there)} records are on the target that were said to be missing: {list_first(self.there)}"


def judge_losses(acknowledged: Iterable[Acknowledged], on_target: Collection[Number], said: Mapping[int, Said]) -> LossVerdict:
    """Compares what producers wrote down with the target's records and the report. `said` is by partition."""
    lost, unsaid, there, later = set(), [], [], 0
    records = list(acknowledged)
    for record in records:
        of_partition = said.get(record.number[1])
        is_missing = record.number not in on_target
        if is_missing:
            lost.add(record.number)
        if of_partition is None or record.offset < 0:
            if is_missing and of_partition is None:
                unsaid.append(record.number)
            continue
        if not is_missing:
            there += [record.number] * (record.offset >= of_partition.watermark)
        elif record.offset < of_partition.watermark:
            unsaid.append(record.number)
        elif record.offset >= of_partition.end:
            later += 1
            unsaid += [record.number] * (record.time <= of_partition.complete_until)
    most = sum(max(partition.end - partition.watermark, 0) for partition in said.values())
    return LossVerdict(len(records), frozenset(lost), most, later, tuple(unsaid), tuple(there))


@dataclass(frozen=True)
class Reading:
    """A record that a group got: its number, and its offset in the log that it was read from."""

    number: Number
    offset: int


@dataclass(frozen=True)
class Place:
    """Where a group was said to continue in one partition, as an offset of the source. Of the records before it the group reads at most
    `reread` again (None: unknown); records from it on may come again."""

    offset: int
    reread: int | None


@dataclass(frozen=True)
class GroupVerdict:
    """What a group read again on the target, how many of these records lie before its place (`early`), and what is wrong."""

    group: str
    again: int
    early: int
    skipped: tuple[Number, ...]
    twice: tuple[Number, ...]
    too_many: tuple[str, ...]

    def wrong(self) -> Iterable[str]:
        """A sentence for each kind of error in the report."""
        if self.skipped:
            yield f"{self.group}: {len(self.skipped)} records of the target were never read: {list_first(self.skipped)}"
        if self.twice:
            yield f"{self.group}: {len(self.twice)} records were read twice on the target: {list_first(self.twice)}"
        yield from self.too_many


def judge_group(
    group: str, before: Iterable[Reading], after: Iterable[Reading], on_target: Collection[Number], places: Mapping[int, Place]
) -> GroupVerdict:
    """Compares what a group read on the source and then on the target with where it was said to continue. A partition without a place
    is one of which nothing was known: the group reads it from its beginning."""
    read_before = {reading.number: reading.offset for reading in before}
    times = Counter(reading.number for reading in after)
    again = [number for number in times if number in read_before]
    early: Counter[int] = Counter()
    for number in again:
        place = places.get(number[1])
        if place is not None and read_before[number] < place.offset:
            early[number[1]] += 1
    too_many = tuple(
        f"{group}: partition {partition}: {count} records were read again, and {places[partition].reread} were said"
        for partition, count in sorted(early.items())
        if (most := places[partition].reread) is not None and count > most
    )
    return GroupVerdict(
        group,
        len(again),
        early.total(),
        tuple(sorted(set(on_target) - read_before.keys() - times.keys())),
        tuple(sorted(number for number, count in times.items() if count > 1)),
        too_many,
    )


def read_acknowledged(lines: Iterable[str], producer: str) -> list[Acknowledged]:
    """Reads the journal of one producer."""
    records = []
    for kind, *words in map(str.split, lines):
        if kind == "acked":
            _, partition, number, offset, _, time = words
            records.append(Acknowledged((producer, int(partition), int(number)), int(offset), int(time)))
    return records


def read_readings(lines: Iterable[str], cluster: str) -> list[Reading]:
    """Reads from a group's journal what it got on one cluster."""
    records = []
    for kind, *words in map(str.split, lines):
        if kind == "read" and words[-1] == cluster:
            _, partition, offset, producer, number, _ = words
            records.append(Reading((producer, int(partition), int(number)), int(offset)))
    return records


def find_disorder(numbers: Iterable[Number]) -> list[Number]:
    """The records that a log holds twice, or after a later one of the same producer and partition."""
    newest: dict[tuple[str, int], int] = {}
    wrong = []
    for producer, partition, number in numbers:
        if number <= newest.get((producer, partition), -1):
            wrong.append((producer, partition, number))
        newest[producer, partition] = max(number, newest.get((producer, partition), -1))
    return wrong
