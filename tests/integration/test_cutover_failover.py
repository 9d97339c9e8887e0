"""A failover away from a source that was killed under load, and the source when it comes back: what is said against what is true."""

import base64
import json
import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer

from kafka_mirror.__main__ import main
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.cutover.failover import steps
from kafka_mirror.cutover.failover.close_flow import close_flow, reopen_flow
from kafka_mirror.cutover.failover.steps import survey_failover
from kafka_mirror.cutover.wave.move import open_move
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import FAILOVER, StepOptions
from kafka_mirror.errors import FlowClosed, MirrorError, NotClosed
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoints import emit
from kafka_mirror.groups.context import group_context
from kafka_mirror.ledger.control_records import CLOSED
from kafka_mirror.status.steps import run_step
from services.consumers import member, read
from services.oracle import Record
from services.waiting import PATIENCE
from tests.integration.moving_waves import NotesOnTarget

PARTITIONS = 3


@dataclass
class Load:
    """A producer with numbered records. `acknowledged`: number, partition, offset and the time at which it heard of that."""

    bootstrap: str
    topic: str
    acknowledged: list[tuple[int, TopicPartition, int, datetime]] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    sent: int = 0

    def run(self):
        producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all", "linger.ms": 2, "message.timeout.ms": 5000})
        while not self.stop.is_set():
            number, self.sent = self.sent, self.sent + 1
            producer.produce(
                self.topic,
                f"{number}".encode(),
                f"key-{number % 7}".encode(),
                partition=number % PARTITIONS,
                headers=[("h", bytes((number % 256,)))],
                on_delivery=self.heard,
            )
            producer.poll(0)
            self.stop.wait(0.003)
        producer.purge()
        producer.poll(1)

    def heard(self, error, message):
        if error is None:
            place = TopicPartition(message.topic(), message.partition())
            self.acknowledged.append((int(message.value()), place, message.offset(), datetime.now(UTC)))

    def await_more(self, count):
        wanted, deadline = len(self.acknowledged) + count, time.monotonic() + PATIENCE
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < deadline
            time.sleep(0.005)


@contextmanager
def producing(bootstrap, topic):
    load = Load(bootstrap, topic)
    thread = threading.Thread(target=load.run)
    thread.start()
    try:
        yield load
    finally:
        load.stop.set()
        thread.join(PATIENCE)


@contextmanager
def nobody_calls():
    """An address at which nothing serves, and which nobody may call. It is not the killed broker's: clients of the copy that was under way
    may still try that one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.settimeout(1)
        assert callers(server) == []


def callers(server):
    """What whoever connected said first, which has the client's id."""
    said = []
    with suppress(TimeoutError):
        while True:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(2)
                said.append(connection.recv(200))
    return said


def values(oracle, bootstrap, topic):
    """The numbers that stand in a topic, with their place."""
    return {int(record.value): (record.partition, record.offset) for record in oracle.dump(bootstrap, topic)}


@dataclass
class Lost:
    """What a test knows after its source was killed: all that was acknowledged, what a group had read, and a plan from before."""

    cluster: object
    mirroring: object
    topic: str
    group: str
    load: Load
    read: set[int]
    plan: object

    @property
    def wave(self):
        return Wave((self.topic,))

    @property
    def remote(self):
        return self.mirroring.pair.remote(self.topic)


@pytest.fixture
def lost(make_cluster, west, make_pair, make_mirroring, oracle):
    """A source that was killed while a producer wrote and a copy ran, with records that its last plan saw and nobody copied."""
    cluster = make_cluster("lost")
    pair = make_pair(cluster, west)
    small = {
        "source->target.mirror.transaction.max.bytes": "65536",
        "source->target.mirror.run.max.bytes": "100000",
        "admin.timeout.ms": "5000",
    }
    mirroring, partial = make_mirroring(pair), make_mirroring(pair, small)
    topic, group = pair.topic("orders"), f"billing-{pair.mark}"
    oracle.create_topic(pair.source_bootstrap, topic, PARTITIONS)
    oracle.produce_records(pair.source_bootstrap, topic, [Record(b"k", b"%d" % -n, partition=0) for n in range(1, 4)])
    context = group_context(mirroring.flow)
    with producing(pair.source_bootstrap, topic) as load, member(pair.source_bootstrap, group, topic) as consumer:
        places = []
        for _ in range(3):
            load.await_more(300)
            assert not mirroring.copy().errors
            places += read(consumer, 200)
            assert not emit(context, [group]).errors
        # A large backlog, of which the last plan sees all and copies a part, while the group reads on without a checkpoint.
        filler = [Record(b"f", b"%d" % (10_000_000 + n), headers=[("pad", b"x" * 900)], partition=n % PARTITIONS) for n in range(1500)]
        oracle.produce_records(pair.source_bootstrap, topic, filler)
        partial.copy()
        planned = plan(mirroring.flow)
        known = set(places)
        later = read(consumer, 50)
        load.await_more(100)
        running = threading.Thread(target=lambda: partial_copy(partial))
        running.start()
        load.await_more(20)
        cluster.kill()
        load.stop.set()
        running.join(2 * PATIENCE)
        assert not running.is_alive(), "it would go on calling the dead source"
    assert later
    everything = {(record.partition, record.offset): int(record.value) for record in oracle.dump(pair.target_bootstrap, pair.remote(topic))}
    assert everything
    return Lost(cluster, mirroring, topic, group, load, {(p, o) for _, p, o in known}, planned)


def partial_copy(mirroring):
    """A copy into which the source is killed: whatever it says."""
    with suppress(MirrorError):
        mirroring.copy()


def test_what_is_lost_lies_within_what_is_said_and_groups_miss_nothing_that_is_on_the_target(lost, oracle, make_mirroring):
    with nobody_calls() as address:
        flow = make_mirroring(replace(lost.mirroring.pair, source_bootstrap=address)).flow
        with open_move(flow, lost.wave, FAILOVER) as move:
            survey = survey_failover(move)
        closed = close_flow(flow, "ana", "the site is gone")
    missing = {each.source: each for each in survey.missing}
    copied = values(oracle, lost.mirroring.target, lost.remote)
    gone = [each for each in lost.load.acknowledged if each[0] not in copied]
    assert gone, "the test proves nothing"
    outside = [
        each
        for each in gone
        if not missing[each[1]].watermark <= each[2] < missing[each[1]].end.offset and not each[3] > missing[each[1]].complete_until
    ]
    assert outside == []
    assert any(each.offsets for each in survey.missing), "the last plan saw more than was copied"
    said = [finding.message for finding in survey.findings if finding.code == "RecordsMayBeMissing"]
    assert all("may be missing (end known at" in message and "is unknown" in message for message in said)
    on_target = [each for each in lost.load.acknowledged if each[0] in copied]
    assert all(offset < missing[tp].watermark for _, tp, offset, _ in on_target)

    positions = {each.key[1]: each for each in survey.positions}
    assert {each.key[0] for each in survey.positions} == {lost.group}
    notes = NotesOnTarget(lost.mirroring.flow)
    options = StepOptions("wave-1", "ana", "the site is gone", FAILOVER, dry_run=False)
    with open_move(lost.mirroring.flow, lost.wave, FAILOVER) as move:
        assert steps.run_preflight(move, notes, options).is_done
        assert steps.move_groups(move, notes, options).is_done
        noted = dict(notes.groups)
        assert steps.move_groups(move, notes, options).is_done
        assert notes.groups == noted, "what the group had before is noted once"
        assert set(noted[lost.group]["before"][lost.remote].values()) == {None}
        assert steps.close(move, notes, options).is_done
    behind = Counter()
    for number, tp, offset, _ in lost.load.acknowledged:
        if number not in copied:
            continue
        partition, place = copied[number]
        is_read = (tp.partition, offset) in lost.read
        position = positions[TopicPartition(lost.remote, partition)]
        if not is_read:
            assert place >= position.answer.target, "it would be missed"
        elif place >= position.answer.target:
            behind[position.key[1]] += 1
    for remote, position in positions.items():
        assert behind[remote] <= position.answer.reread
        assert position.answer.kind == "exact", "this group's positions are all in the map"
    rest = sum(position.following for position in survey.positions)
    with member(lost.mirroring.target, lost.group, lost.remote) as consumer:
        assert (
            len(read(consumer, len(copied) - len({n for n, place in copied.items() if is_before(place, positions, lost.remote)}))) <= rest
        )

    assert closed.decision.decision == CLOSED
    assert len(closed.lanes) == 4


def is_before(place, positions, remote):
    """Whether a record stands in front of its group's position."""
    position = positions.get(TopicPartition(remote, place[0]))
    return position is not None and place[1] < position.answer.target


def test_a_closed_flow_copies_nothing_of_the_returned_source_which_is_compared_exported_and_reopened(lost, oracle, tmp_path, capsys):
    flow, target = lost.mirroring.flow, lost.mirroring.target
    close_flow(flow, "ana", "the site is gone")
    assert close_flow(flow, "ben", "once more").lanes == ()
    before = values(oracle, target, lost.remote)
    lost.cluster.start()
    with pytest.raises(FlowClosed, match=r"closed by ana .*: the site is gone"):
        lost.mirroring.copy()
    results = copy_in_process(flow, lost.plan)
    assert {error.code for result in results for error in result.errors} == {"FlowClosed"}
    assert values(oracle, target, lost.remote) == before, "a plan from before the failover is copied by no lane"
    for step in ("refresh-topics", "topic-configs", "topic-acls", "checkpoints", "group-offsets"):
        with pytest.raises(FlowClosed):
            run_step(step, flow)
    assert lost.mirroring.refresh().errors == (), "a wave that moves back creates the flow's topics while it is closed"

    file, export = str(lost.mirroring.pair.properties(extra={"source->target.mirror.lanes": "4"})), tmp_path / "export"

    def compare(*arguments):
        code = main(["--config", file, "cutover", "compare", "--flow", flow.name, "--json", *arguments])
        (document,) = json.loads(capsys.readouterr().out)["flows"]
        return code, document

    code, document = compare("--topics", lost.topic, "--export", str(export))
    assert (code, document["errors"], document["result"]["audit"]) == (0, [], "equal"), document
    source = [record for record in oracle.dump(lost.mirroring.source, lost.topic) if int(record.value) not in before]
    assert source, "the test proves nothing"
    exported = exported_lines(export)
    assert sorted((row["partition"], row["offset"]) for row in exported) == sorted((each.partition, each.offset) for each in source)
    by_place = {(row["partition"], row["offset"]): row for row in exported}
    for record in source:
        row = by_place[record.partition, record.offset]
        assert (unpacked(row["key"]), unpacked(row["value"]), row["timestamp"]) == (record.key, record.value, record.timestamp)
        assert [(unpacked(name).decode(), unpacked(value)) for name, value in row["headers"]] == [*record.headers]
    ranges = {row["partition"]: row["only_on_source"] for row in document["result"]["partitions"] if row["only_on_source"]}
    assert all(ranges[each.partition][0] <= each.offset < ranges[each.partition][1] for each in source)

    whole = {path.name: path.read_bytes() for path in export.iterdir()}
    assert compare("--topics", lost.topic, "--export", str(export), "--without-audit")[0] == 0
    assert {path.name: path.read_bytes() for path in export.iterdir()} == whole
    longest = max(export.glob("*.jsonl"), key=lambda path: path.stat().st_size)
    longest.write_bytes(longest.read_bytes()[: longest.stat().st_size // 2])
    assert compare("--topics", lost.topic, "--export", str(export), "--without-audit")[0] == 0
    assert {path.name: path.read_bytes() for path in export.iterdir()} == whole, "an export that was interrupted goes on"

    assert main(["--config", file, "cutover", "reopen", "--flow", flow.name, "--reason", "compared"]) == 0
    assert not lost.mirroring.copy().errors
    lost.mirroring.assert_mirrored(lost.topic)


def exported_lines(directory):
    return [json.loads(line) for path in directory.glob("*.jsonl") for line in path.read_text().splitlines()]


def unpacked(text):
    return None if text is None else base64.b64decode(text)


def test_a_flow_is_closed_and_reopened_and_both_may_be_said_twice(mirroring, topic, oracle):
    flow = mirroring.flow
    with pytest.raises(NotClosed):
        reopen_flow(flow, "ana", "nothing to open")
    assert not mirroring.copy().errors
    oracle.produce(mirroring.source, topic, 20, seed=2)
    planned = plan(flow)
    assert close_flow(flow, "ana", "a test", dry_run=True).lanes == (0, 1, 2, 3)
    assert [len(close_flow(flow, "ana", "a test").lanes) for _ in range(2)] == [4, 0]
    with pytest.raises(FlowClosed):
        plan(flow, dry_run=True)
    assert {error.code for result in copy_in_process(flow, planned) for error in result.errors} == {"FlowClosed"}
    assert [len(reopen_flow(flow, "ben", "compared").lanes) for _ in range(2)] == [4, 0]
    assert mirroring.copy().records == 20
    assert [len(close_flow(flow, "ana", "once more").lanes) for _ in range(2)] == [4, 0]
    assert len(reopen_flow(flow, "ben", "compared again").lanes) == 4
