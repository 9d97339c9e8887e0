"""`status` beside real brokers: what it says in each situation, that it writes nothing, and what is left of it when a cluster is down."""

import json
import random
import time

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.copy.plan import target_errors
from kafka_mirror.status.alerts.check import check, observe_for_alerts
from kafka_mirror.status.alerts.tracker import AlertState
from kafka_mirror.status.observe import status
from services.oracle import Record
from services.ports import free_ports
from services.waiting import PATIENCE
from tests.integration.second_disk import SecondDisk


@pytest.fixture
def topic(pair, oracle):
    """A source topic of two partitions."""
    name = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, name, 2)
    return name


def states(flow):
    return {(each.topic, each.partition): each.state for each in status(flow).partitions}


def test_a_partition_is_followed_from_first_sight_to_up_to_date_and_behind_again(mirroring, topic, oracle, pair):
    now = int(time.time() * 1000)
    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"one", timestamp=now - 50_000), Record(value=b"two")])
    first = status(mirroring.flow)
    assert [(each.partition, each.state, each.lag, each.watermark) for each in first.partitions] == [
        (0, "first sight", 2, None),
        (1, "first sight", 0, None),
    ]
    assert 50 <= first.oldest_seconds < 50 + PATIENCE

    assert not mirroring.copy().errors
    copied = status(mirroring.flow)
    assert states(mirroring.flow) == {(topic, 0): "up to date", (topic, 1): "up to date"}
    assert (copied.lag, copied.oldest_seconds, copied.errors) == (0, None, ())
    assert copied.written.time <= copied.time

    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"new", partition=1, timestamp=now - 7_000)])
    behind = status(mirroring.flow)
    (partition,) = behind.behind
    assert (partition.partition, partition.state, partition.watermark, partition.end, partition.lag) == (1, "behind", 0, 1, 1)
    assert 7 <= partition.oldest_seconds < 7 + PATIENCE


def test_what_holds_a_partition_back_is_said_beside_the_others(mirroring, oracle, pair):
    names = ("well", "gapped", "tampered", "gone", "recreated", "waiting")
    topics = {name: pair.topic(name) for name in names}
    for topic in topics.values():
        oracle.create_topic(pair.source_bootstrap, topic)
        oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"one"), Record(value=b"two")])
    assert not mirroring.copy().errors
    for topic in topics.values():
        oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"three"), Record(value=b"four")])
    oracle.delete_records(pair.source_bootstrap, topics["gapped"], {0: 3})
    oracle.produce_records(pair.target_bootstrap, pair.remote(topics["tampered"]), [Record(value=b"not ours")])
    oracle.delete_topic(pair.source_bootstrap, topics["gone"])
    oracle.delete_topic(pair.source_bootstrap, topics["recreated"])
    oracle.create_topic(pair.source_bootstrap, topics["recreated"])
    oracle.open_transaction(pair.source_bootstrap, topics["waiting"], f"open-{pair.mark}", [Record(value=b"five")])
    try:
        found = status(mirroring.flow)
    finally:
        oracle.end_transaction(f"open-{pair.mark}", "abort")

    assert {each.topic: each.state for each in found.partitions} == {
        topics["well"]: "behind",
        topics["gapped"]: "gap",
        topics["tampered"]: "unexplained target",
        topics["gone"]: "gone from the source",
        topics["recreated"]: "recreated",
        topics["waiting"]: "behind",
    }
    assert {error.code for error in found.errors} == {"SourceGap", "UnexplainedTarget", "SourceRecreated"}
    planned = mirroring.plan()
    assert {each.topic for each in planned.ranges} == {
        each.topic for each in found.partitions if each.state in ("behind", "unexplained target")
    }


def test_a_copy_that_commits_while_we_look_is_not_taken_for_a_foreign_writer(mirroring, topic, oracle, pair, monkeypatch):
    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"one"), Record(value=b"two", partition=1)])
    look = target_errors._read_remote_partitions

    def look_after_a_copy(*arguments):
        assert not mirroring.copy().errors
        return look(*arguments)

    monkeypatch.setattr(target_errors, "_read_remote_partitions", look_after_a_copy)
    assert status(mirroring.flow).errors == ()


def test_an_open_transaction_is_waited_for_without_an_alarm(mirroring, topic, oracle, pair):
    assert not mirroring.copy().errors
    oracle.open_transaction(pair.source_bootstrap, topic, f"open-{pair.mark}", [Record(value=b"open")])
    try:
        found = status(mirroring.flow)
    finally:
        oracle.end_transaction(f"open-{pair.mark}", "abort")
    (waiting,) = found.behind
    assert (waiting.state, waiting.error, found.errors) == ("open transaction", None, ())
    assert waiting.oldest_seconds is not None


def test_a_refused_record_is_a_problem_with_its_offset_since_when_and_what_to_do(mirroring, topic, oracle, pair, capsys):
    mirroring.refresh()
    oracle.alter_configs(pair.target_bootstrap, pair.remote(topic), {"max.message.bytes": "1000"})
    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"small"), Record(value=random.Random(1).randbytes(5000))])
    assert mirroring.copy().errors
    file = str(pair.properties(extra={"source->target.mirror.lanes": "4"}))
    assert main(["--config", file, "status", "--problems", "--json"]) == 1
    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    (partition,) = flow["result"]["partitions"]
    assert (partition["state"], partition["watermark"], partition["lag"]) == ("blocked", 1, 1)
    assert partition["error"] == flow["errors"][0]
    assert (partition["error"]["code"], partition["error"]["offset"]) == ("RecordRefused", 1)
    assert partition["since"] <= flow["result"]["time"]
    assert flow["result"]["partitions_in_all"] == 2
    assert main(["--config", file, "status", "--topic", topic]) == 1
    output, words = capsys.readouterr()
    assert output.splitlines()[1].startswith("1 of 2 partitions behind by at most 1 records, oldest ")
    assert [line.split()[:3] for line in output.splitlines()[3:]] == [[topic, "0", "blocked"], [topic, "1", "up"]]
    assert f"RecordRefused: {topic}-0@1" in words


@pytest.mark.parametrize("down", ["source", "target"])
def test_with_a_cluster_down_the_other_sides_knowledge_is_shown(down, pair, make_mirroring, topic, oracle):
    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"one")])
    assert not make_mirroring(pair).copy().errors
    nowhere = {f"{down}.bootstrap.servers": f"127.0.0.1:{free_ports(1)[0]}", "admin.timeout.ms": "2000"}
    began = time.monotonic()
    found = status(make_mirroring(pair, nowhere).flow)
    assert time.monotonic() - began < 55, "and not the minute of the default"
    (error,) = found.errors
    assert error.code == "ClusterUnreachable"
    assert f"Cluster '{getattr(pair, down)}'" in error.message
    first = found.partitions[0]
    assert (first.topic_partition, first.state, first.lag) == ((topic, 0), "unknown", None)
    assert (first.watermark, first.end) == ((1, None) if down == "source" else (None, 1))


def test_what_waits_in_a_topic_that_the_target_refuses_counts_and_the_refusal_is_named_for_as_long_as_it_stands(mirroring, oracle, pair):
    refused, grows, well = pair.topic("shop.refused"), pair.topic("grows"), pair.topic("well")
    for topic in (refused, grows, well):
        oracle.create_topic(pair.source_bootstrap, topic)
        oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"one"), Record(value=b"two")])
    in_the_way = pair.remote(refused).replace(".", "_")
    oracle.create_topic(pair.target_bootstrap, in_the_way)
    assert {error.code for error in mirroring.copy().errors} == {"RemoteTopicRefused"}
    oracle.create_partitions(pair.source_bootstrap, grows, 2)
    oracle.produce_records(pair.source_bootstrap, grows, [Record(value=b"three", partition=1)])

    for _ in range(2):
        planned = mirroring.copy()
        assert [(error.code, error.topic) for error in planned.errors] == [("RemoteTopicRefused", refused)]
        assert [notice for notice in planned.notices if "wait" in notice] == [
            f"{grows}: 1 partitions wait for refresh-topics to create them in {pair.remote(grows)}."
        ]
    found = status(mirroring.flow)
    assert {(each.topic, each.partition): (each.state, each.lag, each.error is None) for each in found.partitions} == {
        (refused, 0): ("no remote partition", 2, False),
        (grows, 0): ("up to date", 0, True),
        (grows, 1): ("no remote partition", 1, True),
        (well, 0): ("up to date", 0, True),
    }
    assert (found.lag, [error.code for error in found.errors]) == (3, ["RemoteTopicRefused"])
    assert found.oldest_seconds is not None
    seen = check(mirroring.flow, observe_for_alerts(mirroring.flow), AlertState())
    assert seen.write_document()["lag_records"] == 3
    assert {problem.kind for problem in seen.problems} == {"RemoteTopicRefused"}

    oracle.delete_topic(pair.target_bootstrap, in_the_way)
    assert mirroring.refresh().errors == ()
    assert not mirroring.copy().errors
    after = status(mirroring.flow)
    assert (after.lag, after.errors, set(after.states)) == (0, (), {"up to date"})


def test_a_paused_partition_and_one_that_was_decided_about_say_by_whom(mirroring, topic, oracle, pair, capsys):
    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"one"), Record(value=b"two", partition=1)])
    assert not mirroring.copy().errors
    records = [Record(value=b"gone"), Record(value=b"next"), Record(value=b"three", partition=1)]
    oracle.produce_records(pair.source_bootstrap, topic, records)
    oracle.delete_records(pair.source_bootstrap, topic, {0: 2})
    config = ["--config", str(pair.properties(extra={"source->target.mirror.lanes": "4"}))]
    decide = ["decide", "--flow", pair.flow, "--topic", topic, "--who", "me", "--reason", "a test"]
    assert main([*config, *decide, "accept-gap", "--partition", "0"]) == 0, capsys.readouterr().err
    assert main([*config, *decide, "pause", "--partition", "1"]) == 0, capsys.readouterr().err
    gap, paused = status(mirroring.flow).partitions
    assert (gap.state, gap.lag, gap.error) == ("decided", 1, None), "what is gone for good is not owed"
    assert (paused.state, paused.lag, paused.error) == ("paused", 1, None)
    assert gap.note.startswith("accept-gap by me at ")
    assert paused.note.startswith("pause by me at ")
    assert not status(mirroring.flow).errors


@pytest.mark.parametrize("recreated", ["source", "target"])
def test_what_a_decision_leads_to_is_missing_until_it_is_copied(recreated, mirroring, oracle, pair, capsys):
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    stamp = int(time.time() * 1000) - 60_000
    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"old", timestamp=stamp)] * 3)
    assert not mirroring.copy().errors
    if recreated == "source":
        oracle.delete_topic(pair.source_bootstrap, topic)
        oracle.create_topic(pair.source_bootstrap, topic)
        oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"new", timestamp=stamp)] * 3)
    else:
        oracle.delete_topic(pair.target_bootstrap, pair.remote(topic))
        oracle.create_topic(pair.target_bootstrap, pair.remote(topic))
    assert states(mirroring.flow) == {(topic, 0): "recreated" if recreated == "source" else "target recreated"}
    config = ["--config", str(pair.properties(extra={"source->target.mirror.lanes": "4"}))]
    decide = ["decide", "restart", "--flow", pair.flow, "--topic", topic, "--partition", "0", "--who", "me", "--reason", "a test"]
    assert main([*config, *decide]) == 0, capsys.readouterr().err

    decided = status(mirroring.flow)
    assert [(each.state, each.watermark, each.end, each.lag) for each in decided.partitions] == [("decided", 3, 3, 3)]
    assert (decided.lag, decided.errors) == (3, ())
    assert decided.oldest_seconds >= 60
    assert not mirroring.copy().errors
    copied = status(mirroring.flow)
    assert [(each.state, each.watermark, each.lag) for each in copied.partitions] == [("up to date", 3, 0)]


def test_a_partition_that_loses_its_leader_is_an_alert_and_ends_none_that_nobody_has_seen_to_be_over(
    make_cluster, make_pair, make_mirroring, west, oracle, tmp_path
):
    broken = SecondDisk(make_cluster, "broken", tmp_path)
    limits = {"mirror.deadline.lag.records": "4", "mirror.alert.lasting.seconds": "0", "mirror.deadline.unreachable.seconds": "0"}
    mirroring = make_mirroring(make_pair(broken.cluster, west), limits)
    topic = mirroring.pair.topic("orders")
    oracle.create_topic(mirroring.source, topic, 1)
    assert not mirroring.copy().errors
    broken.add()
    oracle.create_partitions(mirroring.source, topic, 2)
    assert mirroring.refresh().errors == ()
    assert not mirroring.copy().errors
    oracle.produce(mirroring.source, topic, 5, seed=1, partition=1)
    late = check(mirroring.flow, observe_for_alerts(mirroring.flow), AlertState())
    assert [each.kind for each in late.alerts] == ["Behind"]

    broken.lose(oracle, (topic, 1))
    seen = observe_for_alerts(mirroring.flow)
    assert {each.partition: (each.state, each.lag) for each in seen.status.partitions} == {0: ("up to date", 0), 1: ("no leader", None)}
    blind = check(mirroring.flow, seen, late.state)
    assert {(each.kind, each.topic, each.partition) for each in blind.alerts} == {("Behind", None, None), ("NoLeader", None, None)}
