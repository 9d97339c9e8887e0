"""The map of the way back against both logs: a reader of the copies that goes on at the originals misses none of what it has not read."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mirror.cutover.opposite_record import opposite_record
from mirror.formats.control import RETURNED
from mirror.formats.ledger import Decided
from mirror.offsets.map import OffsetMap, Run
from mirror.translation.opposite_map import opposite_map
from mirror.translation.translate import EXACT, NONE, SourceState, translate
from tests.unit.decision_records import DECIDED_AT
from tests.unit.ledger_records import ledger_record
from tests.unit.translation.mirror_life import SOURCE_ID, TARGET_ID, MirrorLife
from tests.unit.translation.test_never_late import LOST_BEHIND_A_RESTART, LOST_TWICE, RESTARTED_TWICE, at_most, lives

RETURN = Decided(RETURNED, "somebody", DECIDED_AT, "because")


def way_back(forward, before=None):
    return opposite_record(forward, before, topic="orders", lanes=4, leader_epoch=0, decided=RETURN, writer=forward.writer)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([0, 0, 30]), st.sampled_from([12, 24, 60, 120, 1536]), lives)
@example(30, 1536, LOST_TWICE)
@example(30, 12, LOST_BEHIND_A_RESTART)
@example(30, 24, RESTARTED_TWICE)
def test_whatever_happened_a_reader_that_goes_the_way_back_misses_nothing(start, size, events):
    with at_most(size):
        life = MirrorLife(start)
        for name, *numbers in events:
            getattr(life, name)(*numbers)
        assert_never_late(life)


def assert_never_late(life):
    """Of every position of the copies, on whose side the producers are now."""
    back, copies = way_back(life.record), life.ever()
    live = {position for position, _ in life.copies if position not in life.history}
    is_copying_again = life.record.older is not None and life.record.older.offset_map is not None
    assert (back.watermark, back.source_topic_id, back.target_topic_id) == (life.record.target_next, TARGET_ID, SOURCE_ID)
    for position in range(life.head, life.record.target_next + 1):
        found = translate(position, back, SourceState(TARGET_ID, life.end), SOURCE_ID)
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
    assert opposite_map(forward).runs == (Run(5, 10, 3), Run(14, 30, 2, True), Run(16, 40, 10))
    assert opposite_map(OffsetMapped(opposite_map(forward))).runs == forward.offset_map.runs


def OffsetMapped(offset_map):  # noqa: N802 — reads as the record of a map
    return ledger_record(offset_map=offset_map, watermark=offset_map.source_end, target_next=offset_map.target_end)
