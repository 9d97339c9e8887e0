"""A plan for one run of one flow: the ledger's watermarks beside the source's offsets.

Who comes first: the order of a plan's ranges, so that a budget that ends early leaves out another lane each time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import replication_policy, topic_selection
from kafka_mirror.config.validate import check_readable
from kafka_mirror.copy.plan.model import BLOCKED, Plan, Range, sort_by_lane
from kafka_mirror.copy.plan.planner import Planning
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.copy.plan.source_partitions import digest_of
from kafka_mirror.errors import name_flow_in_errors
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.create_topics import CHECKPOINTS_FACTOR, HEARTBEATS_FACTOR, LEDGER_FACTOR, OFFSET_SYNCS_FACTOR, check_replicas
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.checks import check_closed, check_clusters, check_handed_back
from kafka_mirror.ledger.clusters import (
    check_ledger_name,
    check_two_clusters,
    clusters,
    control_of,
    ledger_of,
    read_decisions,
    read_ledger,
    selection_by,
)
from kafka_mirror.ledger.decisions import NO_DECISIONS, Decisions
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import LedgerView
from kafka_mirror.policy import IdleMembers

UNNAMED = (
    "mirror.installation is not set: a second installation that copies this flow would not be noticed, and the two would keep interrupting "
    "each other. Set it, to another name in each installation."
)
"""Said while a flow has no ledger records yet."""


def order_ranges(ranges: Iterable[Range], records: Mapping[TopicPartition, LedgerRecord], lanes: int, now: datetime) -> tuple[Range, ...]:
    """Lane by lane: the least recently served lane first, then the one with most to do; a budget may not reach the last ones.

    A time of service that is still to come is of a host whose clock is ahead: how long ago it was is unknown, so the lane comes first and
    gets another time. In a lane the partitions that are stuck come last, the least recently tried first; `records` has those of a lane in
    the order in which they were written, which no clock can confuse.
    """
    served: dict[int, datetime] = {}
    for tp, record in records.items():
        lane = lane_of(*tp, lanes)
        served[lane] = max(served.get(lane, record.writer.time), record.writer.time)
    by_lane = sort_by_lane(ranges, lanes)
    never = datetime.min.replace(tzinfo=UTC)
    written = {tp: number for number, tp in enumerate(records)}

    def rank_lane(lane: int) -> tuple[bool, datetime, int]:
        time = served.get(lane, never)
        return time <= now, time, -sum(planned.offsets for planned in by_lane[lane])

    def rank_range(planned: Range) -> tuple[bool, int, TopicPartition]:
        tp, is_stuck = planned.topic_partition, planned.reason == BLOCKED
        return is_stuck, written.get(tp, -1) if is_stuck else 0, tp

    return tuple(planned for lane in sorted(by_lane, key=rank_lane) for planned in sorted(by_lane[lane], key=rank_range))


def plan(flow: Flow, dry_run: bool = False, by_person: bool = False, follow_for: float = 0.0) -> Plan:
    """What the next copy of the flow has to do; for one that is started `by_person` what was refused is tried again at once. `follow_for`
    as in `Plan`.

    Creates the ledger if there is none, and on a fresh flow the remote topics, so that the first copy need not wait for `refresh-topics`;
    with `dry_run` nothing is written and the plan is the same. Raises what concerns the whole flow, ConfigurationError before anything is
    asked or written; what concerns a partition is in `Plan.errors`.
    """
    return plan_context(flow, dry_run, by_person, follow_for).plan


@dataclass(frozen=True)
class PlanContext:
    """A plan with what it was made from: the ledger, the source's mirrored topics, the offsets of all partitions that may be copied, the
    remote topics that exist (by source topic), what people decided, and the partitions that wait for a remote one, with where each would
    begin."""

    plan: Plan
    ledger: LedgerView
    topics: Mapping[str, Topic]
    source: Mapping[TopicPartition, SourceOffsets]
    remotes: Mapping[str, Topic] = field(default_factory=dict)
    decisions: Decisions = field(default_factory=Decisions)
    waiting: Mapping[TopicPartition, tuple[SourceOffsets, int]] = field(default_factory=dict)
    idle: IdleMembers | None = None
    """The members of `topics` that take no topic of the source; None where it was not listed."""


def plan_context(flow: Flow, dry_run: bool = False, by_person: bool = False, follow_for: float = 0.0) -> PlanContext:
    """Plans the flow's next copy, and keeps what the plan was made from."""
    check_readable(flow)
    with clusters(flow) as (source, target):
        return survey(flow, source, target, dry_run, by_person=by_person, follow_for=follow_for)


def survey(
    flow: Flow,
    source: Cluster,
    target: Cluster,
    dry_run: bool = False,
    undecided: bool = False,
    by_person: bool = False,
    follow_for: float = 0.0,
) -> PlanContext:
    """Surveys the flow for callers that need more than the owed work. `undecided`: without any decision about partitions."""
    with name_flow_in_errors(flow.name):
        return _survey(flow, source, target, dry_run, undecided, by_person, follow_for)


def _survey(
    flow: Flow, source: Cluster, target: Cluster, dry_run: bool, undecided: bool, by_person: bool, follow_for: float
) -> PlanContext:
    target_id = target.cluster_id()
    control = control_of(flow, target)
    decisions = read_decisions(flow, control, dry_run=True)
    check_handed_back(decisions)
    check_closed(decisions)  # in front of all that asks the source, which may be gone
    is_listed = flow.value("refresh.topics.enabled")
    if is_listed:
        source.listing()  # its answer has the cluster's id too
    source_id = source.cluster_id()
    check_two_clusters(source, target, flow.value("mirror.one.cluster"))
    if decisions.is_empty:
        _check_replicas(flow, source, target)
    if not dry_run and decisions.is_empty:
        check_ledger_name(ledger_of(flow, target).topic, flow.source, target, decisions)
        decisions = read_decisions(flow, control, dry_run)  # nothing is created before both clusters have answered
    ledger_id, view = read_ledger(flow, target, control, decisions, dry_run)
    check_clusters(view.records.values(), flow.source, source_id, flow.target, target_id, decisions)
    # A topic that was moved stays away, also where decisions about single partitions are left out.
    selection = selection_by(flow, decisions)
    planning = Planning(flow, source, target, view, NO_DECISIONS if undecided else decisions, selection, dry_run, by_person, follow_for > 0)
    planning.run()
    planning.notices += [f"{topic} is left out: {moved}" for topic, moved in sorted(decisions.moved_topics.items())]
    if not flow.value("mirror.installation") and not view.records:
        planning.notices.append(UNNAMED)
    interval = timedelta(seconds=flow.value("mirror.copy.interval.seconds"))
    plan = replace(
        plan_without_work(flow, source_id, target_id, ledger_id, decisions),
        ranges=order_ranges(planning.ranges, view.records, flow.value("mirror.lanes"), planning.now),
        time=planning.now,
        errors=tuple(dict.fromkeys(error.with_flow(flow.name) for error in planning.errors)),
        notices=tuple(planning.notices),
        by_person=by_person,
        follow_for=follow_for,
        is_busy=any(record.writer.time > planning.now - interval for record in view.records.values()),
        control_end=control.read_end,
        source_topics=digest_of(topic_selection(flow), source.listing().described.values()) if follow_for and is_listed else "",
    )
    return PlanContext(plan, view, planning.topics, planning.source_offsets, planning.remotes, decisions, planning.waiting, planning.idle)


def _check_replicas(flow: Flow, source: Cluster, target: Cluster) -> None:
    """Raises TooFewBrokers on a fresh flow, before anything is created, with every property that is to be another one."""
    policy = replication_policy(flow)
    syncs = {policy.offset_syncs_topic(flow.target): OFFSET_SYNCS_FACTOR}
    own = {policy.control_topic(flow.source): LEDGER_FACTOR}
    if flow.value("emit.checkpoints.enabled"):
        own[policy.checkpoints_topic(flow.source)] = CHECKPOINTS_FACTOR
    if flow.value("emit.heartbeats.enabled"):
        own[policy.heartbeats_topic()] = HEARTBEATS_FACTOR
    check_replicas(target, {name: (setting, flow.value(setting)) for name, setting in own.items()})
    if flow.value("emit.offset-syncs.enabled") and flow.value("offset-syncs.topic.location") == "source":
        check_replicas(source, {name: (setting, flow.value(setting)) for name, setting in syncs.items()})


def plan_without_work(flow: Flow, source_id: str, target_id: str, ledger_id: str, decisions: Decisions) -> Plan:
    """What every lane of the flow needs, whatever it is to do: the configuration, the clusters, the ledger, the decisions about them."""
    flow_wide = (
        decisions.find_adoption(flow.source, source_id),
        decisions.find_adoption(flow.target, target_id),
        decisions.find_ownership(flow.value("mirror.installation")),
        decisions.throttle,
    )
    return Plan(
        flow.name,
        config_hash=flow.config_hash,
        source_cluster_id=source_id,
        target_cluster_id=target_id,
        ledger_id=ledger_id,
        decisions=tuple(decision for decision in flow_wide if decision is not None),
    )
