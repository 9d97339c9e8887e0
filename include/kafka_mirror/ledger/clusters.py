"""A flow's two clusters, connected with its client settings; its ledger and control topic on the target; and what these say it mirrors.

It stands here because `kafka` knows no flows, and this is the first room that does.

A moved topic is written on the target, so its old source has nothing more to say of it: no records, no configs, no ACLs, no positions.
Another policy, separator or rule would begin every topic, or the flow itself, once more beside what was copied. So no step makes anything
under a new name before somebody decided so: the steps ask here, and go by what the plan goes by, the flow's ledger.
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import replication_policy, topic_selection
from kafka_mirror.errors import ControlMissing, LedgerMissing, MirrorError, SameCluster, TargetRecreated
from kafka_mirror.formats.offsets.partition import TopicPartition, deciders_id
from kafka_mirror.kafka.broker_connection import OF_SOURCE, OF_TARGET
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.checks import check_closed
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import LEDGER, RESTART, Decision
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import Ledger, LedgerView
from kafka_mirror.policy import TopicSelection, is_ledger_of

_SOON_SECONDS = 5.0
_NO_IDS = frozenset(("", "None"))
"""What brokers without an id of their cluster come to."""


@contextmanager
def clusters(flow: Flow) -> Iterator[tuple[Cluster, Cluster]]:
    """The flow's source and target. Every call to them ends within `admin.timeout.ms`; nothing is sent before the first call.
    The first one to each raises ClusterTooOld for brokers that the mirror does not copy from or to."""
    seconds = flow.request_seconds
    with (
        Cluster(flow.source, flow.client("source", "admin"), seconds, OF_SOURCE) as source,
        Cluster(flow.target, flow.client("target", "admin"), seconds, OF_TARGET) as target,
    ):
        yield source, target


@contextmanager
def clusters_of_step(flow: Flow) -> Iterator[tuple[Cluster, Cluster]]:
    """Opens the flow's clusters for a step that goes by what the source has. Raises FlowClosed after a failover, and as `two_clusters`.
    A wave that moves back creates a closed flow's remote topics by itself."""
    with two_clusters(flow) as (source, target):
        check_closed(collect_decisions(control_of(flow, target)))
        yield source, target


@contextmanager
def two_clusters(flow: Flow) -> Iterator[tuple[Cluster, Cluster]]:
    """Opens the flow's clusters for steps that write: asks both for their ids. Raises SameCluster, and what a cluster answers."""
    with clusters(flow) as (source, target):
        check_two_clusters(source, target, flow.value("mirror.one.cluster"))
        yield source, target


def check_two_clusters(source: Cluster, target: Cluster, may_be_one: bool) -> None:
    """Raises SameCluster where brokers of both tell one id, unless they `may_be_one` (mirror.one.cluster). Those without one pass."""
    if may_be_one:
        return
    common = (source.find_ids() & target.find_ids()) - _NO_IDS
    if common:
        addresses = [str(cluster.settings["bootstrap.servers"]) for cluster in (source, target)]
        raise SameCluster(source.alias, addresses[0], target.alias, addresses[1], min(common))


def check_answering_clusters(flow: Flow) -> None:
    """Raises SameCluster, for what does not wait for the brokers of both sides. A cluster that does not answer soon is not judged."""
    if flow.value("mirror.one.cluster"):
        return
    seconds = min(flow.request_seconds, _SOON_SECONDS)
    with (
        Cluster(flow.source, flow.client("source", "admin"), seconds) as source,
        Cluster(flow.target, flow.client("target", "admin"), seconds) as target,
    ):
        try:
            source.cluster_id()
            target.cluster_id()
        except MirrorError:
            return
        check_two_clusters(source, target, may_be_one=False)


def ledger_of(flow: Flow, target: Cluster) -> Ledger:
    """The flow's ledger on its target."""
    topic = replication_policy(flow).ledger_topic(flow.source)
    return Ledger(topic, flow.value("mirror.lanes"), target, flow.client("target", "consumer"))


def control_of(flow: Flow, target: Cluster) -> Control:
    """The flow's control topic on its target."""
    topic = replication_policy(flow).control_topic(flow.source)
    transactional_id = deciders_id(flow.source, flow.value("mirror.lanes"))
    return Control(topic, target, flow.client("target", "consumer"), flow.client("target", "producer"), transactional_id)


def current_selection(flow: Flow, target: Cluster) -> TopicSelection:
    """The selection as the control topic narrows it. Raises LedgerMissing, ControlUnreadable, and what the target answers."""
    decisions = collect_decisions(control_of(flow, target))
    check_ledger_name(replication_policy(flow).ledger_topic(flow.source), flow.source, target, decisions)
    return selection_by(flow, decisions)


def selection_by(flow: Flow, decisions: Decisions) -> TopicSelection:
    """The topic selection by decisions that were read."""
    returned = frozenset(decisions.returned_topics) if flow.value("mirror.way.back") else None
    return replace(topic_selection(flow), moved=frozenset(decisions.moved_topics), returned=returned)


def check_ledger_name(ledger: str, source: str, target: Cluster, decisions: Decisions) -> None:
    """Raises LedgerMissing where the flow from `source` has its ledger under another name than `ledger`, unless somebody decided to begin
    again."""
    if decisions.ledger_id is not None or target.topics([ledger]):
        return
    other = renamed_ledger(ledger, source, target)
    if other is not None and not decisions.may_begin_ledger(None, other.id):
        raise LedgerMissing(ledger, other.id, None, other.name)


def renamed_ledger(ledger: str, source: str, target: Cluster) -> Topic | None:
    """A ledger of the same source under another name, as after a change of the separator; remote topics have other names then too."""
    others = [name for name in target.names() if name != ledger and is_ledger_of(name, source)]
    return target.topics(others).get(others[0]) if others else None


def renamed_topics(flow: Flow, target: Cluster, remotes: Mapping[str, str]) -> dict[str, MirrorError]:
    """Those of the topics, given with their remote names of today, that were copied under another one, each with the error with which the
    copy refuses them; but for those that somebody decided to restart under the name of today."""
    ledger = ledger_of(flow, target)
    if not remotes or not ledger.exists():
        return {}
    decisions = collect_decisions(control_of(flow, target))
    renamed: dict[str, MirrorError] = {}
    restarted = set()
    for tp, record in ledger.read().records.items():
        remote = remotes.get(tp.topic, record.target_topic)
        if remote != record.target_topic:
            renamed.setdefault(tp.topic, TargetRecreated(*tp, remote, f"name {record.target_topic}", remote))
            if any((decision.decision, decision.target_topic) == (RESTART, remote) for decision in decisions.select(tp)):
                restarted.add(tp.topic)
    return {topic: error for topic, error in renamed.items() if topic not in restarted}


def collect_decisions(control: Control) -> Decisions:
    """What is decided about a flow; nothing without a control topic. Raises what keeps it from being read: a topic may have moved."""
    return Decisions(control.read() if control.exists() else ())


def read_decisions(flow: Flow, control: Control, dry_run: bool) -> Decisions:
    """What people decided. Creates the control topic where there is none, unless in a dry run."""
    if control.exists():
        return Decisions(control.read())
    if not dry_run:
        control.create(flow.value("mirror.ledger.replication.factor"))
    return Decisions()


def read_ledger(flow: Flow, target: Cluster, control: Control, decisions: Decisions, dry_run: bool) -> tuple[str, LedgerView]:
    """The ledger's topic id ('': a dry run found none) and what it says. Creates it where there is none, unless in a dry run.

    The control topic keeps the id, so that a ledger that was lost, or whose name follows another separator now, is not silently begun
    again: that raises LedgerMissing. A ledger that holds partitions without the control topic naming it says that decisions were lost: that
    raises ControlMissing.
    """
    ledger = ledger_of(flow, target)
    noted_id, ledger_id = decisions.ledger_id, ledger.topic_id()
    if noted_id is not None and noted_id != ledger_id and not decisions.may_begin_ledger(ledger_id):
        raise LedgerMissing(ledger.topic, noted_id, ledger_id)
    if noted_id is None and ledger_id is None:
        check_ledger_name(ledger.topic, flow.source, target, decisions)
    view = LedgerView()
    if ledger_id is not None:
        view = ledger.read()
        if noted_id is None and view.records:
            raise ControlMissing(control.topic, ledger.topic, len(view.records))
    elif dry_run:
        return "", view
    else:
        ledger_id = ledger.create(flow.value("mirror.ledger.replication.factor"))
    if not view.records and not view.unreadable:
        ledger.check_readable()
    if noted_id != ledger_id and not dry_run:
        control.write(Decision(LEDGER, f"plan@{socket.gethostname()}", datetime.now(UTC), "the ledger of this flow", ledger_id=ledger_id))
    return ledger_id, view


@dataclass(frozen=True)
class TargetState:
    """What stands of a flow on its target: its control topic and what was decided there, the id of its ledger's topic ('': a dry run found
    none), and what the ledger says."""

    control: Control
    decisions: Decisions
    ledger_id: str
    view: LedgerView

    @property
    def records(self) -> Mapping[TopicPartition, LedgerRecord]:
        """The ledger's records of all lanes. Raises what keeps a lane from being read."""
        for unreadable in self.view.unreadable.values():
            raise unreadable
        return self.view.records


def read_state(flow: Flow, target: Cluster, dry_run: bool = True) -> TargetState:
    """Reads the decisions, then the ledger. Creates what is missing, unless in a dry run. Raises LedgerMissing, ControlMissing, and what
    the target answers."""
    control = control_of(flow, target)
    decisions = read_decisions(flow, control, dry_run)
    return TargetState(control, decisions, *read_ledger(flow, target, control, decisions, dry_run))
