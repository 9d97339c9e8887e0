"""What is said of partitions without an answer, and what a group is then: a leader that is missing may come back."""

import pytest

from mirror.config import load
from mirror.kafka.groups import Committed
from mirror.kafka.model import End, Partition, Topic
from mirror.offsets.partition import TopicPartition
from mirror.sync.groups.context import group_context
from mirror.sync.groups.offsets import SKIPPED, SYNCED, UP_TO_DATE, _outcome, _Wanted
from mirror.sync.groups.translate import NOT_MIRRORED, GroupOffset, translate_groups
from mirror.translation.group_rules import ToCommit
from mirror.translation.translate import no_answer

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


THERE, NEW, LOST = (TopicPartition("east.orders", number) for number in range(3))
UNANSWERED = GroupOffset("g", ORDERS[1], Committed(95), NEW, no_answer("whatever may pass"), None)
ELSEWHERE = GroupOffset("g", ORDERS[1], Committed(95), NEW, no_answer(NOT_MIRRORED), None)


@pytest.mark.parametrize(
    ("unanswered", "decided", "refused", "state"),
    [
        ((), ToCommit({}, (THERE,)), {}, UP_TO_DATE),
        ((ELSEWHERE,), ToCommit({}, (THERE,)), {}, UP_TO_DATE),
        ((UNANSWERED,), ToCommit({}, (THERE,)), {}, SKIPPED),
        ((ELSEWHERE, UNANSWERED), ToCommit({}, (THERE,)), {}, SKIPPED),
        ((), ToCommit({}, (THERE,), missing=(LOST,)), {}, SKIPPED),
        ((), ToCommit({LOST: 1}, (THERE,)), {LOST: "UNKNOWN_TOPIC_OR_PARTITION"}, SKIPPED),
        ((UNANSWERED,), ToCommit({NEW: 1}, (THERE,)), {}, SYNCED),
    ],
)
def test_a_group_is_up_to_date_only_if_no_partition_of_it_waits(unanswered, decided, refused, state):
    outcome = _outcome("g", _Wanted(unanswered=list(unanswered)), decided, refused)
    assert outcome.state == state
    assert all(each.translated.reason in outcome.reason for each in unanswered)
