"""Decisions about a flow as a whole: pauses, clusters, installations, lost ledgers; decisions that cannot be read; and decisions that are
taken while a copy runs. On real brokers."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Producer

from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.decide import run as module
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.decide.run import decide as decide_in_process
from kafka_mirror.decide.run import decisions_of
from kafka_mirror.errors import (
    ControlMissing,
    ControlUnreadable,
    DecidedMeanwhile,
    KafkaFailure,
    LanesChanged,
    LedgerMissing,
    LedgerUnsuitable,
    OtherCluster,
)
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.produce_request import Outgoing
from kafka_mirror.kafka.writer import RecordWriter
from kafka_mirror.ledger.clusters import clusters, control_of
from kafka_mirror.ledger.control_records import PAUSE, Decision, encode, encode_key
from kafka_mirror.ledger.decisions import moment_after
from services.waiting import PATIENCE
from tests.integration.decisions import WHY, errors_of, mirrored, recreate, values

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


def test_a_paused_topic_is_resumed_also_after_its_first_partition_was_resumed_alone(mirroring, make_topic, decide):
    topic = make_topic("orders", 2)
    flow = ("--flow", mirroring.pair.flow, "--reason", WHY, "--topic", topic)
    for word, more in (("pause", ()), ("resume", ("--partition", "0")), ("resume", ())):
        assert decide(word, *flow, *more)[0] == 0, (word, more)
    assert mirroring.copy().records == 100
    assert decide("resume", *flow)[0] == 1, "nothing is paused any more"


def test_a_decision_is_written_though_somebody_whose_clock_is_behind_decides_in_the_same_moment(mirroring, make_topic, monkeypatch):
    topic = make_topic("orders")
    mirroring.copy()
    mine = Decision(PAUSE, "ada", datetime.now(UTC), WHY, topic)
    theirs = replace(mine, who="ben", when=mine.when - timedelta(seconds=1))
    write = RecordWriter.write

    def overtaken(writer, records, what):
        write(writer, [*records, Outgoing(control.topic, encode_key(theirs), encode(theirs))], what)

    with clusters(mirroring.flow) as (_, target):
        control = control_of(mirroring.flow, target)
        with monkeypatch.context() as patch:
            patch.setattr(RecordWriter, "write", overtaken)
            control.write(mine)
        assert [each.who for each in control.read() if each.decision == PAUSE] == ["ben"], "the last one counts"
        monkeypatch.setattr(RecordWriter, "write", lambda *_given: None)
        with pytest.raises(KafkaFailure, match="is not in it"):
            control.write(replace(mine, why="it never arrives"))


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


def test_a_lost_control_topic_stops_the_flow_until_somebody_decided_anew(mirroring, make_topic, decide, answer):
    paused, other = make_topic("orders"), make_topic("payments")
    mirroring.copy()
    flow = ("--flow", mirroring.pair.flow, "--reason", WHY)
    decide("pause", *flow, "--topic", paused)
    mirroring.oracle.delete_topic(mirroring.target, f"mm2-control.{mirroring.pair.source}.internal")
    for topic in (paused, other):
        mirroring.oracle.produce(mirroring.source, topic, 10, seed=31)
    with pytest.raises(ControlMissing) as lost:
        mirroring.copy()
    assert decide("pause", *flow, "--topic", paused)[0] == 0, "what has to hold is decided first"
    with pytest.raises(ControlMissing):
        mirroring.plan()
    answer(lost.value)
    assert mirroring.copy().records == 10
    mirroring.assert_mirrored(other)
    assert decide("begin-control", *flow)[0] == 1, "nothing is lost now"


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
    inside_the_transaction(topic, lambda: recreate(mirroring, mirroring.target, ledger, 4, {"cleanup.policy": "compact"}))
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
    inside_the_transaction(topic, lambda: decide("pause", *words))
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
    inside_the_transaction(topic, lambda: taken.append(decide("restart", *words, "--to-earliest")))
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
    assert producer.flush(PATIENCE) == 0
    with pytest.raises(ControlUnreadable, match=re.escape(f"{control}-0@")):
        mirroring.copy()
    code, _, (error,) = decide("pause", "--flow", mirroring.pair.flow, "--topic", topic, "--reason", WHY)
    assert (code, error["code"]) == (1, "ControlUnreadable")
    assert mirroring.oracle.dump(mirroring.target, control)[-1].value == value
    producer.produce(control, None, key)
    assert producer.flush(PATIENCE) == 0
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


@pytest.mark.parametrize("behind", [timedelta(0), timedelta(hours=3)])
def test_of_two_people_who_decide_in_the_same_moment_neither_is_passed_over_in_silence(mirroring, make_topic, monkeypatch, behind):
    """Ada decides after Ben has looked, and a run acts on it before Ben's decision is written; his clock shows the same millisecond, or an
    earlier one."""
    topic = make_topic("orders")
    mirroring.copy()
    now = datetime.now(UTC)
    taken = []

    def moment(decisions, records, _now):
        """Ben has looked."""
        if not taken:
            taken.append("by Ada")
            monkeypatch.setattr(module, "moment_after", lambda *seen: moment_after(*seen[:2], now))
            decide_in_process(mirroring.flow, DecisionRequest("restart", "ada", WHY, topic, 0, start=90))
            assert mirroring.copy().records == 10
            monkeypatch.setattr(module, "moment_after", lambda *seen: moment_after(*seen[:2], now - behind))
        return moment_after(decisions, records, now - behind)

    monkeypatch.setattr(module, "moment_after", moment)
    (made,) = decide_in_process(mirroring.flow, DecisionRequest("restart", "ben", WHY, topic, 0, start=95))
    assert made.decision.when > now
    assert mirroring.copy().records == 5, "what Ben decided is acted on"
    assert [(each.who, counts) for each, counts in decisions_of(mirroring.flow)] == [("ben", False)]


def test_a_decision_that_would_come_to_something_else_by_now_is_not_taken(mirroring, make_topic, monkeypatch):
    topic = make_topic("orders")
    mirroring.copy()

    def moment(*seen):
        """Ben has looked; then Ada decides, and more is copied."""
        monkeypatch.setattr(module, "moment_after", moment_after)
        decide_in_process(mirroring.flow, DecisionRequest("restart", "ada", WHY, topic, 0, start=90))
        mirroring.oracle.produce(mirroring.source, topic, 20, seed=2)
        assert mirroring.copy().records == 30
        return moment_after(*seen)

    monkeypatch.setattr(module, "moment_after", moment)
    with pytest.raises(DecidedMeanwhile):
        decide_in_process(mirroring.flow, DecisionRequest("restart", "ben", WHY, topic, 0, start=95))
    assert mirroring.copy().state == "nothing to do"


def test_who_is_overtaken_again_and_again_is_told(mirroring, make_topic, monkeypatch):
    topic = make_topic("orders")
    mirroring.copy()
    with clusters(mirroring.flow) as (_, target):
        other = control_of(mirroring.flow, target)

        def moment(*seen):
            other.write(Decision(PAUSE, "ada", datetime.now(UTC), WHY, topic))
            return moment_after(*seen)

        monkeypatch.setattr(module, "moment_after", moment)
        with pytest.raises(DecidedMeanwhile):
            decide_in_process(mirroring.flow, DecisionRequest("pause", "ben", WHY, topic))
        assert [each.who for each in other.read() if each.decision == PAUSE] == ["ada"]


def test_decisions_at_once_come_one_after_the_other(mirroring, make_topic):
    topics = [make_topic(name) for name in ("orders", "payments", "refunds")]
    mirroring.copy()
    with ThreadPoolExecutor(len(topics)) as people:
        made = list(people.map(lambda topic: decide_in_process(mirroring.flow, DecisionRequest("pause", "ada", WHY, topic)), topics))
    moments = [each.decision.when for (each,) in made]
    assert len(set(moments)) == len(topics)
    with clusters(mirroring.flow) as (_, target):
        stored = [each for each in control_of(mirroring.flow, target).read() if each.decision == PAUSE]
    assert [each.when for each in stored] == sorted(moments)
