"""`open` and the way back over two logs in memory, killed between any two writes: what is written when, and what running it again does."""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from kafka_mirror.copy import lane_writer
from kafka_mirror.copy.ledger_updates import advance_record
from kafka_mirror.copy.model import PartitionProgress
from kafka_mirror.copy.plan.left_on_source import find_unexplained
from kafka_mirror.cutover.steps import open_ledgers, open_wave
from kafka_mirror.cutover.steps.opposite_flow import OppositeFlow
from kafka_mirror.cutover.wave.selection import WaveTopics
from kafka_mirror.cutover.wave.step import DONE, PLANNED, STOPPED, StepOptions
from kafka_mirror.errors import WrittenOnSource
from kafka_mirror.formats.offsets.map import runs_of
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import LogOffsets, Partition, Topic
from kafka_mirror.ledger.clusters import TargetState
from kafka_mirror.ledger.control_records import MOVED, RESTART, RETURNED, Decision
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import Decided, Writer
from kafka_mirror.ledger.topic import LedgerView
from tests.unit.cutover.wave import wave_world
from tests.unit.ledger_records import ledger_record
from tests.wave_notes import Killed

TP = TopicPartition("orders", 0)
WRITER = Writer("", "host", "run", datetime(2026, 11, 21, tzinfo=UTC))


class MemoryCluster:
    """One cluster with one topic of one partition; None in its log is an offset without a record."""

    takes_batches = True

    def __init__(self, alias):
        self.alias, self.log = alias, []
        self.epoch, self.deposed = 0, None

    def cluster_id(self):
        return f"{self.alias}-id"

    def ask_each_server(self, ask):
        return {f"{self.alias}:9092": ask(self), **({"deposed:9092": ask(self.deposed)} if self.deposed else {})}, {}

    def topics(self, names, _errors=None):
        return {name: Topic(name, f"{self.alias}-topic", (Partition(0, 1, (1,), (1,)),)) for name in names}

    def log_offsets(self, partitions, _errors=None):
        return {tp: LogOffsets(0, len(self.log), len(self.log), self.epoch) for tp in partitions}

    def offsets(self, partitions, _at):
        return {tp: len(self.log) for tp in partitions}


@dataclass
class MemoryFlow:
    """A flow with its ledger and control topic."""

    source: str
    target: str

    def __post_init__(self):
        self.name = f"{self.source}->{self.target}"
        self.records, self.decisions = {}, []

    def value(self, name):
        return {"mirror.lanes": 4}[name]

    def per_topic(self, _name, _topic):
        return "fail"

    def read(self):
        newest = {decision.key: decision for decision in self.decisions}
        return tuple(newest.values())

    def write_next(self, decisions):
        self.decisions += decisions


class World:
    """Two clusters, a flow each way, and a process that may be killed at a write."""

    def __init__(self):
        self.clusters = {alias: MemoryCluster(alias) for alias in ("east", "west")}
        self.flows = {"east": MemoryFlow("east", "west"), "west": MemoryFlow("west", "east")}
        ids = {"source_topic_id": "east-topic", "target_topic_id": "west-topic"}
        clusters = {"source_cluster_id": "east-id", "target_cluster_id": "west-id"}
        self.flows["east"].records[TP] = ledger_record(
            watermark=0, target_next=0, records=0, start=0, lanes=4, target_topic="orders", **ids, **clusters
        )
        self.notes, self.numbers, self.writes, self.deadly = {}, count(), count(), -1

    def writing(self):
        if next(self.writes) == self.deadly:
            raise Killed

    def produce(self, alias, records):
        self.clusters[alias].log += [*[next(self.numbers) for _ in range(records)], None]

    def may_copy(self, alias):
        decisions = Decisions(self.flows[alias].read())
        record = self.flows[alias].records.get(TP)
        is_chosen = alias == "east" or "orders" in decisions.returned_topics
        return is_chosen and decisions.find_moved("orders") is None and record is not None and record.moved is None

    def copy(self, alias, stale=False):
        """What a run of the flow does; a `stale` plan knows nothing of decisions, so the ledger alone stops it."""
        flow, log = self.flows[alias], self.clusters[alias].log
        record = flow.records.get(TP)
        if record is None or record.moved is not None or not (stale or self.may_copy(alias)):
            return
        far = self.clusters[flow.target].log
        assert all(entry is None for entry in far[record.target_next :]), "unexplained records on the target"
        places = [place for place in range(record.watermark, len(log)) if log[place] is not None]
        positions = list(range(len(far), len(far) + len(places)))
        far += [log[place] for place in places] + ([None] if places else [])
        end = positions[-1] + 1 if positions else None
        flow.records[TP] = advance_record(record, PartitionProgress(TP, len(log), 0, runs_of(places, positions), len(places), 1, end), 0)

    def open(self, alias, dry_run=False):
        flow = self.flows[alias]
        here, there = self.clusters[alias], self.clusters[flow.target]
        selection = SimpleNamespace(remote=lambda topic: topic)
        move = SimpleNamespace(
            flow=flow,
            topics=WaveTopics(("orders",)),
            sides=SimpleNamespace(source=here, target=there),
            context=SimpleNamespace(selection=selection, clients=SimpleNamespace(target_consumer={}), request_seconds=1),
            list_partitions=lambda: [TP],
        )
        notes = SimpleNamespace(
            read_step=lambda step: self.notes.get((alias, step), {}),
            keep=lambda *kept: self._keep(alias, *kept),
            check=lambda: None,
            decide=lambda make: self._control(flow, None).write_next(make(Decisions(flow.read()))),
        )
        with self._patched():
            return open_wave.step(move, notes, StepOptions("wave", "a person", "a test", PLANNED, dry_run))

    def _keep(self, alias, step, facts):
        self.writing()
        self.notes[alias, step] = facts
        self.writing()

    def _write_lane(self, task, change, _decided):
        self.writing()
        changed = change(dict(task.records), WRITER)
        task.records.update(changed)
        self.writing()
        return changed

    def _first_visible(self, cluster, windows):
        log = self.clusters[cluster].log
        return {
            tp: SimpleNamespace(offset=at)
            for tp, (start, end) in windows.items()
            if (at := next((place for place in range(start, end) if log[place] is not None), None)) is not None
        }

    def _written_since_moved(self, flow, source, records, topics):
        """By what `left_on_source` judges, over the logs in memory."""
        assert topics == ("orders",)
        part = find_unexplained(
            records[TP], self.flows[flow.target].records.get(TP), source.topics(topics)["orders"], source.log_offsets([TP])[TP]
        )
        first = self._first_visible(flow.source, {TP: part} if part else {})
        return [WrittenOnSource(*TP, message.offset, len(source.log)).report() for message in first.values()]

    def _control(self, flow, _target):
        def write_next(decisions):
            self.writing()
            flow.write_next(decisions)
            self.writing()

        return SimpleNamespace(read=flow.read, write_next=write_next)

    @contextmanager
    def _patched(self):
        opposite = {flow.name: OppositeFlow(self.flows[flow.target], same=("orders",)) for flow in self.flows.values()}
        asked = {
            "plan_without_work": lambda *_: None,
            "read_state": lambda flow, *_, **__: TargetState(
                self._control(flow, None), Decisions(flow.read()), "ledger-id", LedgerView(dict(flow.records))
            ),
        }

        def reader(cluster, *_):
            return SimpleNamespace(first_visible=lambda windows, *_: self._first_visible(cluster, windows))

        with (
            patch.object(open_wave, "survey_opposite_fence", lambda *_: ((), ())),
            patch.object(open_wave, "take_back_opposite_fence", lambda *_: ()),
            patch.multiple(open_wave, **asked, find_opposite_flow=lambda flow, _: opposite[flow.name], BoundedReader=reader),
            patch.object(lane_writer, "write_lane", lambda *given: self._write_lane(*given)),
            patch.multiple(
                open_ledgers,
                **asked,
                lane_task=_task_of_lane,
                control_of=self._control,
                read_decisions=lambda flow, *_, **__: Decisions(flow.read()),
            ),
            patch.object(open_wave, "find_written_since_move", self._written_since_moved),
        ):
            yield

    def records_on(self, alias):
        return [entry for entry in self.clusters[alias].log if entry is not None]


def _task_of_lane(flow, _plan, lane, *_):
    flow.lane = lane
    return flow


def test_a_wave_is_noted_then_closed_in_ledger_and_control_then_begun_the_other_way():
    world = World()
    world.produce("east", 5)
    world.copy("east")
    outcome = world.open("east")
    assert outcome.state == DONE
    assert outcome.facts["ends"] == {"topic": ["orders"], "partition": [0], "source_end": [6], "target_end": [5]}
    assert outcome.facts["way_back"] == "west->east"
    forward, back = world.flows["east"], world.flows["west"]
    assert [decision.decision for decision in (*forward.decisions, *back.decisions)] == [MOVED, RETURNED]
    assert forward.records[TP].moved is not None
    assert (back.records[TP].watermark, back.records[TP].target_next) == (5, 5)


@pytest.mark.parametrize("deadly", range(10))
def test_killed_at_any_write_and_run_again_every_record_stands_once_on_both_sides(deadly):
    world, here, there = World(), "east", "west"
    for turn in range(4):
        world.produce(here, 4)
        world.copy(here)
        world.writes, world.deadly = count(), deadly
        with pytest.raises(Killed):
            world.open(here)
        world.deadly = -1
        world.copy(there)
        if Decisions(world.flows[here].read()).find_moved("orders"):
            world.produce(there, 3)  # somebody was told too early
        world.copy(here, stale=True)
        world.copy(there, stale=True)
        outcome = world.open(here)
        assert (outcome.state, outcome.findings) == (DONE, ()), (turn, outcome)
        world.produce(there, 2)
        world.copy(here, stale=True)
        world.copy(there)
        assert world.open(here).state == DONE, "once more does no harm"
        world.copy(here)
        world.copy(there)
        assert world.records_on(here) == world.records_on(there) == sorted(world.records_on(here)), turn
        here, there = there, here


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda world: world.produce("east", 1), "NotCopiedToTheEnd"),
        (lambda world: world.produce("west", 1), "TargetWritten"),
        (lambda world: world.flows["east"].records.clear(), "NotCopiedYet"),
    ],
)
def test_a_wave_that_does_not_end_alike_on_both_sides_is_left_as_it_is(spoil, code):
    world = World()
    world.produce("east", 5)
    world.copy("east")
    spoil(world)
    before = dict(world.flows["east"].records)
    outcome = world.open("east")
    assert (outcome.state, [finding.code for finding in outcome.findings]) == (STOPPED, [code])
    assert (world.flows["east"].records, world.flows["east"].decisions, world.notes) == (before, [], {})


def test_a_wave_of_which_a_deposed_leader_tells_another_end_is_left_as_it_is():
    world = World()
    world.produce("east", 5)
    world.copy("east")
    here = world.clusters["east"]
    here.deposed = MemoryCluster("east")
    here.deposed.log, here.deposed.epoch = here.log[:3], None
    outcome = world.open("east")
    assert (outcome.state, [finding.code for finding in outcome.findings]) == (STOPPED, ["ClusterContradictsItself"])
    assert world.flows["east"].decisions == []
    here.deposed = None
    assert world.open("east").state == DONE


@pytest.mark.parametrize("strangers", [0, 3])
def test_a_wave_is_not_opened_by_what_a_deposed_leader_of_the_target_tells(strangers):
    world = World()
    world.produce("east", 5)
    world.copy("east")
    there = world.clusters["west"]
    there.deposed = MemoryCluster("west")
    there.deposed.log = [*there.log]
    there.epoch = 1
    world.produce("west", strangers)
    truth, there.log_offsets = there.log_offsets, there.deposed.log_offsets  # every connection leads to it but those that name a server
    there.ask_each_server = lambda ask: (
        {"one": ask(there.deposed), "other": ask(SimpleNamespace(topics=there.topics, log_offsets=truth))},
        {},
    )
    outcome = world.open("east")
    assert (outcome.state, [finding.code for finding in outcome.findings]) == (STOPPED, ["ClusterContradictsItself"])
    assert world.flows["east"].decisions == world.flows["west"].decisions == []


def test_a_dry_run_writes_nothing():
    world = World()
    world.produce("east", 5)
    world.copy("east")
    world.deadly = 0
    outcome = world.open("east", dry_run=True)
    assert outcome.state == DONE
    assert outcome.lines[0] == "1 topics with 1 partitions would be moved to west; east->west copies no more of them."


def test_what_is_written_between_the_look_and_the_marks_is_named_by_the_step_itself():
    world = World()
    world.produce("east", 5)
    world.copy("east")
    mark = world._write_lane

    def late(*marked):
        world.produce("east", 2)
        return mark(*marked)

    world._write_lane = late
    outcome = world.open("east")
    assert outcome.state == DONE
    assert [(finding.kind, finding.code) for finding in outcome.findings] == [("warning", "WrittenOnSource")]
    assert "orders-0 was written on the source since the topic moved to the target: [6, 12)" in outcome.findings[0].message


def test_a_copy_that_goes_on_while_the_wave_is_opened_stops_it():
    world = World()
    world.produce("east", 5)
    world.copy("east")
    keep = world._keep
    world._keep = lambda *kept: (keep(*kept), world.produce("east", 1), world.copy("east"))
    outcome = world.open("east")
    assert (outcome.state, [finding.code for finding in outcome.findings]) == (STOPPED, ["CopiedMeanwhile"])
    assert world.flows["east"].decisions == []
    world._keep = keep
    assert world.open("east").state == DONE


RESTART_OF_ALL = Decision(
    RESTART, "ann", datetime(2026, 11, 22, tzinfo=UTC), "other records", *TP, watermark=6, offset=0, source_topic_id="east-topic"
)


@pytest.mark.parametrize("decides_meanwhile", [False, True])
def test_a_decision_that_no_copy_has_acted_on_stops_the_wave_and_leaves_no_mark(decides_meanwhile):
    world = World()
    world.produce("east", 5)
    world.copy("east")
    keep, flow = world._keep, world.flows["east"]
    before = dict(flow.records)
    if decides_meanwhile:  # behind the look, in front of the control topic
        world._keep = lambda *kept: (keep(*kept), flow.decisions.append(RESTART_OF_ALL))
    else:
        flow.decisions.append(RESTART_OF_ALL)
    outcome = world.open("east")
    assert (outcome.state, [finding.code for finding in outcome.findings]) == (STOPPED, ["DecisionPending"])
    assert flow.decisions == [RESTART_OF_ALL]
    assert flow.records[TP].moved is None
    world._keep = keep
    flow.records = {tp: replace(record, decided=Decided.of(RESTART_OF_ALL)) for tp, record in before.items()}
    assert world.open("east").state == DONE


def test_an_open_that_was_killed_begins_the_way_back_in_the_log_that_was_copied_and_not_in_one_that_took_its_place():
    """In between the target lost newest records, and producers wrote others there: the way back has to find that out."""
    world = wave_world.World()
    world.sides.target.leader_epoch = 4

    def die(at):
        if world.decided(MOVED):
            raise Killed

    world.before_call = die
    with pytest.raises(Killed):
        world.run()
    world.before_call = lambda _at: None
    world.sides.target.leader_epoch = 5
    world.run()
    assert world.flows["west->east"].records[TP].leader_epoch == 4
