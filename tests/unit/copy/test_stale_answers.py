"""What a lane does when a broker that is cut off from its cluster told it where the ledger and the remote partitions end."""

import pytest

from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.copy import lane_protocol
from kafka_mirror.errors import ClusterUnreachable, DeadlineExceeded, KafkaFailure, StaleAnswer, TransactionTooSlow
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_pool import BrokerPool
from kafka_mirror.kafka.idle_connections import IDLE, login_of
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.conftest import LEDGER, MemoryCluster, MemoryEngine, MemoryLedger
from tests.unit.copy.happenings import raising

ORDERS = TopicPartition("orders", 0)
REMOTE = TopicPartition("east.orders", 0)


@pytest.fixture
def told(monkeypatch):
    """`told(MemoryLedger, "read_fenced", change, times)`: so many answers are changed."""

    def make(fake, name, change, times=1):
        real, left = getattr(fake, name), [times]

        def answer(self, *arguments, **options):
            found = real(self, *arguments, **options)
            if left[0]:
                left[0] -= 1
                return change(found)
            return found

        monkeypatch.setattr(fake, name, answer)

    return make


def without_the_newest(lane):
    return type(lane)({}, max(0, lane.end - 2))


def test_a_stale_ledger_is_not_gone_by_and_nothing_is_copied_a_second_time(copy, world, told):
    copy()
    before = dict(world.ends)
    told(MemoryLedger, "read_fenced", without_the_newest)
    result = copy(append_to=frozenset(["orders", "payments"]))  # nothing but the ledger's end can tell
    assert (result.errors, result.transactions) == ((), 0)
    assert world.ends == before
    assert world.log.count("commit") == 1


def test_a_ledger_that_stays_stale_ends_the_lane_with_an_error_that_mends_itself_and_counts_how_often(copy, world, told):
    copy()
    told(MemoryLedger, "read_fenced", without_the_newest, times=100)
    (error,) = copy(append_to=frozenset(["orders", "payments"])).errors
    assert (error.code, error.topic, error.partition, error.retriable) == ("UnexpectedOffset", LEDGER, 0, True)
    assert "4 times" in error.message
    assert world.log.count("commit") == 1


def test_an_attempt_that_was_misled_leaves_the_next_one_no_connection_to_whoever_did_it(copy, world, known):
    known("orders", 7)
    broker, kept = WireBroker(), []

    def another_was_written(_engine):
        if world.engines == 1:
            world.ends.update({REMOTE: 9})
            pool = BrokerPool("west", broker.settings, 2.0)
            kept.append(pool.pick_connection())
            pool.release()
        else:
            kept.append(IDLE.take(("127.0.0.1", broker.port), login_of(broker.settings), 2.0))

    world.happenings["copy"] = another_was_written
    assert copy().errors == ()
    broker.close()
    assert (len(kept), kept[1]) == (2, None)


def test_a_remote_partition_that_goes_on_elsewhere_than_was_told_is_read_again(copy, world, known):
    known("orders", 7)
    world.happenings["copy"] = lambda _engine: world.ends.update({REMOTE: 9} if world.engines == 1 else {})
    result = copy()
    assert (result.errors, world.engines) == ((), 2)
    assert world.ledger[ORDERS].target_next == 12, "behind what somebody else left there"


def test_where_others_may_write_records_may_stand_in_between(copy, world, known):
    known("orders", 7)
    world.happenings["copy"] = lambda _engine: world.ends.update({REMOTE: 9})
    assert copy(append_to=frozenset(["orders"])).errors == ()
    assert world.engines == 1


def test_nobody_is_told_that_records_are_lost_while_another_broker_has_them(copy, world, known, told, lane_task):
    known("orders", 7)
    told(MemoryCluster, "offsets", lambda ends: {tp: 3 if tp == REMOTE else end for tp, end in ends.items()}, times=3)
    clients = {name: {"bootstrap.servers": "127.0.0.1:1,127.0.0.1:2"} for name in vars(lane_task.clients)}
    result = copy(clients=type(lane_task.clients)(**clients))
    assert result.errors == ()
    assert world.ledger[ORDERS].watermark == 10


@pytest.mark.parametrize(
    "failure",
    [
        DeadlineExceeded("a ledger's end was not reached"),
        ClusterUnreachable("west", "deposed:1", 30),
        KafkaFailure("lane 0: fencing earlier attempts failed", reason="NOT_COORDINATOR"),
        TransactionTooSlow(0, 60, 60, written=0.0),
    ],
)
def test_a_broker_that_does_not_answer_in_time_keeps_no_lane_from_the_others(copy, world, lane_task, monkeypatch, failure):
    """Whoever begins anywhere comes upon the deposed leader here each time."""
    asked = []

    def opened(task, _limit):
        asked.append(task.clients.target_producer["bootstrap.servers"])
        if asked[-1].startswith("deposed"):
            raise failure
        return MemoryEngine(world)

    clients = {name: {"bootstrap.servers": "deposed:1,second:1,third:1"} for name in vars(lane_task.clients)}
    monkeypatch.setattr(lane_protocol, "BatchEngine", opened)
    result = copy(clients=ClientSettings(**clients))
    assert (result.errors, asked) == ((), ["deposed:1,second:1,third:1", "second:1"])
    assert world.ledger[ORDERS].watermark == 10


def test_a_stale_answer_about_a_remote_topic_of_the_source_topics_name_leaves_no_partition_out(copy, world):
    world.happenings["copy"] = raising(StaleAnswer(ORDERS, 5, 8), times=1)
    result = copy()
    assert (result.errors, world.engines) == ((), 2)


def test_the_result_says_how_far_the_ledger_reaches(copy, world):
    assert copy().ledger_end == world.ledger_end == 3  # two records and their marker
    assert copy().ledger_end == 3
