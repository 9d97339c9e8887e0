"""The ledger record of the way back: what each field of it comes from, and what of an earlier one stays."""

from dataclasses import replace
from datetime import timedelta

import pytest

from kafka_mirror.cutover.steps.opposite_record import make_opposite_record
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.ledger.control_records import RETURNED
from kafka_mirror.ledger.record import Decided, LedgerRecord, Skipped
from tests.unit.decision_records import DECIDED_AT
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
