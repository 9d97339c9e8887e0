"""A plan for one run of one flow: the ledger's watermarks beside the source's offsets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mirror.config import Flow
from mirror.config.readable import check_readable
from mirror.errors import named_with
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import clusters, control_of
from mirror.kafka.ledger import LedgerView
from mirror.kafka.model import Topic
from mirror.offsets.partition import TopicPartition
from mirror.plan.checks import check_clusters, check_handed_back
from mirror.plan.choose import SourcePartition
from mirror.plan.decisions import NO_DECISIONS, Decisions
from mirror.plan.model import Plan
from mirror.plan.order import in_order
from mirror.plan.own_topics import read_decisions, read_ledger
from mirror.plan.planning import Planning

UNNAMED = (
    "mirror.installation is not set: a second installation that copies this flow would not be noticed, and the two would keep interrupting "
    "each other. Set it, to another name in each installation."
)
"""Said while a flow has no ledger records yet."""


def plan(flow: Flow, dry_run: bool = False, by_person: bool = False) -> Plan:
    """What the next copy of the flow has to do; for one that is started `by_person` what was refused is tried again at once.

    Creates the ledger if there is none, and on a fresh flow the remote topics, so that the first copy need not wait for `refresh-topics`;
    with `dry_run` nothing is written and the plan is the same. Raises what concerns the whole flow, ConfigurationError before anything is
    asked or written; what concerns a partition is in `Plan.errors`.
    """
    check_readable(flow)
    with clusters(flow) as (source, target):
        return survey(flow, source, target, dry_run, by_person=by_person).plan


@dataclass(frozen=True)
class Survey:
    """A plan with what it was made from: the ledger, the source's mirrored topics, the offsets of all partitions that may be copied, the
    remote topics that exist (by source topic), and what people decided."""

    plan: Plan
    ledger: LedgerView
    topics: Mapping[str, Topic]
    source: Mapping[TopicPartition, SourcePartition]
    remotes: Mapping[str, Topic] = field(default_factory=dict)
    decisions: Decisions = field(default_factory=Decisions)


def survey(flow: Flow, source: Cluster, target: Cluster, dry_run: bool = False, undecided: bool = False, by_person: bool = False) -> Survey:
    """As `plan`, for whoever needs more than the work that is owed. With `undecided` as if nobody had decided about any partition."""
    with named_with(flow.name):
        return _survey(flow, source, target, dry_run, undecided, by_person)


def _survey(flow: Flow, source: Cluster, target: Cluster, dry_run: bool, undecided: bool, by_person: bool) -> Survey:
    source_id, target_id = source.cluster_id(), target.cluster_id()
    control = control_of(flow, target)
    decisions = read_decisions(flow, control, dry_run)
    check_handed_back(decisions)
    ledger_id, view = read_ledger(flow, target, control, decisions, dry_run)
    check_clusters(view.records.values(), flow.source, source_id, flow.target, target_id, decisions)
    planning = Planning(flow, source, target, view, NO_DECISIONS if undecided else decisions, dry_run, by_person)
    planning.run()
    if not flow.value("mirror.installation") and not view.records:
        planning.notices.append(UNNAMED)
    made = replace(
        plan_without_work(flow, source_id, target_id, ledger_id, decisions),
        ranges=in_order(planning.ranges, view.records, flow.value("mirror.lanes"), planning.now),
        time=planning.now,
        errors=tuple(dict.fromkeys(error.of_flow(flow.name) for error in planning.errors)),
        notices=tuple(planning.notices),
        by_person=by_person,
    )
    return Survey(made, view, planning.topics, planning.found, planning.remotes, decisions)


def plan_without_work(flow: Flow, source_id: str, target_id: str, ledger_id: str, decisions: Decisions) -> Plan:
    """What every lane of the flow needs, whatever it is to do: the configuration, the clusters, the ledger, the decisions about them."""
    found = (
        decisions.adopted(flow.source, source_id),
        decisions.adopted(flow.target, target_id),
        decisions.ownership(flow.value("mirror.installation")),
        decisions.throttle,
    )
    return Plan(
        flow.name,
        config_hash=flow.config_hash,
        source_cluster_id=source_id,
        target_cluster_id=target_id,
        ledger_id=ledger_id,
        decisions=tuple(each for each in found if each is not None),
    )
