"""How a topic's partitions stand on both clusters, for a decision about them."""

from collections.abc import Mapping
from dataclasses import replace

from mirror.config import Flow
from mirror.decide.model import PartitionState
from mirror.decide.request import Request
from mirror.errors import MirrorError, NothingToDecide
from mirror.formats.control import ACCEPT_RECORDS
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.ledger import LedgerView
from mirror.kafka.model import Topic
from mirror.offsets.lanes import lane_of
from mirror.offsets.partition import TopicPartition
from mirror.plan.acting import acted_on
from mirror.plan.choose import SourcePartition
from mirror.plan.decisions import Decisions
from mirror.plan.sources import source_partitions, with_epoch_ends
from mirror.policy import topic_selection
from mirror.report.remotes import remote_errors


def partition_states(
    flow: Flow, source: Cluster, target: Cluster, view: LedgerView, decisions: Decisions, request: Request
) -> list[PartitionState]:
    """The partitions that are asked about: of the topic all, or one. Raises NothingToDecide for a topic or partition that the flow does not
    mirror, and what keeps their ledger records from being read."""
    name = request.topic or ""
    records = {tp: record for tp, record in view.records.items() if tp.topic == name}
    refused: dict[str, MirrorError] = {}
    topics = source.topics([name], refused)
    _raise_first(refused)
    partitions = _asked(flow, name, topics, records, request)
    for tp in partitions:
        unreadable = view.unreadable.get(lane_of(*tp, flow.value("mirror.lanes")))
        if unreadable is not None:
            raise unreadable
    committed = flow.client("source", "consumer").get("isolation.level") != "read_uncommitted"
    led = [TopicPartition(name, p.number) for topic in topics.values() for p in topic.partitions if p.leader is not None]
    found = source_partitions(source, topics, [tp for tp in led if tp in partitions], committed, refused)
    found = with_epoch_ends(flow, found, records)
    _raise_first(refused)
    remote = topic_selection(flow).remote(name)
    states = _remote_states(target, remote, [PartitionState(tp, records.get(tp), found.get(tp), remote) for tp in partitions])
    return _with_unexplained(flow, target, states, decisions) if request.decision == ACCEPT_RECORDS else states


def _asked(
    flow: Flow, name: str, topics: Mapping[str, Topic], records: Mapping[TopicPartition, LedgerRecord], request: Request
) -> list[TopicPartition]:
    there = {TopicPartition(name, p.number) for topic in topics.values() for p in topic.partitions}
    mirrored = there | set(records) if topic_selection(flow).takes(name) else set()
    asked = sorted(tp for tp in mirrored if request.partition in (None, tp.partition))
    if not asked:
        what = f"topic '{name}'" if not mirrored else f"partition {name}-{request.partition}"
        raise NothingToDecide(
            request.decision,
            f"the flow {flow.name} mirrors no {what}.",
            topic=name,
            partition=request.partition,
            next="Look for the name among those that `plan` and `status` show; a topic has the name here that it has on the source.",
        )
    return asked


def _remote_states(target: Cluster, remote: str, states: list[PartitionState]) -> list[PartitionState]:
    topic = target.topics([remote]).get(remote)
    if topic is None:
        return states
    there = {TopicPartition(remote, partition.number) for partition in topic.partitions}
    asked = [each for each in (TopicPartition(remote, state.tp.partition) for state in states) if each in there]
    stable, ends = target.offsets(asked, "latest", committed=True), target.offsets(asked, "latest")
    mirrored = [(state, TopicPartition(remote, state.tp.partition)) for state in states]
    return [
        replace(state, remote_id=topic.id if tp in there else None, remote_end=ends.get(tp), remote_stable=stable.get(tp))
        for state, tp in mirrored
    ]


def _with_unexplained(flow: Flow, target: Cluster, states: list[PartitionState], decisions: Decisions) -> list[PartitionState]:
    """The states, with whether a run would find records that nobody accounts for: behind what was already decided about the partition."""
    found: dict[TopicPartition, SourcePartition] = {state.tp: state.source for state in states if state.source is not None}
    others = {state.tp: [each for each in decisions.of(state.tp) if each.decision != ACCEPT_RECORDS] for state in states}
    records = {
        state.tp: acted_on(state.record, others[state.tp], state.standing)[0] for state in states if state.record and state.tp in found
    }
    errors = remote_errors(flow, target, found, records)
    unexplained = {(error.topic, error.partition) for error in errors if error.code == "UnexplainedTarget"}
    return [replace(state, unexplained=tuple(state.tp) in unexplained) for state in states]


def _raise_first(refused: Mapping[str, MirrorError]) -> None:
    for error in refused.values():
        raise error
