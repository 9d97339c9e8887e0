"""Errors that only a person can answer, on real brokers: the command that the error names is run as it stands there, the next copy goes on,
what is on the target is right, and the decision is used up."""

import json
import re
import shlex
import time
from dataclasses import replace

import pytest
from confluent_kafka import Producer

from mirror.__main__ import main
from mirror.copy import run as copy_run
from mirror.copy.confluent_engine import ConfluentEngine
from mirror.copy.run import copy_in_process
from mirror.errors import ControlUnreadable, LanesChanged, LedgerMissing, LedgerUnsuitable, OtherCluster
from mirror.formats.ledger import encode, encode_key
from mirror.kafka.connect import clusters, control_of
from mirror.offsets.lanes import lane_of
from mirror.offsets.map import OffsetMap, Run
from mirror.offsets.partition import TopicPartition
from mirror.plan.run import plan
from services.oracle import Record, Side

COMMAND = re.compile(r'python -m mirror (decide .*? --reason "…")')
WHY = "seen, and it's borne"


@pytest.fixture
def make_topic(mirroring):
    """Makes a source topic with records, not copied yet: `make_topic("orders", 2, 100)`."""

    def make(name, partitions=1, records=100, seed=1):
        topic = mirroring.pair.topic(name)
        mirroring.oracle.create_topic(mirroring.source, topic, partitions)
        mirroring.oracle.produce(mirroring.source, topic, records, seed=seed)
        return topic

    return make


@pytest.fixture
def decide(mirroring, capsys):
    """Runs `python -m mirror decide …` on the flow's properties file; gives exit code, result, errors."""

    def run(*arguments):
        capsys.readouterr()
        code = main(["--config", str(mirroring.pair.directory / "mm2.properties"), "--json", "decide", *arguments])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return code, flow["result"], flow["errors"]

    return run


@pytest.fixture
def answer(decide):
    """Runs the command that an error names, word for word, and gives the decisions that were taken."""

    def run(error, *more):
        (command,) = COMMAND.findall(error.next)
        words = [WHY if word == "…" else word for word in shlex.split(command)]
        code, result, errors = decide(*words[1:], *more)
        assert (code, errors) == (0, []), errors
        return result["decisions"]

    return run


def errors_of(judged, code):
    """The errors of a red run, all of this code, by topic and partition."""
    assert judged.state == "failed", judged
    assert {error.code for error in judged.errors} == {code}, judged
    return {TopicPartition(error.topic, error.partition): error for error in judged.errors}


def watermark(mirroring, topic, partition=0):
    return mirroring.ledger()[TopicPartition(topic, partition)].watermark


def values(mirroring, bootstrap, topic, partition=0):
    return [(r.key, r.value) for r in mirroring.oracle.dump(bootstrap, topic) if r.partition == partition]


def mirrored(mirroring, topic, partition=0):
    return values(mirroring, mirroring.target, mirroring.pair.remote(topic), partition)


def used_up(decide, mirroring, *words):
    """That the decision is not in force any more, that pressing again says so, and that a further copy does nothing."""
    before = mirroring.ledger()
    _, listed, _ = decide("list", "--flow", mirroring.pair.flow)
    about = [each for each in listed["decisions"] if each["decision"] == words[0]]
    assert about
    assert not any(each["in_force"] for each in about)
    code, result, (error,) = decide(*words, "--flow", mirroring.pair.flow, "--reason", "pressed again")
    assert (code, result, error["code"]) == (1, None, "NothingToDecide")
    assert mirroring.copy().state == "nothing to do"
    assert mirroring.ledger() == before


@pytest.fixture
def inside_the_transaction(monkeypatch):
    """Lets something happen once, when a transaction's records are acknowledged and it is not committed yet."""

    def arrange(happening):
        class Engine(ConfluentEngine):
            def copy(self, work, limits):
                progress = super().copy(work, limits)
                if happenings:
                    happenings.pop()()
                return progress

        happenings = [happening]
        monkeypatch.setattr(copy_run, "ConfluentEngine", Engine)

    return arrange


def recreate(mirroring, bootstrap, topic, partitions=1, configs=None):
    mirroring.oracle.delete_topic(bootstrap, topic)
    mirroring.oracle.create_topic(bootstrap, topic, partitions, configs)


def write_ledger(mirroring, topic, **fields):
    """Lets the ledger say something else of partition 0: what no client can make a broker do here."""
    tp = TopicPartition(topic, 0)
    record = replace(mirroring.ledger()[tp], **fields)
    producer = Producer({"bootstrap.servers": mirroring.target})
    producer.produce(f"mm2-ledger.{mirroring.pair.source}.internal", encode(record), encode_key(tp), lane_of(topic, 0, 4))
    assert producer.flush(10) == 0


# ---------------------------------------------------------------- the source


def test_a_gap_is_passed_over_once_somebody_accepts_it(mirroring, make_topic, decide, answer):
    topic, other = make_topic("orders", 2), make_topic("payments")
    mirroring.copy()
    start = watermark(mirroring, topic)
    mirroring.oracle.produce(mirroring.source, topic, 100, seed=2)
    mirroring.oracle.delete_records(mirroring.source, topic, {0: start + 10})
    error = errors_of(mirroring.copy(), "SourceGap")[TopicPartition(topic, 0)]
    (decision,) = answer(error)
    assert (decision["topic"], decision["partition"], decision["watermark"], decision["why"]) == (topic, 0, start, WHY)
    answer(error)  # pressed twice
    mirroring.oracle.delete_records(mirroring.source, topic, {0: start + 15})  # the gap grows until the run acts
    assert mirroring.copy().state == "done"
    record = mirroring.ledger()[TopicPartition(topic, 0)]
    (skipped,) = record.skipped
    assert (skipped.start, skipped.end) == (start, start + 15)
    assert WHY in skipped.reason
    assert (record.decided.decision, record.decided.why) == ("accept-gap", WHY)
    assert mirrored(mirroring, topic)[-1] == values(mirroring, mirroring.source, topic)[-1]
    used_up(decide, mirroring, "accept-gap", "--topic", topic)
    mirroring.oracle.produce(mirroring.source, other, 10, seed=3)
    assert mirroring.copy().records == 10


def test_a_second_gap_needs_a_second_decision(mirroring, make_topic, answer):
    topic = make_topic("orders")
    mirroring.copy()
    for ahead in (5, 7):
        mirroring.oracle.produce(mirroring.source, topic, 20, seed=ahead)
        mirroring.oracle.delete_records(mirroring.source, topic, {0: watermark(mirroring, topic) + ahead})
        answer(errors_of(mirroring.copy(), "SourceGap")[TopicPartition(topic, 0)])
        assert mirroring.copy().records == 20 - ahead
    assert [each.end - each.start for each in mirroring.ledger()[TopicPartition(topic, 0)].skipped] == [5, 7]


def test_a_recreated_source_topic_is_copied_behind_the_old_records(mirroring, make_topic, decide, answer):
    topic = make_topic("orders", 2)
    mirroring.copy()
    old = {partition: mirrored(mirroring, topic, partition) for partition in (0, 1)}
    mirroring.oracle.delete_topic(mirroring.source, topic)
    mirroring.oracle.create_topic(mirroring.source, topic, 2)
    mirroring.oracle.produce(mirroring.source, topic, 300, seed=3)
    errors = errors_of(mirroring.copy(), "SourceRecreated")
    answer(errors[TopicPartition(topic, 0)])
    still = mirroring.copy()
    assert errors_of(still, "SourceRecreated").keys() == {TopicPartition(topic, 1)}, "a decision is about its partition alone"
    answer(errors[TopicPartition(topic, 1)])
    assert mirroring.copy().state == "done"
    remote = mirroring.pair.remote(topic)
    for partition in (0, 1):
        assert mirrored(mirroring, topic, partition) == old[partition] + values(mirroring, mirroring.source, topic, partition)
    ends = {count.partition: count.end for count in mirroring.oracle.count(mirroring.target, remote)}
    first_new = {
        p: next(r.offset for r in mirroring.oracle.dump(mirroring.target, remote) if r.partition == p and r.offset >= len(old[p]))
        for p in ends
    }
    comparison = mirroring.oracle.compare(Side(mirroring.source, topic), Side(mirroring.target, remote, start=first_new))
    assert comparison.equal, str(comparison)
    record = mirroring.ledger()[TopicPartition(topic, 0)]
    assert record.offset_map.runs[0].source == 0
    used_up(decide, mirroring, "restart", "--topic", topic)
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=4)
    assert mirroring.copy().records == 50


def test_a_recreated_source_topic_may_be_taken_up_at_its_end(mirroring, make_topic, answer):
    topic = make_topic("orders")
    mirroring.copy()
    mirroring.oracle.delete_topic(mirroring.source, topic)
    mirroring.oracle.create_topic(mirroring.source, topic, 1)
    mirroring.oracle.produce(mirroring.source, topic, 40, seed=3)
    answer(errors_of(mirroring.copy(), "SourceRecreated")[TopicPartition(topic, 0)], "--to-latest")
    assert mirroring.copy().records == 0
    mirroring.oracle.produce(mirroring.source, topic, 7, seed=4)
    assert mirroring.copy().records == 7
    assert mirrored(mirroring, topic)[-7:] == values(mirroring, mirroring.source, topic)[-7:]


def test_a_gap_that_retention_made_is_passed_over_once_somebody_accepts_it(mirroring, make_topic, answer):
    topic = make_topic("orders")
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, topic, 60, seed=2)
    mirroring.oracle.alter_configs(mirroring.source, topic, {"retention.ms": "1"})
    deadline = time.monotonic() + 30
    while mirroring.oracle.count(mirroring.source, topic)[0].start < 160:
        assert time.monotonic() < deadline, "retention did not delete the records"
        time.sleep(0.1)
    mirroring.oracle.alter_configs(mirroring.source, topic, {"retention.ms": "-1"})
    mirroring.oracle.produce(mirroring.source, topic, 5, seed=3)
    answer(errors_of(mirroring.copy(), "SourceGap")[TopicPartition(topic, 0)])
    assert mirroring.copy().records == 5
    assert [(each.start, each.end) for each in mirroring.ledger()[TopicPartition(topic, 0)].skipped] == [(100, 160)]


def test_a_truncated_source_is_taken_up_where_its_old_records_end(mirroring, make_topic, decide, answer):
    topic = make_topic("orders")
    mirroring.copy()
    write_ledger(mirroring, topic, watermark=130, covered=((0, 130),))
    answer(errors_of(mirroring.copy(), "SourceTruncated")[TopicPartition(topic, 0)])
    mirroring.oracle.produce(mirroring.source, topic, 20, seed=4)
    assert mirroring.copy().records == 20
    mirroring.assert_mirrored(topic)
    assert mirroring.ledger()[TopicPartition(topic, 0)].covered == ((0, 120),)
    used_up(decide, mirroring, "restart", "--topic", topic)


def test_a_source_topic_that_is_recreated_inside_a_transaction_is_not_committed(mirroring, make_topic, inside_the_transaction, answer):
    topic = make_topic("orders")
    mirroring.copy()
    before = mirrored(mirroring, topic)
    mirroring.oracle.produce(mirroring.source, topic, 30, seed=5)
    inside_the_transaction(lambda: recreate(mirroring, mirroring.source, topic))
    error = errors_of(mirroring.copy(), "SourceRecreated")[TopicPartition(topic, 0)]
    assert (mirrored(mirroring, topic), watermark(mirroring, topic)) == (before, 100)
    mirroring.oracle.produce(mirroring.source, topic, 7, seed=6)
    answer(error)
    assert mirroring.copy().records == 7
    assert mirrored(mirroring, topic) == before + values(mirroring, mirroring.source, topic)


# ---------------------------------------------------------------- single records


def test_a_record_that_the_target_refuses_is_skipped_once_somebody_says_so(mirroring, make_topic, decide, answer):
    topic = make_topic("orders", records=0)
    mirroring.refresh()
    mirroring.oracle.alter_configs(mirroring.target, mirroring.pair.remote(topic), {"cleanup.policy": "compact"})
    records = [Record(b"k1", b"v"), Record(None, b"v"), Record(b"k2", b"v")]
    mirroring.oracle.produce_records(mirroring.source, topic, records)
    error = errors_of(mirroring.copy(), "RecordRefused")[TopicPartition(topic, 0)]
    (decision,) = answer(error)
    assert decision["offset"] == 1
    assert mirroring.copy().state == "done"
    assert [key for key, _ in mirrored(mirroring, topic)] == [b"k1", b"k2"]
    record = mirroring.ledger()[TopicPartition(topic, 0)]
    assert (record.watermark, record.blocked, [(s.start, s.end) for s in record.skipped]) == (3, None, [(1, 2)])
    assert WHY in record.skipped[0].reason
    used_up(decide, mirroring, "skip-record", "--topic", topic)


def test_a_record_that_cannot_be_carried_is_skipped_once_somebody_says_so(mirroring, make_topic, answer):
    topic = make_topic("orders", records=5)
    mirroring.oracle.produce_raw(mirroring.source, topic, [Record(b"odd", b"v", timestamp=1)], raw_header_keys=[b"\xff"])
    mirroring.oracle.produce(mirroring.source, topic, 5, seed=2)
    answer(errors_of(mirroring.copy(), "RecordNotCarried")[TopicPartition(topic, 0)])
    assert mirroring.copy().records == 5
    source = values(mirroring, mirroring.source, topic)
    assert mirrored(mirroring, topic) == source[:5] + source[6:]


# ---------------------------------------------------------------- the target


def test_a_recreated_remote_topic_is_filled_again(mirroring, make_topic, decide, answer):
    topic = make_topic("orders", 2)
    mirroring.copy()
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.delete_topic(mirroring.target, remote)
    mirroring.oracle.create_topic(mirroring.target, remote, 2)
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=12)
    for error in errors_of(mirroring.copy(), "TargetRecreated").values():
        answer(error)
    assert mirroring.copy().records == 150
    mirroring.assert_mirrored(topic)
    assert sum(record.records for record in mirroring.ledger().values()) == 250, "totals go on"
    used_up(decide, mirroring, "restart", "--topic", topic)


def test_a_deleted_remote_topic_is_decided_about_and_made_anew(mirroring, make_topic, decide, answer):
    topic = make_topic("orders")
    mirroring.copy()
    mirroring.oracle.delete_topic(mirroring.target, mirroring.pair.remote(topic))
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=13)
    error = errors_of(mirroring.copy(), "TargetMissing")[TopicPartition(topic, 0)]
    answer(error)
    errors_of(mirroring.copy(), "TargetMissing")
    mirroring.refresh()
    assert mirroring.copy().records == 150
    mirroring.assert_mirrored(topic)
    used_up(decide, mirroring, "restart", "--topic", topic)


def test_a_remote_topic_with_fewer_partitions_than_its_source_is_extended_and_decided_about(mirroring, make_topic, answer):
    topic = make_topic("orders", 3)
    mirroring.copy()
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.delete_topic(mirroring.target, remote)
    mirroring.oracle.create_topic(mirroring.target, remote, 1)
    mirroring.oracle.produce(mirroring.source, topic, 60, seed=14)
    judged = mirroring.copy()
    assert {(error.code, error.partition) for error in judged.errors} >= {("TargetMissing", 1), ("TargetMissing", 2)}
    mirroring.refresh()
    for error in errors_of(mirroring.copy(), "TargetRecreated").values():
        answer(error)
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)


def test_a_remote_topic_that_is_recreated_inside_a_transaction_is_not_committed(mirroring, make_topic, inside_the_transaction, answer):
    topic, other = make_topic("orders"), make_topic("payments")
    mirroring.copy()
    for each in (topic, other):
        mirroring.oracle.produce(mirroring.source, each, 30, seed=5)
    inside_the_transaction(lambda: recreate(mirroring, mirroring.target, mirroring.pair.remote(topic)))
    error = errors_of(mirroring.copy(), "TargetRecreated")[TopicPartition(topic, 0)]
    assert (mirrored(mirroring, topic), watermark(mirroring, topic)) == ([], 100)
    mirroring.assert_mirrored(other)
    answer(error)
    assert mirroring.copy().records == 130
    mirroring.assert_mirrored(topic)


def test_what_the_target_lost_is_copied_again(mirroring, make_topic, decide, answer):
    topic = make_topic("orders")
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, topic, 55, seed=5)
    offsets = OffsetMap((Run(0, 0, 100), Run(100, 101, 50)))
    write_ledger(mirroring, topic, watermark=150, covered=((0, 150),), target_next=151, offset_map=offsets, records=150)
    answer(errors_of(mirroring.copy(), "TargetLostRecords")[TopicPartition(topic, 0)])
    assert mirroring.copy().records == 55
    mirroring.assert_mirrored(topic)
    assert mirroring.ledger()[TopicPartition(topic, 0)].offset_map.runs == (Run(0, 0, 100), Run(100, 101, 55))
    used_up(decide, mirroring, "restart", "--topic", topic)


def test_another_policy_is_followed_once_somebody_says_so(mirroring, make_topic, make_mirroring, answer):
    topic = make_topic("orders")
    mirroring.copy()
    other = make_mirroring(
        mirroring.pair, {"replication.policy.separator": "-", "replication.policy.internal.topic.separator.enabled": "false"}
    )
    mirroring.oracle.produce(mirroring.source, topic, 20, seed=15)
    other.refresh()
    answer(errors_of(other.copy(), "TargetRecreated")[TopicPartition(topic, 0)])
    assert other.copy().records == 120
    other.assert_mirrored(topic, f"{mirroring.pair.source}-{topic}")


def test_records_of_somebody_else_stay_in_front_of_the_copy_once_that_is_accepted(mirroring, make_topic, decide, answer):
    known, fresh = make_topic("orders"), make_topic("payments", records=0)
    mirroring.copy()
    foreign = Record(b"foreign", b"v")
    new = mirroring.pair.topic("shipments")
    mirroring.oracle.create_topic(mirroring.source, new, 1)
    mirroring.oracle.create_topic(mirroring.target, mirroring.pair.remote(new), 1)
    for topic in (known, fresh, new):
        mirroring.oracle.produce_records(mirroring.target, mirroring.pair.remote(topic), [foreign] * 3)
        mirroring.oracle.produce(mirroring.source, topic, 20, seed=16)
    errors = errors_of(mirroring.copy(), "UnexplainedTarget")
    assert {tp.topic for tp in errors} == {known, fresh, new}
    for error in errors.values():
        answer(error)
    mirroring.oracle.produce_records(mirroring.target, mirroring.pair.remote(known), [foreign])
    late = errors_of(mirroring.copy(), "UnexplainedTarget")
    assert {tp.topic for tp in late} == {known}, "what came after the decision is not accepted"
    answer(late[TopicPartition(known, 0)])
    assert mirroring.copy().state == "done"
    for topic, copied, strangers in ((known, 100, 4), (fresh, 0, 3), (new, 0, 3)):
        source = values(mirroring, mirroring.source, topic)
        assert mirrored(mirroring, topic) == source[:copied] + [(b"foreign", b"v")] * strangers + source[copied:]
    used_up(decide, mirroring, "accept-records", "--topic", known)


def test_a_recreated_remote_topic_that_somebody_filled_needs_both_decisions(mirroring, make_topic, answer):
    topic = make_topic("orders")
    mirroring.copy()
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.delete_topic(mirroring.target, remote)
    mirroring.oracle.create_topic(mirroring.target, remote, 1)
    mirroring.oracle.produce_records(mirroring.target, remote, [Record(b"foreign", b"v")])
    mirroring.oracle.produce(mirroring.source, topic, 10, seed=17)
    answer(errors_of(mirroring.copy(), "TargetRecreated")[TopicPartition(topic, 0)])
    answer(errors_of(mirroring.copy(), "UnexplainedTarget")[TopicPartition(topic, 0)])
    assert mirroring.copy().records == 110
    assert mirrored(mirroring, topic) == [(b"foreign", b"v"), *values(mirroring, mirroring.source, topic)]


# ---------------------------------------------------------------- the whole flow


def test_a_paused_topic_is_left_out_until_it_is_resumed_and_the_newer_decision_counts(mirroring, make_topic, decide):
    topic, other = make_topic("orders", 2), make_topic("payments")
    flow = ("--flow", mirroring.pair.flow, "--reason", WHY, "--topic", topic)
    assert decide("resume", *flow)[0] == 1, "nothing is paused"
    assert decide("pause", *flow)[0] == 0
    judged = mirroring.copy()
    assert (judged.state, judged.records) == ("done", 100)
    assert any(f"{topic} is left out" in notice and WHY in notice for notice in judged.notices)
    assert {tp.topic for tp in mirroring.ledger()} == {other}
    assert decide("resume", *flow, "--partition", "1")[0] == 0
    mirroring.copy()
    assert {tp for tp in mirroring.ledger() if tp.topic == topic} == {TopicPartition(topic, 1)}
    mirroring.oracle.delete_records(mirroring.source, topic, {0: 1})
    assert mirroring.copy().state == "nothing to do", "what is paused raises no error either"
    assert decide("resume", *flow)[0] == 0
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)


def test_a_cluster_that_was_replaced_is_adopted_and_its_topics_are_decided_about(
    mirroring, make_topic, make_mirroring, west, answer, oracle
):
    topic = make_topic("orders")
    mirroring.copy()
    oracle.create_topic(west.bootstrap, topic, 1)
    oracle.produce(west.bootstrap, topic, 30, seed=18)
    replaced = make_mirroring(mirroring.pair, {"source.bootstrap.servers": west.bootstrap})
    with pytest.raises(OtherCluster) as refused:
        replaced.copy()
    answer(refused.value)
    answer(errors_of(replaced.copy(), "SourceRecreated")[TopicPartition(topic, 0)])
    assert replaced.copy().records == 30
    assert mirrored(mirroring, topic) == values(mirroring, mirroring.source, topic) + values(mirroring, west.bootstrap, topic)
    record = mirroring.ledger()[TopicPartition(topic, 0)]
    with clusters(replaced.flow) as (source, _):
        assert record.source_cluster_id == source.cluster_id()
    back = make_mirroring(mirroring.pair)
    with pytest.raises(OtherCluster):
        back.copy()


def test_another_installation_is_let_in_by_a_decision(mirroring, make_topic, make_mirroring, decide, answer):
    topic = make_topic("orders")
    first = make_mirroring(mirroring.pair, {"source->target.mirror.installation": "first"})
    assert first.copy().state == "done"
    mirroring.oracle.produce(mirroring.source, topic, 10, seed=19)
    second = make_mirroring(mirroring.pair, {"source->target.mirror.installation": "second"})
    judged = second.copy()
    assert {error.code for error in judged.errors} == {"ForeignWriter"}
    (decision,) = answer(judged.errors[0])
    assert decision["installation"] == "second"
    assert second.copy().records == 10
    record = mirroring.ledger()[TopicPartition(topic, 0)]
    assert (record.writer.installation, record.decided.decision) == ("second", "take-ownership")
    mirroring.oracle.produce(mirroring.source, topic, 10, seed=20)
    assert {error.code for error in first.copy().errors} == {"ForeignWriter"}, "now the first one is kept out"


@pytest.mark.parametrize("anew", [False, True], ids=["deleted", "created anew"])
def test_a_lost_ledger_stops_the_flow_until_somebody_begins_another(mirroring, make_topic, make_mirroring, answer, anew):
    topic = make_topic("orders")
    mirroring.copy()
    ledger = f"mm2-ledger.{mirroring.pair.source}.internal"
    mirroring.oracle.delete_topic(mirroring.target, ledger)
    if anew:
        mirroring.oracle.create_topic(mirroring.target, ledger, 4, {"cleanup.policy": "compact"})
    before = mirrored(mirroring, topic)
    with pytest.raises(LedgerMissing) as lost:
        mirroring.copy()
    assert (mirroring.oracle.topic_id(mirroring.target, ledger) is not None) == anew, "nothing was written"
    answer(lost.value)
    error = errors_of(mirroring.copy(), "UnexplainedTarget")[TopicPartition(topic, 0)]
    assert mirrored(mirroring, topic) == before
    answer(error)
    assert mirroring.copy().state == "done"
    assert mirrored(mirroring, topic) == before * 2, "a new ledger knows nothing of what was copied: mirror.start decides"
    assert mirroring.copy().state == "nothing to do"


def test_a_ledger_that_is_deleted_with_the_control_topic_leaves_filled_remote_topics_unwritten(mirroring, make_topic):
    topic = make_topic("orders")
    mirroring.copy()
    before = mirrored(mirroring, topic)
    for own in ("ledger", "control"):
        mirroring.oracle.delete_topic(mirroring.target, f"mm2-{own}.{mirroring.pair.source}.internal")
    errors_of(mirroring.copy(), "UnexplainedTarget")
    assert mirrored(mirroring, topic) == before


def test_another_separator_begins_no_second_flow_by_itself(mirroring, make_topic, make_mirroring, answer):
    topic = make_topic("orders")
    mirroring.copy()
    other = make_mirroring(mirroring.pair, {"replication.policy.separator": "-"})
    with pytest.raises(LedgerMissing, match=f"mm2-ledger.{mirroring.pair.source}.internal") as lost:
        other.copy()
    assert mirroring.oracle.topic_id(mirroring.target, f"{mirroring.pair.source}-{topic}") is None
    answer(lost.value)
    assert other.copy().records == 100
    other.assert_mirrored(topic, f"{mirroring.pair.source}-{topic}")


def test_a_ledger_that_is_made_anew_inside_a_transaction_takes_nothing(mirroring, make_topic, inside_the_transaction):
    topic = make_topic("orders")
    mirroring.copy()
    before = mirrored(mirroring, topic)
    mirroring.oracle.produce(mirroring.source, topic, 30, seed=5)
    ledger = f"mm2-ledger.{mirroring.pair.source}.internal"
    inside_the_transaction(lambda: recreate(mirroring, mirroring.target, ledger, 4, {"cleanup.policy": "compact"}))
    with pytest.raises(LedgerMissing):
        # The verdict goes by the ledger, and reading it finds another one.
        assert {error.code for error in mirroring.copy().errors} == {"LedgerMissing"}
        mirroring.copy()
    assert mirrored(mirroring, topic) == before


def test_topics_of_ours_that_would_not_keep_what_they_hold_are_refused(mirroring, make_topic):
    make_topic("orders")
    mirroring.copy()
    ledger, control = (f"mm2-{own}.{mirroring.pair.source}.internal" for own in ("ledger", "control"))
    mirroring.oracle.alter_configs(mirroring.target, control, {"cleanup.policy": "compact,delete"})
    with pytest.raises(LedgerUnsuitable, match=control):
        mirroring.copy()
    mirroring.oracle.alter_configs(mirroring.target, control, {"cleanup.policy": "compact"})
    mirroring.oracle.create_partitions(mirroring.target, control, 2)
    with pytest.raises(LedgerUnsuitable, match="partitions=2"):
        mirroring.copy()
    mirroring.oracle.delete_topic(mirroring.target, control)
    mirroring.oracle.create_partitions(mirroring.target, ledger, 5)
    with pytest.raises(LanesChanged, match=r"mirror\.lanes=5"):
        mirroring.copy()


def test_without_a_name_of_the_installation_a_fresh_flow_says_so(mirroring, make_topic, make_mirroring):
    make_topic("orders")
    named = make_mirroring(mirroring.pair, {"source->target.mirror.installation": "prod"})
    assert not any("mirror.installation" in notice for notice in named.plan().notices)
    assert any("mirror.installation" in notice for notice in mirroring.copy().notices)
    assert mirroring.copy().notices == ()


# ---------------------------------------------------------------- beside a running copy


def test_two_plans_that_both_saw_a_decision_act_on_it_once(mirroring, make_topic, decide, answer):
    gap, back = make_topic("orders"), make_topic("payments")
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, gap, 20, seed=7)
    mirroring.oracle.delete_records(mirroring.source, gap, {0: 110})
    answer(errors_of(mirroring.copy(), "SourceGap")[TopicPartition(gap, 0)])
    words = ("--flow", mirroring.pair.flow, "--topic", back, "--partition", "0", "--reason", WHY)
    assert decide("restart", *words, "--to-offset", "90")[0] == 0
    plans = [plan(mirroring.flow), plan(mirroring.flow)]
    assert [len(each.ranges) for each in plans] == [2, 2]
    copied = [sum(result.records for result in copy_in_process(mirroring.flow, each)) for each in plans]
    assert copied == [10 + 10, 0]
    ledger = mirroring.ledger()
    assert [(each.start, each.end) for each in ledger[TopicPartition(gap, 0)].skipped] == [(100, 110)]
    assert mirrored(mirroring, back)[100:] == values(mirroring, mirroring.source, back)[90:]
    assert mirroring.copy().state == "nothing to do"


def test_a_pause_that_comes_while_a_copy_runs_lets_it_end_and_holds_from_then_on(mirroring, make_topic, inside_the_transaction, decide):
    topic = make_topic("orders")
    words = ("--flow", mirroring.pair.flow, "--topic", topic, "--reason", WHY)
    inside_the_transaction(lambda: decide("pause", *words))
    assert mirroring.copy().records == 100
    mirroring.oracle.produce(mirroring.source, topic, 10, seed=8)
    assert mirroring.copy().state == "nothing to do"
    decide("resume", *words)
    assert mirroring.copy().records == 10
    mirroring.assert_mirrored(topic)


def test_a_decision_that_the_running_copy_made_needless_is_never_acted_on(mirroring, make_topic, inside_the_transaction, decide):
    topic = make_topic("orders")
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, topic, 10, seed=9)
    words = ("--flow", mirroring.pair.flow, "--topic", topic, "--partition", "0", "--reason", WHY)
    taken = []
    inside_the_transaction(lambda: taken.append(decide("restart", *words, "--to-earliest")))
    assert mirroring.copy().records == 10
    assert [code for code, _, _ in taken] == [0]
    assert mirroring.copy().state == "nothing to do", "it was bound to the watermark that the running copy has moved"
    mirroring.assert_mirrored(topic)


@pytest.mark.parametrize("value", [b'{"v":2}', b"garbage"], ids=["newer", "damaged"])
def test_a_decision_that_cannot_be_read_stops_the_flow_and_is_never_overwritten(mirroring, make_topic, decide, value):
    topic = make_topic("orders")
    mirroring.copy()
    control = f"mm2-control.{mirroring.pair.source}.internal"
    key = json.dumps(["pause", topic, None], separators=(",", ":")).encode()
    producer = Producer({"bootstrap.servers": mirroring.target})
    producer.produce(control, value, key)
    assert producer.flush(10) == 0
    with pytest.raises(ControlUnreadable, match=re.escape(f"{control}-0@")):
        mirroring.copy()
    code, _, (error,) = decide("pause", "--flow", mirroring.pair.flow, "--topic", topic, "--reason", WHY)
    assert (code, error["code"]) == (1, "ControlUnreadable")
    assert mirroring.oracle.dump(mirroring.target, control)[-1].value == value
    producer.produce(control, None, key)
    assert producer.flush(10) == 0
    assert mirroring.copy().state == "nothing to do"


def test_a_dry_run_of_a_decision_writes_nothing_and_a_decision_without_a_question_neither(mirroring, make_topic, decide):
    topic = make_topic("orders")
    words = ("--flow", mirroring.pair.flow, "--topic", topic, "--reason", WHY)
    assert decide("pause", *words, "--dry-run")[0] == 0
    assert mirroring.oracle.topic_id(mirroring.target, f"mm2-control.{mirroring.pair.source}.internal") is None
    mirroring.copy()
    for decision in ("accept-gap", "skip-record", "restart", "accept-records"):
        code, _, (error,) = decide(decision, *words)
        assert (code, error["code"]) == (1, "NothingToDecide")
        assert f"{topic}-0: copied up to 100" in error["message"]
    for decision, option in (("take-ownership", ()), ("begin-ledger", ()), ("adopt-cluster", ("--alias", mirroring.pair.source))):
        code, _, (error,) = decide(decision, "--flow", mirroring.pair.flow, "--reason", WHY, *option)
        assert (code, error["code"]) == (1, "NothingToDecide")
    with clusters(mirroring.flow) as (_, target):
        assert [each.decision for each in control_of(mirroring.flow, target).read()] == ["ledger"]
