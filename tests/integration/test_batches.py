"""What becomes of batches, and what a copy leaves on the target's disk."""

import pytest

from kafka_mirror.copy.model import FORWARDED, JOINED, REWRITTEN, add_up_shares
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.oracle import Record
from services.stored_batches import read_batches

NOW = 1_790_000_000_000


def ways(results):
    """How many records went each way, and why some were rewritten."""
    assert not [error for result in results for error in result.errors]
    shares = add_up_shares(share for result in results for share in result.batches)
    return {share.way: share.records for share in shares}, {why.reason for result in results for why in result.rewritten}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_kafka_calls_every_batch_of_the_target_valid(mirroring, services_directory, codec):
    topic, oracle = mirroring.pair.topic("orders"), mirroring.oracle
    oracle.create_topic(mirroring.source, topic, 1)
    oracle.produce(mirroring.source, topic, 2000, seed=1, codec=codec, headers=2, transactions=300, abort_percent=30)
    assert mirroring.copy().state == "done"
    batches = read_batches(services_directory / "west", mirroring.pair.remote(topic))
    assert batches
    assert {(transactional, valid) for *_, transactional, _, valid in batches} == {("true", "true")}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_range_that_begins_inside_a_batch_begins_with_the_records_of_its_end(pair, make_mirroring, services_directory, codec):
    mirroring = make_mirroring(pair, {"source->target.mirror.start": "offset:150"})
    topic, oracle = pair.topic("orders"), mirroring.oracle
    oracle.create_topic(mirroring.source, topic, 1)
    for seed in range(4):
        oracle.produce(
            mirroring.source, topic, 100, seed=seed, partition=0, min_size=10, max_size=20, batch_size=100_000, codec=codec, headers=2
        )
    copied, reasons = ways(copy_in_process(mirroring.flow, plan(mirroring.flow)))
    assert (sum(copied.values()), copied[REWRITTEN], reasons) == (250, 50, {"its range begins inside a batch"})
    assert mirroring.ledger()[TopicPartition(topic, 0)].watermark == 400
    mirroring.assert_mirrored(topic, start={0: 150})
    assert {valid for *_, valid in read_batches(services_directory / "west", pair.remote(topic))} == {"true"}


def test_a_header_key_with_a_nul_in_it_arrives_whole_from_the_middle_of_a_batch_too(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.start": "offset:1"})
    topic = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, topic, 1)
    mirroring.oracle.produce_raw(mirroring.source, topic, [Record(b"k", b"v", timestamp=NOW)] * 3, raw_header_keys=[b"a\0b"])
    assert mirroring.copy().records == 2
    mirroring.assert_mirrored(topic, start={0: 1})
    assert {name for record in mirroring.oracle.dump(mirroring.target, pair.remote(topic)) for name, _ in record.headers} == {"a\0b"}


def test_large_batches_are_forwarded_and_small_ones_joined(mirroring):
    large, small, oracle = mirroring.pair.topic("large"), mirroring.pair.topic("small"), mirroring.oracle
    for topic in (large, small):
        oracle.create_topic(mirroring.source, topic, 1)
    oracle.produce(mirroring.source, large, 8_000, seed=1, codec="lz4", min_size=900, max_size=1100, batch_size=200_000, null_values=False)
    oracle.produce(mirroring.source, small, 700, seed=2, min_size=100, max_size=200, batch_size=1)
    copied, reasons = ways(copy_in_process(mirroring.flow, plan(mirroring.flow)))
    assert (sum(copied.values()), reasons) == (8_700, set())
    assert copied[JOINED] >= 700
    assert copied[FORWARDED] > 7_000
    assert mirroring.assert_mirrored(large).records == 8_000
    assert mirroring.assert_mirrored(small).records == 700


def test_a_flow_may_rewrite_every_batch_in_one_run_and_none_in_the_next(pair, make_mirroring):
    topic = pair.topic("orders")
    for seed, engine in enumerate(("records", "auto", "records", "batches")):
        mirroring = make_mirroring(pair, {"source->target.mirror.engine": engine})
        if not seed:
            mirroring.oracle.create_topic(mirroring.source, topic, 3)
        mirroring.oracle.produce(mirroring.source, topic, 500, seed=seed, codec="lz4")
        copied, reasons = ways(copy_in_process(mirroring.flow, plan(mirroring.flow)))
        assert sum(copied.values()) == 500
        assert (copied.get(REWRITTEN, 0), reasons) == ((500, {"mirror.engine=records"}) if engine == "records" else (0, set()))
    assert mirroring.assert_mirrored(topic).records == 2000
