"""One partition through a history of plans, decisions and copies in any order, with the mirror's real code on clusters in memory.

Plans may be old when they are copied, or copied twice; a plan may be made from what a stale broker says of the decisions; people's clocks
are hours off; and records expire on the source, or are refused by the target.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from kafka_mirror.config.catalogue.values import EARLIEST, StartPosition
from kafka_mirror.copy.lane import LaneCopy
from kafka_mirror.copy.ledger_updates import mark_blocked
from kafka_mirror.copy.plan.model import BLOCKED, DECIDED, Range
from kafka_mirror.copy.plan.ranges import SourceOffsets, first_sight, next_range
from kafka_mirror.decide.binding import PartitionState, bind
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.errors import ErrorReport, NothingToDecide, UsageError
from kafka_mirror.formats.offsets.intervals import find_missing, merge_intervals
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.apply_decisions import PartitionFacts, act_on_decisions
from kafka_mirror.ledger.control_records import Decision
from kafka_mirror.ledger.decisions import Decisions, moment_after
from kafka_mirror.ledger.record import LedgerRecord
from tests.unit.copy.conftest import RECORD_BYTES, World
from tests.unit.copy.lane_tasks import make_lane_task

TP, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
NOW = datetime(2026, 11, 22, tzinfo=UTC)
START = {"earliest": EARLIEST, "latest": StartPosition("latest")}


@dataclass
class DecidedHistory:
    """The partition, its plans and what was decided about it."""

    world: World
    start: str
    end: int = 0
    log_start: int = 0
    plans: list[tuple[Range, Decisions]] = field(default_factory=list)
    control: list[Decision] = field(default_factory=list)
    stale: list[Decision] = field(default_factory=list)
    restarts: list[tuple[int, int]] = field(default_factory=list)
    """Where each restart begins, and which watermark was seen."""
    passed_over: list[tuple[str, int]] = field(default_factory=list)
    """The offset at which a gap was accepted or a record skipped."""
    minutes: int = 0

    @property
    def copies(self) -> Counter[int]:
        """How often each source offset stands on the target."""
        return Counter(run.source + number for run in self.world.committed for number in range(run.length))

    @property
    def record(self) -> LedgerRecord | None:
        """What the ledger says."""
        return self.world.ledger.get(TP)

    def play(self, event: tuple[str, ...]) -> None:
        """One event; what nobody could do just then is none."""
        self.minutes += 1
        name, *arguments = event
        happen: Callable[..., None] = getattr(self, f"_{name}")
        happen(*arguments)

    # ------------------------------------------------------------ events

    def _produce(self, records: int) -> None:
        self.end += records

    def _expire(self, records: int) -> None:
        self.log_start = min(self.end, self.log_start + records)
        self.world.starts[TP] = self.log_start

    def _refuse(self) -> None:
        if self.record is not None and self.record.watermark < self.end:
            self.world.ledger[TP] = mark_blocked(self.record, self.record.watermark, ErrorReport("RecordRefused", "x"), NOW)

    def _decide(self, word: str, start: int | str | None, clock: int) -> None:
        record = self.record
        if record is None:
            return
        end = self.world.ends.get(REMOTE, 0)
        state = PartitionState(TP, record, self._source(), REMOTE.topic, f"id-{REMOTE.topic}", end, end)
        when = moment_after(Decisions(self.control), [record], NOW + timedelta(seconds=clock, minutes=self.minutes))
        try:
            (made,) = bind(DecisionRequest(word, "ana", "why", "orders", 0, start=start if word == "restart" else None), [state], when)
        except (NothingToDecide, UsageError):
            return
        self.control = [each for each in self.control if each.key != made.decision.key] + [made.decision]
        if word == "restart":
            self.restarts.append((made.decision.offset or 0, record.watermark))
        else:
            self.passed_over.append((word, record.watermark))

    def _plan(self, from_a_stale_broker: bool, it_hears: bool) -> None:
        if it_hears:
            self.stale = list(self.control)
        decisions = Decisions(self.stale if from_a_stale_broker else self.control)
        found, record = self._source(), self.record
        if record is None:
            self.plans.append((first_sight(found, START[self.start]), decisions))
            return
        standing = PartitionFacts(found.topic_id, found.log_start, REMOTE.topic, f"id-{REMOTE.topic}", found.leader_epoch)
        record, applied = act_on_decisions(record, decisions.select(TP), standing)
        chosen = next_range(found, record, False, NOW, timedelta(0))
        if applied and not isinstance(chosen, ErrorReport):
            chosen = chosen or found.make_range(record.watermark, record.watermark, DECIDED)
            chosen = replace(chosen, reason=BLOCKED if chosen.reason == BLOCKED else DECIDED, decisions=applied)
        if isinstance(chosen, Range):
            self.plans.append((chosen, decisions))

    def _run(self, age: int, records_a_transaction: int) -> None:
        if not self.plans:
            return
        planned, decisions = self.plans[-1 - age % len(self.plans)]
        if self.record is not None and self.record.watermark < self.log_start and not planned.decisions:
            return  # there is nothing that could be read
        bytes_a_transaction = records_a_transaction * RECORD_BYTES
        task = make_lane_task(ranges=(planned,), transaction_max_bytes=bytes_a_transaction, decisions=decisions.all)
        LaneCopy(task).run()

    def _source(self) -> SourceOffsets:
        return SourceOffsets(TP, "id-orders", self.log_start, self.end, self.end, leader_epoch=0)

    # ------------------------------------------------------------ the judge

    def doubled(self) -> list[int]:
        """Source offsets that stand on the target more often than restarts ask."""
        return [offset for offset, times in self.copies.items() if times > 1 + sum(first <= offset < end for first, end in self.restarts)]

    def lost(self) -> list[int]:
        """Source offsets in front of the watermark that are neither copied nor noted as skipped."""
        record = self.record
        if record is None:
            return []
        skipped = merge_intervals([(each.start, each.end) for each in record.skipped])
        passed = {offset for first, end in skipped for offset in range(first, end)}
        return [offset for offset in range(record.live_start, record.watermark) if offset not in self.copies and offset not in passed]

    def passed_over_unasked(self) -> list[int]:
        """Source offsets that are noted as skipped, and that nobody decided to pass over."""
        asked = {offset for _, offset in self.passed_over}
        for word, first in self.passed_over:
            asked |= set(range(first, self.log_start)) if word == "accept-gap" else set()
        for start, watermark in self.restarts:
            asked |= set(range(watermark, start)) | set(range(start, self.log_start))
        skipped = self.record.skipped if self.record is not None else ()
        return [offset for each in skipped for offset in range(each.start, each.end) if offset not in asked]

    def unexplained(self) -> list[tuple[int, int]]:
        """Source offsets in front of the watermark of which the ledger says nothing."""
        record = self.record
        if record is None:
            return []
        known = merge_intervals([*record.covered, *((each.start, each.end) for each in record.skipped)])
        return list(find_missing((record.live_start, record.watermark), known))
