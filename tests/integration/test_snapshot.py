"""Snapshots of flows between real clusters: what they say of each situation, and what is left of them when a cluster is down."""

import time

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.config import load
from kafka_mirror.formats.mm2 import Heartbeat
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.status.snapshot import SchemaIds
from kafka_mirror.status.snapshot_builder import FlowSnapshotBuilder
from kafka_mirror.status.snapshot_cache import SnapshotCache
from services.oracle import Record
from services.ports import free_ports
from services.waiting import PATIENCE, eventually
from tests.integration.several import Several

pytestmark = pytest.mark.usefixtures("heartbeats_removed")

HEARTBEATS = {"source->target.heartbeats.replication.enabled": "false"}


def by_topic(snapshot, pair):
    return {each.topic.removesuffix(f"-{pair.mark}"): each for each in snapshot.topics}


def taken(taking):
    """A snapshot with its groups, of which nothing was wrong with looking."""
    snapshot = taking.with_groups(taking.take())
    assert (snapshot.error, snapshot.partial, snapshot.groups.errors, snapshot.is_good) == (None, (), (), True)
    return snapshot


@pytest.fixture
def several(make_mirroring, pair):
    return Several(make_mirroring(pair, {"source->target.mirror.max.bytes.per.second": "5000000"}))


@pytest.fixture
def take_decision(pair, capsys):
    """Decides about the flow, as somebody who has a name."""

    def run(decision, *about):
        config = str(pair.properties(extra={"source->target.mirror.lanes": "4"}))
        who = ["--flow", pair.flow, "--who", "ana@ops", "--reason", "seen"]
        assert main(["--config", config, "decide", decision, *who, *about]) == 0, capsys.readouterr().err

    return run


def test_a_flow_is_followed_from_first_sight_until_it_is_copied_with_schema_ids_and_times(several, pair):
    taking = FlowSnapshotBuilder(several.mirroring.flow)
    fresh = taken(taking)
    assert (fresh.status.lag, fresh.bytes_behind, fresh.catch_up.seconds, fresh.written) == (20, None, 300.0, None)
    assert by_topic(fresh, pair)["orders"].states == {"first sight": 2}

    assert not several.mirroring.copy().errors
    copied = taken(taking)
    assert (copied.status.lag, copied.bytes_behind, copied.catch_up.seconds) == (0, 0, 0.0)
    assert copied.throughput.records is None, "a partition is measured from its first record in the ledger on"
    assert copied.written.time <= copied.taken
    topics = by_topic(copied, pair)
    assert topics["framed"].schema_ids == SchemaIds((7, 12))
    assert [topics[name].schema_ids for name in ("orders", "longs", "empty")] == [None, None, None]
    last = topics["orders"].partitions[0].last
    assert last.timestamp == several.now - 90_000
    assert 0 < last.read - last.timestamp <= last.acknowledged - last.timestamp
    assert topics["empty"].partitions[0].last is None


def test_a_flow_that_is_behind_is_shown_with_gaps_decisions_groups_lanes_heartbeats_and_a_throttle(several, pair, take_decision):
    several.fall_behind(take_decision)

    behind = taken(FlowSnapshotBuilder(several.mirroring.flow))
    topics = by_topic(behind, pair)
    orders = topics["orders"]
    assert (orders.lag, orders.remote, orders.problems) == (4, pair.remote(several.names["orders"]), 0)
    copied = [record for tp, record in several.mirroring.ledger().items() if tp.topic == several.names["orders"]]
    assert sum(record.records for record in copied) == 15
    assert orders.bytes_behind == 4 * sum(record.bytes for record in copied) // 15, "by the mean size of what was copied"
    assert (behind.bytes_behind, behind.status.lag) == (orders.bytes_behind + topics["gapped"].bytes_behind, 6)
    assert (topics["gapped"].states, topics["gapped"].problems) == ({"gap": 1, "up to date": 1}, 1)
    assert [error.code for error in behind.errors] == ["SourceGap"]
    assert behind.catch_up.waiting == 1
    (skipped,) = behind.skipped
    assert (skipped.topic, skipped.partition, skipped.start, skipped.end, behind.skipped_in_all) == (several.names["skipped"], 0, 2, 3, 1)
    assert [(each.decision.decision, each.decision.who, each.in_force) for each in behind.decisions] == [
        ("accept-gap", "ana@ops", False),
        ("throttle", "ana@ops", True),
    ]
    assert (behind.throttle.bytes_per_second, behind.throttle.decided.why) == (1000, "seen")
    lanes = {each.lane: each for each in behind.lanes}
    # Heartbeats of whatever flow stand on the source are partitions of this one too.
    ours = [each for each in behind.status.partitions if each.topic in several.names.values()]
    assert (len(ours), sum(each.lag for each in lanes.values())) == (12, 6)
    assert sum(each.partitions for each in lanes.values()) == len(behind.status.partitions)
    groups = {each.group.removesuffix(f"-{pair.mark}"): each for each in behind.groups.groups}
    assert (groups["exact"].is_exact, groups["exact"].partitions, groups["exact"].reread) == (True, 2, 0)
    assert (groups["beyond"].unanswered, groups["beyond"].reread) == (1, None)
    (example,) = groups["beyond"].examples
    assert (example.topic, example.committed, example.kind) == (several.names["orders"], 10_000, "none")
    (own,) = [each for each in behind.heartbeats if each.path == (pair.source, pair.target)]
    assert 0 <= own.age_seconds < PATIENCE
    assert behind.seconds > 0


def test_heartbeats_that_came_through_the_flow_are_shown_by_their_way(make_mirroring, pair, oracle):
    topic = f"{pair.source}.heartbeats"
    oracle.create_topic(pair.target_bootstrap, topic)
    oracle.create_topic(pair.target_bootstrap, f"{pair.source}.north.heartbeats")
    now = int(time.time() * 1000)
    beats = [("north", pair.source, now - 9000), ("south", pair.source, now - 5000), ("north", pair.source, now - 2000)]
    for name, each in ((topic, beats), (f"{pair.source}.north.heartbeats", [("far", "north", now - 60_000)])):
        records = [Heartbeat(*beat) for beat in each]
        oracle.produce_records(pair.target_bootstrap, name, [Record(key=beat.key, value=beat.value) for beat in records])
    snapshot = FlowSnapshotBuilder(make_mirroring(pair, HEARTBEATS).flow).take()
    paths = {each.path: each for each in snapshot.heartbeats if pair.source in each.path and pair.target in each.path}
    assert list(paths) == [
        ("north", pair.source, pair.target),
        ("south", pair.source, pair.target),
        ("far", "north", pair.source, pair.target),
    ]
    assert [round(each.age_seconds) // 60 for each in paths.values()][2] >= 1
    assert 2 <= paths["north", pair.source, pair.target].age_seconds < paths["south", pair.source, pair.target].age_seconds + 1


def test_a_lag_that_falls_has_a_rate_and_an_end(make_mirroring, pair, oracle):
    extra = {"mirror.run.max.bytes": "1", "mirror.transaction.max.bytes": "50000"}
    mirroring = make_mirroring(pair, {f"source->target.{name}": value for name, value in extra.items()})
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic, 1)
    oracle.produce(pair.source_bootstrap, topic, 1000, seed=1, min_size=500, max_size=500, null_values=False, batch_size=10_000)
    taking = FlowSnapshotBuilder(mirroring.flow)
    mirroring.copy()
    first = taken(taking)
    mirroring.copy()
    second = taken(taking)
    measured = second.throughput
    assert measured.seconds == pytest.approx((second.taken - first.taken).total_seconds(), abs=1)
    assert measured.records * measured.seconds == pytest.approx(first.status.lag - second.status.lag)
    assert measured.bytes > measured.records * 400
    assert second.catch_up.seconds == pytest.approx(second.status.lag / measured.records, rel=0.01)
    assert by_topic(second, pair)["orders"].throughput.records == measured.records
    assert abs(second.bytes_behind - second.status.lag * measured.bytes / measured.records) < 1000


def test_with_a_cluster_down_the_last_good_snapshot_stays_beside_what_is_wrong(make_mirroring, pair, oracle, topic):
    """Through the cache, as page and metrics see it: the properties file changes under it."""
    mirroring = make_mirroring(pair)
    assert not mirroring.copy().errors
    file = pair.properties(extra={"source->target.mirror.lanes": "4"}, file="watched.properties")
    cache = SnapshotCache(lambda: load([file]), refresh_seconds=0.2, reload_seconds=0.1)

    def seen(wanted):
        return eventually(lambda: next(filter(wanted, cache.get().flows), None), "what was wanted of the flow")

    try:
        assert not cache.get().by_name[pair.flow].is_taken, "the first answer waits for no cluster"
        good = seen(lambda found: found.is_good)
        assert good.status.lag == 0
        nowhere = {"source.bootstrap.servers": f"127.0.0.1:{free_ports(1)[0]}", "admin.timeout.ms": "2000"}
        pair.properties(extra={"source->target.mirror.lanes": "4", **nowhere}, file="watched.properties")
        down = seen(lambda found: not found.is_good and found.is_taken)
        assert [error.code for error in down.errors] == ["ClusterUnreachable"]
        assert down.last_good.status.lag == 0
        assert down.with_figures.measure_age() > 0
        marks = {each.topic_partition: each.watermark for each in down.status.partitions}
        assert marks[TopicPartition(topic, 0)] is not None, "the target still says what is copied"
        pair.properties(extra={"source->target.mirror.lanes": "-4"}, file="watched.properties")
        invalid = seen(lambda found: found.error)
        assert (invalid.error.code, invalid.last_good is not None) == ("ConfigurationError", True)
        pair.properties(extra={"source->target.mirror.lanes": "4"}, file="watched.properties")
        assert seen(lambda found: found.is_good).last_good is None
    finally:
        cache._idle_seconds = -1.0
