"""What is said of partitions without an answer, and what a group is then: a leader that is missing may come back."""

from dataclasses import replace

import pytest

from kafka_mirror.config import load
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import group_context
from kafka_mirror.groups.group_offsets import SKIPPED, SYNCED, UP_TO_DATE, CommitPlan, _judge, _Wanted
from kafka_mirror.groups.group_translation import NOT_MIRRORED, GroupOffset, _LedgerView, _Sides, translate_groups
from kafka_mirror.groups.translation import NONE, no_answer
from kafka_mirror.kafka.groups import Committed
from kafka_mirror.kafka.model import End, Partition, Topic
from tests.unit.ledger_records import ledger_record

ORDERS = [TopicPartition("orders", number) for number in range(3)]


class Topics:
    """Stands in for a cluster: the topics with so many partitions, and those of them that have a leader."""

    def __init__(self, led=(), **counts):
        self._topics = {
            name.replace("_", "."): Topic(name, f"id of {name}", tuple(Partition(number, None, (1,), ()) for number in range(count)))
            for name, count in counts.items()
        }
        self._led = led

    def topics(self, names, errors=None):
        return {name: self._topics[name] for name in names if name in self._topics}

    def ends(self, partitions, errors=None):
        return {tp: End(100, 3) for tp in partitions if tp in self._led}

    def find_shared_ends(self, positions, seconds):
        return {}


@pytest.fixture
def context(tmp_path):
    file = tmp_path / "mm2.properties"
    file.write_text("clusters = east, west\neast.bootstrap.servers = a:1\nwest.bootstrap.servers = b:1\neast->west.enabled = true\n")
    return group_context(load([file], {}).flow("east->west"))


def test_a_missing_leader_is_named_where_the_partition_is_there_and_the_flow_mirrors_it(context):
    source = Topics(led=(ORDERS[0],), orders=2, west_orders=1, south_west_orders=1)
    upstream, circle, gone = (TopicPartition(name, 0) for name in ("west.orders", "south.west.orders", "gone"))
    offsets = {group: {tp: Committed(95) for tp in (*ORDERS, upstream, circle, gone)} for group in ("a", "b")}
    found = translate_groups(context, offsets, source, Topics(east_orders=3, orders=1, east_gone=1))
    reasons = {each.source: each.translated.reason for each in found.offsets}
    leaderless = "the partition has no leader on the source"
    assert reasons == {
        ORDERS[0]: "nothing of the partition was mirrored yet",
        ORDERS[1]: leaderless,
        ORDERS[2]: "the source has no such partition",
        upstream: leaderless,
        circle: NOT_MIRRORED,
        gone: "the source has no such partition",
    }
    assert [(error.code, error.topic, error.partition, error.retriable) for error in found.errors] == [
        ("SourceUnreadable", "orders", 1, True),
        ("SourceUnreadable", "west.orders", 0, True),
    ], "once for all groups"


def test_what_was_committed_of_a_lost_branch_is_read_up_to_where_the_log_departs_from_it(context, monkeypatch):
    source = Topics(led=ORDERS, orders=3)
    asked = []

    def shared_ends(positions, _seconds):
        asked.append(sorted(positions))
        return {position: 40 for position in positions if position.partition != ORDERS[2]}

    monkeypatch.setattr(source, "find_shared_ends", shared_ends)
    record = ledger_record(watermark=90, target_next=90, covered=((0, 90),), offset_map=OffsetMap((Run(0, 0, 90),)), start=0)
    record = replace(record, source_topic_id="id of orders", target_topic_id="id of east_orders")
    monkeypatch.setattr(_Sides, "_read", lambda self, *_: _LedgerView(dict.fromkeys(ORDERS, record)))
    commits = {ORDERS[0]: Committed(70, leader_epoch=2), ORDERS[1]: Committed(70, leader_epoch=3), ORDERS[2]: Committed(70, leader_epoch=1)}
    offsets = {"a": commits, "b": {ORDERS[0]: Committed(30, leader_epoch=1)}}
    found = {(each.group, each.source): each for each in translate_groups(context, offsets, source, Topics(east_orders=3)).offsets}
    lost, whole, silent = (found["a", tp] for tp in ORDERS)
    assert (lost.translated.target, lost.committed.offset, lost.read_until) == (40, 70, 40)
    assert (whole.translated.target, found["b", ORDERS[0]].translated.target) == (70, 30)
    assert (silent.translated.kind, silent.translated.reason.startswith("its leader does not say")) == (NONE, True)
    assert asked == [[(ORDERS[0], 1, 30), (ORDERS[0], 2, 70), (ORDERS[2], 1, 70)]]


THERE, NEW, LOST = (TopicPartition("east.orders", number) for number in range(3))
UNANSWERED = GroupOffset("g", ORDERS[1], Committed(95), NEW, no_answer("whatever may pass"), None)
ELSEWHERE = GroupOffset("g", ORDERS[1], Committed(95), NEW, no_answer(NOT_MIRRORED), None)


@pytest.mark.parametrize(
    ("unanswered", "decided", "refused", "state"),
    [
        ((), CommitPlan({}, (THERE,)), {}, UP_TO_DATE),
        ((ELSEWHERE,), CommitPlan({}, (THERE,)), {}, UP_TO_DATE),
        ((UNANSWERED,), CommitPlan({}, (THERE,)), {}, SKIPPED),
        ((ELSEWHERE, UNANSWERED), CommitPlan({}, (THERE,)), {}, SKIPPED),
        ((), CommitPlan({}, (THERE,), missing=(LOST,)), {}, SKIPPED),
        ((), CommitPlan({LOST: 1}, (THERE,)), {LOST: "UNKNOWN_TOPIC_OR_PARTITION"}, SKIPPED),
        ((UNANSWERED,), CommitPlan({NEW: 1}, (THERE,)), {}, SYNCED),
    ],
)
def test_a_group_is_up_to_date_only_if_no_partition_of_it_waits(unanswered, decided, refused, state):
    outcome = _judge("g", _Wanted(unanswered=list(unanswered)), decided, refused)
    assert outcome.state == state
    assert all(each.translated.reason in outcome.reason for each in unanswered)
