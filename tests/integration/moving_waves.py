"""Both directions between two clusters, and the step `open` of a wave as a person would come to it: copied to the end, nobody writing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_mirror.config import load
from kafka_mirror.cutover.steps.open_wave import step
from kafka_mirror.cutover.wave.control_notes import write_next
from kafka_mirror.cutover.wave.move import open_move
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import StepOptions, StepOutcome
from kafka_mirror.ledger.clusters import control_of
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import Decision
from kafka_mirror.ledger.decisions import Decisions
from services.flow_in_process import Mirroring
from services.flows import ClusterPair
from services.oracle import Oracle
from services.waiting import ADMIN_TIMEOUT_MS

IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


class Killed(BaseException):
    """The process is gone at this very place."""


@dataclass
class Notes:
    """What the control topic keeps of a wave; `writes` counts all that was written, here and elsewhere."""

    control: Control
    facts: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def check(self) -> None:
        """Nobody takes a wave from a test."""

    def decide(self, decisions: Callable[[Decisions], Sequence[Decision]]) -> None:
        write_next(self.control, lambda: decisions(Decisions(self.control.read())))

    def of_step(self, step: str) -> Mapping[str, Any]:
        return self.facts.get(step, {})

    def keep(self, step: str, facts: Mapping[str, Any]) -> None:
        self.facts[step] = facts


@dataclass
class BothWays:
    """A flow, its opposite, and moves of topics between the clusters of both."""

    there: Mirroring
    back: Mirroring
    notes: dict[str, Notes] = field(default_factory=dict)

    def open(self, mirroring: Mirroring, *topics: str, dry_run: bool = False, anew: bool = True) -> StepOutcome:
        """Opens a wave of these topics; `anew` False: the same wave once more, with what was noted of it."""
        options = StepOptions("wave-1", "a person", "a test", dry_run=dry_run)
        with open_move(mirroring.flow, Wave(topics)) as move:
            control, noted = control_of(mirroring.flow, move.sides.target), self.notes.get(mirroring.flow.name)
            notes = Notes(control, noted.facts if noted is not None and not anew else {})
            self.notes[mirroring.flow.name] = notes
            return step(move, notes, options)


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
