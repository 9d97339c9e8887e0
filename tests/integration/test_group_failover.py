"""Groups whose offsets are translated, on real brokers: each situation gets the design's answer, never a late one."""

import json
from collections import Counter

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.config import load
from kafka_mirror.formats import mm2
from kafka_mirror.formats.mm2 import OffsetSync
from kafka_mirror.groups.checkpoints import emit
from kafka_mirror.groups.context import group_context
from kafka_mirror.groups.find import find_groups
from kafka_mirror.groups.group_offsets import synchronise
from kafka_mirror.groups.mm2_topics import read_topic
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.create_topics import ensure_internal_topic
from kafka_mirror.kafka.produce_request import Outgoing
from kafka_mirror.kafka.writer import RecordWriter
from services.consumers import member, read, read_offsets, set_offsets
from services.waiting import ADMIN_TIMEOUT_MS
from tests.integration.second_disk import SecondDisk


@pytest.fixture
def groups(pair):
    """Names of groups that are this test's alone."""
    return lambda name: f"{name}-{pair.mark}"


def translated(mirror, group):
    """What `translate` says of each partition."""
    code, flow = mirror("translate", "--group", group)
    assert code == 0, flow
    return {(row["topic"], row["partition"]): row for row in flow["result"]["partitions"]}


def answers(mirror, group):
    """Of each partition: answer, position, records that are read again at most."""
    return {tp: (row["answer"], row["position"], row["reread"]) for tp, row in translated(mirror, group).items()}


def checkpoints(mirroring, names):
    settings = {"bootstrap.servers": mirroring.target}
    with Cluster("seen", settings) as target:
        content = read_topic(target, settings, group_context(mirroring.flow).checkpoints_topic, mm2.decode_checkpoint)
    assert not content.damaged
    return [each for each in content.records if each.group in names]


def emitted(mirroring):
    done = emit(group_context(mirroring.flow), find_groups(mirroring.flow).offsets)
    assert not done.errors
    return done


def synced(mirroring, name):
    found = synchronise(group_context(mirroring.flow), find_groups(mirroring.flow).offsets)
    assert not found.errors
    return next((each.state, each.synced, each.reason) for each in found.groups if each.group == name)


def unread(oracle, bootstrap, topic, position, partition=0):
    """The values of the records that a reader finds from a position on."""
    return [record.value for record in oracle.dump(bootstrap, topic) if record.partition == partition and record.offset >= position]


def test_a_group_is_translated_exactly_with_markers_and_gaps_on_both_sides(mirroring, pair, oracle, topic, mirror, groups):
    for seed in (2, 3, 4):
        assert mirroring.refresh().errors == ()
        mirroring.copy()
        oracle.produce(
            pair.source_bootstrap, topic, 30, seed=seed, transactions=7 if seed == 3 else 0, abort_percent=30 if seed == 3 else 0
        )
    mirroring.copy()
    record = {tp.partition: each for tp, each in mirroring.ledger().items()}
    for partition in (0, 1):
        end = record[partition].watermark
        for offset in sorted({0, 1, end // 3, end // 2, end - 1, end}):
            set_offsets(pair.source_bootstrap, groups("reader"), {(topic, partition): offset})
            answer, position, reread = answers(mirror, groups("reader"))[topic, partition]
            assert (answer, reread) == ("exact", 0)
            left = unread(oracle, pair.target_bootstrap, pair.remote(topic), position, partition)
            assert left == unread(oracle, pair.source_bootstrap, topic, offset, partition)


def test_each_situation_gets_its_answer(make_mirroring, pair, oracle, topic, mirror, groups):
    """The mirror begins at the end of what is there, so there is something below everything mirrored."""
    mirroring = make_mirroring(pair, {"source->target.mirror.start": "latest"})
    mirroring.refresh()
    mirroring.copy()
    begun = {tp.partition: each.watermark for tp, each in mirroring.ledger().items()}
    oracle.produce(pair.source_bootstrap, topic, 40, seed=2)
    mirroring.copy()
    record = {tp.partition: each for tp, each in mirroring.ledger().items()}
    mark, first = record[0].watermark, begun[0]
    oracle.produce(pair.source_bootstrap, topic, 20, seed=3)
    with Cluster("seen", {"bootstrap.servers": pair.source_bootstrap}) as source:
        end = next(found for tp, found in source.offsets(mirroring.ledger(), "latest").items() if tp.partition == 0)
    positions = {"below": first - 1, "first": first, "watermark": mark, "behind": mark + 1, "end": end, "beyond": end + 5}
    for name, offset in positions.items():
        set_offsets(pair.source_bootstrap, groups(name), {(topic, 0): offset})
    found = {name: answers(mirror, groups(name))[topic, 0] for name in positions}
    last = record[0].target_next
    assert {name: translated(mirror, groups(name))[topic, 0]["ahead"] for name in positions} == {
        **dict.fromkeys(positions, 0),
        "behind": 1,
        "end": end - mark,
    }
    assert found == {
        "below": ("incomplete", 0, 0),
        "first": ("exact", 0, 0),
        "watermark": ("exact", last, 0),
        "behind": ("exact", last, 0),
        "end": ("exact", last, 0),
        "beyond": ("none", None, None),
    }
    assert emitted(mirroring).written == 5
    written = {each.group: each for each in checkpoints(mirroring, {groups(name) for name in positions})}
    assert {name: (each.upstream, each.downstream) for name in positions if (each := written.get(groups(name)))} == {
        name: (offset, found[name][1]) for name, offset in positions.items() if name != "beyond"
    }
    again = emitted(mirroring)
    assert (again.written, again.unchanged) == (0, 5), "what did not move costs nothing"


def test_a_recreated_topic_has_no_answer_until_the_mirror_has_gone_on_and_then_a_new_generation(
    mirroring, pair, oracle, topic, mirror, groups, decide
):
    mirroring.refresh()
    mirroring.copy()
    set_offsets(pair.source_bootstrap, groups("old"), {(topic, 0): 20, (topic, 1): 20})
    assert emitted(mirroring).written == 2
    oracle.delete_topic(pair.source_bootstrap, topic)
    oracle.create_topic(pair.source_bootstrap, topic, 2)
    oracle.produce(pair.source_bootstrap, topic, 60, seed=9)
    set_offsets(pair.source_bootstrap, groups("old"), {(topic, 0): 20, (topic, 1): 999})
    assert {each[0] for each in answers(mirror, groups("old")).values()} == {"none"}
    done = emitted(mirroring)
    assert (done.written, done.kinds) == (0, Counter(none=2))
    assert mirroring.copy().errors
    code, _, errors = decide("restart", "--flow", pair.flow, "--topic", topic, "--reason", "a test")
    assert (code, errors) == (0, [])
    assert not mirroring.copy().errors
    found = answers(mirror, groups("old"))
    assert (found[topic, 0][0], found[topic, 1][0]) == ("exact", "none")
    left = unread(oracle, pair.target_bootstrap, pair.remote(topic), found[topic, 0][1])
    assert left == unread(oracle, pair.source_bootstrap, topic, 20)
    assert emitted(mirroring).written == 1, "the same source offset, in a new generation"
    assert emitted(mirroring).written == 0


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_idle_groups_go_on_on_the_target_and_active_ones_are_left_alone(protocol, mirroring, pair, oracle, topic, groups):
    mirroring.refresh()
    mirroring.copy()
    name, remote = groups(f"shop-{protocol}"), pair.remote(topic)
    with member(pair.source_bootstrap, name, topic, protocol) as consumer:
        taken = read(consumer, 25)
    position = Counter(partition for _, partition, _ in taken)
    assert synced(mirroring, name)[:2] == ("synced", len(position))
    assert synced(mirroring, name)[:2] == ("up to date", 0)
    target = read_offsets(pair.target_bootstrap, name)
    assert {tp.partition: offset for tp, offset in target.items()} == dict(position)

    with member(pair.target_bootstrap, name, remote, protocol) as consumer:
        rest = read(consumer, 60 - 25)
        assert not {(partition, offset) for _, partition, offset in rest} & {(partition, offset) for _, partition, offset in taken}
        state, count, reason = synced(mirroring, name)
        assert (state, count) == ("skipped", 0)
        assert "active on the target" in reason
    state, count, reason = synced(mirroring, name)
    assert (state, count) in (("skipped", 0), ("up to date", 0))
    assert "further on on the target" in reason
    assert sum(read_offsets(pair.target_bootstrap, name).values()) >= 60, "never backwards"


def test_a_group_that_comes_to_life_between_look_and_commit_is_reported_and_left_alone(mirroring, pair, topic, groups, monkeypatch):
    mirroring.refresh()
    mirroring.copy()
    name = groups("shop")
    set_offsets(pair.source_bootstrap, name, {(topic, 0): 12, (topic, 1): 12})
    with member(pair.target_bootstrap, name, pair.remote(topic)):
        # What the look said a moment before.
        monkeypatch.setattr("kafka_mirror.kafka.groups.Group.is_idle", True)
        state, count, reason = synced(mirroring, name)
    assert (state, count) == ("skipped", 0)
    assert "came to life on the target" in reason
    assert read_offsets(pair.target_bootstrap, name) == {}


def with_a_group(mirroring, topic, name, partitions):
    """The topic mirrored whole, and what a group has read of it translated."""
    assert mirroring.refresh().errors == ()
    assert not mirroring.copy().errors
    set_offsets(mirroring.source, name, {(topic, number): 5 for number in range(partitions)})
    assert emitted(mirroring).kinds["exact"] == partitions
    assert synced(mirroring, name)[:2] == ("synced", 1)


def test_a_partition_without_leader_on_either_side_is_an_error_and_its_group_not_up_to_date(
    make_cluster, make_pair, make_mirroring, east, west, oracle, groups, tmp_path, capsys
):
    broken = SecondDisk(make_cluster, "broken", tmp_path)
    from_it, to_it = (make_mirroring(make_pair(*clusters)) for clusters in ((broken.cluster, west), (east, broken.cluster)))
    topics = {each.flow.name: each.pair.topic("orders") for each in (from_it, to_it)}
    for count in (1, 2):
        for each in (from_it, to_it):
            topic = topics[each.flow.name]
            if count == 1:
                oracle.create_topic(each.source, topic, 1)
            else:
                oracle.create_partitions(each.source, topic, 2)
            oracle.produce(each.source, topic, 20, seed=count, partition=count - 1)
            with_a_group(each, topic, groups("shop"), count)
        if count == 1:
            broken.add()
    lost = topics[from_it.flow.name]
    remote = to_it.pair.remote(topics[to_it.flow.name])
    broken.lose(oracle, (lost, 1), (remote, 1))

    for step in (emit, synchronise):
        done = step(group_context(from_it.flow), [groups("shop")])
        (error,) = done.errors
        assert (error.code, error.topic, error.partition, error.retriable) == ("SourceUnreadable", lost, 1, True)
        assert "has no leader" in error.message
    ours = [each.translated.reason for each in emit(group_context(from_it.flow), [groups("shop")]).unanswered]
    assert ours == ["the partition has no leader on the source"]
    (outcome,) = done.groups
    assert (outcome.state, outcome.synced) == ("skipped", 0)
    assert outcome.reason == f"no answer for {lost}-1@5: the partition has no leader on the source"

    assert emitted(to_it).kinds == Counter(exact=2), "a checkpoint needs no leader of what it is about"
    done = synchronise(group_context(to_it.flow), [groups("shop")])
    (error,) = done.errors
    assert (error.code, error.topic, error.partition, error.retriable) == ("KafkaFailure", remote, 1, True)
    (outcome,) = done.groups
    assert (outcome.state, outcome.synced) == ("skipped", 0)
    assert "the remote partition has no leader" in outcome.reason

    file = to_it.pair.properties(extra={"source->target.mirror.lanes": "4", "admin.timeout.ms": ADMIN_TIMEOUT_MS})
    assert main(["--config", str(file), "group-offsets", "--flow", to_it.pair.flow]) == 1
    assert f"{remote}-1 has no leader" in capsys.readouterr().err


def test_the_groups_are_those_of_the_filters_with_a_topic_that_the_filter_takes(make_mirroring, pair, topic, groups):
    mirroring = make_mirroring(pair, {"groups": f".*-{pair.mark}", "groups.exclude": "not-.*"})
    other = pair.topic("other")
    mirroring.oracle.create_topic(pair.source_bootstrap, other)
    flow = make_mirroring(pair, {"groups": f".*-{pair.mark}", "groups.exclude": "not-.*", "source->target.topics.exclude": "other-.*"}).flow
    for name in ("taken", "not-taken", "elsewhere"):
        set_offsets(pair.source_bootstrap, groups(name), {(other if name == "elsewhere" else topic, 0): 1})
    set_offsets(pair.source_bootstrap, "unmarked", {(topic, 0): 1})
    assert sorted(find_groups(flow).offsets) == [groups("taken")]
    assert sorted(find_groups(mirroring.flow).offsets) == sorted([groups("taken"), groups("elsewhere")])


@pytest.mark.parametrize("new_name", ["", "elsewhere"], ids=["its own name", "renamed"])
def test_readers_of_remote_topics_are_sent_to_the_topic_itself(make_pair, make_mirroring, east, west, oracle, groups, tmp_path, new_name):
    """KIP-1098: a group on the source reads a topic that was mirrored from the target."""
    there = make_pair(east, west)
    back = type(there)(there.target, there.source, there.target_bootstrap, there.source_bootstrap, there.mark, tmp_path / "back")
    back.directory.mkdir()
    origin = there.topic("origin")
    oracle.create_topic(there.target_bootstrap, origin, 1)
    for seed in (1, 2):
        oracle.produce(there.target_bootstrap, origin, 20, seed=seed, transactions=7)
    patterns = rf".*{there.mark}"
    of_the_way_back = {f"{back.flow}.mirror.rename": f"{origin} -> {there.topic(new_name)}"} if new_name else {}
    backward = make_mirroring(back, of_the_way_back, topics=patterns)
    forward = make_mirroring(there, {f"{back.flow}.enabled": "true", **of_the_way_back}, topics=patterns)
    backward.refresh()
    assert not backward.copy().errors
    mirrored = back.remote(there.topic(new_name) if new_name else origin)
    name = f"reader-{there.mark}"
    end = sum(each.records for each in oracle.count(there.source_bootstrap, mirrored))
    for offset in (0, end // 2, end):
        set_offsets(there.source_bootstrap, name, {(mirrored, 0): offset})
        done = emitted(forward)
        assert done.kinds["exact"] == 1, done
        written = checkpoints(forward, {name})[-1]
        assert (written.topic, written.upstream) == (origin, offset)
        left = unread(oracle, there.target_bootstrap, origin, written.downstream)
        assert left == unread(oracle, there.source_bootstrap, mirrored, offset)
    [behind_marker] = [each.end for each in oracle.count(there.target_bootstrap, origin)]
    set_offsets(there.target_bootstrap, name, {(origin, 0): behind_marker})
    assert synced(forward, name) == ("up to date", 0, ""), "what it has read on one side it has read on the other"


def test_offset_syncs_of_mirrormaker_2_fill_in_what_the_ledger_does_not_know(make_mirroring, pair, oracle, topic, mirror, groups):
    mirroring = make_mirroring(pair, {"source->target.mirror.start": "latest", "source->target.emit.offset-syncs.enabled": "false"})
    mirroring.refresh()
    oracle.produce(pair.target_bootstrap, pair.remote(topic), 60, seed=1)  # as if MirrorMaker 2 had
    ends = {each.partition: each.end for each in oracle.count(pair.source_bootstrap, topic)}
    context = group_context(mirroring.flow)
    with Cluster("east", context.clients.source_admin) as source:
        ensure_internal_topic(source, context.offset_syncs_topic, 1, "offset-syncs.topic.replication.factor")
    syncs = [OffsetSync(topic, 0, upstream, upstream) for upstream in (5, ends[0] // 2)]
    records = [Outgoing(context.offset_syncs_topic, each.key, each.value) for each in syncs]
    RecordWriter("east", {"bootstrap.servers": pair.source_bootstrap}, 15).write(records, "offset syncs")
    found = {}
    for offset in (2, 5, 9, ends[0] // 2 + 1):
        set_offsets(pair.source_bootstrap, groups("reader"), {(topic, 0): offset})
        found[offset] = answers(mirror, groups("reader"))[topic, 0][:2]
    assert found == {2: ("none", None), 5: ("early", 5), 9: ("early", 6), ends[0] // 2 + 1: ("early", ends[0] // 2 + 1)}


def test_very_many_groups_go_through_spark_with_the_same_outcome(pair, oracle, topic, capfd, groups):
    extra = {"source->target.mirror.lanes": "4", "groups": f".*-{pair.mark}", "mirror.checkpoints.spark.threshold": "5"}
    file = str(pair.properties(extra=extra))

    log = []

    def mirror(*arguments):
        capfd.readouterr()
        assert main(["--config", file, "--json", *arguments]) == 0
        written = capfd.readouterr()
        log[:] = written.err.splitlines()
        return json.loads(written.out)["flows"][0]["result"]

    mirror("copy", "--without-spark")
    names = [groups(f"shop-{number}") for number in range(3)]
    for number, name in enumerate(names):
        set_offsets(pair.source_bootstrap, name, {(topic, 0): number, (topic, 1): 2 * number})
    assert mirror("checkpoints")["written"] == 6
    told = [line for line in log if f" INFO kafka_mirror.groups.job: {pair.flow}: checkpoints of " in line]
    assert told, log
    here = emit(group_context(load([file]).flow(pair.flow)), names)
    assert (here.written, here.unchanged) == (0, 6), "what it wrote is what the task would have written"
    found = mirror("group-offsets")
    assert (found["group"], found["state"], found["synced"]) == (names, ["synced"] * 3, [2] * 3)
    assert {tp.partition: offset for tp, offset in read_offsets(pair.target_bootstrap, names[2]).items()} == {0: 2, 1: 4}
