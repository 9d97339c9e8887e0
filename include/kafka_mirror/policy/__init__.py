"""Says what is mirrored and under which name: replication policies, filters, and the selection of topics. Pure.

`replication` names topics, `filters` takes or refuses them, `selection` does both for a flow; `java_regex` compiles Java's patterns.
The classes below are public: users' own policies and filters derive from them. It knows no configuration.

`config`, `kafka` and every room above them may import it.
"""

from kafka_mirror.policy.filters import ConfigPropertyFilter, GroupFilter, IdleMembers, TopicFilter
from kafka_mirror.policy.replication import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
    is_ledger_of,
    is_ledger_or_control_topic,
)
from kafka_mirror.policy.selection import TopicSelection

__all__ = [
    "ConfigPropertyFilter",
    "DefaultReplicationPolicy",
    "GroupFilter",
    "IdentityReplicationPolicy",
    "IdleMembers",
    "ReplicationPolicy",
    "TopicFilter",
    "TopicSelection",
    "is_ledger_of",
    "is_ledger_or_control_topic",
]
