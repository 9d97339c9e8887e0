"""Topics, partitions and config entries, as values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kafka_mirror.errors.words import show, visible
from kafka_mirror.formats.offsets.partition import TopicPartition


class Partition(NamedTuple):
    """One partition in the cluster's metadata; `leader` is None while there is none."""

    number: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True)
class Topic:
    """One topic in the cluster's metadata. `id` is the topic id (KIP-516), which another topic of the same name does not share."""

    name: str
    id: str
    partitions: tuple[Partition, ...]


@dataclass(frozen=True)
class End:
    """The end of a partition's log, and the leader epoch (KIP-101) in force when it was asked for; None if the broker does not tell."""

    offset: int
    leader_epoch: int | None


class LogPosition(NamedTuple):
    """A position in a partition, after a record of this leader epoch."""

    partition: TopicPartition
    leader_epoch: int
    offset: int


class LogOffsets(NamedTuple):
    """Where a partition's log begins, how far readers of committed records see it, and where it ends, with the leader epoch as in `End`.
    -1: not known."""

    start: int
    stable: int
    end: int
    leader_epoch: int | None


class PartitionLog(NamedTuple):
    """The log of a partition, None without a leader, and the id of its topic: one that was created again has another log."""

    topic_id: str
    log: LogOffsets | None


@dataclass(frozen=True)
class ConfigEntry:
    """One topic config. `source` is the broker's word for where the value comes from, such as `DYNAMIC_TOPIC_CONFIG`."""

    name: str
    value: str | None
    source: str
    read_only: bool
    sensitive: bool

    @property
    def is_default(self) -> bool:
        """Whether the value is set on no level."""
        return self.source == "DEFAULT_CONFIG"


def is_compacted(configs: Mapping[str, ConfigEntry]) -> bool:
    """Whether a topic with these configs loses older records of a key: `cleanup.policy` is `compact`, or `compact,delete`."""
    policy = configs.get("cleanup.policy")
    return policy is not None and "compact" in (policy.value or "")


@dataclass(frozen=True)
class NewTopic:
    """A topic to create. A replication factor of −1 leaves it to the broker."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


@dataclass(frozen=True)
class Committed:
    """What a group committed for a partition. `leader_epoch`: of the last record it read, if it said so."""

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


class GroupMember(NamedTuple):
    """A member of a consumer group, as its coordinator shows it."""

    client_id: str
    host: str
    member_id: str = ""

    def __str__(self) -> str:
        return f"{show(self.client_id)} on {self.host.removeprefix('/')}"


class ActiveProducer(NamedTuple):
    """A producer that a partition's leader remembers: idempotent and transactional ones, for `producer.id.expiration.ms` after their last
    batch. `last_timestamp` (Unix milliseconds) is its newest record's; `transaction_start` where its open transaction begins."""

    producer_id: int
    epoch: int
    last_timestamp: int | None
    transaction_start: int | None


OPERATIONS = {
    "READ": 3,
    "WRITE": 4,
    "CREATE": 5,
    "DELETE": 6,
    "ALTER": 7,
    "DESCRIBE": 8,
    "CLUSTER_ACTION": 9,
    "DESCRIBE_CONFIGS": 10,
    "ALTER_CONFIGS": 11,
    "IDEMPOTENT_WRITE": 12,
}
"""Kafka's numbers of what ACLs allow."""


class Acl(NamedTuple):
    """One ACL binding of one topic by its name (pattern type LITERAL). Words are Kafka's own: `READ`, `ALLOW`."""

    topic: str
    principal: str
    host: str
    operation: str
    permission: str

    def __str__(self) -> str:
        return f"{self.permission} {self.operation} for {visible(self.principal, keep='')} from {self.host}"


EVERYBODY = "User:*"
LITERAL, PREFIXED = "LITERAL", "PREFIXED"


class PatternAcl(NamedTuple):
    """One ACL binding of topics by a pattern (KIP-290): `LITERAL`, whose name `*` takes every topic, or `PREFIXED`. The name stands in the
    topic's place."""

    acl: Acl
    pattern: str

    @property
    def is_of_many(self) -> bool:
        """Whether it is about other topics than the one that it names."""
        return self.pattern == PREFIXED or self.acl.topic == "*"

    def takes(self, topic: str) -> bool:
        """Whether the binding is about this topic."""
        name = self.acl.topic
        return topic.startswith(name) if self.pattern == PREFIXED else name in (topic, "*")

    def __str__(self) -> str:
        return f"{self.acl} on {'the prefix ' if self.pattern == PREFIXED else ''}{self.acl.topic}"


def may(acls: Iterable[PatternAcl], operation: str, topic: str, principal: str, host: str) -> bool:
    """Whether ACLs let a principal do it with a topic, as a client has to that also looks the topic up: a denial wins over every ALLOW
    (Kafka's authorizers alike). A host `*` stands for all hosts: then a denial for one of them does not count."""
    of_client = [
        binding.acl
        for binding in acls
        if binding.takes(topic) and binding.acl.principal in (principal, EVERYBODY) and binding.acl.host in (host, "*")
    ]
    denied = any(acl.permission == "DENY" and acl.operation in (operation, "DESCRIBE", "ALL") for acl in of_client)
    return not denied and any(acl.permission == "ALLOW" and acl.operation in (operation, "ALL") for acl in of_client)
