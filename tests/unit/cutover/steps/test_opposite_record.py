"""The ledger record of the way back, field by field; and its map against both logs: no reader of the copies misses anything."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_mirror.copy.ledger_updates import advance_record
from kafka_mirror.copy.model import PartitionProgress
from kafka_mirror.cutover.steps.opposite_record import make_opposite_map, make_opposite_record
from kafka_mirror.formats.offsets.map import OffsetMap, Run, runs_of
from kafka_mirror.groups.translation import EXACT, NONE, SourceState, translate
from kafka_mirror.ledger.codec import decode, encode
from kafka_mirror.ledger.control_records import RETURNED
from kafka_mirror.ledger.record import Decided, LedgerRecord, Skipped
from tests.unit.decision_records import DECIDED_AT
from tests.unit.groups.mirror_life import SOURCE_ID, TARGET_ID, TP, MirrorLife
from tests.unit.groups.test_never_late import LOST_BEHIND_A_RESTART, LOST_TWICE, RESTARTED_TWICE, at_most, lives
from tests.unit.ledger_records import ledger_record

FORWARD = ledger_record(
    watermark=52, target_next=31, source_topic_id="there", target_topic="orders", offset_map=OffsetMap((Run(10, 5, 3), Run(30, 14, 17)))
)
DECIDED = Decided(RETURNED, "somebody", DECIDED_AT, "because")


def opposite(record: LedgerRecord, before: LedgerRecord | None = None) -> LedgerRecord:
    return make_opposite_record(record, before, topic="orders", lanes=3, leader_epoch=7, decided=DECIDED, writer=record.writer)


def test_both_sides_change_places():
    record = opposite(FORWARD)
    assert (record.watermark, record.leader_epoch, record.target_topic, record.lanes) == (31, 7, "orders", 3)
    assert (record.source_topic_id, record.target_topic_id) == ("target-topic-id", "there")
    assert (record.source_cluster_id, record.target_cluster_id) == ("target-id", "source-id")
    assert (record.offset_map.runs, record.decided) == ((Run(5, 10, 3), Run(14, 30, 17)), DECIDED)
    assert (record.records, record.live_start, record.covered, record.moved) == (0, 0, (), None)
    assert record.target_next == 47, "right behind the last record: what follows up to the watermark are markers"


@pytest.mark.parametrize(
    "record",
    [
        replace(FORWARD, skipped=(Skipped(48, 50, "refused"),)),
        replace(FORWARD, offset_map=FORWARD.offset_map.with_mark(True)),
        replace(FORWARD, offset_map=OffsetMap()),
    ],
)
def test_where_records_may_stand_behind_the_last_copied_one_the_way_back_writes_behind_the_watermark(record):
    assert opposite(record).target_next == record.watermark


def test_offsets_that_were_passed_over_leave_a_hole():
    record = replace(FORWARD, skipped=(Skipped(20, 21, "refused"),))
    assert opposite(record).offset_map.runs == (Run(5, 10, 3), Run(14, 30, 17, True))


def test_the_first_direction_keeps_what_it_knew_and_learns_what_flowed_back():
    before = replace(FORWARD, records=20, bytes=200, covered=((10, 52),), start=10, moved=Decided("moved", "x", DECIDED_AT, "y"))
    back = opposite(before)
    flowed = replace(
        back, watermark=40, target_next=59, offset_map=back.offset_map.with_runs([Run(32, 52, 7)]), records=7, covered=((31, 40),)
    )
    record = opposite(flowed, before)
    assert (record.watermark, record.moved, record.live_start, record.totals) == (59, None, 10, (20, 200))
    assert record.offset_map.runs == (*FORWARD.offset_map.runs, Run(52, 32, 7))
    assert record.covered == ((10, 59),), "both sides hold the same of what flowed back"


def test_after_a_decision_the_map_of_before_is_trusted_no_more():
    before = replace(FORWARD, covered=((10, 52),))
    restarted = Decided("restart", "somebody", DECIDED_AT + timedelta(hours=1), "because")
    back = replace(opposite(before), decided=restarted, offset_map=OffsetMap((Run(32, 52, 7),)), watermark=40, target_next=59)
    record = opposite(back, before)
    assert (record.offset_map.runs, record.covered) == ((Run(52, 32, 7),), ((10, 52),))


def test_a_topic_that_was_created_anew_begins_without_what_was_known_of_the_old_one():
    assert opposite(FORWARD, ledger_record(source_topic_id="gone", covered=((0, 9),))).covered == ()


COPIED_TWICE = [("produce", 20, 1), ("copy", 15, 0), ("copy", 15, 0), ("restart", 5), ("copy", 30, 0), ("produce", 9, 0), ("copy", 9, 0)]
"""A reader among the newer copies has read the older ones of what lies ahead."""


def way_back(forward, before=None):
    return make_opposite_record(forward, before, topic="orders", lanes=4, leader_epoch=0, decided=DECIDED, writer=forward.writer)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([0, 0, 30]), st.sampled_from([12, 24, 60, 120, 1536]), lives)
@example(0, 1536, COPIED_TWICE)
@example(30, 1536, LOST_TWICE)
@example(30, 12, LOST_BEHIND_A_RESTART)
@example(30, 24, RESTARTED_TWICE)
def test_whatever_happened_a_reader_that_goes_the_way_back_misses_nothing(start, size, events):
    with at_most(size):
        life = MirrorLife(start)
        for name, *numbers in events:
            getattr(life, name)(*numbers)
        if not life.waits:
            assert_never_late(life)


def assert_never_late(life):
    """Of every position of the copies, on whose side the producers are now."""
    back, copies = way_back(life.record), life.ever()
    live = {position for position, _ in life.copies if position not in life.history}
    is_copying_again = life.record.older is not None and life.record.older.offset_map is not None
    assert (back.watermark, back.source_topic_id, back.target_topic_id) == (life.record.target_next, life.target_id, life.source_id)
    for position in range(life.head, life.record.target_next + 1):
        found = translate(position, back, SourceState(life.target_id, life.end), life.source_id)
        assert found.kind != NONE
        unread = [source for source, positions in copies.items() if min(positions) >= position]
        assert found.target <= min(unread, default=found.target), f"a reader at {position} is told {found.target}: {found}"
        if found.kind == EXACT and not is_copying_again:
            again = [s for s, positions in copies.items() if s >= found.target and min(positions) < position and min(positions) in live]
            assert not again, f"a reader at {position} is told {found.target} and reads {again} again"
    for run in back.offset_map.runs:
        for ahead in range(run.length):
            assert (run.source + ahead, run.target + ahead) in life.copies


def test_a_run_reads_the_same_in_both_directions():
    forward = ledger_record(watermark=51, target_next=26, offset_map=OffsetMap((Run(10, 5, 3), Run(30, 14, 2, True), Run(40, 16, 10))))
    assert make_opposite_map(forward).runs == (Run(5, 10, 3), Run(14, 30, 2, True), Run(16, 40, 10))
    assert make_opposite_map(OffsetMapped(make_opposite_map(forward))).runs == forward.offset_map.runs


def OffsetMapped(offset_map):
    return ledger_record(offset_map=offset_map, watermark=offset_map.source_end, target_next=offset_map.target_end)


class TwoLogs:
    """Two clusters that keep a topic's name, between which one partition moves forth and back. `logs` hold records by their numbers, and
    None for an offset without one."""

    def __init__(self):
        self.logs = {"east": [], "west": []}
        self.here, self.there = "east", "west"
        ids = {"east": SOURCE_ID, "west": TARGET_ID}
        self.ids, self.numbers = ids, 0
        self.records = {"east": ledger_record(watermark=0, target_next=0, records=0, start=0, target_topic="orders"), "west": None}

    @property
    def record(self):
        return self.records[self.here]

    def produce(self, count, gap):
        self.logs[self.here] += [*range(self.numbers, self.numbers + count), *[None] * gap]
        self.numbers += count

    def copy(self, most, broken):
        log, far, record = self.logs[self.here], self.logs[self.there], self.record
        places = [place for place in range(record.watermark, len(log)) if log[place] is not None][:most]
        behind = [place for place in range(record.watermark, len(log)) if log[place] is not None][most:]
        positions = []
        for number, place in enumerate(places):
            far += [None] if broken and number and number % broken == 0 else []
            positions.append(len(far))
            far.append(log[place])
        far += [None] if places else []
        end = positions[-1] + 1 if positions else None
        reached = behind[0] if behind else len(log)
        progress = PartitionProgress(TP, reached, 0, runs_of(places, positions), len(places), 1, end)
        self.records[self.here] = decode(encode(advance_record(record, progress, 0)), "here")

    def move(self):
        self.copy(10_000, 0)
        closed = self.record
        opposite = way_back(closed, self.records[self.there])
        self.records[self.there] = decode(encode(opposite), "here")
        self.here, self.there = self.there, self.here

    def assert_exact(self):
        here, there = self.logs[self.here], self.logs[self.there]
        copied = [number for number in there if number is not None]
        assert copied == [number for number in here[: self.record.watermark] if number is not None]
        place = {number: position for position, number in enumerate(there) if number is not None}
        source = SourceState(self.ids[self.here], len(here))
        for offset in range(self.record.watermark + 1):
            found = translate(offset, self.record, source, self.ids[self.there])
            unread = [number for number in here[offset:] if number in place]
            first = place[unread[0]] if unread else len(there)
            assert found.target <= first, (offset, found, first)
            assert found.kind != EXACT or [n for n in there[found.target :] if n is not None] == unread, (offset, found)


moves = st.one_of(
    st.tuples(st.just("produce"), st.integers(1, 20), st.integers(0, 2)),
    st.tuples(st.just("copy"), st.integers(1, 15), st.sampled_from([0, 0, 1, 3])),
    st.tuples(st.just("copy"), st.integers(1, 15), st.sampled_from([0, 0, 1, 3])),
    st.tuples(st.just("move")),
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([12, 24, 60, 120, 1536]), st.lists(moves, min_size=4, max_size=50))
def test_forth_and_back_any_number_of_times_each_record_is_copied_once_and_readers_find_their_place(size, events):
    with at_most(size):
        logs = TwoLogs()
        for name, *numbers in events:
            getattr(logs, name)(*numbers)
            logs.assert_exact()


def test_while_the_map_is_whole_every_reader_finds_its_very_place_after_three_moves():
    logs = TwoLogs()
    for _ in range(3):
        for name, *numbers in [("produce", 5, 1), ("copy", 3, 2), ("produce", 4, 0), ("move",), ("produce", 2, 1)]:
            getattr(logs, name)(*numbers)
    logs.copy(100, 0)
    here, there = logs.logs[logs.here], logs.logs[logs.there]
    source = SourceState(logs.ids[logs.here], len(here))
    for offset in range(len(here) + 1):
        found = translate(offset, logs.record, source, logs.ids[logs.there])
        assert found.kind == EXACT, (offset, found)
        assert [n for n in there[found.target :] if n is not None] == [n for n in here[offset:] if n is not None]
