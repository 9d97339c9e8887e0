"""What MirrorMaker 2 may leave behind, made by hand on real brokers: what of it is taken over, exactly, and what is refused, and why."""

import json
from types import SimpleNamespace

import pytest
from confluent_kafka import Producer

from kafka_mirror.__main__ import main
from kafka_mirror.errors import ConnectOffsetsMissing, MirrorError
from kafka_mirror.formats.mm2 import SOURCE_CONNECTOR, SourcePartition, partition_of
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.migration import take_over as module
from services.oracle import OracleError, Record
from services.waiting import PATIENCE
from tests.integration.left_behind import refusal, taken
from tests.integration.test_dry_run import snapshot


@pytest.fixture
def mirroring(pair, make_mirroring):
    return make_mirroring(pair, {"offset.storage.replication.factor": "1"})


def one_of_each(mirroring, left):
    """A topic in each state in which MirrorMaker 2 may leave one; `deleted` is gone from the source."""
    oracle, pair, of = mirroring.oracle, mirroring.pair, SimpleNamespace()
    for name in ("clean", "trailing", "twice", "unflushed", "foreign", "gone", "anew", "shorter", "other", "hung", "never"):
        setattr(of, name, left.topic(name))
    of.aborted_copies = left.topic("aborted-copies")
    left.copies(of.aborted_copies)
    only = f"only-{pair.mark}"
    oracle.open_transaction(mirroring.target, pair.remote(of.aborted_copies), only, [Record(b"k", b"v")])
    oracle.end_transaction(only, "abort")
    left.copies(of.clean, (0, 40))
    left.copies(of.trailing, (0, 50))
    left.copies(of.twice, (0, 50), (30, 45))
    left.copies(of.unflushed, (0, 20), (0, 10))
    left.copies(of.foreign, (0, 40))
    oracle.produce(mirroring.target, pair.remote(of.foreign), 1, seed=99)
    left.copies(of.anew)
    left.copies(of.shorter, (0, 40))
    left.copies(of.other, (0, 40))
    oracle.delete_topic(mirroring.source, of.other)
    oracle.create_topic(mirroring.source, of.other)
    oracle.produce(mirroring.source, of.other, 60, seed=98)
    left.copies(of.hung, (0, 40))
    oracle.open_transaction(mirroring.target, pair.remote(of.hung), f"hung-{pair.mark}", [Record(b"k", b"v")])
    of.compacted = left.topic("compacted", configs={"cleanup.policy": "compact"})
    left.copies(of.compacted, (0, 40), configs={"cleanup.policy": "compact"})
    of.aborted = left.topic("aborted", 0)
    oracle.produce(mirroring.source, of.aborted, 60, seed=7, transactions=10, abort_percent=50)
    of.offsets = left.copies(of.aborted, (0, 50))
    stored = dict.fromkeys((of.clean, of.foreign, of.gone, of.anew, of.other, of.hung, of.compacted), 39)
    beyond = {of.trailing: 29, of.twice: 29, of.aborted: of.offsets[29], of.shorter: 200, pair.topic("deleted"): 5}
    left.stored({**stored, **beyond})
    return of


def test_each_partition_is_taken_over_where_it_ends_or_refused_by_name(mirroring, left):
    of = one_of_each(mirroring, left)
    before = snapshot(mirroring.pair)
    dry, positions = taken(mirroring, dry_run=True)
    assert snapshot(mirroring.pair) == before
    done, watermarks = taken(mirroring)
    ends = {of.clean: 40, of.trailing: 50, of.twice: 45, of.unflushed: 10, of.compacted: 40, of.aborted: of.offsets[49] + 1}
    assert watermarks == positions == ends
    assert done.errors == dry.errors
    found = {error.topic: error for error in done.errors}
    in_doubt = dict.fromkeys((of.foreign, of.other), "TailInDoubt")
    refused = dict.fromkeys((of.gone, of.anew, of.shorter, of.hung), "TakeOverRefused") | in_doubt
    assert {topic: error.code for topic, error in found.items()} == refused
    assert "is gone" in found[of.gone].message
    assert "ends at 0" in found[of.anew].message
    assert "the source ends at 60" in found[of.shorter].message
    assert "transaction is open" in found[of.hung].message
    assert f"{mirroring.pair.remote(of.foreign)}-0@[40, 41)" in found[of.foreign].message
    assert "[40, 60)" in found[of.foreign].message
    assert f"take-over --flow '{mirroring.flow.name}' --topic {of.foreign}" in found[of.foreign].next
    assert any(mirroring.pair.topic("deleted") in line for line in done.lines)

    mirroring.oracle.end_transaction(f"hung-{mirroring.pair.mark}", "abort")
    mirroring.refresh()
    copied = mirroring.copy()
    codes = {error.topic: error.code for error in copied.errors}
    assert codes == dict.fromkeys((of.foreign, of.shorter, of.other, of.hung), "UnexplainedTarget")
    for topic in (of.clean, of.trailing, of.compacted, of.never, of.aborted_copies, of.gone):
        mirroring.assert_mirrored(topic)
    records = mirroring.ledger()
    assert records[TopicPartition(of.trailing, 0)].offset_map.translate(45).target == 45
    assert records[TopicPartition(of.trailing, 0)].offset_map.translate(5).target == 0, "early where nothing is known"
    values = [record.value for record in mirroring.oracle.dump(mirroring.target, mirroring.pair.remote(of.twice))]
    source = [record.value for record in mirroring.oracle.dump(mirroring.source, of.twice)]
    assert values == [*source[:50], *source[30:45], *source[45:]]
    done, watermarks = taken(mirroring)
    assert (watermarks, done.result["ours"]) == ({of.hung: 40}, 10)


def test_a_single_foreign_record_right_behind_the_end_is_seen_by_the_first_copy(mirroring, left):
    topic = left.topic("orders")
    left.copies(topic, (0, 40))
    left.stored({topic: 39})
    assert taken(mirroring)[1] == {topic: 40}
    mirroring.oracle.produce(mirroring.target, mirroring.pair.remote(topic), 1, seed=99)
    assert {error.code for error in mirroring.copy().errors} == {"UnexplainedTarget"}


def test_what_somebody_writes_while_it_is_taken_over_is_seen(mirroring, left, monkeypatch):
    topic, other = left.topic("orders"), left.topic("payments")
    for each in (topic, other):
        left.copies(each, (0, 40))
    left.stored({topic: 39, other: 39})
    locate = module.locate

    def then_written(flow, partitions):
        found = locate(flow, partitions)
        mirroring.oracle.produce(mirroring.target, mirroring.pair.remote(topic), 1, seed=99)
        return found

    monkeypatch.setattr(module, "locate", then_written)
    done, watermarks = taken(mirroring)
    assert watermarks == {other: 40}
    assert [(error.code, error.topic) for error in done.errors] == [("TakeOverRefused", topic)]
    assert "meanwhile" in done.errors[0].message


def test_offsets_may_have_other_names_and_what_is_there_is_said(mirroring, left, capsys):
    topic, own = left.topic("orders"), f"connect-offsets-{mirroring.pair.mark}"
    left.copies(topic, (0, 40))
    error = refusal(ConnectOffsetsMissing, lambda: taken(mirroring))
    assert "does not exist" in error.message
    left.stored({topic: 39}, "orders.MirrorSourceConnector", own)
    left.stored({topic: 39}, cluster="elsewhere", topic=own)
    file = str(mirroring.pair.directory / "mm2.properties")

    def run(*options):
        code = main(["--config", file, "--json", "take-over", "--flow", mirroring.flow.name, "--offsets-topic", own, *options])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return code, flow

    code, flow = run()
    assert (code, flow["errors"][0]["code"]) == (1, "ConnectOffsetsMissing")
    assert "'orders.MirrorSourceConnector' for" in flow["errors"][0]["message"]
    assert "'MirrorSourceConnector' for 'elsewhere'" in flow["errors"][0]["message"]
    code, flow = run("--connector-name", "orders.MirrorSourceConnector", "--group", "connect")
    assert (code, flow["result"]["watermark"]) == (0, [40])
    assert run("--at-stored-offsets")[0] == 2


def test_transactions_of_exactly_once_tasks_are_ended_and_the_tasks_fenced(mirroring, left):
    topic, configs = left.topic("orders"), f"mm2-configs.{mirroring.pair.source}.internal"
    left.copies(topic, (0, 40))
    left.stored({topic: 39})
    mirroring.oracle.create_topic(mirroring.target, configs, 1, {"cleanup.policy": "compact"})
    count = Record(f"tasks-fencing-{SOURCE_CONNECTOR}".encode(), b'{"task-count":2}')
    mirroring.oracle.produce_records(mirroring.target, configs, [count])
    task = f"{mirroring.pair.source}-mm2-{SOURCE_CONNECTOR}-1"
    mirroring.oracle.open_transaction(mirroring.target, mirroring.pair.remote(topic), task, [Record(b"k", b"v")])
    dry, _ = taken(mirroring, dry_run=True)
    assert [error.code for error in dry.errors] == ["TakeOverRefused"], "a dry run ends nothing"
    done, watermarks = taken(mirroring)
    assert (watermarks, done.errors) == ({topic: 40}, ())
    assert f"Fenced: {task}." in done.lines
    with pytest.raises(OracleError, match=r"Fenced|epoch"):
        mirroring.oracle.end_transaction(task, "commit")
    assert mirroring.copy().records == 20
    mirroring.assert_mirrored(topic)


def test_where_a_doubt_is_left_a_person_may_go_on_as_mirrormaker_2_would(mirroring, left):
    topic = left.topic("orders")
    left.copies(topic, (0, 40))
    mirroring.oracle.produce(mirroring.target, mirroring.pair.remote(topic), 1, seed=99)
    left.stored({topic: 29})
    done, watermarks = taken(mirroring, topics=(topic,), at_stored=True)
    assert (watermarks, done.errors) == ({topic: 30}, ())
    assert mirroring.copy().records == 30


@pytest.mark.parametrize("more", [["--dry-run"], []])
def test_a_name_that_nobody_knows_is_an_error_beside_what_is_taken_over(mirroring, left, capsys, more):
    """A misspelt name is no success: MirrorMaker 2 is switched off by whoever reads that it is."""
    topic, other, unknown = left.topic("orders"), left.topic("payments"), mirroring.pair.topic("ordres")
    for each in (topic, other):
        left.copies(each, (0, 40))
    left.stored({topic: 39, other: 39})
    file = str(mirroring.pair.directory / "mm2.properties")

    def run(*topics):
        named = [argument for name in topics for argument in ("--topic", name)]
        code = main(["--config", file, "--json", "take-over", "--flow", mirroring.flow.name, *named, *more])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return code, flow["result"]["topic"], [(error["code"], unknown in error["message"]) for error in flow["errors"]]

    assert run(unknown) == (1, [], [("NothingSelected", True)])
    assert run(unknown, topic) == (1, [topic], [("NothingSelected", True)])
    assert {tp.topic for tp in mirroring.ledger()} == (set() if more else {topic})
    assert run(topic)[0] == 0


def test_a_removed_offset_is_none_and_damage_is_named(mirroring, left):
    topic, removed = left.topic("orders"), left.topic("removed")
    left.copies(topic, (0, 40))
    left.stored({topic: 39, removed: 20})
    left.stored({removed: None})
    producer, written = Producer({"bootstrap.servers": mirroring.target}), []
    for other in (b'["files",{"filename":"a"}]', b'["files",{"cluster":"A","topic":"t","partition":0}]'):
        producer.produce(left.offsets_topic, b'{"offset":1}', other, 3, on_delivery=lambda _, message: written.append(message.offset()))
    producer.flush(PATIENCE)
    done, watermarks = taken(mirroring)
    assert watermarks == {topic: 40}
    assert [line for line in done.lines if "left out" in line] == [
        f"An offset that MirrorMaker 2 cannot find either is left out: {left.offsets_topic}-3@{written[1]}: it is not written as "
        "Kafka Connect writes it, which would never find it."
    ]
    key = SourcePartition(SOURCE_CONNECTOR, mirroring.pair.source, topic, 0).key
    producer.produce(left.offsets_topic, b"{}", key, partition_of(key))
    producer.flush(PATIENCE)
    error = refusal(MirrorError, lambda: taken(mirroring))
    assert (error.code, error.topic, error.partition) == ("ConnectOffsetsUnreadable", left.offsets_topic, partition_of(key))
