"""After a failover the source comes back, and applications move back to it: nothing is lost, doubled or skipped, on real brokers."""

import base64
import json
from dataclasses import dataclass

import pytest

from kafka_mirror.config import load
from kafka_mirror.cutover.failover.close_flow import close_flow, reopen_flow
from kafka_mirror.cutover.failover.source_comparison import compare_source
from kafka_mirror.cutover.wave.run import run_wave
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import DONE, FAILOVER, PLANNED, StepOptions
from kafka_mirror.errors import FlowClosed
from kafka_mirror.groups.checkpoints import emit
from kafka_mirror.groups.context import group_context
from services.consumers import read_offsets, set_offsets
from services.oracle import Record
from services.waiting import eventually
from tests.integration.moving_waves import IDENTITY, BothWays, both_ways

PARTITIONS = 2


@dataclass
class Failback:
    """Both flows after the source was lost with records that nobody copied, and came back."""

    ways: BothWays
    topic: str
    group: str
    lost: set[bytes]

    @property
    def east(self):
        return self.ways.there.source

    @property
    def west(self):
        return self.ways.there.target

    def produce(self, bootstrap, prefix, count):
        """Numbered records, the first in partition 0, in turn."""
        records = [Record(b"k", b"%s-%d" % (prefix, n), partition=n % PARTITIONS) for n in range(count)]
        self.ways.there.oracle.produce_records(bootstrap, self.topic, records)
        return {record.value for record in records}

    def values(self, bootstrap, topic=None):
        """The values of a topic by partition, in order."""
        rows = {number: [] for number in range(PARTITIONS)}
        for record in self.ways.there.oracle.dump(bootstrap, topic or self.topic):
            rows[record.partition].append(record.value)
        return rows

    def run(self, flow, mode=PLANNED):
        done = run_wave(flow, Wave((self.topic,)), options(mode))
        assert done.state == DONE, [str(finding) for outcome in done.outcomes for finding in outcome.findings]
        return done


def options(mode):
    return StepOptions(f"a-{mode}-wave", "ana", "a test", mode, dry_run=False, quiet_seconds=0.5, timeout=30.0)


def copied(mirroring):
    done = mirroring.copy()
    assert done.errors == (), done
    return done.records


@pytest.fixture
def make_failback(make_cluster, west, make_pair, oracle, tmp_path):
    """A failover from a source that is killed with ten records that nobody copied, new records on the target, and the source again."""

    def make(*, names_kept):
        cluster = make_cluster("lost")
        pair = make_pair(cluster, west)
        ways = both_ways(pair, oracle, names_kept=names_kept)
        topic, group = pair.topic("orders"), f"billing-{pair.mark}"
        failback = Failback(ways, topic, group, set())
        oracle.create_topic(pair.source_bootstrap, topic, PARTITIONS)
        failback.produce(pair.source_bootstrap, b"old", 40)
        assert copied(ways.there) == 40
        set_offsets(pair.source_bootstrap, group, {(topic, 0): 15, (topic, 1): 20})
        assert not emit(group_context(ways.there.flow), [group]).errors
        failback.lost = failback.produce(pair.source_bootstrap, b"lost", 10)
        cluster.kill()
        failback.run(ways.there.flow, FAILOVER)
        if not names_kept:
            oracle.create_topic(pair.target_bootstrap, topic, PARTITIONS)
        failback.produce(pair.target_bootstrap, b"new", 12)
        cluster.start()
        directory = tmp_path / "export"
        compare_source(ways.there.flow, (topic,), directory)
        rows = [json.loads(line) for path in directory.glob("*.jsonl") for line in path.read_text().splitlines()]
        assert {base64.b64decode(row["value"]) for row in rows} == failback.lost
        with pytest.raises(FlowClosed):
            ways.there.copy()
        return failback

    return make


@pytest.mark.parametrize("reopened_first", [True, False])
def test_with_remote_names_applications_move_back_by_a_wave_of_the_opposite_flow(make_failback, reopened_first):
    failback = make_failback(names_kept=False)
    ways, topic, remote = failback.ways, failback.topic, failback.ways.there.pair.remote(failback.topic)
    returned = ways.back.pair.remote(topic)
    ways.back.refresh()
    assert copied(ways.back) == 12
    if reopened_first:
        reopen_flow(ways.there.flow, "ana", "compared")
        assert copied(ways.there) == 10
    assert {tp.partition: offset for tp, offset in read_offsets(failback.west, failback.group).items()} == {0: 15, 1: 20}
    set_offsets(failback.west, failback.group, {(topic, 0): 4, (topic, 1): 6, (remote, 0): 17})
    failback.run(ways.back.flow)
    places = {tuple(tp): offset for tp, offset in read_offsets(failback.east, failback.group).items()}
    assert places == {(topic, 0): 17, (topic, 1): 20, (returned, 0): 4, (returned, 1): 6}, "it reads the lost ones next"
    failback.produce(failback.east, b"again", 8)
    if not reopened_first:
        with pytest.raises(FlowClosed):
            ways.there.copy()
        reopen_flow(ways.there.flow, "ana", "compared")
    assert copied(ways.there) == (8 if reopened_first else 18)
    assert copied(ways.back) == 0
    assert failback.values(failback.west, remote) == failback.values(failback.east)
    assert failback.values(failback.east, returned) == failback.values(failback.west)


def test_with_names_kept_the_flows_change_roles_and_the_lost_clusters_topics_are_copied_anew(make_failback):
    failback = make_failback(names_kept=True)
    ways, topic = failback.ways, failback.topic
    assert copied(ways.back) == 0, "no wave returned the topic"
    reopen_flow(ways.there.flow, "ana", "a mistake")
    assert {error.code for error in ways.there.copy().errors} == {"UnexplainedTarget"}, "nothing is mixed with what west got since"
    close_flow(ways.there.flow, "ana", "the mistake is undone")
    there, back = ways.there.pair, ways.back.pair
    ways.there.oracle.delete_topic(failback.east, topic)
    lines = {
        "replication.policy.class": IDENTITY,
        "source->target.mirror.lanes": "4",
        "source->target.mirror.way.back": "true",
        f"{back.flow}.enabled": "true",
        f"{back.flow}.topics": f".*-{there.mark}",
        f"{back.flow}.mirror.lanes": "3",
        "heartbeats.replication.enabled": "false",
    }
    configuration = load([there.properties(extra=lines)])
    ways.there.flow, ways.back.flow = configuration.flow(there.flow), configuration.flow(back.flow)
    ways.back.refresh()
    assert copied(ways.back) == 52
    assert failback.values(failback.east) == failback.values(failback.west)
    set_offsets(failback.west, failback.group, {(topic, 0): 17, (topic, 1): 26})
    failback.run(ways.back.flow)
    places = {tp.partition: offset for tp, offset in read_offsets(failback.east, failback.group).items()}
    assert places == {0: 17, 1: 25}, "on the target the marker of the first copy stands in between"
    failback.produce(failback.east, b"again", 8)
    reopen_flow(ways.there.flow, "ana", "all of it is back")
    assert (copied(ways.there), copied(ways.back)) == (8, 0)
    assert failback.values(failback.east) == failback.values(failback.west)


def exported(directory, ending):
    """Offset and value of each record in the files with this ending, in order."""
    rows = (json.loads(line) for path in sorted(directory.glob(f"orders-*[0-9]{ending}")) for line in path.read_text().splitlines())
    return [(row["offset"], base64.b64decode(row["value"])) for row in rows]


@pytest.mark.parametrize("outcome", ["commit", "abort"])
def test_what_stands_behind_an_open_transaction_is_exported_apart_whatever_becomes_of_it(mirroring, oracle, tmp_path, outcome):
    topic, name, directory = mirroring.pair.topic("orders"), f"till-{mirroring.pair.mark}", tmp_path / "export"
    oracle.create_topic(mirroring.source, topic)
    oracle.produce_records(mirroring.source, topic, [Record(value=b"copied")])
    mirroring.refresh()
    assert copied(mirroring) == 1
    oracle.produce_records(mirroring.source, topic, [Record(value=b"lost")])
    oracle.open_transaction(mirroring.source, topic, name, [Record(value=b"open-1"), Record(value=b"open-2")])
    oracle.produce_records(mirroring.source, topic, [Record(value=b"behind")])

    result = compare_source(mirroring.flow, (topic,), directory)
    assert exported(directory, ".jsonl") == [(1, b"lost")]
    behind = [(2, b"open-1"), (3, b"open-2"), (4, b"behind")]
    assert exported(directory, ".open.jsonl") == behind
    assert (list(result.exported.values()), list(result.exported_open.values())) == ([1], [3])
    (finding,) = [each for each in result.findings if each.code == "TransactionOpen"]
    assert "it may have been committed: export it first" in str(finding)
    bytes_before = (directory / f"{topic}-0.open.jsonl").read_bytes()
    assert dict(compare_source(mirroring.flow, (topic,), directory).exported_open) == dict(result.exported_open)
    assert (directory / f"{topic}-0.open.jsonl").read_bytes() == bytes_before

    oracle.end_transaction(name, outcome)
    eventually(lambda: not compare_source(mirroring.flow, (topic,), directory).exported_open, "the transaction's end")
    there = behind if outcome == "commit" else behind[2:]
    assert exported(directory, ".jsonl") == [(1, b"lost"), *there]
    assert (directory / f"{topic}-0.open.jsonl").read_bytes() == bytes_before, "it is all that is left of what was aborted"
