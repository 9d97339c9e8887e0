"""Records that are written only behind what was read: a writer that another one fences says so, whenever it learns of it."""

import pytest
from kafka.protocol.producer import AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, ProduceRequest

from kafka_mirror.errors import AuthorizationRefused, ClusterUnreachable, UnexpectedOffset
from kafka_mirror.formats.batches.batch_records import records_of, unpack_records
from kafka_mirror.formats.batches.record_batch import batches_in
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.produce_request import Outgoing, keyed_batches
from kafka_mirror.kafka.transactions import Fenced, fence
from kafka_mirror.ledger.compare_and_set import CommitInDoubt, ConditionalWriter, LogEnd, await_readable
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.batches.wire_protocol import INVALID_PRODUCER_EPOCH, KAFKA_2_8, PRODUCER_FENCED

LOG = TopicPartition("mm2-control.east.internal", 0)
REMOTE = TopicPartition("east.orders", 3)
ID = "mirror.4.east.16.control"
UNKNOWN, NOT_LEADER, NOT_COORDINATOR, TOPIC_DENIED, ID_DENIED, CONCURRENT = -1, 6, 16, 29, 53, 51


@pytest.fixture(params=[1, 2], ids=["transactions 1", "transactions 2"])
def west(request):
    """Its control topic ends at 2."""
    broker = WireBroker()
    broker.transaction_version = request.param
    if request.param == 1:
        broker.versions = dict(KAFKA_2_8)
    for key in (b"a", b"b"):
        (batch,) = keyed_batches([(key, b"1")], 1000)
        broker.log(*LOG).append(bytes(batch.data))
    yield broker
    broker.close()


def write(broker, end=2, seconds=5.0):
    """Two records behind this end."""
    records = [Outgoing(LOG.topic, key, b"v") for key in (b"k", b"l")]
    ConditionalWriter("west", broker.settings, ID, seconds).write(records, LOG, end, "the decision")


def stored(broker):
    """Offset, key and value of what stands behind the end."""
    return [
        (record.offset, record.key, record.value)
        for data in broker.log(*LOG).batches[2:]
        for batch in batches_in(data)
        for record in records_of(LOG, batch, unpack_records(batch))
    ]


def test_records_that_land_at_the_end_that_was_read_are_committed(west):
    write(west)
    assert stored(west) == [(2, b"k", b"v"), (3, b"l", b"v")]
    assert (west.committed, west.aborted) == ([{LOG}], 0)


def test_records_that_land_elsewhere_are_aborted(west):
    with pytest.raises(UnexpectedOffset) as raised:
        write(west, end=1)
    assert (raised.value.topic, raised.value.partition) == LOG
    assert (west.committed, west.aborted) == ([], 1)


@pytest.mark.parametrize("request_type", [InitProducerIdRequest, EndTxnRequest])
@pytest.mark.parametrize("code", [PRODUCER_FENCED, INVALID_PRODUCER_EPOCH])
def test_a_writer_that_its_coordinator_says_is_fenced_has_written_nothing(west, request_type, code):
    west.refusals[request_type, None].append(code)
    with pytest.raises(Fenced):
        write(west)
    assert west.committed == []


def test_a_writer_that_the_leader_says_is_fenced_has_written_nothing(west):
    west.refusals[ProduceRequest, LOG].append(INVALID_PRODUCER_EPOCH)
    with pytest.raises(Fenced):
        write(west)
    assert (stored(west), west.committed) == ([], [])


def test_a_writer_that_somebody_fences_in_its_transaction_has_written_nothing(west):
    """The other one begins between the records and their commit."""
    answer = west._answers[EndTxnRequest]

    def end_after_the_other(request):
        west.answers.clear()
        west.owners[ID].epoch += 1
        return answer(west, request)

    west.answers[EndTxnRequest] = end_after_the_other
    with pytest.raises(Fenced):
        write(west)
    assert west.committed == []


def test_a_commit_of_which_the_broker_says_nothing_is_in_doubt_once_a_later_producer_has_ended_it(west):
    west.refusals[EndTxnRequest, None].append(UNKNOWN)
    with pytest.raises(CommitInDoubt):
        write(west)
    assert isinstance(west.requests[-1], InitProducerIdRequest)
    assert west.committed == []


def test_a_commit_whose_connection_breaks_is_in_doubt_although_it_was_made(west):
    west.hangs_up_on = EndTxnRequest
    with pytest.raises(CommitInDoubt):
        write(west)
    assert isinstance(west.requests[-1], InitProducerIdRequest)
    assert west.committed == [{LOG}]


@pytest.mark.parametrize("code", [NOT_LEADER, CONCURRENT])
def test_a_leader_that_takes_nothing_yet_is_asked_again_in_the_same_transaction(west, code):
    west.refusals[ProduceRequest, LOG].extend([code] * 2)
    write(west)
    assert stored(west) == [(2, b"k", b"v"), (3, b"l", b"v")]
    assert len(west.of(InitProducerIdRequest)) == 1


def test_a_coordinator_that_moves_before_anything_is_written_is_looked_for_again(west):
    west.refusals[InitProducerIdRequest, None].append(NOT_COORDINATOR)
    west.refusals[AddPartitionsToTxnRequest, LOG].append(NOT_COORDINATOR)
    write(west)
    assert west.committed == [{LOG}]


def test_what_is_refused_is_named(west):
    west.refusals[ProduceRequest, LOG].append(TOPIC_DENIED)
    with pytest.raises(AuthorizationRefused, match=f"WRITE on topic {LOG.topic}"):
        write(west)
    west.refusals[InitProducerIdRequest, None].append(ID_DENIED)
    with pytest.raises(AuthorizationRefused, match=f"WRITE on the transactional id {ID}"):
        write(west)
    assert west.committed == []


def test_a_cluster_that_is_away_is_the_error(west):
    west.close()
    with pytest.raises(ClusterUnreachable):
        write(west, seconds=0.5)


def test_fencing_ends_what_is_open_under_each_id(west):
    west.owners["mm2-0"].begun.add(LOG)
    fence("west", west.settings, ["mm2-0", "mm2-1"], 5.0)
    assert [request.transactional_id for request in west.of(InitProducerIdRequest)] == ["mm2-0", "mm2-1"]
    assert west.aborted == 1


class Markers:
    """A target whose last stable offsets reach these values, one look after another."""

    def __init__(self, *looks: dict[TopicPartition, int]) -> None:
        self.looks = list(looks)
        self.asked: list[set[TopicPartition]] = []

    def offsets(self, partitions, _spec, *, committed):
        assert committed
        self.asked.append(set(partitions))
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]


def test_each_partition_is_looked_at_until_its_marker_can_be_read():
    markers = Markers({LOG: 6, REMOTE: 40}, {LOG: 6}, {LOG: 7})
    assert await_readable(markers, {LOG: 7, REMOTE: 40}, 5) == {}
    assert markers.asked == [{LOG, REMOTE}, {LOG}, {LOG}]


def test_what_cannot_be_read_in_time_is_given():
    assert await_readable(Markers({LOG: 6, REMOTE: 40}), {LOG: 7, REMOTE: 40}, 0.05) == {LOG: 6}


LEDGER, ORDERS = TopicPartition("mm2-ledger.east.internal", 3), TopicPartition("orders", 1)


def test_each_transaction_follows_the_marker_of_the_one_before():
    end = LogEnd(LEDGER, 10)
    end.extend([(10, 1), (11, 2)])
    end.pass_marker()
    end.pass_marker()  # one that wrote nothing here has no marker here
    end.extend([(14, 1)])
    assert end.next == 15


@pytest.mark.parametrize("delivered", [[(9, 1)], [(11, 1)], [(-1, 1)], [(10, 1), (12, 1)], [(10, 2), (11, 1)]])
def test_a_record_that_lands_anywhere_else_must_not_be_committed(delivered):
    with pytest.raises(UnexpectedOffset) as raised:
        LogEnd(LEDGER, 10).extend(delivered)
    assert (raised.value.log, raised.value.delivered) == (LEDGER, delivered[-1][0])
    assert (raised.value.topic, raised.value.partition, raised.value.retriable) == (*LEDGER, True)


def test_without_the_marker_of_the_last_transaction_a_record_is_too_early():
    end = LogEnd(LEDGER, 10)
    end.extend([(10, 1)])
    end.pass_marker()
    with pytest.raises(UnexpectedOffset) as raised:
        end.extend([(11, 1)])
    assert (raised.value.expected, raised.value.delivered) == (12, 11)


def test_the_error_names_the_source_partition_and_the_place_on_the_target():
    with pytest.raises(UnexpectedOffset) as raised:
        LogEnd(TopicPartition("east.orders", 1), 5, ORDERS).extend([(9, 1)])
    assert (raised.value.topic, raised.value.partition) == ("orders", 1)
    assert "east.orders-1" in raised.value.message
    assert "3 times" in raised.value.with_count(3).message
