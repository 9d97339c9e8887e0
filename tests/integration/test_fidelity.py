"""What comes out at the other end is what went in: record by record, in order, read back by Kafka's own Java client."""

import time

import pytest

from kafka_mirror.formats.offsets.partition import TopicPartition
from services.oracle import Record

NOW = 1_790_000_000_000
LARGE = bytes(range(256)) * 3600  # 921,600 bytes

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture
def topic(mirroring):
    """A source topic of three partitions."""
    name = mirroring.pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 3)
    return name


def assert_copied(mirroring, topic, records):
    """Copies, expects a good run of so many records, and compares."""
    judged = mirroring.copy()
    assert (judged.state, judged.records, judged.owed) == ("done", records, 0), str(judged)
    assert mirroring.assert_mirrored(topic).records == records


def test_all_codecs(mirroring, topic):
    for seed, codec in enumerate(CODECS):
        mirroring.oracle.produce(mirroring.source, topic, 1000, seed=seed, codec=codec, headers=3, min_size=0, max_size=2000)
    assert_copied(mirroring, topic, 5000)


def test_interleaved_committed_and_aborted_transactions_of_several_producers(mirroring, topic):
    made = mirroring.oracle.produce(mirroring.source, topic, 6000, seed=1, producers=4, transactions=50, abort_percent=40)
    assert made["aborted"] > 500
    assert_copied(mirroring, topic, made["committed"])


def test_null_and_empty_keys_and_values_and_every_kind_of_header(mirroring, topic):
    headers = (("a", b"1"), ("a", None), ("", b""), ("b", b"\xff\x00"), ("a", b"1"), ("ключ", b"x"))
    records = [
        Record(key=key, value=value, headers=chosen, timestamp=NOW, partition=partition)
        for partition in range(3)
        for key in (None, b"", b"k\x00")
        for value in (None, b"", b"v\x00")
        for chosen in ((), headers)
    ]
    mirroring.oracle.produce_records(mirroring.source, topic, records)
    assert_copied(mirroring, topic, len(records))


def test_timestamps_out_of_order_old_and_near(mirroring, topic):
    stamps = (NOW, 1, NOW - 1, 2_000, 1_500_000_000_000, NOW)
    mirroring.oracle.produce_records(mirroring.source, topic, [Record(b"k", b"v", timestamp=stamp) for stamp in stamps])
    assert_copied(mirroring, topic, len(stamps))


def test_a_record_without_a_timestamp_keeps_none(mirroring, topic):
    mirroring.oracle.produce_raw(mirroring.source, topic, [Record(b"k", b"v", timestamp=-1)])
    assert_copied(mirroring, topic, 1)


def test_sizes_from_nothing_to_900_kilobytes(mirroring, topic):
    sizes = (0, 1, 100, 16_000, 100_000, 500_000, 900_000)
    records = [Record(b"k", LARGE[:size], timestamp=NOW, partition=index % 3) for index, size in enumerate(sizes * 3)]
    mirroring.oracle.produce_records(mirroring.source, topic, records)
    assert_copied(mirroring, topic, len(records))


def test_a_source_that_stamps_at_append(mirroring):
    name = mirroring.pair.topic("stamped")
    mirroring.oracle.create_topic(mirroring.source, name, 1, {"message.timestamp.type": "LogAppendTime"})
    mirroring.oracle.produce(mirroring.source, name, 500, seed=2)
    assert_copied(mirroring, name, 500)


def test_a_compacted_topic_with_holes(mirroring):
    name, oracle, source = mirroring.pair.topic("compacted"), mirroring.oracle, mirroring.source
    configs = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "100"}
    oracle.create_topic(source, name, 1, configs)
    made = 0
    deadline = time.monotonic() + 60
    while oracle.count(source, name)[0].records == made:
        assert time.monotonic() < deadline, "the broker did not compact the topic"
        made = oracle.count(source, name)[0].records + 300
        oracle.produce(source, name, 300, seed=made, key_count=20, null_keys=False)
    oracle.alter_configs(source, name, {"min.compaction.lag.ms": str(2**60), "max.compaction.lag.ms": str(2**62)})
    time.sleep(1)  # a compaction that is under way ends
    assert_copied(mirroring, name, oracle.count(source, name)[0].records)
    assert mirroring.ledger()[TopicPartition(name, 0)].watermark == oracle.count(source, name)[0].end


def test_a_deleted_prefix_is_no_gap_at_first_sight(mirroring, topic):
    mirroring.oracle.produce(mirroring.source, topic, 300, seed=3, partition=0)
    mirroring.oracle.delete_records(mirroring.source, topic, {0: 120})
    assert_copied(mirroring, topic, 180)


def test_empty_partitions_are_committed_to_the_ledger(mirroring, topic):
    mirroring.oracle.produce(mirroring.source, topic, 100, seed=4, partition=1)
    assert_copied(mirroring, topic, 100)
    assert {(tp.partition, record.watermark) for tp, record in mirroring.ledger().items()} == {(0, 0), (1, 100), (2, 0)}


def test_a_tail_of_aborted_records_moves_the_watermark(mirroring, topic):
    mirroring.oracle.produce(mirroring.source, topic, 100, seed=5, partition=0)
    mirroring.oracle.open_transaction(mirroring.source, topic, topic, [Record(b"k", b"v")] * 50)
    mirroring.oracle.end_transaction(topic, "abort")
    assert_copied(mirroring, topic, 100)
    assert mirroring.ledger()[(topic, 0)].watermark == 151
    assert mirroring.copy().state == "nothing to do"


def test_ten_incremental_rounds(mirroring, topic):
    for seed in range(10):
        mirroring.oracle.produce(
            mirroring.source, topic, 200, seed=seed, codec=CODECS[seed % 5], transactions=20 * (seed % 2), abort_percent=30
        )
        assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)
    assert mirroring.copy().state == "nothing to do"


@pytest.mark.parametrize(
    "raw",
    [
        {"records": [Record(b"k", b"v", timestamp=0)]},
        {"records": [Record(b"k", b"v", timestamp=NOW)], "raw_header_keys": [b"\xff\xfe"]},
    ],
)
@pytest.mark.parametrize("engine", ["auto", "records"])
def test_what_a_client_would_change_arrives_as_it_was(pair, make_mirroring, engine, raw):
    mirroring, topic = make_mirroring(pair, {"source->target.mirror.engine": engine}), pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, topic, 1)
    mirroring.oracle.produce(mirroring.source, topic, 300, seed=9)
    mirroring.oracle.produce_raw(mirroring.source, topic, **raw)
    assert_copied(mirroring, topic, 301)
