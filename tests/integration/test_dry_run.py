"""`--dry-run` of every command that has it: nothing changes on either cluster, and what it says is what the next run does."""

import json
import zlib

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource

from kafka_mirror.__main__ import main
from kafka_mirror.cli.parser import parser
from kafka_mirror.config import load
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.status.snapshot_builder import FlowSnapshotBuilder
from services.waiting import ADMIN_TIMEOUT_MS, PATIENCE

COMMANDS = {
    "copy": [[], ["--without-spark"]],
    "backfill": [["--from", "2020-01-01", "--to", "2100-01-01", "--without-spark"]],
    "refresh-topics": [[]],
    "checkpoints": [[]],
    "group-offsets": [[]],
    "topic-configs": [[]],
    "topic-acls": [[]],
    "schemas": [[]],
    "heartbeats": [["--flow", "FLOW"]],
    "decide": [
        ["pause", "--flow", "FLOW", "--topic", "TOPIC", "--reason", "a test"],
        ["throttle", "--flow", "FLOW", "--bytes-per-second", "1000", "--reason", "a test"],
    ],
    "cutover": [["run", "--flow", "FLOW", "--topics", "TOPIC", "--by", "acl", "--quiet-seconds", "0.1", "--wait", "1"]],
    "take-over": [["--flow", "FLOW"]],
    "hand-back": [["--flow", "FLOW"]],
}
"""How each command is called, on this FLOW and TOPIC. One that is missing here fails a test below."""

EXIT_CODES = {"cutover": (1, 1), "take-over": (1, 1), "hand-back": (1, 0)}
"""On a fresh flow and on an old one, of commands that something stops, or that have nothing to do there. A dry take-over that has is in
test_take_over.py."""

OWN_TOPICS = ("__transaction_state", "__consumer_offsets")


@pytest.fixture
def mirror(pair, capsys):
    # With offset syncs on the target nothing at all is written to the source.
    syncs = {"source->target.offset-syncs.topic.location": "target"}
    file = pair.properties(extra={"source->target.mirror.lanes": "4", "admin.timeout.ms": ADMIN_TIMEOUT_MS, **syncs})

    def run(*arguments):
        code = main(["--config", str(file), *arguments, "--json"])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return code, flow["result"]

    return run


def snapshot(pair):
    """All that a run of this flow could change on its clusters: its topics with ids, partitions, configs and every record, and what the
    brokers' own topics (transactional ids, group offsets) say of its aliases."""
    return {bootstrap: _cluster(bootstrap, pair) for bootstrap in (pair.source_bootstrap, pair.target_bootstrap)}


def _cluster(bootstrap, pair):
    marks = (pair.mark, pair.source, pair.target)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    with Cluster("seen", {"bootstrap.servers": bootstrap}) as cluster:
        metadata = admin.list_topics(timeout=PATIENCE).topics
        names = [name for name in metadata if any(mark in name for mark in marks)]
        described = cluster.topics(names)
        partitions = [TopicPartition(n, p) for n in (*names, *OWN_TOPICS) if n in metadata for p in metadata[n].partitions]
        ends = cluster.offsets(partitions, "latest")
    asked = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]) if names else {}
    configs = {resource.name: {key: entry.value for key, entry in answer.result(PATIENCE).items()} for resource, answer in asked.items()}
    return {
        "topics": described,
        "configs": configs,
        "ends": {tp: end for tp, end in ends.items() if tp.topic in names},
        "records": _records(bootstrap, ends, marks),
        "groups": sorted(group.group_id for group in admin.list_consumer_groups().result(PATIENCE).valid),
    }


def _records(bootstrap, ends, marks):
    """A checksum of each record; of the brokers' own topics only those that speak of the flow, for other tests use these clusters too."""
    found = []
    reader = BoundedReader("seen", {"bootstrap.servers": bootstrap}, committed=False)
    for message in reader.read({tp: (0, end) for tp, end in ends.items()}, 30):
        content = (message.key or b"") + b"\0" + (message.value or b"")
        if message.partition.topic not in OWN_TOPICS or any(mark.encode() in content for mark in marks):
            found.append((*message.partition, message.offset, message.timestamp, zlib.crc32(content)))
    return sorted(found)


def with_dry_run():
    commands = parser().commands
    return {name for name, step in commands.items() if any("--dry-run" in action.option_strings for action in step.arguments)}


def test_every_command_with_a_dry_run_is_tried_here():
    assert set(COMMANDS) == with_dry_run()


def test_a_snapshot_sees_what_a_run_writes(pair, oracle, topic, mirror):
    before = snapshot(pair)
    assert mirror("copy", "--without-spark")[0] == 0
    after = snapshot(pair)
    assert after[pair.source_bootstrap] == before[pair.source_bootstrap], "nothing is written to the source"
    target = after[pair.target_bootstrap]
    assert {record[0] for record in target["records"]} > {"__transaction_state", pair.remote(topic)}
    assert target != before[pair.target_bootstrap]


@pytest.mark.parametrize(("command", "options"), [(name, options) for name, calls in COMMANDS.items() for options in calls])
def test_nothing_changes_on_either_cluster_on_a_fresh_flow_and_on_an_old_one(command, options, pair, oracle, topic, mirror):
    options = [{"TOPIC": topic, "FLOW": pair.flow}.get(option, option) for option in options]
    fresh, old = EXIT_CODES.get(command, (0, 0))
    before = snapshot(pair)
    assert mirror(command, *options, "--dry-run")[0] == fresh
    assert snapshot(pair) == before

    assert mirror("copy", "--without-spark")[0] == 0
    oracle.produce(pair.source_bootstrap, topic, 20, seed=2)
    oracle.create_topic(pair.source_bootstrap, pair.topic("new"))
    oracle.create_partitions(pair.source_bootstrap, topic, 3)
    oracle.alter_configs(pair.source_bootstrap, topic, {"segment.bytes": "2097152"})
    before = snapshot(pair)
    assert mirror(command, *options, "--dry-run")[0] == old
    assert snapshot(pair) == before


def test_status_and_plan_change_nothing_either(pair, oracle, topic, mirror):
    assert mirror("copy", "--without-spark")[0] == 0
    oracle.produce(pair.source_bootstrap, topic, 20, seed=2)
    before = snapshot(pair)
    assert (mirror("status")[0], mirror("plan")[0]) == (0, 0)
    assert mirror("cutover", "plan", "--flow", pair.flow, "--topics", topic)[0] == 0
    assert snapshot(pair) == before


def test_a_look_of_the_status_page_changes_nothing_either(pair, oracle, topic, mirror, mm2_properties):
    taking = FlowSnapshotBuilder(load([mm2_properties(extra={"source->target.mirror.lanes": "4"})]).flow(pair.flow))
    fresh = snapshot(pair)
    assert taking.with_groups(taking.take()).is_good
    assert snapshot(pair) == fresh
    assert mirror("copy", "--without-spark")[0] == 0
    old = snapshot(pair)
    assert taking.take().is_good
    assert snapshot(pair) == old


def test_a_dry_copy_says_what_the_copy_then_does(pair, oracle, topic, mirror):
    for seed in (2, 3):
        _, planned = mirror("copy", "--dry-run")
        assert planned == {**mirror("plan")[1], "time": planned["time"], "by_person": True}
        ranges = planned["ranges"]
        _, copied = mirror("copy", "--without-spark")
        reached = copied["watermarks"]
        assert ranges["topic"]
        assert sorted(zip(ranges["topic"], ranges["partition"], ranges["end"], strict=True)) == sorted(
            zip(reached["topic"], reached["partition"], reached["source_offset"], strict=True)
        )
        oracle.produce(pair.source_bootstrap, topic, 20, seed=seed)


def test_a_dry_refresh_says_what_the_refresh_then_does(pair, oracle, topic, mirror):
    _, said = mirror("refresh-topics", "--dry-run")
    _, done = mirror("refresh-topics")
    assert said == done
    assert done["created"] == {pair.remote(topic): 2}
    oracle.create_partitions(pair.source_bootstrap, topic, 5)
    _, said = mirror("refresh-topics", "--dry-run")
    assert said == mirror("refresh-topics")[1]
    assert said["extended"] == {pair.remote(topic): 5}
