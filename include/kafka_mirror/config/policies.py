"""What a flow's properties name: its replication policy, its filters, its selection of topics."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kafka_mirror.config.custom_classes import construct, custom_class, java_name
from kafka_mirror.errors import ConfigurationError
from kafka_mirror.policy.filters import (
    ConfigPropertyFilter,
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
    GroupFilter,
    TopicFilter,
)
from kafka_mirror.policy.rename import RenamingPolicy
from kafka_mirror.policy.rename_rule import Renames
from kafka_mirror.policy.replication import DefaultReplicationPolicy, IdentityReplicationPolicy, ReplicationPolicy
from kafka_mirror.policy.selection import TopicSelection

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

_BASES: Mapping[str, type] = {
    "replication.policy.class": ReplicationPolicy,
    "topic.filter.class": TopicFilter,
    "group.filter.class": GroupFilter,
    "config.property.filter.class": ConfigPropertyFilter,
}
_POLICY_PROPERTIES = ("replication.policy.separator", "replication.policy.internal.topic.separator.enabled")


def replication_policy(flow: "Flow") -> ReplicationPolicy:
    """The flow's replication policy. Raises ConfigurationError, as all of these do, for a class that cannot be used."""
    properties = {**flow.properties, "source.cluster.alias": flow.source, "target.cluster.alias": flow.target}
    properties |= {name: flow.text(name) for name in _POLICY_PROPERTIES if name in properties}
    known = {java_name(kind): lambda kind=kind: kind(properties) for kind in (DefaultReplicationPolicy, IdentityReplicationPolicy)}
    policy: ReplicationPolicy = _make(flow, "replication.policy.class", known)
    both = [flow, *([flow.opposite] if flow.opposite else [])]
    renames = {each.source: Renames.parse(rules) for each in both if (rules := each.value("mirror.rename"))}
    return RenamingPolicy(policy, renames, flow.clusters) if renames else policy


def policy_of(properties: Mapping[str, str]) -> ReplicationPolicy:
    """The policy that the properties of a client name, without any flow; `source.cluster.alias` may be among them. Raises as
    `replication_policy`."""
    name = "replication.policy.class"
    named = properties.get(name) or java_name(DefaultReplicationPolicy)
    for kind in (DefaultReplicationPolicy, IdentityReplicationPolicy):
        if named == java_name(kind):
            return kind(properties)
    policy: ReplicationPolicy = construct(name, named, custom_class(name, named, ReplicationPolicy), dict(properties))
    return policy


def topic_filter(flow: "Flow") -> TopicFilter:
    """By `topic.filter.class`."""
    known = {java_name(DefaultTopicFilter): lambda: DefaultTopicFilter(flow.value("topics"), flow.value("topics.exclude"))}
    found: TopicFilter = _make(flow, "topic.filter.class", known)
    return found


def group_filter(flow: "Flow") -> GroupFilter:
    """By `group.filter.class`."""
    known = {java_name(DefaultGroupFilter): lambda: DefaultGroupFilter(flow.value("groups"), flow.value("groups.exclude"))}
    found: GroupFilter = _make(flow, "group.filter.class", known)
    return found


def config_property_filter(flow: "Flow") -> ConfigPropertyFilter:
    """By `config.property.filter.class`."""
    known = {
        java_name(DefaultConfigPropertyFilter): lambda: DefaultConfigPropertyFilter(
            flow.value("config.properties.exclude"), flow.value("use.defaults.from")
        )
    }
    found: ConfigPropertyFilter = _make(flow, "config.property.filter.class", known)
    return found


def topic_selection(flow: "Flow") -> TopicSelection:
    """The topics that the flow mirrors, and their remote names."""
    return TopicSelection(
        source=flow.source,
        target=flow.target,
        policy=replication_policy(flow),
        topic_filter=topic_filter(flow),
        heartbeats=flow.value("heartbeats.replication.enabled"),
        is_one_cluster=flow.value("mirror.one.cluster"),
        leading_back=tuple(map(topic_selection, flow.leading_back)),
    )


def check_class(name: str, named: str) -> None:
    """Raises ConfigurationError if the property `name` cannot name this class; nothing is constructed."""
    base = _BASES[name]
    ours = (DefaultReplicationPolicy, IdentityReplicationPolicy, DefaultTopicFilter, DefaultGroupFilter, DefaultConfigPropertyFilter)
    if named not in {java_name(kind) for kind in ours if issubclass(kind, base)}:
        custom_class(name, named, base)


def _make(flow: "Flow", name: str, known: Mapping[str, Callable[[], Any]]) -> Any:
    """What the class of a property makes of the flow: one of the `known` ones, or a Python class of the user."""
    named = flow.value(name)
    try:
        if named in known:
            return known[named]()
        return construct(name, named, custom_class(name, named, _BASES[name]), dict(flow.properties))
    except ConfigurationError as error:
        raise flow.unusable(error.problems) from error
