"""Unclean elections: a replica without the last records becomes leader. What source, remote topic and ledger lose is named; nothing is
written after a hole, nothing is copied on top of other records, nothing twice, and the partitions beside it go on.

One election is enough for all of it: broker 1 leads everything that is lost and dies with it, broker 2 goes on without, broker 3 has what
must survive.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest

from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.copy.run_result import Verdict
from kafka_mirror.cutover.failover.source_comparison import LESS, compare_source
from kafka_mirror.cutover.steps import open_wave
from kafka_mirror.cutover.wave.move import open_move
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import STOP, STOPPED
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.decide.run import decide
from kafka_mirror.errors import SourceUnreadable
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.control_records import RESTART
from lab.faults.injections import UncleanElection
from services.waiting import PATIENCE
from tests.engine_hooks import EngineHooks
from tests.faults.conftest import Placed, ThreeBrokers
from tests.wave_notes import NotesInMemory, step_options

AT_RISK, SAFE = [1, 2], [3, 1]
KEPT, LOST = 50, 30
PATIENT = {"source->target.mirror.transaction.timeout.ms": "120000"}


@dataclass
class AfterElection:
    """Flows that lost something, before their next run."""

    source: Placed
    target: Placed
    ledger: Placed
    marker: Placed
    ledger_marker: Placed


class HeldCommits:
    """Copies whose transactions are complete and are not committed until `commit`."""

    def __init__(self, flows: Sequence[Placed], patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._arrived = threading.Semaphore(0)
        self._go_on = threading.Event()
        self._threads = ThreadPoolExecutor(len(flows))

        def held(commit: Callable[[], None]) -> None:
            self._arrived.release()
            self._go_on.wait(PATIENCE)
            commit()

        EngineHooks(patch).around_commit = held
        self._runs = [self._threads.submit(flow.mirroring.copy) for flow in flows]
        for _ in flows:
            assert self._arrived.acquire(timeout=PATIENCE)

    def commit(self) -> None:
        self._patch.undo()
        self._go_on.set()
        assert {str(run.result(PATIENCE).state) for run in self._runs} == {"done"}
        self._threads.shutdown()


@pytest.fixture(scope="module")
def after(three_brokers: ThreeBrokers) -> Iterator[AfterElection]:
    """50 records of each partition are everywhere, 30 more were copied while broker 2 was away, and then broker 1 died.

    Of two flows broker 2 still got the 30 records, and only the end of their transaction was written in its absence.
    """
    source = three_brokers.place({0: AT_RISK, 1: AT_RISK, 2: AT_RISK, 3: SAFE}, dict.fromkeys(range(4), SAFE), {0: SAFE})
    target = three_brokers.place({0: SAFE, 1: SAFE}, {0: AT_RISK, 1: SAFE}, {0: SAFE})
    ledger = three_brokers.place({0: SAFE, 1: SAFE}, {0: SAFE, 1: SAFE}, {0: AT_RISK})
    marker = three_brokers.place({0: SAFE, 1: SAFE}, {0: AT_RISK, 1: SAFE}, {0: SAFE}, PATIENT)
    ledger_marker = three_brokers.place({0: SAFE}, {0: SAFE}, {0: AT_RISK}, PATIENT)
    flows = ((source, range(4)), (target, range(2)), (ledger, range(2)))
    at_risk = {source.topic: [0, 1, 2], target.remote: [0], ledger.ledger: [0], marker.remote: [0], ledger_marker.ledger: [0]}
    election = UncleanElection(three_brokers.cluster, three_brokers.oracle, at_risk)
    for flow, partitions in (*flows, (marker, range(2)), (ledger_marker, range(1))):
        copied(flow, partitions, KEPT, seed=1)
    three_brokers.keep_coordinators_at([3, 1, 2])
    for flow, partitions in ((marker, range(2)), (ledger_marker, range(1))):
        for number in partitions:
            flow.produce(LOST, number, seed=2)
    with pytest.MonkeyPatch.context() as patch:
        held = HeldCommits((marker, ledger_marker), patch)
        election.part()
        held.commit()
    for flow, partitions in flows:
        copied(flow, partitions, LOST, seed=2, bootstrap=election.bootstrap)
    election.elect()
    three_brokers.cluster.launch(election.leader)
    yield AfterElection(source, target, ledger, marker, ledger_marker)
    election.heal()


def copied(flow: Placed, partitions: Any, records: int, seed: int, bootstrap: str | None = None) -> None:
    for number in partitions:
        flow.produce(records, number, seed + 10 * number, bootstrap)
    judged = flow.mirroring.copy()
    assert (judged.state, judged.records) == ("done", len(partitions) * records), str(judged)


def by_partition(judged: Verdict) -> dict[int | None, str]:
    return {error.partition: error.code for error in judged.errors}


def test_a_truncated_source_is_named_with_the_offset_at_which_it_departs_and_nothing_is_copied_on_top(after: AfterElection) -> None:
    flow = after.source
    before = {number: flow.remote_records(number) for number in range(3)}
    flow.produce(60, 1, seed=4)  # grown beyond the watermark
    flow.produce(LOST, 2, seed=4)  # grown to the very watermark: no work is owed
    flow.produce(5, 3, seed=4)
    judged = flow.mirroring.copy()
    assert by_partition(judged) == dict.fromkeys(range(3), "SourceTruncated"), str(judged)
    for error in judged.errors:
        assert (error.topic, error.offset, error.retriable) == (flow.topic, 80, False)
        assert "[50, 80) exist on the target only" in error.message
    assert {number: flow.remote_records(number) for number in range(3)} == before
    assert flow.remote_records(3) == flow.source_records(3)
    assert len(flow.remote_records(3)) == KEPT + LOST + 5


def test_a_wave_over_a_source_that_lost_its_tail_stops_where_the_copy_ends_at_the_same_offset(after: AfterElection) -> None:
    flow = after.source
    if len(flow.source_records(2)) < KEPT + LOST:
        flow.produce(LOST, 2, seed=4)
    with open_move(flow.mirroring.flow, Wave((flow.topic,))) as move:
        outcome = open_wave.step(move, NotesInMemory(), step_options())
    assert outcome.state == STOPPED
    (finding,) = [finding for finding in outcome.findings if finding.error.partition == 2]
    assert finding.code == "SourceTruncated"
    assert "[50, 80) exist on the target only" in finding.message


def test_a_lane_hears_of_a_truncated_source_whose_plan_did_not(after: AfterElection, monkeypatch: pytest.MonkeyPatch) -> None:
    """For want of an answer about leader epochs, or because the plan was made before the election."""
    flow = after.source
    mirroring, before = flow.mirroring, flow.remote_records(1)
    ledger = mirroring.ledger()
    with monkeypatch.context() as patch:
        patch.setattr(Cluster, "find_shared_ends", lambda *_: {})
        unanswered = plan(mirroring.flow)
        with pytest.raises(SourceUnreadable):
            compare_source(mirroring.flow, (flow.topic,))
        with pytest.raises(SourceUnreadable):
            restarted(flow, 1)
    (grown,) = [planned for planned in unanswered.ranges if planned.partition == 1]
    assert {error.partition: error.code for error in unanswered.errors} == {0: "SourceTruncated", 2: "SourceUnreadable"}
    known = mirroring.ledger()[grown.topic_partition].leader_epoch
    assert known is not None
    assert grown.leader_epoch is not None
    assert known < grown.leader_epoch
    for epoch in (grown.leader_epoch, known):
        planned = replace(unanswered, ranges=(replace(grown, leader_epoch=epoch),))
        (error,) = [error for result in copy_in_process(mirroring.flow, planned) for error in result.errors]
        assert (error.code, error.partition, error.offset) == ("SourceTruncated", 1, KEPT + LOST)
        assert flow.remote_records(1) == before
        assert mirroring.ledger() == ledger


def test_a_returned_source_that_lost_its_tail_is_compared_by_leader_epochs_and_its_own_records_are_named(after: AfterElection) -> None:
    flow = after.source
    held = Counter(record.partition for record in flow.mirroring.oracle.dump(flow.mirroring.source, flow.topic))
    result = compare_source(flow.mirroring.flow, (flow.topic,))
    compared = {each.source.partition: each for each in result.partitions}
    assert [compared[number].state for number in range(4)] == [LESS, LESS, LESS, compared[3].state]
    assert {(compared[number].lost_start, compared[number].lost_end) for number in range(3)} == {(KEPT, KEPT + LOST)}
    assert [(compared[number].only_start, compared[number].only_end) for number in range(3)] == [
        (KEPT, held[number]) for number in range(3)
    ]
    assert compared[3].lost == 0
    assert [finding.topic for finding in result.findings if finding.code == "SourceLostRecords"] == [flow.topic] * 3
    assert result.audit is not None
    assert (result.audit.state, [finding for finding in result.findings if finding.kind == STOP]) == ("equal", [])


def test_a_target_that_lost_records_is_named_and_nothing_is_written_after_the_hole(after: AfterElection) -> None:
    flow = after.target
    for number in range(2):
        flow.produce(10, number, seed=5)
    left = flow.remote_records(0)
    assert len(left) == KEPT
    judged = flow.mirroring.copy()
    assert by_partition(judged) == {0: "TargetLostRecords"}, str(judged)
    assert not judged.errors[0].retriable
    assert flow.remote_records(0) == left
    assert flow.remote_records(1) == flow.source_records(1)


def test_a_ledger_that_lost_its_last_records_is_noticed_by_what_stands_on_the_target_and_nothing_is_doubled(after: AfterElection) -> None:
    flow = after.ledger
    assert {record.watermark for record in flow.mirroring.ledger().values()} == {KEPT}
    for number in range(2):
        flow.produce(10, number, seed=6)
    judged = flow.mirroring.copy()
    assert by_partition(judged) == dict.fromkeys(range(2), "UnexplainedTarget"), str(judged)
    assert [len(flow.remote_records(number)) for number in range(2)] == [KEPT + LOST] * 2


def test_records_whose_commit_the_target_lost_are_not_written_over_by_chance(after: AfterElection) -> None:
    flow = after.marker
    for number in range(2):
        flow.produce(10, number, seed=7)
    judged = flow.mirroring.copy()
    assert by_partition(judged) == {0: "TargetHidden"}, str(judged)
    assert judged.errors[0].offset == KEPT + 1
    assert "find-hanging" in judged.errors[0].next
    assert len(flow.remote_records(0)) == KEPT
    assert flow.remote_records(1) == flow.source_records(1)


def test_a_ledger_whose_last_commit_the_target_lost_stops_its_lane_and_says_how_to_go_on(after: AfterElection) -> None:
    flow = after.ledger_marker
    flow.produce(10, 0, seed=8)
    judged = flow.mirroring.copy()
    (error,) = judged.errors
    assert (error.code, error.topic, error.partition) == ("LedgerHidden", flow.ledger, 0)
    assert len(flow.remote_records(0)) == KEPT + LOST


def test_who_decides_to_restart_gets_what_the_source_has_now_and_what_the_target_lost(after: AfterElection) -> None:
    """The last of these tests: it answers what the others found."""
    source, target = after.source, after.target
    decided = [restarted(source, number) for number in range(3)]
    assert decided == [KEPT] * 3
    judged = source.mirroring.copy()
    assert judged.state == "done", str(judged)
    for number in range(3):
        old = source.remote_records(number)[KEPT : KEPT + LOST]
        assert source.remote_records(number) == source.source_records(number)[:KEPT] + old + source.source_records(number)[KEPT:]

    assert restarted(target, 0) == KEPT
    judged = target.mirroring.copy()
    assert judged.state == "done", str(judged)
    for number in range(2):
        assert target.remote_records(number) == target.source_records(number)


def restarted(flow: Placed, partition: int) -> int | None:
    """Decides as the error says; gives the source offset at which the copy goes on."""
    (made,) = decide(
        flow.mirroring.flow, DecisionRequest(RESTART, who="test", why="an unclean election", topic=flow.topic, partition=partition)
    )
    return made.decision.offset
