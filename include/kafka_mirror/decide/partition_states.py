"""The partitions of a topic as they stand on both clusters: what a decision about them is bound to."""

from collections.abc import Mapping
from dataclasses import replace

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.copy.plan.source_partitions import confirm_partitions, source_partitions, with_epoch_ends
from kafka_mirror.copy.plan.target_errors import remote_errors
from kafka_mirror.decide.binding import PartitionState
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.errors import MirrorError, NothingToDecide, UnexplainedTarget
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.apply_decisions import act_on_decisions
from kafka_mirror.ledger.control_records import ACCEPT_RECORDS
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import LedgerView


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
    others = {state.tp: [decision for decision in decisions.of(state.tp) if decision.decision != ACCEPT_RECORDS] for state in states}
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
