"""Both directions between two clusters, and the step `open` of a wave as a person would come to it: copied to the end, nobody writing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_mirror.config import Flow, load
from kafka_mirror.cutover.steps.open_wave import step
from kafka_mirror.cutover.wave.control_notes import write_next
from kafka_mirror.cutover.wave.move import open_move
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import StepOptions, StepOutcome
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import GroupTransaction
from kafka_mirror.ledger.clusters import control_of
from kafka_mirror.ledger.control_records import Decision
from kafka_mirror.ledger.decisions import Decisions
from services.flow_in_process import Mirroring
from services.flows import ClusterPair
from services.oracle import Oracle
from services.waiting import ADMIN_TIMEOUT_MS
from tests.wave_notes import NotesInMemory

IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


class NotesOnTarget(NotesInMemory):
    """A wave's notes in memory; what is decided goes to the flow's control topic."""

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self._flow = flow

    def begin(self) -> GroupTransaction:
        self.target = self._open_target()
        return super().begin()

    def decide(self, decisions: Callable[[Decisions], Sequence[Decision]]) -> None:
        with self._open_target() as target:
            control = control_of(self._flow, target)
            write_next(control, lambda: decisions(Decisions(control.read())))

    def _open_target(self) -> Cluster:
        return Cluster(self._flow.target, self._flow.client("target", "admin"), self._flow.request_seconds)


@dataclass
class BothWays:
    """A flow, its opposite, and moves of topics between the clusters of both."""

    there: Mirroring
    back: Mirroring
    notes: dict[str, NotesOnTarget] = field(default_factory=dict)

    def open(self, mirroring: Mirroring, *topics: str, dry_run: bool = False, anew: bool = True) -> StepOutcome:
        """Opens a wave of these topics; `anew` False: the same wave once more, with what was noted of it."""
        options = StepOptions("wave-1", "a person", "a test", dry_run=dry_run)
        with open_move(mirroring.flow, Wave(topics)) as move:
            if anew or mirroring.flow.name not in self.notes:
                self.notes[mirroring.flow.name] = NotesOnTarget(mirroring.flow)
            return step(move, self.notes[mirroring.flow.name], options)


def both_ways(pair: ClusterPair, oracle: Oracle, extra: Mapping[str, str] | None = None, *, names_kept: bool = True) -> BothWays:
    """Both flows of a pair with four and three lanes, in one file."""
    opposite = f"{pair.target}->{pair.source}"
    lines = {
        "source->target.mirror.lanes": "4",
        "admin.timeout.ms": ADMIN_TIMEOUT_MS,
        f"{opposite}.enabled": "true",
        f"{opposite}.topics": f".*-{pair.mark}",
        f"{opposite}.mirror.lanes": "3",
        "heartbeats.replication.enabled": "false",  # those of all tests would go round between the clusters that they share
        **({"replication.policy.class": IDENTITY, f"{opposite}.mirror.way.back": "true"} if names_kept else {}),
        **{name.replace("target->source", opposite): value for name, value in (extra or {}).items()},
    }
    configuration = load([pair.properties(extra=lines)])
    backwards = ClusterPair(pair.target, pair.source, pair.target_bootstrap, pair.source_bootstrap, pair.mark, pair.directory)
    return BothWays(Mirroring(pair, oracle, configuration.flow(pair.flow)), Mirroring(backwards, oracle, configuration.flow(opposite)))
