"""From times to offsets, against a plain list of records with timestamps: whatever the timestamps, whatever the order of the days."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.backfill.intervals import OffsetInterval, cut, offset_interval
from kafka_mirror.copy.engine import PartitionProgress
from kafka_mirror.copy.history import stored, view
from kafka_mirror.copy.ledger_updates import after
from kafka_mirror.copy.plan.model import HISTORY, Range
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.record import LedgerRecord
from tests.unit.ledger_records import ledger_record

TP = TopicPartition("orders", 0)
INTO = Topic("history.east.orders", "history-id", ())

times = st.integers(0, 60)
logs = st.tuples(st.integers(0, 5), st.lists(times, max_size=40))
"""The log start, and the timestamp of each record from there on, in whatever order."""


def first_at(log: tuple[int, list[int]], time: int) -> int | None:
    """What a broker answers: the first offset whose record is stamped then or later."""
    start, stamps = log
    return next((start + index for index, stamp in enumerate(stamps) if stamp >= time), None)


def interval(log: tuple[int, list[int]], first: int, behind: int) -> OffsetInterval:
    start, stamps = log
    return offset_interval(TP, first_at(log, first), first_at(log, behind), start, start + len(stamps))


@given(logs, st.lists(times, min_size=2, max_size=8).map(sorted))
def test_intervals_of_times_that_tile_tile_in_offsets(log: tuple[int, list[int]], borders: list[int]) -> None:
    tiles = [interval(log, first, behind) for first, behind in pairwise(borders)]
    whole = interval(log, borders[0], borders[-1])

    offsets = [offset for tile in tiles for offset in range(tile.start, tile.end)]

    assert offsets == list(range(whole.start, whole.end)), "each offset between the ends in one of them, none twice"


@given(logs, times, times)
def test_what_is_stamped_behind_an_interval_is_never_in_it(log: tuple[int, list[int]], first: int, length: int) -> None:
    start, stamps = log
    found = interval(log, first, first + length)
    assert all(stamps[offset - start] < first + length for offset in range(found.start, found.end))
    assert start <= found.start <= found.end <= start + len(stamps)
    if not found.is_provisional:
        assert stamps[found.end - start] >= first + length


@given(logs, times, times, st.integers(0, 50))
def test_cut_has_every_offset_of_the_interval_in_one_part(log: tuple[int, list[int]], first: int, length: int, live_start: int) -> None:
    found = interval(log, first, first + length)
    parts = cut(found, live_start)
    below, above = list(range(*parts.history)), list(range(*parts.live))
    assert below + above == list(range(found.start, found.end))
    assert all(offset < live_start for offset in below)
    assert all(offset >= live_start for offset in above)


def test_interval_that_reaches_the_end_is_provisional_and_one_at_the_log_start_may_lack_records() -> None:
    log = (3, [10, 20, 30])
    assert interval(log, 20, 31).is_provisional
    assert not interval(log, 10, 30).is_provisional
    assert interval(log, 10, 30).begins_at_log_start
    assert not interval(log, 11, 30).begins_at_log_start
    assert not interval((0, [10]), 10, 11).begins_at_log_start, "a log that begins at 0 lost nothing"


def test_record_that_came_after_the_end_was_asked_for_belongs_to_no_interval_yet() -> None:
    found = offset_interval(TP, 7, None, 0, 5)
    assert (found.start, found.end, found.is_provisional) == (5, 5, True)


# ------------------------------------------------------------ writing what was cut


class Partition:
    """A partition's ledger record and the topics that are written, as a lane would."""

    def __init__(self, live_start: int) -> None:
        self.record: LedgerRecord = ledger_record(watermark=live_start, start=live_start, target_next=0, records=0)
        self.target: list[int] = []

    def fill(self, wanted: tuple[int, int], step: int) -> None:
        """Writes what is missing of it, at most `step` records in one attempt."""
        while True:
            seen, part = view(self.record, Range(*TP, "source-topic-id", *wanted, HISTORY), INTO)
            if not part.offsets:
                return
            end = min(part.end, part.start + step)
            target = len(self.target)
            self.target += range(part.start, end)
            runs = (Run(part.start, target, end - part.start),)
            moved = PartitionProgress(TP, end, runs=runs, records=end - part.start, bytes=1, target_next=target + end - part.start)
            self.record = stored(self.record, after(seen, moved, None))


@given(
    logs,
    st.integers(0, 45),
    st.lists(st.tuples(times, times.filter(bool)), min_size=1, max_size=6),
    st.integers(1, 7),
)
def test_history_is_written_once_whatever_the_order_and_overlap_of_the_days(
    log: tuple[int, list[int]], live_start: int, days: list[tuple[int, int]], step: int
) -> None:
    partition = Partition(live_start)
    wanted: set[int] = set()
    for first, length in days:
        history = cut(interval(log, first, first + length), live_start).history
        partition.fill(history, step)
        wanted |= set(range(*history))

    assert sorted(partition.target) == sorted(wanted), "each offset of the days below the start, once"
    for place in partition.record.places_of_history:
        assert partition.target[place.target_start : place.target_end] == list(range(place.start, place.end)), "where the ledger says"
    again = replace(partition.record)
    for first, length in days:
        partition.fill(cut(interval(log, first, first + length), live_start).history, step)
    assert partition.record == again, "the second time nothing is written"
    assert (again.watermark, again.target_next, again.offset_map) == (live_start, 0, partition.record.offset_map)
