"""An audit on real brokers: equal where the copy is, and each difference that was planted is found and named first."""

import json
import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.audit.run import audit
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.oracle import Record
from tests.integration.planter import NOW, SOURCE, by_topic, numbered

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
    assert [idle in notice for notice in audit(mirroring.flow).notices] == [True], "nothing of it is copied, so nothing is compared"
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
    mirroring.oracle.delete_records(mirroring.source, planted, {0: 150})
    gone = audit(mirroring.flow, [planted], times=(at[0], at[1]))
    assert (gone.state, [(left.start, left.end) for left in gone.partitions[0].left_out]) == ("could not be had", [(0, 150)])
    assert audit(mirroring.flow, ["no-such-topic"]).notices == (
        "no-such-topic: the ledger knows nothing of this topic, so nothing of it was compared.",
    )


@pytest.fixture
def command(pair, capfd):
    """Runs the command on the flow's file, and gives the exit code and what it says of the flow."""

    def run(*options, file="mm2.properties"):
        capfd.readouterr()
        code = main(["--config", str(pair.directory / file), "--json", "audit", *options])
        written = capfd.readouterr()
        run.log = written.err
        flow, *others = json.loads(written.out)["flows"]
        assert not others or [error["code"] for error in others[0]["errors"]] == ["NothingSelected"]
        return code, flow

    return run


def test_the_exit_code_says_whether_anything_is_different_and_a_large_audit_is_a_spark_job(mirroring, planter, command, pair, capfd):
    code, flow = command()
    assert (code, flow["state"], flow["errors"], flow["result"]["total_state"]) == (0, "done", [], "equal")
    source = numbered(9_000)  # more than a core's share of all: it is read in pieces
    planted = planter.plant("spoilt", source, [*source[:8_500], replace(source[8_500], value=b"value 85OO"), *source[8_501:]])
    pair.properties(extra={"source->target.mirror.lanes": "4", "source->target.mirror.audit.spark.threshold": "0"})
    code, by_spark = command("--master", "local[2]", "--show-payload")
    told = [line for line in command.log.splitlines() if f" INFO kafka_mirror.audit.parallel: {pair.flow}: " in line]
    assert any(f"{planted}-0 read from 0 to " in line for line in told), command.log
    assert len([line for line in told if f"{planted}-0 read from the first block that differs" in line]) == 1, command.log
    here = command("--without-spark", "--show-payload")
    assert (code, here[0]) == (1, 1)
    for name in ("columns", "differences", "left_out", "notes", "errors"):
        assert by_spark["result"][name] == here[1]["result"][name]
    ((error,), (difference,)) = by_spark["errors"], by_spark["result"]["differences"]
    assert (error["code"], error["topic"], error["offset"], error["retriable"]) == ("AuditDifferent", planted, 8_500, False)
    assert difference["target"]["value"] == "value 85OO"
    assert main(["--config", str(pair.directory / "mm2.properties"), "audit", "--topics", planted, "--without-spark"]) == 1
    shown = capfd.readouterr().out
    assert "≠ value bytes" not in shown, "they are equally long"
    assert f"{planted}-0: changed value at source offset 8500, {pair.remote(planted)}-0@8500" in shown
    assert "value 85OO" not in shown, "the payload was not asked for"


def test_what_cannot_be_audited_is_one_sentence_and_says_whether_to_try_again(mirroring, planter, command, pair, topic):
    oracle = mirroring.oracle
    unreadable, closed = (planter.plant(name, SOURCE[:10], SOURCE[:10]) for name in ("unreadable", "closed"))
    for bootstrap, name, value in (
        (mirroring.source, unreadable, b"v"),
        (mirroring.target, pair.remote(unreadable), b"w"),
        (mirroring.source, closed, b"v"),
        (mirroring.target, pair.remote(closed), b"v"),
    ):
        oracle.produce_raw(bootstrap, name, [Record(b"k", value, timestamp=NOW)], raw_header_keys=[b"\xff\xfe"])
    planter.vouch(unreadable, 11, 11)
    planter.vouch(closed, 11, 11)
    assert command("--topics", closed)[1]["result"]["total_state"] == "equal", "nobody has to read what stands in equal batches"
    code, flow = command("--topics", unreadable)
    assert (code, [(error["code"], error["offset"], error["retriable"]) for error in flow["errors"]]) == (
        1,
        [("RecordUnreadable", 10, False)],
    )
    assert flow["result"]["total_state"] == "could not be had"
    code, flow = command("--flow", mirroring.flow.name, "--topics", "no-such-topic")
    assert (code, [error["code"] for error in flow["errors"]]) == (1, ["NothingAudited"])
    assert command("--topics", "no-such-topic")[0] == 1, "no flow knows it, so nothing was proven"
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
