"""Records written outside transactions: each once, in order, whatever breaks between the write and its answer; or an error that says so."""

import pytest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest

from kafka_mirror.errors import AuthorizationRefused, ClusterUnreachable, DeadlineExceeded, KafkaFailure
from kafka_mirror.formats.batches.batch_records import records_of, unpack_records
from kafka_mirror.formats.batches.record_batch import batches_in
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.produce_request import Outgoing, batches_of
from kafka_mirror.kafka.writer import RecordWriter
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.batches.wire_protocol import KAFKA_2_1, KAFKA_2_8, KAFKA_4_3, OUT_OF_ORDER_SEQUENCE_NUMBER

LOG, OTHER = TopicPartition("heartbeats", 0), TopicPartition("heartbeats", 1)
NOT_LEADER, TIMED_OUT, TOO_FEW_REPLICAS, TOO_FEW_TOOK_IT, DUPLICATE, UNKNOWN_PRODUCER = 6, 7, 19, 20, 46, 59
TOPIC_DENIED, CLUSTER_DENIED, NO_COORDINATOR, TOO_LARGE, INVALID_TIMESTAMP = 29, 31, 15, 10, 32


@pytest.fixture
def west():
    broker = WireBroker()
    broker.log(*LOG)
    broker.log(*OTHER)
    yield broker
    broker.close()


def writer(broker, seconds=5.0, **settings):
    return RecordWriter("west", {**broker.settings, **settings}, seconds)


def beats(*values, **facts):
    return [Outgoing(LOG.topic, b"k", value, **facts) for value in values]


def stored(broker, tp=LOG):
    """The values in a log, each with its offset."""
    return [(record.offset, record.value) for record in read(broker, tp)]


def read(broker, tp=LOG):
    for data in broker.log(*tp).batches:
        for batch in batches_in(data):
            assert batch.is_intact
            yield from records_of(tp, batch, unpack_records(batch))


def answer_once(broker, answer):
    """What the broker does with the next produce request."""

    def told(request):
        broker.answers.clear()
        return answer(broker, request)

    broker.answers[ProduceRequest] = told


def take_and_hang_up(broker, request):
    answer = broker._answers[ProduceRequest](broker, request)
    broker.hang_up()
    return answer


def hang_up(broker, _request):
    broker.hang_up()
    raise OSError


@pytest.mark.parametrize("versions", [KAFKA_2_1, KAFKA_2_8, KAFKA_4_3], ids=["2.1", "2.8", "4.3"])
def test_records_stand_in_the_log_as_they_were_given(west, versions):
    west.versions = dict(versions)
    writing = writer(west)
    writing.write([Outgoing(LOG.topic, b"k", b"", 1_700, headers=(("mirror.place", b"exact"), ("e", b"")))], "the heartbeat")
    writing.write([Outgoing(LOG.topic, b"", b"w" * 300, 1_699, 1), Outgoing(LOG.topic, b"k2", b"v2", 1_800)], "the heartbeat")
    first, second = read(west)
    assert (first.timestamp, first.key, first.value) == ((1, 1_700), b"k", b"")
    assert first.headers == [("mirror.place", b"exact"), ("e", b"")]
    assert (second.timestamp, second.key, second.value, second.headers) == ((1, 1_800), b"k2", b"v2", None)
    assert [(record.timestamp, record.key, record.value) for record in read(west, OTHER)] == [((1, 1_699), b"", b"w" * 300)]
    assert len(west.of(InitProducerIdRequest)) == 1


@pytest.mark.parametrize("codec", ["none", "gzip", "lz4"])
def test_records_are_packed_as_the_producer_is_configured(west, codec):
    writer(west, **{"compression.type": codec}).write(beats(*[b"v" * 100] * 50), "checkpoints")
    [data] = west.log(*LOG).batches
    [batch] = batches_in(data)
    assert batch.codec == {"none": "uncompressed"}.get(codec, codec)
    assert stored(west) == [(place, b"v" * 100) for place in range(50)]


def test_no_records_are_no_question(west):
    writer(west).write([], "checkpoints")
    assert west.requests == []


def test_records_of_several_batches_keep_their_order(west):
    values = [b"%d" % number * 30_000 for number in range(60)]
    writer(west).write(beats(*values), "checkpoints")
    assert len(west.log(*LOG).batches) > 2
    assert stored(west) == list(enumerate(values))


def test_a_record_that_is_larger_than_a_batch_has_one_to_itself():
    small, large = Outgoing("t", b"k", b"v"), Outgoing("t", b"k", b"v" * 5_000)
    assert [batch.record_count for batch in batches_of([small, small, large, small], 1_000)] == [2, 1, 1]


@pytest.mark.parametrize("meanwhile", [take_and_hang_up, hang_up], ids=["taken", "not taken"])
def test_a_connection_that_breaks_before_the_answer_leaves_each_record_once(west, meanwhile):
    writing = writer(west)
    writing.write(beats(b"0", b"1"), "the heartbeat")
    answer_once(west, meanwhile)
    writing.write(beats(b"2", b"3"), "the heartbeat")
    writing.write(beats(b"4"), "the heartbeat")
    assert stored(west) == [(number, b"%d" % number) for number in range(5)]
    assert len(west.of(InitProducerIdRequest)) == 1, "another producer id would have written it twice"


@pytest.mark.parametrize("code", [NOT_LEADER, TIMED_OUT, TOO_FEW_REPLICAS, TOO_FEW_TOOK_IT])
def test_what_passes_is_waited_for_and_the_leader_looked_for_again(west, code):
    west.refusals[ProduceRequest, LOG].extend([code] * 2)
    writer(west).write(beats(b"0"), "the heartbeat")
    assert stored(west) == [(0, b"0")]
    assert len(west.of(MetadataRequest)) == 3


def test_a_coordinator_that_is_not_there_yet_is_waited_for(west):
    west.refusals[InitProducerIdRequest, None].append(NO_COORDINATOR)
    writer(west).write(beats(b"0"), "the heartbeat")
    assert stored(west) == [(0, b"0")]


def test_what_the_leader_calls_a_duplicate_is_written(west):
    west.refusals[ProduceRequest, LOG].append(DUPLICATE)
    writer(west).write(beats(b"0"), "the heartbeat")
    assert len(west.of(ProduceRequest)) == 1, "it is not sent again"


@pytest.mark.parametrize(("code", "name"), [(OUT_OF_ORDER_SEQUENCE_NUMBER, "OUT_OF_ORDER"), (UNKNOWN_PRODUCER, "UNKNOWN_PRODUCER")])
def test_a_leader_that_lost_track_after_a_possible_write_is_an_error_that_says_so(west, code, name):
    writing = writer(west)
    west.refusals[ProduceRequest, LOG].extend([TIMED_OUT, code])
    with pytest.raises(KafkaFailure) as raised:
        writing.write(beats(b"0"), "the heartbeat")
    assert f"writing the heartbeat to heartbeats failed: {name}" in raised.value.message
    assert "The leader of heartbeats-0 no longer knows what was written before" in raised.value.message
    assert raised.value.next.startswith("The heartbeat may be written or not")
    assert (raised.value.topic, raised.value.partition, raised.value.retriable) == (*LOG, True)


def test_after_a_failure_another_producer_writes_what_is_new(west):
    """Its sequence numbers begin anew: under the old ones the leader would take the new record for the lost one, and drop it."""
    writing = writer(west, seconds=0.5)
    writing.write(beats(b"0"), "the heartbeat")
    west.refusals[ProduceRequest, LOG].extend([TOO_FEW_REPLICAS] * 50)
    with pytest.raises(DeadlineExceeded, match=r"writing the heartbeat to heartbeats did not end within 0\.5 s: NOT_ENOUGH_REPLICAS"):
        writing.write(beats(b"lost"), "the heartbeat")
    west.refusals.clear()
    writing.write(beats(b"1"), "the heartbeat")
    assert stored(west) == [(0, b"0"), (1, b"1")]
    assert len(west.of(InitProducerIdRequest)) == 2


def test_what_is_refused_is_named_and_not_asked_again(west):
    for request in ((ProduceRequest, LOG), (MetadataRequest, None)):
        west.refusals[request].append(TOPIC_DENIED)
        with pytest.raises(AuthorizationRefused, match="Cluster 'west' refuses WRITE on topic heartbeats") as raised:
            writer(west).write(beats(b"0"), "the heartbeat")
        assert raised.value.topic == LOG.topic
    west.refusals[InitProducerIdRequest, None].append(CLUSTER_DENIED)
    with pytest.raises(AuthorizationRefused, match=r"refuses WRITE on topic heartbeats \(before Kafka 3.0 also IDEMPOTENT_WRITE on the"):
        writer(west).write(beats(b"0"), "the heartbeat")
    west.refusals[ProduceRequest, LOG].append(TOO_LARGE)
    with pytest.raises(KafkaFailure, match="writing the heartbeat to heartbeats failed: MESSAGE_SIZE_TOO_LARGE"):
        writer(west).write(beats(b"0"), "the heartbeat")
    assert (stored(west), len(west.of(ProduceRequest))) == ([], 2)


def test_a_time_that_the_broker_refuses_leads_to_the_clock_of_the_host(west):
    west.refusals[ProduceRequest, LOG].append(INVALID_TIMESTAMP)
    with pytest.raises(KafkaFailure, match="writing the heartbeat to heartbeats failed: INVALID_TIMESTAMP") as raised:
        writer(west).write(beats(b"0", timestamp=1_700_000_000_000), "the heartbeat")
    assert "stamped 2023-11-14 22:13:20 UTC by the clock of this host" in raised.value.message
    assert "clock" in raised.value.next and "log.message.timestamp.after.max.ms" in raised.value.next


def test_records_without_a_time_are_stamped_by_no_clock(west):
    """A broker compares no clock of ours with its own where a record has no time."""
    writer(west).write(beats(b"0"), "the decision")
    assert [record.timestamp for record in read(west)] == [(0, -1)]


def test_a_topic_that_is_not_there_is_waited_for_and_then_named(west):
    with pytest.raises(DeadlineExceeded, match=r"writing the checkpoints to gone did not end within 0\.3 s: UNKNOWN_TOPIC_OR_PARTITION"):
        writer(west, seconds=0.3).write([Outgoing("gone", b"k", b"v")], "the checkpoints")


def test_a_cluster_that_is_away_is_the_error(west):
    west.close()
    with pytest.raises(ClusterUnreachable) as raised:
        writer(west, seconds=0.3).write(beats(b"0"), "the heartbeat")
    assert "writing it once more is harmless" in raised.value.next


def test_a_connection_that_was_closed_between_two_writes_is_no_failure(west):
    writing = writer(west)
    for number in range(3):
        writing.write(beats(b"%d" % number), "the heartbeat")
        west.hang_up()
    assert stored(west) == [(0, b"0"), (1, b"1"), (2, b"2")]
