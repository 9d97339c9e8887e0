"""The newest records of a log that this process has read before: only what follows is read, and only of the same log."""

import uuid

import pytest
from kafka.protocol.consumer import FetchRequest

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.asked_cluster import AskedCluster
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.log_reader import LogMemory, LogState, newest_records
from kafka_mirror.kafka.produce_request import keyed_batches

LEDGER = TopicPartition("mm2-ledger.east.internal", 0)


def write(broker, *records):
    for key, value in records:
        (batch,) = keyed_batches([(key, value)], 1000)
        broker.log(*LEDGER).append(bytes(batch.data))


@pytest.fixture
def broker(broker):
    write(broker, (b"a", b"1"), (b"b", b"2"), (b"a", b"3"))
    return broker


def newest(broker, end=None):
    """Key, value and offset, asked by somebody new in this process."""
    connections = AskedCluster("west", broker.settings, 30.0)
    records = newest_records(connections, broker.settings, {LEDGER: (0, broker.log(*LEDGER).end if end is None else end)})
    connections.close()
    return [(record.key, record.value, record.offset) for record in records]


def positions(broker):
    """From where each fetch read."""
    return [request.topics[0].partitions[0].fetch_offset for request in broker.of(FetchRequest)]


def test_each_key_comes_once_in_the_order_in_which_it_was_written(broker):
    assert newest(broker) == [(b"b", b"2", 1), (b"a", b"3", 2)]


def test_who_reads_again_reads_what_follows(broker):
    newest(broker)
    write(broker, (b"b", b"4"))
    assert newest(broker) == [(b"a", b"3", 2), (b"b", b"4", 3)]
    assert positions(broker) == [0, 3]
    assert broker.of(FetchRequest)[-1].topics[0].partitions[0].last_fetched_epoch == 0


def test_a_log_that_has_not_grown_is_asked_whether_it_is_the_same(broker):
    newest(broker)
    assert newest(broker) == [(b"b", b"2", 1), (b"a", b"3", 2)]
    assert positions(broker) == [0, 3]


def test_a_log_that_went_another_way_is_read_from_its_beginning(broker):
    newest(broker)
    broker.log(*LEDGER).elect(1)
    write(broker, (b"c", b"5"), (b"c", b"6"))
    assert newest(broker) == [(b"a", b"1", 0), (b"c", b"6", 2)]
    assert positions(broker)[-1] == 0


def test_a_log_that_is_shorter_than_before_is_read_from_its_beginning(broker):
    newest(broker)
    log = broker.log(*LEDGER)
    log.batches, log.end = log.batches[:2], 2
    assert newest(broker) == [(b"a", b"1", 0), (b"b", b"2", 1)]
    assert positions(broker) == [0, 0]


def test_a_topic_that_was_created_anew_is_another_log(broker):
    newest(broker)
    broker.topic_ids[LEDGER.topic] = uuid.uuid4()
    write(broker, (b"c", b"7"))
    newest(broker)
    assert positions(broker) == [0, 0]


def test_what_stands_behind_the_end_is_neither_given_nor_remembered(broker):
    assert newest(broker, end=2) == [(b"a", b"1", 0), (b"b", b"2", 1)]
    assert newest(broker) == [(b"b", b"2", 1), (b"a", b"3", 2)]
    assert positions(broker) == [0, 2]


def test_records_of_an_aborted_transaction_do_not_replace_older_ones(broker):
    newest(broker)
    (batch,) = keyed_batches([(b"a", b"8")], 1000)
    header, rest = batch.stamp_producer(7, 0, 0)
    broker.log(*LEDGER).append(header + bytes(rest))
    broker.log(*LEDGER).aborted.append((7, 3))
    assert newest(broker) == [(b"b", b"2", 1), (b"a", b"3", 2)]


def state(value=b"1"):
    from kafka_mirror.formats.batches.batch_records import StoredRecord

    return LogState(1, 0, {b"a": StoredRecord(LEDGER, 0, b"a", value)})


def test_a_deleted_key_is_not_remembered_for_compaction_takes_out_what_deletes_it():
    memory = LogMemory()
    memory.keep(("id", 0), state())
    memory.keep(("id", 0), state(None))
    assert memory.recall(("id", 0), 9) is None


def test_what_was_read_least_recently_makes_room():
    memory = LogMemory(most_bytes=2 * state().bytes)
    for number in (0, 1, 0, 2):
        memory.keep(("id", number), state())
    assert [number for number in range(3) if memory.recall(("id", number), 9)] == [0, 2]


def test_a_topic_without_an_id_is_not_remembered():
    memory = LogMemory()
    memory.keep(("AAAAAAAAAAAAAAAAAAAAAA", 0), state())
    assert memory.recall(("AAAAAAAAAAAAAAAAAAAAAA", 0), 9) is None


def test_a_range_that_begins_further_on_is_read_by_itself_and_remembered_by_nobody(broker):
    with Cluster("west", broker.settings, 30.0) as cluster:
        for _ in range(2):
            assert [record.offset for record in newest_records(cluster, broker.settings, {LEDGER: (1, 3)})] == [1, 2]
    assert positions(broker) == [1, 1]
