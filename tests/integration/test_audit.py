"""An audit on real brokers: equal where the copy is, and each difference that was planted is found and named first."""

import json
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer

from mirror.__main__ import main
from mirror.audit.run import audit
from mirror.audit.stretch_audit import audit_stretches
from mirror.formats.history import History, HistoryTopic
from mirror.formats.ledger import LedgerRecord, Writer, encode, encode_key
from mirror.kafka.connect import clusters
from mirror.offsets.lanes import lane_of
from mirror.offsets.map import OffsetMap, Run
from mirror.offsets.partition import TopicPartition
from services.oracle import Record

NOW = 1_790_000_000_000


def numbered(count, first=0):
    return [
        Record(b"key %d" % number, b"value %d" % number, (("h", b"%d" % number), ("n", None)), NOW + number)
        for number in range(first, first + count)
    ]


class Planter:
    """Builds remote topics by hand, and writes into the ledger that they are complete copies."""

    def __init__(self, mirroring):
        self.mirroring = mirroring
        self._any = None

    def vouch(self, topic, records, target_next, **fields):
        """The ledger says of partition 0 that the first `records` source offsets stand at the same offsets of the remote topic."""
        mirroring = self.mirroring
        with clusters(mirroring.flow) as (source, target):
            source_id, target_id = source.cluster_id(), target.cluster_id()
        record = LedgerRecord(
            watermark=records,
            leader_epoch=0,
            source_topic_id=mirroring.oracle.topic_id(mirroring.source, topic),
            target_topic=mirroring.pair.remote(topic),
            target_topic_id=mirroring.oracle.topic_id(mirroring.target, mirroring.pair.remote(topic)),
            target_next=target_next,
            source_cluster_id=source_id,
            target_cluster_id=target_id,
            lanes=4,
            offset_map=OffsetMap((Run(0, 0, records),)),
            writer=Writer("", "host", "a test", next(iter(mirroring.ledger().values())).writer.time),
            covered=((0, records),),
            records=records,
        )
        self.write(TopicPartition(topic, 0), replace(record, **fields))

    def write(self, tp, record):
        producer = Producer({"bootstrap.servers": self.mirroring.target})
        topic = f"mm2-ledger.{self.mirroring.pair.source}.internal"
        producer.produce(topic, encode(record), encode_key(tp), lane_of(*tp, 4))
        assert producer.flush(10) == 0

    def plant(self, name, source, target, configs=None, **fields):
        """A source topic and its remote topic with exactly these records; the topic's name."""
        mirroring, topic = self.mirroring, self.mirroring.pair.topic(name)
        mirroring.oracle.create_topic(mirroring.source, topic, 1, configs)
        mirroring.oracle.create_topic(mirroring.target, mirroring.pair.remote(topic), 1, configs)
        mirroring.oracle.produce_records(mirroring.source, topic, source)
        if target:
            mirroring.oracle.produce_records(mirroring.target, mirroring.pair.remote(topic), target)
        self.vouch(topic, len(source), len(source), **fields)
        return topic


@pytest.fixture
def planter(mirroring, topic):
    """A flow that has copied a topic, so that it has a ledger."""
    assert mirroring.copy().state == "done"
    return Planter(mirroring)


def by_topic(result):
    return {each.topic: each for each in result.partitions if each.partition == 0}


SOURCE = numbered(300)
COARSE = OffsetMap((Run(0, 0, 1), Run(299, 299, 1, thinned=True)))

PLANTED = {
    "missing": ([*SOURCE[:50], *SOURCE[51:], numbered(1, 300)[0]], "missing record", 50, 50),
    "doubled": ([*SOURCE[:50], SOURCE[49], *SOURCE[50:]], "doubled record", 49, 50),
    "swapped": ([*SOURCE[:50], SOURCE[51], SOURCE[50], *SOURCE[52:]], "swapped records", 50, 50),
    "value": ([*SOURCE[:50], replace(SOURCE[50], value=b"value 5O"), *SOURCE[51:]], "changed value", 50, 50),
    "key": ([*SOURCE[:50], replace(SOURCE[50], key=None), *SOURCE[51:]], "changed key", 50, 50),
    "header": ([*SOURCE[:50], replace(SOURCE[50], headers=(("n", None), ("h", b"50"))), *SOURCE[51:]], "changed header", 50, 50),
    "timestamp": ([*SOURCE[:50], replace(SOURCE[50], timestamp=NOW), *SOURCE[51:]], "changed timestamp", 50, 50),
    "truncated": (SOURCE[:280], "truncated tail", 280, None),
    "foreign": ([*SOURCE[:50], Record(b"x", b"y", (), NOW), *SOURCE[50:]], "foreign record", 50, 50),
    "foreign-tail": ([*SOURCE, *numbered(2, 300)], "foreign record", None, 300),  # one alone would pass for a transaction's marker
}


def test_each_planted_difference_is_found_and_named_and_healthy_topics_beside_it_are_equal(mirroring, planter, topic):
    topics = {planter.plant(name, SOURCE, target): name for name, (target, *_) in PLANTED.items()}
    good = planter.plant("good", SOURCE, SOURCE)
    idle = mirroring.pair.topic("idle")
    mirroring.oracle.create_topic(mirroring.source, idle)
    mirroring.refresh()
    mirroring.copy()
    assert by_topic(audit(mirroring.flow, [idle]))[idle].state == "equal"
    mirroring.oracle.produce_records(mirroring.target, mirroring.pair.remote(idle), numbered(1))
    result = audit(mirroring.flow)
    found = by_topic(result)
    assert result.errors == ()
    assert (found[good].state, found[good].source_records, found[good].target_records) == ("equal", 300, 300)
    assert found[topic].state == "equal"
    for planted, name in topics.items():
        _, kind, source_offset, target_offset = PLANTED[name]
        difference = found[planted].difference
        assert found[planted].state == "different", name
        assert (difference.kind, difference.source_offset, difference.target_offset) == (kind, source_offset, target_offset), name
        assert difference.source is None or difference.source.value is None, "the payload was not asked for"
    assert result.state == "different"
    assert (found[idle].difference.kind, found[idle].difference.target_offset) == ("foreign record", 0)
    assert len(result.differences) == len(PLANTED) + 1


def test_a_difference_far_behind_is_found_in_its_block_and_shown_with_its_payload_if_asked(mirroring, planter):
    source = numbered(9_000)
    target = [*source[:8_500], replace(source[8_500], value=b"spoilt"), *source[8_501:]]
    planted = planter.plant("far", source, target)
    (difference,) = audit(mirroring.flow, [planted], show_payload=True).differences
    assert (difference.kind, difference.source_offset, difference.target_offset) == ("changed value", 8_500, 8_500)
    assert (difference.source.value, difference.target.value) == ("value 8500", "spoilt")
    assert (difference.source.key, difference.source.header_text) == ("key 8500", "h=8500, n=None")


def test_whatever_is_copied_is_equal_and_counted_as_the_witness_counts(mirroring, planter, topic):
    oracle, source, pair = mirroring.oracle, mirroring.source, mirroring.pair
    codecs, stamped, empty = pair.topic("codecs"), pair.topic("stamped"), pair.topic("empty")
    for name, configs in ((codecs, {}), (stamped, {"message.timestamp.type": "LogAppendTime"}), (empty, {})):
        oracle.create_topic(source, name, 2, configs)
    for seed, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        oracle.produce(source, codecs, 200, seed=seed, codec=codec, headers=3, min_size=0, max_size=500)
        oracle.produce(source, stamped, 50, seed=seed)
    made = oracle.produce(source, codecs, 1000, seed=9, producers=3, transactions=20, abort_percent=40)
    assert made["aborted"] > 50
    oracle.produce_records(source, codecs, [Record(key, None, (("a", None), ("a", b""), ("", b"x"))) for key in (b"", b"k", None)])
    oracle.produce_raw(source, codecs, [Record(b"k", b"v", timestamp=-1)])
    mirroring.refresh()
    assert mirroring.copy().state == "done"
    result = audit(mirroring.flow)
    assert (result.state, result.errors, result.differences) == ("equal", (), ())
    assert {each.state for each in result.partitions} == {"equal"}
    for name in (topic, codecs, stamped, empty):
        counted = [each.records for each in oracle.count(source, name)]
        audits = [each for each in result.partitions if each.topic == name]
        assert [each.source_records for each in audits] == [each.target_records for each in audits] == counted
        assert [each.source_digest for each in audits] == [each.target_digest for each in audits]
        assert [each.left_out for each in audits] == [(), ()]


def test_what_the_source_reads_uncommitted_is_compared_uncommitted(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source.consumer.isolation.level": "read_uncommitted"})
    name = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 1)
    made = mirroring.oracle.produce(mirroring.source, name, 500, seed=8, transactions=50, abort_percent=50)
    mirroring.copy()
    (found,) = audit(mirroring.flow).partitions
    assert (found.state, found.source_records) == ("equal", made["committed"] + made["aborted"])


def test_audits_beside_a_running_copy_see_no_difference(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.transaction.max.bytes": "20000"})
    name = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 3)
    mirroring.oracle.produce(mirroring.source, name, 300, seed=1)
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, name, 6_000, seed=2, min_size=200, max_size=400)
    copying = threading.Thread(target=mirroring.copy)
    copying.start()
    results = []
    while copying.is_alive() or not results:
        results.append(audit(mirroring.flow))
    copying.join()
    results.append(audit(mirroring.flow))
    assert [(result.differences, result.errors) for result in results] == [((), ())] * len(results)
    assert results[-1].totals["source_records"] == 6_300


def test_gaps_and_retention_on_both_sides_are_left_out_by_name_and_the_rest_is_compared(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.on.gap": "skip-and-record"})
    oracle, name = mirroring.oracle, pair.topic("orders")
    oracle.create_topic(mirroring.source, name, 1)
    for seed in range(4):
        oracle.produce(mirroring.source, name, 100, seed=seed, min_size=10)
        if seed == 1:
            oracle.delete_records(mirroring.source, name, {0: 150})
        assert mirroring.copy().state == "done"
    result = audit(mirroring.flow)
    (found,) = result.partitions
    assert (found.state, found.source, found.source_records, found.target_records) == ("equal", (150, 400), 250, 250)
    assert {(left.start, left.end) for left in found.left_out} == {(0, 100), (100, 150)}
    assert any("gap" in left.reason for left in found.left_out)
    oracle.delete_records(mirroring.source, name, {0: 170})
    oracle.delete_records(mirroring.target, pair.remote(name), {0: 220})
    (found,) = audit(mirroring.flow).partitions
    assert found.state == "equal"
    assert found.source[0] > 170
    assert found.source_records == found.target_records == 400 - found.source[0]
    assert any("the target no longer has their copies" in left.reason for left in found.left_out)
    oracle.delete_records(mirroring.source, name, {0: -1})
    result = audit(mirroring.flow)
    assert (result.state, result.partitions[0].state, result.errors) == ("could not be had", "could not be had", ())


def test_a_log_that_begins_between_two_known_pairs_is_counted_from_behind(mirroring, planter):
    source = numbered(300)
    runs = OffsetMap((Run(0, 0, 10), Run(250, 250, 50, thinned=True)))
    planted = planter.plant("coarse", source, source, offset_map=runs)
    spoilt = planter.plant("coarse-spoilt", source, [*source[:180], *source[181:], source[299]], offset_map=runs)
    for name in (planted, spoilt):
        mirroring.oracle.delete_records(mirroring.source, name, {0: 100})
    found = by_topic(audit(mirroring.flow))
    assert (found[planted].state, found[planted].source_records, found[planted].target_records) == ("equal", 200, 200)
    assert (found[spoilt].difference.kind, found[spoilt].difference.source_offset) == ("missing record", 180)
    mirroring.oracle.delete_records(mirroring.source, planted, {0: -1})
    for name in (planted, spoilt):
        mirroring.oracle.delete_records(mirroring.target, mirroring.pair.remote(name), {0: 150})
    found = by_topic(audit(mirroring.flow))
    assert found[planted].state == "could not be had"
    assert (found[spoilt].difference.kind, found[spoilt].difference.source_offset) == ("missing record", 180)


def test_copies_that_others_write_between_are_tolerated_where_that_is_allowed_and_a_missing_one_is_not(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.on.unexplained.target": "append"})
    name = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 1)
    for seed in range(3):
        mirroring.oracle.produce(mirroring.source, name, 100, seed=seed)
        mirroring.copy()
        mirroring.oracle.produce_records(mirroring.target, pair.remote(name), numbered(10))
    (found,) = audit(mirroring.flow).partitions
    assert (found.state, found.difference, found.source_records, found.tolerated) == ("equal", None, 300, 20)
    assert "are no copies" in found.notes[0]
    planter = Planter(mirroring)
    source = numbered(300)
    planted = planter.plant("merged", source, [*source[:50], *numbered(1, 900), *source[51:]], offset_map=COARSE)
    (difference,) = audit(mirroring.flow, [planted]).differences
    assert (difference.kind, difference.source_offset) == ("missing record", 50)


def test_history_is_compared_where_it_was_written(mirroring, planter):
    oracle, name, source = mirroring.oracle, mirroring.pair.topic("old"), numbered(300)
    place, remote = f"history-{name}", mirroring.pair.remote(name)
    oracle.create_topic(mirroring.source, name)
    oracle.produce_records(mirroring.source, name, source)
    for topic, records in ((remote, source[200:]), (place, [*source[:120], replace(source[120], value=b"x"), *source[121:200]])):
        oracle.create_topic(mirroring.target, topic)
        oracle.produce_records(mirroring.target, topic, records)
    written = HistoryTopic(place, oracle.topic_id(mirroring.target, place), 200, ((0, 200),), (History(0, 200, place, 0, 200),))
    live = {"covered": ((200, 300),), "start": 200, "offset_map": OffsetMap((Run(200, 0, 100),)), "history_topics": (written,)}
    planter.vouch(name, 300, 100, **live)
    found = {each.remote: each for each in audit(mirroring.flow, [name]).partitions}
    assert (found[remote].state, found[remote].source) == ("equal", (200, 300))
    assert (found[place].difference.kind, found[place].difference.source_offset) == ("changed value", 120)
    only = audit(mirroring.flow, source_offsets={TopicPartition(name, 0): (250, 300)})
    assert [(each.remote, each.state) for each in only.partitions] == [(remote, "equal")]


def test_what_retention_takes_away_while_it_is_read_is_left_out_and_the_rest_compared(mirroring, planter):
    planted = planter.plant("short", numbered(300), numbered(300))
    calls = []

    def compare(work, stretches):
        if not calls:
            mirroring.oracle.delete_records(mirroring.source, planted, {0: 100})
        calls.append(len(stretches))
        return audit_stretches(work, stretches)

    result = audit(mirroring.flow, [planted], compare=compare)
    (found,) = result.partitions
    assert (found.state, found.source, found.source_records, result.errors) == ("equal", (100, 300), 200, ())
    assert calls == [1, 1]


def test_a_target_that_stamps_its_records_is_compared_without_times(mirroring, planter):
    source = numbered(50)
    stamped = planter.plant("stamped", source, source)
    mirroring.oracle.alter_configs(mirroring.target, mirroring.pair.remote(stamped), {"message.timestamp.type": "LogAppendTime"})
    other = planter.plant("stamping", source, [])
    mirroring.oracle.alter_configs(mirroring.target, mirroring.pair.remote(other), {"message.timestamp.type": "LogAppendTime"})
    mirroring.oracle.produce_records(mirroring.target, mirroring.pair.remote(other), source)
    found = by_topic(audit(mirroring.flow))
    assert (found[stamped].state, found[stamped].notes) == ("equal", ())
    assert (found[other].state, found[other].difference) == ("equal", None)
    assert "timestamps were not compared" in found[other].notes[0]


def test_a_compacted_topic_is_equal_however_its_source_was_cleaned_and_a_spoilt_copy_is_found(mirroring, planter):
    oracle, source, name = mirroring.oracle, mirroring.source, mirroring.pair.topic("compacted")
    configs = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "100"}
    oracle.create_topic(source, name, 1, configs)
    mirroring.refresh()
    oracle.alter_configs(mirroring.target, mirroring.pair.remote(name), {"cleanup.policy": "delete"})
    copied, deadline = 0, time.monotonic() + 60
    while oracle.count(source, name)[0].records == copied:
        assert time.monotonic() < deadline, "the broker did not compact the topic"
        oracle.produce(source, name, 100, seed=copied, key_count=20, null_keys=False)
        copied += mirroring.copy().records
    keyed = [replace(each, key=b"key %d" % (number % 20)) for number, each in enumerate(SOURCE)]
    compact = {"cleanup.policy": "compact"}
    newest = planter.plant("newest", keyed, [*keyed[:290], replace(keyed[290], value=b"x"), *keyed[291:]], compact, offset_map=COARSE)
    tied = planter.plant("tied", keyed, [*keyed[:50], replace(keyed[50], value=b"x"), *keyed[51:]], compact)
    older = planter.plant("older", keyed, [*keyed[:50], replace(keyed[50], value=b"x"), *keyed[51:]], compact, offset_map=COARSE)
    found = by_topic(audit(mirroring.flow))
    assert (found[name].state, found[name].difference) == ("equal", None)
    assert found[name].source_records < found[name].target_records
    assert "compacted" in found[name].notes[0]
    assert (found[newest].difference.kind, found[newest].difference.source_offset) == ("changed value", 290)
    assert (found[tied].difference.kind, found[tied].difference.source_offset) == ("changed value", 50)
    assert (found[older].state, len(found[older].notes)) == ("equal", 1), "which record it was, nobody can tell: the note says so"


def test_more_partitions_than_one_consumer_reads_at_once(pair, make_mirroring):
    mirroring = make_mirroring(pair)
    name = pair.topic("many")
    mirroring.oracle.create_topic(mirroring.source, name, 130)
    mirroring.oracle.produce(mirroring.source, name, 2_000, seed=1)
    assert mirroring.copy().state == "done"
    result = audit(mirroring.flow)
    assert (result.state, len(result.partitions), result.totals["target_records"]) == ("equal", 130, 2_000)


def test_times_choose_offsets_and_offsets_can_be_given(mirroring, planter):
    source = numbered(300)
    planted = planter.plant("timed", source, [*source[:50], *source[51:], *source[:1]])
    at = [datetime.fromtimestamp((NOW + number) / 1000, UTC) for number in (100, 120)]
    assert audit(mirroring.flow, [planted], times=(at[0], at[1])).state == "different", "a missing record moves all behind it"
    assert audit(mirroring.flow, source_offsets={TopicPartition(planted, 0): (10, 40)}).totals["source_records"] == 30
    assert audit(mirroring.flow, [planted], source_offsets={TopicPartition(planted, 0): (10, 40)}).state == "equal"
    assert audit(mirroring.flow, ["no-such-topic"]).notices == (
        "no-such-topic: the ledger knows nothing of this topic, so nothing of it was compared.",
    )


@pytest.fixture
def command(pair, capfd):
    """Runs the command on the flow's file, and gives the exit code and what it says of the flow."""

    def run(*options, file="mm2.properties"):
        capfd.readouterr()
        code = main(["--config", str(pair.directory / file), "--json", "audit", *options])
        (flow,) = json.loads(capfd.readouterr().out)["flows"]
        return code, flow

    return run


def test_the_exit_code_says_whether_anything_is_different_and_a_large_audit_is_a_spark_job(mirroring, planter, command, pair, capfd):
    code, flow = command()
    assert (code, flow["state"], flow["errors"], flow["result"]["total_state"]) == (0, "done", [], "equal")
    planted = planter.plant("spoilt", SOURCE, PLANTED["value"][0])
    pair.properties(extra={"source->target.mirror.lanes": "4", "source->target.mirror.audit.spark.threshold": "0"})
    code, by_spark = command("--master", "local[2]", "--show-payload")
    here = command("--without-spark", "--show-payload")
    assert (code, here[0]) == (1, 1)
    for name in ("columns", "differences", "left_out", "notes", "errors"):
        assert by_spark["result"][name] == here[1]["result"][name]
    ((error,), (difference,)) = by_spark["errors"], by_spark["result"]["differences"]
    assert (error["code"], error["topic"], error["offset"], error["retriable"]) == ("AuditDifferent", planted, 50, False)
    assert difference["target"]["value"] == "value 5O"
    assert main(["--config", str(pair.directory / "mm2.properties"), "audit", "--topics", planted, "--without-spark"]) == 1
    shown = capfd.readouterr().out
    assert "≠ value bytes" not in shown, "they are equally long"
    assert f"{planted}-0: changed value at source offset 50, {pair.remote(planted)}-0@50" in shown
    assert "value 5O" not in shown, "the payload was not asked for"


def test_what_cannot_be_audited_is_one_sentence_and_says_whether_to_try_again(mirroring, planter, command, pair, topic):
    oracle = mirroring.oracle
    unreadable = planter.plant("unreadable", SOURCE[:10], SOURCE[:10])
    for bootstrap, name in ((mirroring.source, unreadable), (mirroring.target, pair.remote(unreadable))):
        oracle.produce_raw(bootstrap, name, [Record(b"k", b"v", timestamp=NOW)], raw_header_keys=[b"\xff\xfe"])
    planter.vouch(unreadable, 11, 11)
    code, flow = command("--topics", unreadable)
    assert (code, [(error["code"], error["offset"], error["retriable"]) for error in flow["errors"]]) == (
        1,
        [("RecordUnreadable", 10, False)],
    )
    assert flow["result"]["total_state"] == "could not be had"
    oracle.delete_topic(mirroring.target, pair.remote(topic))
    code, flow = command("--topics", topic)
    assert (code, {error["code"] for error in flow["errors"]}, flow["result"]["total_unproven"]) == (1, {"TargetMissing"}, 2)
    oracle.create_topic(mirroring.target, pair.remote(topic), 2)
    assert {error["code"] for error in command("--topics", topic)[1]["errors"]} == {"TargetRecreated"}
    pair.properties(extra={"source->target.mirror.lanes": "4", "source.bootstrap.servers": "127.0.0.1:1", "admin.timeout.ms": "2000"})
    code, flow = command()
    assert (code, [(error["code"], error["retriable"]) for error in flow["errors"]]) == (1, [("ClusterUnreachable", True)])
    assert command("--from", "2026-01-01")[0] == 2
    assert command("--from", "2026-01-02", "--to", "2026-01-01")[0] == 2
    assert command("--from", "yesterday", "--to", "2026-01-01")[0] == 2
