"""The properties of MirrorMaker 2's three connectors, with the defaults of Kafka 4.3.1."""

from kafka_mirror.config.catalogue.values import Property, Valid, allow_one_of, between, factor, policy_class, regexes
from kafka_mirror.config.clients.catalogue import SECURITY_KEYS

MIRROR_CLASSES = "org.apache.kafka.connect.mirror."
NAMING, TOPICS, CONFIGS, SYNCS, GROUPS, HEARTBEATS, CLUSTERS = (
    "naming",
    "topics",
    "topic configs and ACLs",
    "offset syncs",
    "consumer groups",
    "heartbeats",
    "clusters",
)
DEFAULT_POLICY = MIRROR_CLASSES + "DefaultReplicationPolicy"
IDENTITY_POLICY = MIRROR_CLASSES + "IdentityReplicationPolicy"


def _switch(name: str, default: bool, doc: str, group: str) -> Property:
    return Property(name, "BOOLEAN", default, doc, group)


def _interval(name: str, default: int, doc: str, group: str) -> Property:
    switch = name.replace(".interval.seconds", ".enabled")
    complaint = f"must be at least 1; to switch it off, set {switch}=false"
    return Property(name, "LONG", default, doc, group, Valid("at least 1", lambda value: None if value >= 1 else complaint))


def _class(name: str, default: str, doc: str, group: str) -> Property:
    return Property(name, "CLASS", default, doc, group, policy_class(name))


def _factor(name: str, doc: str, group: str, default: int = 3) -> Property:
    return Property(name, "INT" if name == "replication.factor" else "SHORT", default, doc, group, factor())


COMMON = (
    _switch("enabled", False, "Whether the flow exists; only `S->T.enabled` counts, and only the word true without blanks.", CLUSTERS),
    Property("source.cluster.alias", "STRING", None, "The alias of the source; it cannot differ from the flow's own.", CLUSTERS),
    Property("target.cluster.alias", "STRING", None, "The alias of the target; it cannot differ from the flow's own.", CLUSTERS),
    Property(
        "admin.timeout.ms",
        "LONG",
        60000,
        "After how long a slow administrative step is given up, and the copy of a partition that gives no record.",
        CLUSTERS,
        between(1),
    ),
    _class("replication.policy.class", DEFAULT_POLICY, "How remote topics are named.", NAMING),
    Property("replication.policy.separator", "STRING", ".", "What stands between alias and topic; blanks count.", NAMING),
    _switch(
        "replication.policy.internal.topic.separator.enabled",
        True,
        "Whether the names of internal topics use the separator too (KIP-949).",
        NAMING,
    ),
)

SOURCE = (
    Property("topics", "LIST", (".*",), "The topics to mirror.", TOPICS, regexes("topic")),
    Property(
        "topics.exclude",
        "LIST",
        (r"mm2.*\.internal", r".*\.replica", "__.*"),
        "The topics not to mirror; they win over `topics`.",
        TOPICS,
        regexes("topic"),
    ),
    _class("topic.filter.class", MIRROR_CLASSES + "DefaultTopicFilter", "How topics are chosen.", TOPICS),
    _switch("refresh.topics.enabled", True, "Whether new topics and partitions are looked for.", TOPICS),
    _interval("refresh.topics.interval.seconds", 600, "The time between two looks.", TOPICS),
    _factor("replication.factor", "The replication factor of new remote topics.", TOPICS, 2),
    Property(
        "config.properties.exclude",
        "LIST",
        (
            "follower.replication.throttled.replicas",
            "leader.replication.throttled.replicas",
            "message.timestamp.difference.max.ms",
            "log.message.timestamp.before.max.ms",
            "log.message.timestamp.after.max.ms",
            "message.timestamp.type",
            "unclean.leader.election.enable",
            "min.insync.replicas",
        ),
        "The topic configs that are not copied.",
        CONFIGS,
        regexes("config"),
    ),
    _class("config.property.filter.class", MIRROR_CLASSES + "DefaultConfigPropertyFilter", "How topic configs are chosen.", CONFIGS),
    Property(
        "use.defaults.from",
        "STRING",
        "target",
        "Whose defaults a topic config follows that the source topic does not set; anything but source means target.",
        CONFIGS,
        top_level=False,
    ),
    _switch("sync.topic.configs.enabled", True, "Whether topic configs are copied.", CONFIGS),
    _interval("sync.topic.configs.interval.seconds", 600, "The time between two copies of the topic configs.", CONFIGS),
    _switch("sync.topic.acls.enabled", True, "Whether ACLs are copied.", CONFIGS),
    _interval("sync.topic.acls.interval.seconds", 600, "The time between two copies of the ACLs.", CONFIGS),
    _switch("emit.offset-syncs.enabled", True, "Whether offset syncs are written (KIP-1031).", SYNCS),
    _factor("offset-syncs.topic.replication.factor", "The replication factor of the offset syncs topic.", SYNCS),
    Property(
        "offset-syncs.topic.location",
        "STRING",
        "source",
        "The cluster that holds the offset syncs topic.",
        SYNCS,
        allow_one_of("source", "target"),
    ),
    Property(
        "offset.lag.max",
        "LONG",
        100,
        "How many records lie between two offset syncs at least; 0: one for every record, up to 64 of a partition in one run.",
        SYNCS,
        between(0),
    ),
    _switch(
        "heartbeats.replication.enabled",
        True,
        "Whether heartbeat topics are mirrored whatever the topic filter says (KIP-1089).",
        HEARTBEATS,
    ),
)

CHECKPOINT = (
    Property("groups", "LIST", (".*",), "The consumer groups whose offsets are translated.", GROUPS, regexes("group")),
    Property(
        "groups.exclude",
        "LIST",
        ("console-consumer-.*", "connect-.*", "__.*"),
        "The groups left out; they win over `groups`.",
        GROUPS,
        regexes("group"),
    ),
    _class("group.filter.class", MIRROR_CLASSES + "DefaultGroupFilter", "How groups are chosen.", GROUPS),
    _switch("refresh.groups.enabled", True, "Whether new groups are looked for.", GROUPS),
    _interval("refresh.groups.interval.seconds", 600, "The time between two looks.", GROUPS),
    _switch("emit.checkpoints.enabled", True, "Whether checkpoints are written.", GROUPS),
    _interval("emit.checkpoints.interval.seconds", 60, "The time between two checkpoints.", GROUPS),
    _switch(
        "sync.group.offsets.enabled", False, "Whether translated offsets become the committed offsets of idle groups (KIP-545).", GROUPS
    ),
    _interval("sync.group.offsets.interval.seconds", 60, "The time between two such commits.", GROUPS),
    _factor("checkpoints.topic.replication.factor", "The replication factor of the checkpoints topic.", GROUPS),
)

HEARTBEAT = (
    _switch("emit.heartbeats.enabled", True, "Whether heartbeats are written.", HEARTBEATS),
    _interval("emit.heartbeats.interval.seconds", 1, "The time between two heartbeats.", HEARTBEATS),
    _factor("heartbeats.topic.replication.factor", "The replication factor of the heartbeats topic.", HEARTBEATS),
)

# Names of the connectors' own definitions through which the top level reaches the clients' security settings.
INHERITED = SECURITY_KEYS
