"""A lane that fails, is killed, is overtaken or believes a deposed leader at any step, again and again: the target has what the ledger
says, exactly once."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_mirror.config.catalogue.values import EARLIEST
from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.copy import lane, lane_preflight, lane_protocol
from kafka_mirror.copy.lane import LaneCopy
from kafka_mirror.copy.model import LaneResult, LaneTask
from kafka_mirror.copy.plan.model import BEHIND, Range
from kafka_mirror.copy.plan.ranges import SourceOffsets, first_sight, next_range
from kafka_mirror.formats.offsets.intervals import merge_intervals
from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.unit.copy.lane_tasks import make_lane_task
from tests.unit.copy.memory_brokers import (
    BOTH_SERVERS,
    HOLE,
    OF_COMMITS,
    RECORD,
    RECORD_BYTES,
    STALE,
    Brokers,
    Killed,
    MemoryCluster,
    MemoryEngine,
    MemoryLedger,
    MemoryReader,
)

PARTITIONS = (TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("payments", 0))
LATER = timedelta(days=1)
EVENTS = ["failure", "kill", "other", "other", *OF_COMMITS, "cut off", *STALE]
scripts = st.lists(st.tuples(st.integers(0, 7), st.sampled_from(EVENTS)), min_size=1, max_size=4).map(
    lambda found: [event for steps, last in found for event in ["nothing"] * steps + [last]]
)
EXPECTED_ERRORS = {"ClusterUnreachable", "Overtaken", "TransactionTooSlow", "RecordRefused", "BatchNotUnpacked"}
OF_STALE_ANSWERS = {"UnexpectedOffset", "StaleAnswer", "LedgerHidden", "TargetHidden", "DeadlineExceeded"}
"""Errors of which every one mends itself: a person who is told that the target lost records, or holds some of somebody else, would act."""
CLIENT = {"bootstrap.servers": BOTH_SERVERS}


def remote(tp: TopicPartition) -> TopicPartition:
    return TopicPartition(f"east.{tp.topic}", tp.partition)


class Turns:
    """Stands for the time between the turns of a lane that follows: in each one records arrive, and after the last one the run is over."""

    def __init__(self, brokers: Brokers, arrivals: Sequence[tuple[TopicPartition, str]]) -> None:
        self.brokers = brokers
        self.arrivals = list(arrivals)
        self.is_over = False

    def is_set(self) -> bool:
        return self.is_over

    def wait(self, _seconds: float) -> bool:
        self.is_over = not self.arrivals
        for tp, entry in self.arrivals[:1]:
            self.brokers.source[tp].append(entry)
        del self.arrivals[:1]
        return self.is_over


class Attempts(RuleBasedStateMachine):
    """Two clusters, records that keep coming, and runs of one lane."""

    def __init__(self) -> None:
        super().__init__()
        self.brokers = Brokers(source={tp: [] for tp in PARTITIONS})
        self.brokers.other_attempt = self._run_and_forget
        self.depth = 0
        self.patches = pytest.MonkeyPatch()
        for fake in (MemoryCluster, MemoryLedger, MemoryReader):
            self.patches.setattr(fake, "brokers", self.brokers, raising=False)
        for module, name, fake in (
            (lane_protocol, "Cluster", MemoryCluster),
            (lane_preflight, "Cluster", MemoryCluster),
            (lane_preflight, "Ledger", MemoryLedger),
            (lane_preflight, "BoundedReader", MemoryReader),
        ):
            self.patches.setattr(module, name, fake)
        self.patches.setattr(lane_protocol, "BatchEngine", lambda _task, _limit: MemoryEngine(self.brokers))
        self.patches.setattr(lane.time, "sleep", lambda _seconds: None)
        self.patches.setattr(lane_protocol, "_MARKER_SECONDS", 0)
        self.patches.setattr(lane_protocol, "_LEDGER_MARKER_SECONDS", 0)
        self.patches.setattr(lane_preflight, "_PATIENCE_SECONDS", 0, raising=False)

    def teardown(self) -> None:
        self.patches.undo()

    @initialize(records=st.integers(0, 10))
    def begins_with_records(self, records: int) -> None:
        for tp in PARTITIONS:
            self.brokers.source[tp] += [RECORD] * records

    # ------------------------------------------------------------ what happens

    @rule(
        produced=st.tuples(*[st.lists(st.sampled_from([RECORD, RECORD, HOLE]), min_size=1, max_size=8)] * len(PARTITIONS)),
        refused=st.sets(st.tuples(st.sampled_from(PARTITIONS), st.integers(0, 30)), max_size=1),
        named=st.booleans(),
        unopened=st.sets(st.tuples(st.sampled_from(PARTITIONS), st.integers(0, 30)), max_size=1),
        script=scripts,
        transaction=st.sampled_from([1, 4, 100]),
        budget=st.sampled_from([-1, 0, 3]),
    )
    def a_run_during_which_this_happens(
        self,
        produced: tuple[list[str], ...],
        refused: set[tuple[TopicPartition, int]],
        named: bool,
        unopened: set[tuple[TopicPartition, int]],
        script: list[str],
        transaction: int,
        budget: int,
    ) -> None:
        for tp, entries in zip(PARTITIONS, produced, strict=True):
            self.brokers.source[tp] += entries
        self.brokers.refused, self.brokers.names_culprits, self.brokers.unopened = refused, named, unopened
        self.brokers.script = list(script)
        try:
            result = self._run(transaction_max_bytes=transaction * RECORD_BYTES, max_bytes=budget if budget < 0 else budget * RECORD_BYTES)
        except Killed:
            return
        finally:
            self.brokers.script, self.brokers.stale = [], ()
        assert {error.code for error in result.errors} <= EXPECTED_ERRORS | OF_STALE_ANSWERS, result.errors

    @rule(
        arrivals=st.lists(st.tuples(st.sampled_from(PARTITIONS), st.sampled_from([RECORD, RECORD, HOLE])), max_size=6),
        script=st.one_of(st.just([]), scripts),
        transaction=st.sampled_from([1, 100]),
    )
    def a_run_that_follows_while_this_arrives_and_happens(
        self, arrivals: list[tuple[TopicPartition, str]], script: list[str], transaction: int
    ) -> None:
        self.brokers.script = list(script)
        turns = Turns(self.brokers, arrivals)
        try:
            result = self._run(turns, transaction_max_bytes=transaction * RECORD_BYTES, follow_seconds=1.0)
        except Killed:
            return
        finally:
            left, self.brokers.script, self.brokers.stale = self.brokers.script, [], ()
        assert {error.code for error in result.errors} <= EXPECTED_ERRORS | OF_STALE_ANSWERS, result.errors
        if len(left) == len(script) == 0 and not result.errors:
            assert turns.is_over
            assert all(self.brokers.ledger[tp].watermark == len(self.brokers.source[tp]) for tp in PARTITIONS)

    @rule()
    def a_broker_is_cut_off(self) -> None:
        self.brokers.cut_off()

    @rule()
    def a_run_beside_a_broker_that_answers_nothing_copies_all_that_can_be(self) -> None:
        self.brokers.silent = True
        try:
            self._copies_all_that_can_be()
        finally:
            self.brokers.silent = False

    @rule()
    def a_run_that_nothing_disturbs_copies_all_that_can_be(self) -> None:
        self._copies_all_that_can_be()

    def _copies_all_that_can_be(self) -> None:
        result = self._run()
        assert {error.code for error in result.errors} <= {"RecordRefused", "BatchNotUnpacked"}
        for tp in PARTITIONS:
            stops = self.brokers.refused | self.brokers.unopened
            stuck = [offset for at, offset in stops if at == tp and self._is_record(tp, offset)]
            reached = self.brokers.ledger[tp].watermark
            assert reached == min([len(self.brokers.source[tp]), *(offset for offset in stuck if offset >= reached)])

    # ------------------------------------------------------------ what always holds

    @invariant()
    def the_target_has_what_the_ledger_says_exactly_once_and_in_order(self) -> None:
        for tp in PARTITIONS:
            known = self.brokers.ledger.get(tp)
            expected = [offset for offset in range(known.watermark if known else 0) if self._is_record(tp, offset)]
            committed = [entry.source for entry in self.brokers.log(remote(tp)) if entry.kind == RECORD and entry.state == "committed"]
            assert committed == expected, tp

    @invariant()
    def the_ledgers_totals_offsets_and_map_are_those_of_the_target(self) -> None:
        for tp, known in self.brokers.ledger.items():
            log = self.brokers.log(remote(tp))
            pairs = [(entry.source, at) for at, entry in enumerate(log) if entry.kind == RECORD and entry.state == "committed"]
            assert (known.records, known.bytes) == (len(pairs), len(pairs) * RECORD_BYTES)
            assert merge_intervals(known.covered) == (((0, known.watermark),) if known.watermark else ())
            if not pairs:
                continue
            assert known.target_next == pairs[-1][1] + 1
            for offset in range(known.watermark + 1):
                true = next((target for source, target in pairs if source >= offset), known.target_next)
                translation = known.offset_map.translate(offset)
                assert translation is not None
                assert (translation.target, translation.exact) == (true, True)

    # ------------------------------------------------------------ runs

    def _is_record(self, tp: TopicPartition, offset: int) -> bool:
        return offset < len(self.brokers.source[tp]) and self.brokers.source[tp][offset] == RECORD

    def _run_and_forget(self) -> None:
        """Another attempt at the lane, in the middle of one; killed, it leaves nothing but its open transaction."""
        if self.depth < 2:
            with suppress(Killed):
                self._run()

    def _run(self, stop: Any = None, **changes: Any) -> LaneResult:
        self.depth += 1
        try:
            clients = ClientSettings(CLIENT, CLIENT, CLIENT, CLIENT, CLIENT)
            task = make_lane_task(clients, ranges=tuple(filter(None, map(self._planned, PARTITIONS))), **changes)
            return self._lane(task, stop).run()
        finally:
            self.depth -= 1

    def _lane(self, task: LaneTask, stop: Any) -> LaneCopy:
        return LaneCopy(task, stop)

    def _planned(self, tp: TopicPartition) -> Range | None:
        end = len(self.brokers.source[tp])
        found = SourceOffsets(tp, f"id-{tp.topic}", 0, end, end, leader_epoch=0)
        known = self.brokers.ledger.get(tp)
        if known is None:
            return first_sight(found, EARLIEST)
        planned = next_range(found, known, False, datetime.now(UTC) + LATER, timedelta(minutes=1))
        assert planned is None or isinstance(planned, Range), planned
        return planned or found.make_range(known.watermark, known.watermark, BEHIND)


TestAttempts = Attempts.TestCase
# A failure is shown as it was found: to make it small can take longer than a test may.
TestAttempts.settings = settings(max_examples=60, stateful_step_count=15, deadline=None, phases=[Phase.reuse, Phase.generate])
