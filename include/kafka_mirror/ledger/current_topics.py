"""Which topics a flow mirrors now, and whether its names are still those under which it began.

A moved topic is written on the target, so its old source has nothing more to say of it: no records, no configs, no ACLs, no positions.

Another policy, separator or rule would begin every topic, or the flow itself, once more beside what was copied. So no step makes anything
under a new name before somebody decided so: the steps ask here, and go by what the plan goes by, the flow's ledger.
"""

from collections.abc import Mapping
from dataclasses import replace

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import replication_policy, topic_selection
from kafka_mirror.errors import LedgerMissing, MirrorError, TargetRecreated
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.clusters import control_of, ledger_of
from kafka_mirror.ledger.control_records import RESTART
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.policy import TopicSelection, is_ledger_of


def current_selection(flow: Flow, target: Cluster) -> TopicSelection:
    """The selection as the control topic narrows it. Raises LedgerMissing, ControlUnreadable, and what the target answers."""
    decisions = _read_decisions(flow, target)
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
    if other is not None and not decisions.begins_ledger(None, other.id):
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
    decisions = _read_decisions(flow, target)
    renamed: dict[str, MirrorError] = {}
    restarted = set()
    for tp, record in ledger.read().records.items():
        remote = remotes.get(tp.topic, record.target_topic)
        if remote != record.target_topic:
            renamed.setdefault(tp.topic, TargetRecreated(*tp, remote, f"name {record.target_topic}", remote))
            if any((decision.decision, decision.target_topic) == (RESTART, remote) for decision in decisions.of(tp)):
                restarted.add(tp.topic)
    return {topic: error for topic, error in renamed.items() if topic not in restarted}


def _read_decisions(flow: Flow, target: Cluster) -> Decisions:
    control = control_of(flow, target)
    return Decisions(control.read() if control.exists() else ())
