"""Each partition goes by the engine that it is worth, and by the other one where that is the only one that can carry it."""

import random

import pytest

from mirror.copy import engine_choice
from mirror.copy.batches import sampler, target
from mirror.copy.engine_forecast import forecast
from mirror.copy.engine_text import forecast_text
from mirror.copy.run import copy_in_process
from mirror.errors import ClusterTooOld
from mirror.offsets.partition import TopicPartition
from mirror.plan.run import plan
from services.oracle import Record

AUTO = {"source->target.mirror.engine": "auto", "source->target.mirror.lanes": "1"}
NOW = 1_790_000_000_000


@pytest.fixture
def mirroring(pair, make_mirroring):
    """The flow of this test with one lane, which chooses the engine."""
    return make_mirroring(pair, AUTO)


@pytest.fixture
def batches(mirroring, monkeypatch):
    """Makes a topic of one partition with so many records in large batches of lz4. How large they become is up to the producer, so what is
    worth it begins with smaller ones."""
    monkeypatch.setattr(engine_choice, "SMALLEST_BATCH_BYTES", 2000)
    monkeypatch.setattr(engine_choice, "FEWEST_RECORDS", 3)

    def make(name, records):
        topic = mirroring.pair.topic(name)
        mirroring.oracle.create_topic(mirroring.source, topic, 1)
        produce = {"codec": "lz4", "min_size": 900, "max_size": 1100, "batch_size": 200_000, "null_values": False}
        mirroring.oracle.produce(mirroring.source, topic, records, seed=1, **produce)
        return topic

    return make


def shares(mirroring, by_person=False):
    """Copies; how many records came by each engine, and why some were encoded anew."""
    (result,) = copy_in_process(mirroring.flow, plan(mirroring.flow, by_person=by_person))
    assert not result.errors
    return {share.engine: share.records for share in result.engines}, {anew.topic: anew.reason for anew in result.encoded_anew}


def test_a_lane_copies_large_batches_as_they_are_and_encodes_small_ones_anew(mirroring, batches):
    large, small = batches("large", 8_000), mirroring.pair.topic("small")
    mirroring.oracle.create_topic(mirroring.source, small, 1)
    mirroring.oracle.produce(mirroring.source, small, 700, seed=2, min_size=100, max_size=200, batch_size=1)
    assert forecast(mirroring.flow, plan(mirroring.flow)) == {TopicPartition(small, 0): engine_choice.SMALL}
    copied, reasons = shares(mirroring)
    assert copied == {"batches": 8_000, "records": 700}
    assert reasons == {small: engine_choice.SMALL}
    assert mirroring.assert_mirrored(large).records == 8_000
    assert mirroring.assert_mirrored(small).records == 700


def test_a_forecast_knows_what_the_remote_topic_takes_and_writes_nothing(mirroring, batches):
    topic = batches("large", 2_000)
    mirroring.refresh()
    mirroring.oracle.alter_configs(mirroring.target, mirroring.pair.remote(topic), {"compression.type": "zstd"})
    planned = mirroring.plan()
    reasons = forecast(mirroring.flow, planned)
    assert reasons == {TopicPartition(topic, 0): "the remote topic's compression.type is zstd, and a batch is lz4"}
    assert forecast_text(planned.ranges, reasons).startswith("encoded anew: 1 partition (")
    assert mirroring.oracle.count(mirroring.target, mirroring.pair.remote(topic))[0].records == 0


@pytest.mark.parametrize(
    ("raw", "tolerance"),
    [
        ({"records": [Record(b"k", b"v", timestamp=NOW), Record(b"k", b"v", timestamp=0)]}, "all"),
        ({"records": [Record(b"k", b"v", timestamp=NOW)], "raw_header_keys": [b"\xff\xfe"]}, "none"),
    ],
)
def test_a_partition_goes_over_to_batches_for_a_record_that_only_they_carry(pair, make_mirroring, raw, tolerance, monkeypatch):
    monkeypatch.setattr(engine_choice, "_FEW_BATCHES", -1)  # else so little work would begin with batches
    mirroring = make_mirroring(pair, {**AUTO, "errors.tolerance": tolerance})
    topic, other = pair.topic("orders"), pair.topic("other")
    for name in (topic, other):
        mirroring.oracle.create_topic(mirroring.source, name, 1)
        mirroring.oracle.produce(mirroring.source, name, 10, seed=1)
    mirroring.oracle.produce_raw(mirroring.source, topic, **raw)
    mirroring.oracle.produce(mirroring.source, topic, 5, seed=2)
    made = 15 + len(raw["records"])
    assert shares(mirroring)[0] == {"records": 10, "batches": made}
    assert mirroring.assert_mirrored(topic).records == made
    assert mirroring.assert_mirrored(other).records == 10
    assert mirroring.ledger()[TopicPartition(topic, 0)].skipped == ()


@pytest.mark.parametrize("tolerance", ["all", "none"])
def test_a_record_that_only_batches_carry_comes_behind_a_batch_that_is_encoded_anew(pair, make_mirroring, tolerance, monkeypatch):
    monkeypatch.setattr(sampler, "_PARTITION_BYTES", 20_000)  # the look sees nothing of the other codec
    monkeypatch.setattr(engine_choice, "_FEW_BATCHES", 100_000)
    mirroring = make_mirroring(pair, {**AUTO, "errors.tolerance": tolerance})
    topic = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, topic, 1)
    mirroring.refresh()
    mirroring.oracle.alter_configs(mirroring.target, pair.remote(topic), {"compression.type": "lz4"})
    for codec, records in (("lz4", 300), ("gzip", 20)):
        mirroring.oracle.produce(mirroring.source, topic, records, seed=records, codec=codec, min_size=900, max_size=1100)
    mirroring.oracle.produce_raw(mirroring.source, topic, [Record(b"k", b"v", timestamp=0)])
    mirroring.oracle.produce(mirroring.source, topic, 30, seed=3, codec="lz4")
    (result,) = copy_in_process(mirroring.flow, plan(mirroring.flow))
    assert (result.errors, result.skipped) == ((), ())
    assert {share.engine: share.records for share in result.engines} == {"batches": 351}, "what was encoded anew was aborted"
    assert mirroring.assert_mirrored(topic).records == 351
    assert mirroring.ledger()[TopicPartition(topic, 0)].skipped == ()


def test_little_work_in_few_batches_goes_as_it_is_and_in_many_is_encoded_anew(pair, make_mirroring):
    mirroring = make_mirroring(pair, AUTO)
    topic = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, topic, 1)
    mirroring.oracle.produce(mirroring.source, topic, 10, seed=1)
    assert shares(mirroring) == ({"batches": 10}, {})
    mirroring.oracle.produce(mirroring.source, topic, 700, seed=2, batch_size=1)
    assert shares(mirroring) == ({"records": 700}, {topic: engine_choice.SMALL})
    mirroring.oracle.produce(mirroring.source, topic, 3, seed=3)
    assert shares(mirroring) == ({"batches": 3}, {})
    assert mirroring.assert_mirrored(topic).records == 713


def test_a_partition_that_was_stuck_in_the_middle_of_a_batch_goes_on_from_there(pair, make_mirroring):
    """The other engine copied what precedes the record, so of the record's batch only the end is left."""
    records = make_mirroring(pair, AUTO | {"source->target.mirror.engine": "records"})
    topic = pair.topic("orders")
    records.oracle.create_topic(records.source, topic, 1)
    stamps = (NOW, NOW, 0, NOW)
    records.oracle.produce_raw(records.source, topic, [Record(b"k%d" % stamp, b"v", timestamp=stamp) for stamp in stamps])
    records.oracle.produce(records.source, topic, 5, seed=2)
    (error,) = records.copy().errors
    assert (error.code, error.offset) == ("RecordNotCarried", 2)
    assert records.ledger()[TopicPartition(topic, 0)].watermark == 2
    mirroring = make_mirroring(pair, AUTO)
    assert shares(mirroring, by_person=True)[0] == {"batches": 7}
    assert mirroring.assert_mirrored(topic).records == 9


def test_a_record_that_only_batches_carry_and_the_target_refuses_blocks_its_partition(pair, make_mirroring):
    mirroring = make_mirroring(pair, {**AUTO, "source->target.mirror.start": "offset:1"})
    topic = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, topic, 1)
    rows = [
        Record(b"k", b"v", timestamp=NOW),
        Record(b"k", b"v", timestamp=NOW),
        Record(b"k", random.Random(1).randbytes(3000), timestamp=0),
    ]
    mirroring.oracle.produce_raw(mirroring.source, topic, rows)  # one batch, of which the range has the end
    mirroring.refresh()
    mirroring.oracle.alter_configs(mirroring.target, pair.remote(topic), {"max.message.bytes": "2000"})
    (error,) = mirroring.copy().errors
    assert (error.code, error.offset) == ("RecordRefused", 2)
    assert mirroring.ledger()[TopicPartition(topic, 0)].watermark == 2


def test_a_target_that_takes_no_batches_gets_records_and_the_log_says_why(mirroring, batches, monkeypatch, caplog):
    topic = batches("orders", 8_000)
    monkeypatch.setattr(target, "LaneTransactions", too_old)
    with caplog.at_level("INFO", "mirror.copy.lane"):
        copied, reasons = shares(mirroring)
    assert copied == {"records": 8_000}
    assert "it is too old" in reasons[topic]
    assert caplog.text.count("encodes all records anew") == 1
    assert mirroring.assert_mirrored(topic).records == 8_000


def too_old(task, _pool):
    raise ClusterTooOld(task.target, "b:9092", "2.8", "ProduceRequest", 8, 9)
