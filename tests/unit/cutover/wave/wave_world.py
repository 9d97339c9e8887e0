"""Two clusters in memory on which waves run with their real steps. A process may be killed, or stand still, at any call of a client.

What Kafka promises holds here: the control topic is written behind what was read of it or not at all, and neither a lane nor a transaction
of positions that somebody fenced since can commit. ACLs are changed whatever stands there.
"""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from unittest.mock import patch

from kafka_mirror.copy import lane_writer
from kafka_mirror.cutover.failover import close_flow
from kafka_mirror.cutover.failover import steps as failover
from kafka_mirror.cutover.steps import fence, fence_acls, move_groups, open_ledgers, open_wave
from kafka_mirror.cutover.steps.move_groups import GroupAim, GroupPlacer
from kafka_mirror.cutover.steps.opposite_flow import OppositeFlow
from kafka_mirror.cutover.wave import control_notes as wave_notes
from kafka_mirror.cutover.wave import run
from kafka_mirror.cutover.wave.record import TAKING_BACK, UNDER_WAY
from kafka_mirror.cutover.wave.runner import WaveStep
from kafka_mirror.cutover.wave.selection import Wave, WaveTopics, match_names
from kafka_mirror.cutover.wave.step import DONE, FAILOVER, FENCE, MOVE_GROUPS, OPEN, PLANNED, StepOptions, StepOutcome, list_steps
from kafka_mirror.errors import DecidedMeanwhile, KafkaFailure
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.groups import GroupDescription
from kafka_mirror.kafka.model import Acl, Committed, LogOffsets, Partition, PatternAcl, Topic
from kafka_mirror.kafka.transactions import Fenced
from kafka_mirror.ledger.clusters import TargetState
from kafka_mirror.ledger.control_records import CLOSED, MOVED, RETURNED
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import Writer
from kafka_mirror.ledger.topic import LedgerView
from tests.unit.ledger_records import WRITTEN_AT, ledger_record

TOPICS = ("orders", "payments")
PARTITIONS = tuple(TopicPartition(topic, 0) for topic in TOPICS)
COPIED = 20
EXACT = {PARTITIONS[0]: 7, PARTITIONS[1]: 11}
"""Where the group `billing` goes on in a planned wave."""
BY_CHECKPOINT = {PARTITIONS[0]: 6, PARTITIONS[1]: 11}
"""Where it goes on in a failover."""


class World:
    """A flow east->west that keeps names, its opposite, and waves of both topics. `before_call` is called before each call of a client."""

    def __init__(self):
        self.calls = []
        self.before_call = lambda _at: None
        self.flows = {name: MemoryFlow(self, *name.split("->")) for name in ("east->west", "west->east")}
        self.flow = self.flows["east->west"]
        self.sides = SimpleNamespace(source=MemoryCluster(self, "east"), target=MemoryCluster(self, "west"))
        self.sides.target_groups = MemoryGroups(self)
        self.acls = {Acl(topic, "User:app", "*", "WRITE", "ALLOW") for topic in TOPICS}
        self.flow.records = {
            tp: ledger_record(
                watermark=COPIED,
                target_next=COPIED,
                lanes=2,
                target_topic=tp.topic,
                source_topic_id=f"east-{tp.topic}",
                target_topic_id=f"west-{tp.topic}",
                source_cluster_id="east-id",
                target_cluster_id="west-id",
            )
            for tp in PARTITIONS
        }

    def call(self, what):
        at = len(self.calls)
        self.calls.append(what)
        self.before_call(at)

    def beside(self, flow):
        """The other flows from a flow's source."""
        return [other for other in self.flows.values() if other.source == flow.source and other is not flow]

    # ------------------------------------------------------------ what a person does

    def run(self, name="w", topics=("orders",), *, mode=PLANNED, until=None, only=None, who="ann"):
        return self._patched(run.run_wave, self.flow, Wave(topics), _options(name, mode, who), until, only)

    def roll_back(self, name="w", *, who="bob"):
        return self._patched(run.roll_back, self.flow, _options(name, PLANNED, who))

    def fail_over(self, name="lost", topics=("orders",), *, until=None, who="eve"):
        return self.run(name, topics, mode=FAILOVER, until=until, who=who)

    # ------------------------------------------------------------ what stands there

    @property
    def stored(self):
        with patch.object(wave_notes, "control_of", lambda flow, _target: MemoryControl(flow)):
            return wave_notes.WaveStore(self.flow, self.sides.target).read()

    @property
    def denied(self):
        return {acl.topic for acl in self.acls if acl.permission == "DENY"}

    @property
    def positions(self):
        """Of the group on the target."""
        return {tp: committed.offset for tp, committed in self.sides.target_groups.offsets.items()}

    @property
    def marked(self):
        return {tp.topic for tp, record in self.flow.records.items() if record.moved is not None}

    def decided(self, word, flow="east->west"):
        """The topics, or whether the flow as a whole, for which this was decided last."""
        newest = {decision.key: decision for decision in self.flows[flow].log}
        return {decision.topic for decision in newest.values() if decision.decision == word}

    def end(self):
        """Everything that a wave leaves behind, but for what has to come: the fence of a wave that is rolling back, or that a failover
        interrupted, goes; the way back of topics that are moved begins; and lanes note that the flow is closed."""
        states = {name: record.state for name, record in self.stored.waves.items()}
        closed, moved = self.decided(CLOSED), self.decided(MOVED)
        is_interrupted = TAKING_BACK in states.values() or ("lost" in states and states.get("w") == UNDER_WAY)
        return {
            "denied": None if is_interrupted else self.denied,
            "positions": self.positions,
            "marked": self.marked,
            "moved": moved,
            "closed": closed or dict(self.flow.noted),
            "returned": moved or self.decided(RETURNED, "west->east"),
            "way back": moved or set(self.flows["west->east"].records),
            "states": states,
        }

    # ------------------------------------------------------------ the steps

    def _steps_for(self, mode):
        """Those that change a cluster as they are, but for the waiting; the others are done at once."""
        aims = BY_CHECKPOINT if mode == FAILOVER else EXACT
        opening = (failover.close, failover.roll_back_close) if mode == FAILOVER else (open_wave.step, open_wave.rollback)
        real = {
            FENCE: WaveStep(FENCE, _fence, take_back=fence.rollback),
            MOVE_GROUPS: WaveStep(MOVE_GROUPS, lambda *given: _place(aims, *given), take_back=move_groups.rollback),
            OPEN: WaveStep(OPEN, opening[0], take_back=opening[1]),
        }
        return tuple(real.get(name) or WaveStep(name, lambda *_, name=name: StepOutcome(name, DONE)) for name in list_steps(mode))

    @contextmanager
    def _moving(self, flow, wave, mode):
        topics = [topic for topic in TOPICS if mode != FAILOVER or Decisions(flow.log).find_moved(topic) is None]
        names = tuple(sorted(match_names(wave.topics, topics)[0]))
        yield SimpleNamespace(
            flow=flow,
            wave=wave,
            topics=WaveTopics(names),
            sides=self.sides,
            context=SimpleNamespace(
                selection=SimpleNamespace(remote=lambda topic: topic), clients=SimpleNamespace(target_consumer={}), request_seconds=1
            ),
            list_partitions=lambda: [TopicPartition(name, 0) for name in names],
        )

    def _write_lane(self, task, change, decided=None):
        flow, lane = task.flow, task.lane
        self.call("fence a lane")
        flow.epochs[lane] = epoch = flow.epochs.get(lane, 0) + 1
        changed = change(dict(flow.records), Writer("", "host", "run", WRITTEN_AT))
        self.call("commit to a lane")
        if flow.epochs[lane] != epoch:
            raise KafkaFailure("The lane was fenced.")
        flow.records.update(changed)
        if decided is not None:
            flow.noted[lane] = decided.decision
        return changed

    def _create_acls(self, _cluster, acls):
        return self._changed("create ACLs", acls, self.acls.add)

    def _delete_acls(self, _cluster, acls):
        return self._changed("delete ACLs", acls, self.acls.discard)

    def _changed(self, what, acls, change):
        if acls:
            self.call(what)
        for acl in acls:
            change(acl)
        return dict.fromkeys(acls)

    def _describe_groups(self, _cluster, names, _refused):
        self.call("list members")
        return {name: GroupDescription(()) for name in names}

    def _topic_acls(self, *_):
        self.call("list ACLs")
        return frozenset(self.acls)

    def _patched(self, act, *arguments):
        opposite = self.flows["west->east"]
        lanes = {"lane_task": lambda flow, _plan, lane, *_: Task(flow, lane)}
        asked = {
            "plan_without_work": lambda *_: SimpleNamespace(source_cluster_id="east-id", target_cluster_id="west-id"),
            "read_state": _read_state,
        }
        by_itself = {
            "control_of": lambda flow, _target: MemoryControl(flow),
            "read_decisions": lambda _flow, control, *_, **__: Decisions(control.read()),
            "read_ledger": lambda flow, *_, **__: ("ledger-id", LedgerView(dict(flow.records))),
        }
        acls = {"create_acls": self._create_acls, "delete_acls": self._delete_acls, "topic_acls": self._topic_acls}
        modules = {
            run: {
                "check_readable": lambda _flow: None,
                "open_move": self._moving,
                "get_steps": self._steps_for,
            },
            wave_notes: {"control_of": by_itself["control_of"], "_PAUSES": (0.0, 0.0, 0.0)},
            fence_acls: {
                **acls,
                "pattern_acls": lambda *_: frozenset(PatternAcl(acl, "LITERAL") for acl in self._topic_acls()),
                "list_flows_beside": self.beside,
                "Cluster": lambda *_: _entered(self.sides.target),
            },
            move_groups: {"describe_groups": self._describe_groups, "_PAUSES": (0.0, 0.0, 0.0)},
            open_wave: {
                **asked,
                "find_opposite_flow": lambda *_: OppositeFlow(opposite, same=TOPICS[:1]),
                "survey_opposite_fence": lambda *_: ((), ()),
                "find_written_since_move": lambda *_: (),
                "BoundedReader": lambda *_: SimpleNamespace(first_visible=lambda *_: {}),
            },
            lane_writer: {"write_lane": self._write_lane, "LANES_AT_ONCE": 1},
            open_ledgers: asked | lanes | {name: by_itself[name] for name in ("control_of", "read_decisions")},
            failover: {"survey_failover": lambda *_: SimpleNamespace(missing=())},
            close_flow: {
                "plan_without_work": asked["plan_without_work"],
                **by_itself,
                **lanes,
                "check_readable": lambda _flow: None,
                "Cluster": lambda *_: _entered(self.sides.target),
            },
        }
        with ExitStack() as patches:
            for module, names in modules.items():
                patches.enter_context(patch.multiple(module, **names))
            patches.enter_context(patch.object(run, "read_waves", lambda _flow: wave_notes.WaveStore(self.flow, None).read()))
            return act(*arguments)


class MemoryFlow:
    """A flow with its ledger and the log of its control topic."""

    def __init__(self, world, source, target):
        self.world, self.source, self.target, self.name = world, source, target, f"{source}->{target}"
        self.records, self.epochs, self.noted, self.log = {}, {}, {}, []
        self.decider_epoch = 0
        """The newest of the transactional id of those who write the control topic."""
        self.request_seconds = 1

    def value(self, name):
        return {"mirror.lanes": 2, "mirror.ledger.replication.factor": 1}[name]

    def per_topic(self, _name, _topic):
        return "fail"

    def client(self, *_):
        return {}


def _read_state(flow, *_, **__):
    control = MemoryControl(flow)
    return TargetState(control, Decisions(control.read()), "ledger-id", LedgerView(dict(flow.records)))


class MemoryControl:
    """One client of a control topic: it writes right behind what it read."""

    topic = "mm2-control.internal"

    def __init__(self, flow):
        self._flow, self._read_end = flow, 0

    @property
    def read_end(self):
        return self._read_end

    def exists(self):
        return True

    def read(self):
        self._flow.world.call("read the control topic")
        self._read_end = len(self._flow.log)
        newest = {}
        for decision in self._flow.log:
            newest.pop(decision.key, None)
            newest[decision.key] = decision
        return tuple(newest.values())

    def begin(self):
        return MemoryTransaction(self._flow)

    def write_next(self, decisions):
        self._flow.world.call("write to the control topic")
        self._flow.decider_epoch += 1
        if len(self._flow.log) != self._read_end:
            raise DecidedMeanwhile(self.topic)
        self._flow.log += decisions
        self._read_end = len(self._flow.log)


class MemoryGroups:
    """The one group of the target."""

    def __init__(self, world):
        self.world, self.offsets = world, {}

    def read_committed(self, names, _errors):
        self.world.call("list positions")
        return {name: dict(self.offsets) for name in names}


class MemoryTransaction:
    """A transaction of positions under the transactional id of those who write a control topic."""

    def __init__(self, flow):
        self._flow, self._wanted = flow, {}
        flow.world.call("begin a transaction")
        flow.decider_epoch += 1
        self._epoch = flow.decider_epoch

    def add(self, wanted, _errors):
        self._call("add positions to a transaction")
        self._wanted = dict(wanted)
        return {name: {} for name in wanted}

    def commit(self):
        self._call("commit positions")
        for tp, committed in (each for positions in self._wanted.values() for each in positions.items()):
            if committed is None:
                self._flow.world.sides.target_groups.offsets.pop(tp, None)
            else:
                self._flow.world.sides.target_groups.offsets[tp] = committed

    def abort(self):
        """Nothing of it was seen."""

    def _call(self, what):
        self._flow.world.call(what)
        if self._flow.decider_epoch != self._epoch:
            raise Fenced


class MemoryCluster:
    """One cluster with both topics, copied to their ends."""

    takes_batches = True

    def __init__(self, world, alias):
        self.world, self.alias, self.leader_epoch = world, alias, 0

    def cluster_id(self):
        return f"{self.alias}-id"

    def list_operations(self):
        return frozenset({"ALTER"})

    def topics(self, names, _errors=None, operation=None):
        return {name: Topic(name, f"{self.alias}-{name}", (Partition(0, 1, (1,), (1,)),)) for name in names}

    def ask_each_server(self, ask):
        return {f"{self.alias}:9092": ask(self)}, {}

    def log_offsets(self, partitions, _errors=None):
        return {tp: LogOffsets(0, COPIED, COPIED, self.leader_epoch) for tp in partitions}

    def offsets(self, partitions, _at, **_):
        return dict.fromkeys(partitions, COPIED)


@dataclass(frozen=True)
class Task:
    """A lane of a flow."""

    flow: MemoryFlow
    lane: int
    installation: str = ""


@contextmanager
def _entered(cluster):
    yield cluster


def _options(name, mode, who):
    return StepOptions(name, who, "a test", mode, dry_run=False, by="acl")


def _fence(move, notes, _options):
    change = fence_acls.plan_fence(move, notes.read_step(FENCE))
    return StepOutcome(FENCE, DONE, facts=fence_acls.set_acls(move, notes, change, notes.read_step(FENCE)))


def _place(aims, move, notes, options):
    positions = {tp: Committed(offset) for tp, offset in aims.items() if tp.topic in move.topics.names}
    placer = GroupPlacer(move.sides.target, move.sides.target_groups, notes, options.wave)
    placement = placer.place({"billing": GroupAim(positions)}, options.dry_run)
    return StepOutcome(MOVE_GROUPS, DONE, placement.lines, placement.findings, placement.facts)
