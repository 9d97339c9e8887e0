"""What MirrorMaker 2 may leave behind, made by hand on real brokers: what of it is taken over, exactly, and what is refused, and why."""

import json

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka import TopicPartition as ClientTopicPartition
from confluent_kafka.admin import AdminClient

from mirror.__main__ import main
from mirror.copy.run import copy_in_process
from mirror.errors import ConnectOffsetsMissing, CopyUnderWay, HandedBack, MirrorError, NothingToHandBack
from mirror.formats.connect_offsets import SOURCE_CONNECTOR, SourcePartition, encode_offset, partition_of
from mirror.handover import take_over as module
from mirror.handover.hand_back import Request as HandBack
from mirror.handover.hand_back import hand_back
from mirror.handover.take_over import Request, take_over
from mirror.kafka.connect import clusters
from mirror.kafka.mm2_topics import newest_offset_syncs
from mirror.offsets.partition import TopicPartition
from mirror.plan.run import plan
from mirror.report.group import group_position
from mirror.sync.offset_syncs import place
from services.oracle import OracleError, Record
from tests.integration.test_dry_run import snapshot


class Left:
    """Writes what MirrorMaker 2 would have left: copies of source records, Connect's offsets."""

    def __init__(self, mirroring):
        self.mirroring = mirroring
        self.offsets_topic = f"mm2-offsets.{mirroring.pair.source}.internal"

    def topic(self, name, records=60, configs=None, partitions=1):
        topic = self.mirroring.pair.topic(name)
        self.mirroring.oracle.create_topic(self.mirroring.source, topic, partitions, configs)
        self.mirroring.oracle.produce(self.mirroring.source, topic, records, seed=len(name), **({"null_keys": 0} if configs else {}))
        return topic

    def copies(self, topic, *ranges, configs=None):
        """Source records of these index ranges, one behind the other, in the remote topic."""
        oracle, remote = self.mirroring.oracle, self.mirroring.pair.remote(topic)
        oracle.create_topic(self.mirroring.target, remote, 1, configs)
        records = oracle.dump(self.mirroring.source, topic, "read_uncommitted")
        chosen = [record for start, end in ranges for record in records[start:end]]
        if chosen:
            oracle.produce_records(self.mirroring.target, remote, chosen)
        return [record.offset for record in records]

    def stored(self, offsets, connector=SOURCE_CONNECTOR, topic=None, cluster=None):
        name = topic or self.offsets_topic
        if name not in self.topics():
            self.mirroring.oracle.create_topic(self.mirroring.target, name, 25, {"cleanup.policy": "compact"})
        producer = Producer({"bootstrap.servers": self.mirroring.target})
        for source_topic, offset in offsets.items():
            key = SourcePartition(connector, cluster or self.mirroring.pair.source, source_topic, 0).key
            value = encode_offset(offset) if offset is not None else None
            producer.produce(name, value, key, partition_of(key))
        assert producer.flush(10) == 0

    def topics(self):
        with clusters(self.mirroring.flow) as (_, target):
            return target.names()


@pytest.fixture
def mirroring(pair, make_mirroring):
    return make_mirroring(pair, {"offset.storage.replication.factor": "1"})


@pytest.fixture
def left(mirroring):
    return Left(mirroring)


def taken(mirroring, **options):
    dry_run = options.pop("dry_run", False)
    done = take_over(mirroring.flow, Request("a test", **options), dry_run)
    return done, dict(zip(done.result["topic"], done.result["watermark"], strict=True))


def refusal(kind, call):
    with pytest.raises(MirrorError) as raised:
        call()
    assert isinstance(raised.value, kind), raised.value
    return raised.value


def test_each_partition_is_taken_over_where_it_ends_or_refused_by_name(mirroring, left):
    clean, trailing, twice, unflushed = (left.topic(name) for name in ("clean", "trailing", "twice", "unflushed"))
    foreign, gone, anew, shorter, other, hung = (left.topic(name) for name in ("foreign", "gone", "anew", "shorter", "other", "hung"))
    aborted_copies = left.topic("aborted-copies")
    left.copies(aborted_copies)
    only = f"only-{mirroring.pair.mark}"
    mirroring.oracle.open_transaction(mirroring.target, mirroring.pair.remote(aborted_copies), only, [Record(b"k", b"v")])
    mirroring.oracle.end_transaction(only, "abort")
    compacted, never = left.topic("compacted", configs={"cleanup.policy": "compact"}), left.topic("never")
    left.copies(clean, (0, 40))
    left.copies(trailing, (0, 50))
    left.copies(twice, (0, 50), (30, 45))
    left.copies(unflushed, (0, 20), (0, 10))
    left.copies(foreign, (0, 40))
    mirroring.oracle.produce(mirroring.target, mirroring.pair.remote(foreign), 1, seed=99)
    left.copies(anew)
    left.copies(shorter, (0, 40))
    left.copies(other, (0, 40))
    mirroring.oracle.delete_topic(mirroring.source, other)
    mirroring.oracle.create_topic(mirroring.source, other)
    mirroring.oracle.produce(mirroring.source, other, 60, seed=98)
    left.copies(hung, (0, 40))
    remote = mirroring.pair.remote(hung)
    mirroring.oracle.open_transaction(mirroring.target, remote, f"hung-{mirroring.pair.mark}", [Record(b"k", b"v")])
    left.copies(compacted, (0, 40), configs={"cleanup.policy": "compact"})
    aborted = left.topic("aborted", 0)
    mirroring.oracle.produce(mirroring.source, aborted, 60, seed=7, transactions=10, abort_percent=50)
    offsets = left.copies(aborted, (0, 50))
    stored = dict.fromkeys((clean, foreign, gone, anew, other, hung, compacted), 39)
    left.stored({**stored, trailing: 29, twice: 29, aborted: offsets[29], shorter: 200, mirroring.pair.topic("deleted"): 5})

    before = snapshot(mirroring.pair)
    dry, positions = taken(mirroring, dry_run=True)
    assert snapshot(mirroring.pair) == before
    done, watermarks = taken(mirroring)
    assert watermarks == positions == {clean: 40, trailing: 50, twice: 45, unflushed: 10, compacted: 40, aborted: offsets[49] + 1}
    assert done.errors == dry.errors
    found = {error.topic: error for error in done.errors}
    refused = dict.fromkeys((gone, anew, shorter, hung), "TakeOverRefused") | dict.fromkeys((foreign, other), "TailInDoubt")
    assert {topic: error.code for topic, error in found.items()} == refused
    assert "is gone" in found[gone].message
    assert "ends at 0" in found[anew].message
    assert "the source ends at 60" in found[shorter].message
    assert "transaction is open" in found[hung].message
    assert f"{mirroring.pair.remote(foreign)}-0@[40, 41)" in found[foreign].message
    assert "[40, 60)" in found[foreign].message
    assert f"take-over --flow '{mirroring.flow.name}' --topic {foreign}" in found[foreign].next
    assert any(mirroring.pair.topic("deleted") in line for line in done.lines)

    mirroring.oracle.end_transaction(f"hung-{mirroring.pair.mark}", "abort")
    mirroring.refresh()
    copied = mirroring.copy()
    codes = {error.topic: error.code for error in copied.errors}
    assert codes == dict.fromkeys((foreign, shorter, other, hung), "UnexplainedTarget")
    for topic in (clean, trailing, compacted, never, aborted_copies, gone):
        mirroring.assert_mirrored(topic)
    records = mirroring.ledger()
    assert records[TopicPartition(trailing, 0)].offset_map.translate(45).target == 45
    assert records[TopicPartition(trailing, 0)].offset_map.translate(5).target == 0, "early where nothing is known"
    values = [record.value for record in mirroring.oracle.dump(mirroring.target, mirroring.pair.remote(twice))]
    source = [record.value for record in mirroring.oracle.dump(mirroring.source, twice)]
    assert values == [*source[:50], *source[30:45], *source[45:]]
    done, watermarks = taken(mirroring)
    assert (watermarks, done.result["ours"]) == ({hung: 40}, 10)


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


def test_a_removed_offset_is_none_and_damage_is_named(mirroring, left):
    topic, removed = left.topic("orders"), left.topic("removed")
    left.copies(topic, (0, 40))
    left.stored({topic: 39, removed: 20})
    left.stored({removed: None})
    producer, written = Producer({"bootstrap.servers": mirroring.target}), []
    for other in (b'["files",{"filename":"a"}]', b'["files",{"cluster":"A","topic":"t","partition":0}]'):
        producer.produce(left.offsets_topic, b'{"offset":1}', other, 3, on_delivery=lambda _, message: written.append(message.offset()))
    producer.flush(10)
    done, watermarks = taken(mirroring)
    assert watermarks == {topic: 40}
    assert [line for line in done.lines if "left out" in line] == [
        f"An offset that MirrorMaker 2 cannot find either is left out: {left.offsets_topic}-3@{written[1]}: it is not written as "
        "Kafka Connect writes it, which would never find it."
    ]
    key = SourcePartition(SOURCE_CONNECTOR, mirroring.pair.source, topic, 0).key
    producer.produce(left.offsets_topic, b"{}", key, partition_of(key))
    producer.flush(10)
    error = refusal(MirrorError, lambda: taken(mirroring))
    assert (error.code, error.topic, error.partition) == ("ConnectOffsetsUnreadable", left.offsets_topic, partition_of(key))


def test_a_flow_that_was_handed_back_is_left_alone_also_by_a_plan_that_is_old(mirroring, left, make_topic):
    assert refusal(NothingToHandBack, lambda: hand_back(mirroring.flow, HandBack("a test")))
    # The source ends in aborted records, so the offset in front of the watermark is that of no record.
    topic, empty = make_topic("orders", 2, 100), make_topic("empty", 1, 0)
    mirroring.oracle.produce(mirroring.source, topic, 40, seed=2, transactions=10, abort_percent=60)
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, topic, 20, seed=3)
    old = plan(mirroring.flow)
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.open_transaction(mirroring.target, remote, f"open-{mirroring.pair.mark}", [Record(b"k", b"v")])
    error = refusal(CopyUnderWay, lambda: hand_back(mirroring.flow, HandBack("a test")))
    assert (error.topic, error.partition) == (remote, 0)
    mirroring.oracle.end_transaction(f"open-{mirroring.pair.mark}", "abort")

    before = mirroring.ledger()
    for _ in range(2):  # twice is harmless
        done = hand_back(mirroring.flow, HandBack("a test"))
    written = {(row.partition, row.key): row.value for row in mirroring.oracle.dump(mirroring.target, left.offsets_topic)}
    keys = {tp: SourcePartition(SOURCE_CONNECTOR, mirroring.pair.source, *tp).key for tp in before if tp.topic == topic}
    assert written == {(partition_of(key), key): encode_offset(before[tp].watermark - 1) for tp, key in keys.items()}
    with clusters(mirroring.flow) as (source, _):
        side, syncs = place(mirroring.flow)
        newest = newest_offset_syncs(source, mirroring.flow.client(side, "consumer"), syncs, keys).pairs
    ends = {tp: before[tp].offset_map.runs[-1] for tp in keys}
    assert newest == {tp: (end.source + end.length - 1, end.target + end.length - 1) for tp, end in ends.items()}
    assert (empty, 0) in list(zip(done.result["topic"], done.result["watermark"], strict=True))
    assert all(record.watermark == before[tp].watermark for tp, record in mirroring.ledger().items())

    group = f"readers-{mirroring.pair.mark}"
    admin = AdminClient({"bootstrap.servers": mirroring.source})
    committed = [ClientTopicPartition(topic, 0, 10)]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, committed)])[group].result(10)
    (translated,) = group_position(mirroring.flow, group).offsets
    assert (translated.translated.target, translated.translated.kind) == (None, "none")
    assert "handed back" in translated.translated.reason

    results = copy_in_process(mirroring.flow, old)
    assert {error.code for result in results for error in result.errors} == {"HandedBack"}
    assert sum(result.transactions for result in results) == 0
    refusal(HandedBack, mirroring.copy)
    refusal(HandedBack, mirroring.plan)

    done, _ = taken(mirroring)
    assert done.errors == ()
    assert len(done.result["topic"]) == 3
    assert {tp: record.watermark for tp, record in mirroring.ledger().items()} == {tp: each.watermark for tp, each in before.items()}
    assert group_position(mirroring.flow, group).offsets[0].translated.target == 10
    assert mirroring.copy().records == 20
    mirroring.assert_mirrored(topic)
