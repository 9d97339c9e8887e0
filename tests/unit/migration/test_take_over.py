"""A lane that is taken over: what the ledger says of its partitions then, and a second look after another broker told something else."""

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.copy.plan.target_checks import RemotePartition, ends_with_ours, window
from kafka_mirror.copy.plan.target_errors import _is_end_ours
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.offset_sync_store import SyncPair
from kafka_mirror.ledger.control_records import HANDED_BACK, TAKEN_OVER
from kafka_mirror.ledger.record import Decided, LastRecord
from kafka_mirror.migration.mm2_state import TakeOverSurvey
from kafka_mirror.migration.tail_match import Mm2Partition, Position
from kafka_mirror.migration.take_over import TakenLane
from tests.unit.ledger_records import ledger_record

ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
AT = datetime(2026, 11, 22, tzinfo=UTC)
BEFORE = ledger_record(
    covered=((0, 100),),
    records=90,
    bytes=9_000,
    last=LastRecord(1, 2, 3),
    handed_back=Decided(HANDED_BACK, "ana", AT, "why"),
)
KNOWN = SyncPair(100, 101)


def taken(before=BEFORE, known=KNOWN, pairs=()):
    """The record that take-over writes where MirrorMaker 2 went on to source offset 120, and the target ends at 130."""
    remote = SimpleNamespace(id="target-topic-id")
    target = SimpleNamespace(offsets=lambda _remotes, _what: {REMOTE: 130}, topics=lambda _names: {REMOTE.topic: remote})
    source = SourceOffsets(ORDERS, "source-topic-id", 0, 120, 120, leader_epoch=0)
    found = TakeOverSurvey(sources={ORDERS: source}, remotes={"orders": remote})
    left = Mm2Partition(ORDERS, REMOTE, 119, 0, 120, 0, 130, copied=known)
    plan = SimpleNamespace(source_cluster_id="source-id", target_cluster_id="target-id")
    lane = TakenLane(target, plan, 16, found, {ORDERS: left}, {ORDERS: Position(120, pairs)}, Decided(TAKEN_OVER, "ana", AT, "why"))
    written = lane.change({ORDERS: before} if before else {}, BEFORE.writer)
    assert lane.errors == []
    return written[ORDERS]


@pytest.mark.parametrize("known", [KNOWN, None])
def test_the_totals_of_what_the_mirror_copied_go_on(known):
    """Also where our own copy is no longer to be found: the metrics count what was copied, whatever became of it."""
    record = taken(known=known)
    assert (record.watermark, record.totals) == (120, (90, 9_000))
    again = taken(replace(record, records=5, bytes=50, handed_back=BEFORE.handed_back), known)
    assert again.totals == (95, 9_050)


def test_the_first_take_over_has_copied_nothing():
    record = taken(before=None, known=None)
    assert (record.totals, record.last) == ((0, 0), None)


def test_a_record_right_behind_the_taken_end_is_looked_at():
    """Behind what we copied stands a marker of ours; behind what was taken over it may be somebody's record, and of ours none was lost."""
    pairs = tuple(SyncPair(offset, offset + 10) for offset in range(110, 120))
    record = taken(pairs=pairs)
    assert record.offset_map.target_end == record.target_next
    assert not ends_with_ours(record)
    assert not _is_end_ours(record, 131)
    assert window(RemotePartition(ORDERS, REMOTE.topic, None, last_stable=131, end=131), record) == (130, 131)


def test_what_a_deposed_leader_made_look_like_a_change_is_no_error_of_the_next_look():
    target = SimpleNamespace(offsets=lambda *_: {REMOTE: 7}, topics=lambda _: {})
    left = {ORDERS: Mm2Partition(ORDERS, REMOTE, None, 0, 7, 0, 7)}
    lane = TakenLane(target, Plan("east->west", ()), 1, TakeOverSurvey(), left, {}, Decided(HANDED_BACK, "ana", AT, "why"))
    for _ in range(2):
        assert lane.change({ORDERS: ledger_record(watermark=7)}, None) == {}
        assert [error.code for error in lane.errors] == ["TakeOverRefused"]
