"""Takes a decision: looks at how the partitions stand on both clusters, binds the decision to that, writes it."""

import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.config.validate import check_readable
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.copy.plan.source_partitions import confirm_partitions, source_partitions, with_epoch_ends
from kafka_mirror.copy.plan.target_errors import remote_errors
from kafka_mirror.decide import binding
from kafka_mirror.decide.binding import DecisionWithEffect, PartitionState
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.errors import DecidedMeanwhile, MirrorError, NothingToDecide, UnexplainedTarget, name_flow_in_errors
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.apply_decisions import act_on_decisions
from kafka_mirror.ledger.checks import check_clusters
from kafka_mirror.ledger.clusters import (
    check_answering_clusters,
    clusters,
    control_of,
    ledger_of,
    read_decisions,
    read_ledger,
    renamed_ledger,
)
from kafka_mirror.ledger.control_records import (
    ACCEPT_RECORDS,
    ADOPT_CLUSTER,
    BEGIN_CONTROL,
    BEGIN_LEDGER,
    PAUSE,
    RESUME,
    TAKE_OWNERSHIP,
    THROTTLE,
    Decision,
)
from kafka_mirror.ledger.decisions import Decisions, Present, list_decisions, moment_after
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import LedgerView

_PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0)
_ANY_TIME = datetime.min.replace(tzinfo=UTC)
_ANY_OTHER = -1
"""The number of no partition, so that no decision is about it."""


def decide(flow: Flow, request: DecisionRequest, dry_run: bool = False) -> list[DecisionWithEffect]:
    """Takes the decision for everything that it applies to, and gives what was decided. With `dry_run` nothing is written.

    Raises NothingToDecide, with how things stand, where there is no question that it would answer; SameCluster.
    """
    check_readable(flow)
    with name_flow_in_errors(flow.name), clusters(flow) as (source, target):
        check_answering_clusters(flow)  # a person may decide while the source is down
        return _DecisionMaker(flow, source, target, request).run(dry_run)


def decisions_of(flow: Flow) -> list[tuple[Decision, bool]]:
    """Everything that was decided about the flow and not replaced since, oldest first, and whether it still counts."""
    check_readable(flow)
    with clusters(flow) as (source, target):
        decisions = read_decisions(flow, control_of(flow, target), dry_run=True)
        ledger = ledger_of(flow, target)
        ledger_id = ledger.topic_id()
        records = ledger.read().records if ledger_id else {}
        ids = {flow.source: source.cluster_id(), flow.target: target.cluster_id()}
    return list_decisions(decisions, Present(records, ledger_id, ids))


class _DecisionMaker:
    """One decision of a person about one flow."""

    def __init__(self, flow: Flow, source: Cluster, target: Cluster, request: DecisionRequest) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._request = request
        self._control = control_of(flow, target)

    def run(self, dry_run: bool) -> list[DecisionWithEffect]:
        """Looks, binds and writes; again if somebody else decided meanwhile. Raises DecidedMeanwhile if that goes on and on, or if it comes
        to something else than before, which the person may have been shown."""
        first: list[Decision] = []
        for pause in _PAUSES:
            effects = self._find_effects(read_decisions(self._flow, self._control, dry_run=True))
            bound = [replace(effect.decision, when=_ANY_TIME, until=None) for effect in effects]
            first = first or bound
            if bound != first:
                raise DecidedMeanwhile(self._control.topic)
            if dry_run:
                return effects
            if not self._control.exists():
                self._control.create(self._flow.value("mirror.ledger.replication.factor"))
            try:
                self._control.write_next([effect.decision for effect in effects])
                return effects
            except DecidedMeanwhile as other:
                meanwhile = other
                time.sleep(pause * random.random())  # noqa: S311 — two that began together must not do so again
        raise meanwhile

    def _find_effects(self, decisions: Decisions) -> list[DecisionWithEffect]:
        word = self._request.decision
        if word in (PAUSE, RESUME):
            return self._list_paused(decisions)
        if word == BEGIN_LEDGER:
            return self._begin_ledger(decisions)
        if word == BEGIN_CONTROL:
            ledger_id = ledger_of(self._flow, self._target).topic_id()
            return binding.begin_control(self._request, decisions.ledger_id, ledger_id, self._choose_time(decisions))
        if word == THROTTLE:
            configured = self._flow.value("mirror.max.bytes.per.second")
            return binding.throttle(self._request, decisions.throttle, configured, self._choose_time(decisions))
        return self._bind_to_ledger(decisions)

    def _begin_ledger(self, decisions: Decisions) -> list[DecisionWithEffect]:
        ledger = ledger_of(self._flow, self._target)
        noted_id, present_id = decisions.ledger_id, ledger.topic_id()
        if noted_id is None and present_id is None:
            renamed = renamed_ledger(ledger.topic, self._flow.source, self._target)
            noted_id = renamed.id if renamed else None
        return binding.begin_ledger(self._request, ledger.topic, noted_id, present_id, self._choose_time(decisions))

    def _bind_to_ledger(self, decisions: Decisions) -> list[DecisionWithEffect]:
        flow, request = self._flow, self._request
        source_id, target_id = self._source.cluster_id(), self._target.cluster_id()
        _, view = read_ledger(flow, self._target, self._control, decisions, dry_run=True)
        records = view.records.values()
        when = self._choose_time(decisions, records)
        if request.decision == ADOPT_CLUSTER:
            ids = [(flow.source, source_id, "source"), (flow.target, target_id, "target")]
            return binding.adopt_cluster(request, ids, records, when)
        if request.decision == TAKE_OWNERSHIP:
            interval = flow.value("mirror.copy.interval.seconds")
            return binding.take_ownership(request, flow.value("mirror.installation"), records, interval, datetime.now(UTC), when)
        check_clusters(records, flow.source, source_id, flow.target, target_id, decisions)
        return binding.bind(request, partition_states(flow, self._source, self._target, view, decisions, request), when)

    def _list_paused(self, decisions: Decisions) -> list[DecisionWithEffect]:
        request, topic = self._request, self._request.topic or ""
        if not topic_selection(self._flow).takes(topic):
            raise NothingToDecide(request.decision, f"the flow {self._flow.name} mirrors no topic '{topic}'.", topic=topic)
        decision = Decision(request.decision, request.who, self._choose_time(decisions), request.why, topic, request.partition)
        what = topic if request.partition is None else f"{topic}-{request.partition}"
        if request.decision == PAUSE:
            return [
                DecisionWithEffect(
                    decision, f"{what} is left out of every plan until it is resumed; a run that has begun ends what it began"
                )
            ]
        if not any(decisions.find_pause(TopicPartition(topic, number)) for number in self._find_numbers(decisions, topic)):
            raise NothingToDecide(request.decision, f"{what} is not paused.", topic=topic, partition=request.partition)
        return [DecisionWithEffect(decision, f"{what} is copied again, from where it was left")]

    def _find_numbers(self, decisions: Decisions, topic: str) -> set[int]:
        """The partitions to which pauses may apply: the one that is asked for, or those somebody decided about and one that stands for all
        others."""
        if self._request.partition is not None:
            return {self._request.partition}
        return {_ANY_OTHER} | {
            decision.partition for decision in decisions.all if decision.topic == topic and decision.partition is not None
        }

    def _choose_time(self, decisions: Decisions, records: Iterable[LedgerRecord] = ()) -> datetime:
        return moment_after(decisions, records, datetime.now(UTC))


def partition_states(
    flow: Flow, source: Cluster, target: Cluster, view: LedgerView, decisions: Decisions, request: DecisionRequest
) -> list[PartitionState]:
    """The partitions that are asked about: of the topic all, or one. Raises NothingToDecide for a topic or partition that the flow does not
    mirror, and what keeps their ledger records from being read."""
    name = request.topic or ""
    records = {tp: record for tp, record in view.records.items() if tp.topic == name}
    refused: dict[str, MirrorError] = {}
    topics = source.topics([name], refused)
    _raise_first(refused)
    partitions = _find_named_partitions(flow, name, topics, records, request)
    for tp in partitions:
        unreadable = view.unreadable.get(lane_of(*tp, flow.value("mirror.lanes")))
        if unreadable is not None:
            raise unreadable
    led = [TopicPartition(name, p.number) for topic in topics.values() for p in topic.partitions if p.leader is not None]
    offsets = source_partitions(source, topics, [tp for tp in led if tp in partitions], flow.reads_committed, refused)
    _raise_first(refused)
    offsets = confirm_partitions(with_epoch_ends(source, offsets, records), records)
    remote = topic_selection(flow).remote(name)
    states = _find_remote_states(target, remote, [PartitionState(tp, records.get(tp), offsets.get(tp), remote) for tp in partitions])
    return _add_unexplained(flow, target, states, decisions) if request.decision == ACCEPT_RECORDS else states


def _find_named_partitions(
    flow: Flow, name: str, topics: Mapping[str, Topic], records: Mapping[TopicPartition, LedgerRecord], request: DecisionRequest
) -> list[TopicPartition]:
    there = {TopicPartition(name, p.number) for topic in topics.values() for p in topic.partitions}
    mirrored = there | set(records) if topic_selection(flow).takes(name) else set()
    chosen = sorted(tp for tp in mirrored if request.partition in (None, tp.partition))
    if not chosen:
        what = f"topic '{name}'" if not mirrored else f"partition {name}-{request.partition}"
        raise NothingToDecide(
            request.decision,
            f"the flow {flow.name} mirrors no {what}.",
            topic=name,
            partition=request.partition,
            next="Look for the name among those that `plan` and `status` show; a topic has the name here that it has on the source.",
        )
    return chosen


def _find_remote_states(target: Cluster, remote: str, states: list[PartitionState]) -> list[PartitionState]:
    topic = target.topics([remote]).get(remote)
    if topic is None:
        return states
    there = {TopicPartition(remote, partition.number) for partition in topic.partitions}
    remotes = [remote_tp for remote_tp in (TopicPartition(remote, state.tp.partition) for state in states) if remote_tp in there]
    stable, ends = target.offsets(remotes, "latest", committed=True), target.offsets(remotes, "latest")
    mirrored = [(state, TopicPartition(remote, state.tp.partition)) for state in states]
    return [
        replace(state, remote_id=topic.id if tp in there else None, remote_end=ends.get(tp), remote_stable=stable.get(tp))
        for state, tp in mirrored
    ]


def _add_unexplained(flow: Flow, target: Cluster, states: list[PartitionState], decisions: Decisions) -> list[PartitionState]:
    """The states, with whether a run would find records that nothing accounts for: after what was already decided about the partition."""
    offsets: dict[TopicPartition, SourceOffsets] = {state.tp: state.source for state in states if state.source is not None}
    others = {state.tp: [decision for decision in decisions.select(state.tp) if decision.decision != ACCEPT_RECORDS] for state in states}
    records = {
        state.tp: act_on_decisions(state.record, others[state.tp], state.facts)[0]
        for state in states
        if state.record and state.tp in offsets
    }
    errors = remote_errors(flow, target, offsets, records)
    unexplained = {(error.topic, error.partition) for error in errors if error.kind is UnexplainedTarget}
    return [replace(state, unexplained=tuple(state.tp) in unexplained) for state in states]


def _raise_first(refused: Mapping[str, MirrorError]) -> None:
    for error in refused.values():
        raise error
