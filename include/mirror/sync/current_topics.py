"""Which topics a flow mirrors now: those that its configuration chooses, but for those that cutovers moved.

A moved topic is written on the target, so its old source has nothing more to say of it: no records, no configs, no ACLs, no positions.
"""

from dataclasses import replace

from mirror.config import Flow
from mirror.config.policies import topic_selection
from mirror.decisions.in_force import Decisions
from mirror.kafka.cluster import Cluster
from mirror.policy import TopicSelection
from mirror.sync.flow_clusters import control_of


def current_selection(flow: Flow, target: Cluster) -> TopicSelection:
    """The selection as the control topic narrows it. Raises ControlUnreadable, and what the target answers."""
    control = control_of(flow, target)
    return selection_by(flow, Decisions(control.read() if control.exists() else ()))


def selection_by(flow: Flow, decisions: Decisions) -> TopicSelection:
    """The same, by decisions that were read."""
    returned = frozenset(decisions.returned_topics) if flow.value("mirror.way.back") else None
    return replace(topic_selection(flow), moved=frozenset(decisions.moved_topics), returned=returned)
