"""What is mirrored and under which name: replication policies, filters, and the selection of topics that they make up. Pure."""

from mirror.policy.factories import (
    check_class,
    config_property_filter,
    group_filter,
    policy_of,
    replication_policy,
    topic_filter,
    topic_selection,
)
from mirror.policy.filters import ConfigPropertyFilter, GroupFilter, TopicFilter
from mirror.policy.replication import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
    is_ledger_of,
    is_ledger_or_control_topic,
)
from mirror.policy.selection import TopicSelection

__all__ = [
    "ConfigPropertyFilter",
    "DefaultReplicationPolicy",
    "GroupFilter",
    "IdentityReplicationPolicy",
    "ReplicationPolicy",
    "TopicFilter",
    "TopicSelection",
    "check_class",
    "config_property_filter",
    "group_filter",
    "is_ledger_of",
    "is_ledger_or_control_topic",
    "policy_of",
    "replication_policy",
    "topic_filter",
    "topic_selection",
]
