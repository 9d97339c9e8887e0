"""The properties that MirrorMaker 2 reads, with the defaults of Kafka 4.3.1: its three connectors', Kafka Connect's, and those of the whole
file (`MirrorMakerConfig`).

Kafka Connect's are read and checked, so that MirrorMaker 2's file stays valid; most mean nothing without Connect workers.
"""

from kafka_mirror.config.catalogue.values import (
    FACTOR,
    Property,
    Type,
    Valid,
    allow_any_case,
    allow_one_of,
    allow_several_of,
    between,
    group_under,
    policy_class,
    regexes,
)
from kafka_mirror.config.clients.catalogue import SECURITY_KEYS
from kafka_mirror.config.policies import MIRROR_CLASSES

DEFAULT_POLICY = MIRROR_CLASSES + "DefaultReplicationPolicy"
IDENTITY_POLICY = MIRROR_CLASSES + "IdentityReplicationPolicy"


def _switch(name: str, default: bool, doc: str) -> Property:
    return Property(name, "BOOLEAN", default, doc)


def _interval(name: str, default: int, doc: str) -> Property:
    switch = name.replace(".interval.seconds", ".enabled")
    complaint = f"must be at least 1; to switch it off, set {switch}=false"
    return Property(name, "LONG", default, doc, Valid("at least 1", lambda value: None if value >= 1 else complaint))


def _class(name: str, default: str, doc: str) -> Property:
    return Property(name, "CLASS", default, doc, policy_class(name))


def _factor(name: str, doc: str, default: int = 3) -> Property:
    return Property(name, "INT" if name == "replication.factor" else "SHORT", default, doc, FACTOR)


COMMON = (
    *group_under(
        "clusters",
        _switch("enabled", False, "Whether the flow exists; only `S->T.enabled` counts, and only the word true without blanks."),
        Property("source.cluster.alias", "STRING", None, "The alias of the source; it cannot differ from the flow's own."),
        Property("target.cluster.alias", "STRING", None, "The alias of the target; it cannot differ from the flow's own."),
        Property(
            "admin.timeout.ms",
            "LONG",
            60000,
            "After how long a slow administrative step is given up, and the copy of a partition that gives no record.",
            between(1),
        ),
    ),
    *group_under(
        "naming",
        _class("replication.policy.class", DEFAULT_POLICY, "How remote topics are named."),
        Property("replication.policy.separator", "STRING", ".", "What stands between alias and topic; blanks count."),
        _switch(
            "replication.policy.internal.topic.separator.enabled",
            True,
            "Whether the names of internal topics use the separator too (KIP-949).",
        ),
    ),
)

SOURCE = (
    *group_under(
        "topics",
        Property("topics", "LIST", (".*",), "The topics to mirror.", regexes("topic")),
        Property(
            "topics.exclude",
            "LIST",
            (r"mm2.*\.internal", r".*\.replica", "__.*"),
            "The topics not to mirror; they win over `topics`.",
            regexes("topic"),
        ),
        _class("topic.filter.class", MIRROR_CLASSES + "DefaultTopicFilter", "How topics are chosen."),
        _switch("refresh.topics.enabled", True, "Whether new topics and partitions are looked for."),
        _interval("refresh.topics.interval.seconds", 600, "The time between two looks."),
        _factor("replication.factor", "The replication factor of new remote topics.", 2),
    ),
    *group_under(
        "topic configs and ACLs",
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
            regexes("config"),
        ),
        _class("config.property.filter.class", MIRROR_CLASSES + "DefaultConfigPropertyFilter", "How topic configs are chosen."),
        Property(
            "use.defaults.from",
            "STRING",
            "target",
            "Whose defaults a topic config follows that the source topic does not set; anything but source means target.",
            top_level=False,
        ),
        _switch("sync.topic.configs.enabled", True, "Whether topic configs are copied."),
        _interval("sync.topic.configs.interval.seconds", 600, "The time between two copies of the topic configs."),
        _switch("sync.topic.acls.enabled", True, "Whether ACLs are copied."),
        _interval("sync.topic.acls.interval.seconds", 600, "The time between two copies of the ACLs."),
    ),
    *group_under(
        "offset syncs",
        _switch("emit.offset-syncs.enabled", True, "Whether offset syncs are written (KIP-1031)."),
        _factor("offset-syncs.topic.replication.factor", "The replication factor of the offset syncs topic."),
        Property(
            "offset-syncs.topic.location",
            "STRING",
            "source",
            "The cluster that holds the offset syncs topic.",
            allow_one_of("source", "target"),
        ),
        Property(
            "offset.lag.max",
            "LONG",
            100,
            "How many records lie between two offset syncs at least; 0: one for every record, up to 64 of a partition in one run.",
            between(0),
        ),
    ),
    *group_under(
        "heartbeats",
        _switch("heartbeats.replication.enabled", True, "Whether heartbeat topics are mirrored whatever the topic filter says (KIP-1089)."),
    ),
)

CHECKPOINT = group_under(
    "consumer groups",
    Property("groups", "LIST", (".*",), "The consumer groups whose offsets are translated.", regexes("group")),
    Property(
        "groups.exclude",
        "LIST",
        ("console-consumer-.*", "connect-.*", "__.*"),
        "The groups left out; they win over `groups`.",
        regexes("group"),
    ),
    _class("group.filter.class", MIRROR_CLASSES + "DefaultGroupFilter", "How groups are chosen."),
    _switch("refresh.groups.enabled", True, "Whether new groups are looked for."),
    _interval("refresh.groups.interval.seconds", 600, "The time between two looks."),
    _switch("emit.checkpoints.enabled", True, "Whether checkpoints are written."),
    _interval("emit.checkpoints.interval.seconds", 60, "The time between two checkpoints."),
    _switch("sync.group.offsets.enabled", False, "Whether translated offsets become the committed offsets of idle groups (KIP-545)."),
    _interval("sync.group.offsets.interval.seconds", 60, "The time between two such commits."),
    _factor("checkpoints.topic.replication.factor", "The replication factor of the checkpoints topic."),
)

HEARTBEAT = group_under(
    "heartbeats",
    _switch("emit.heartbeats.enabled", True, "Whether heartbeats are written."),
    _interval("emit.heartbeats.interval.seconds", 1, "The time between two heartbeats."),
    _factor("heartbeats.topic.replication.factor", "The replication factor of the heartbeats topic."),
)

# Names of the connectors' own definitions through which the top level reaches the clients' security settings.
INHERITED = SECURITY_KEYS

_BYTE_ARRAY = "org.apache.kafka.connect.converters.ByteArrayConverter"
_ALWAYS_EXACTLY_ONCE = "the copy is exactly-once always"
_NO_WORKER = "there is no Connect worker"
_NO_CONNECTORS = "no Connect connectors are made"
_NO_TASKS = "there are no Connect tasks; the work is spread over mirror.lanes"
_NO_ERRORS_TOLERATED = "a record that the target refuses stops its partition and is reported"
_NO_PLUGINS = "no Connect plugins are loaded"


def _refuse(name: str, type_: Type, default: object, doc: str, why: str) -> Property:
    return Property(name, type_, default, doc, refused=why)


def _ignore(name: str, type_: Type, default: object, doc: str, why: str, valid: Valid | None = None, top_level: bool = True) -> Property:
    return Property(name, type_, default, doc, valid, top_level=top_level, effect=why)


CONNECT = group_under(
    "Kafka Connect",
    *(
        _refuse(
            f"{part}.converter",
            "CLASS",
            _BYTE_ARRAY,
            f"The converter of the {part}s.",
            "only the ByteArrayConverter is possible: records are mirrored byte for byte",
        )
        for part in ("key", "value", "header")
    ),
    *(
        _refuse(
            name,
            "LIST",
            (),
            "Changes of records on their way.",
            "records are mirrored byte for byte, so nothing can change or drop them on the way; remove it",
        )
        for name in ("transforms", "predicates")
    ),
    _refuse(
        "forwarding.admin.class",
        "CLASS",
        "org.apache.kafka.clients.admin.ForwardingAdmin",
        "The class through which administrative calls go (KIP-787).",
        "a Java class cannot be loaded here",
    ),
    _ignore("name", "STRING", None, "The connector's name; by default that of its class.", _NO_CONNECTORS),
    _ignore("connector.class", "STRING", None, "The connector's class.", _NO_CONNECTORS),
    _ignore("tasks.max", "INT", 1, "The number of Connect tasks.", _NO_TASKS, between(1)),
    _ignore("tasks.max.enforce", "BOOLEAN", True, "Whether tasks.max is a limit.", _NO_TASKS),
    _ignore("consumer.poll.timeout.ms", "LONG", 1000, "How long a poll waits.", "a run reads bounded ranges and then ends", between(0)),
    _ignore(
        "metric.reporters",
        "LIST",
        ("org.apache.kafka.common.metrics.JmxReporter",),
        "Java classes that report metrics.",
        "no Java metrics exist",
    ),
    Property(
        "metric.names.formats",
        "LIST",
        ("legacy",),
        "Under which names the status page's metrics have those of MirrorMaker 2 (KIP-1280): legacy, new, or both.",
        allow_several_of("legacy", "new"),
    ),
    *(
        _ignore(name, "STRING", None, "The version of a Connect plugin.", _NO_PLUGINS)
        for name in (
            "connector.plugin.version",
            "key.converter.plugin.version",
            "value.converter.plugin.version",
            "header.converter.plugin.version",
        )
    ),
    _ignore(
        "config.action.reload",
        "STRING",
        "restart",
        "What Connect does when a secret expires.",
        "references are resolved in every run",
        allow_one_of("none", "restart"),
    ),
    _ignore("errors.retry.timeout", "LONG", 0, "For how long Connect retries.", _NO_ERRORS_TOLERATED),
    _ignore("errors.retry.delay.max.ms", "LONG", 60000, "The longest time between two retries.", _NO_ERRORS_TOLERATED),
    Property(
        "errors.tolerance",
        "STRING",
        "none",
        "With all, a record that the target refuses, or that cannot be carried, is passed over and recorded in the ledger (KIP-779); "
        "with none its partition stops there.",
        allow_one_of("none", "all"),
    ),
    _ignore("errors.log.enable", "BOOLEAN", False, "Whether Connect logs what fails.", _NO_ERRORS_TOLERATED),
    _ignore("errors.log.include.messages", "BOOLEAN", False, "Whether it logs the records too.", _NO_ERRORS_TOLERATED),
    _ignore("task.assigned.partitions", "LIST", None, "Internal to MirrorMaker 2.", _NO_TASKS, top_level=False),
    _ignore("task.assigned.groups", "LIST", None, "Internal to MirrorMaker 2.", _NO_TASKS, top_level=False),
    _ignore("task.index", "INT", None, "Internal to MirrorMaker 2.", _NO_TASKS, top_level=False),
    _ignore(
        "exactly.once.support",
        "STRING",
        "requested",
        "Whether a connector insists on exactly-once.",
        _ALWAYS_EXACTLY_ONCE,
        allow_any_case("requested", "required"),
        False,
    ),
    _ignore(
        "transaction.boundary",
        "STRING",
        "poll",
        "Where Connect ends a transaction.",
        _ALWAYS_EXACTLY_ONCE,
        allow_any_case("poll", "interval", "connector"),
        False,
    ),
    _ignore("transaction.boundary.interval.ms", "LONG", None, "Or after how long.", _ALWAYS_EXACTLY_ONCE, between(0), False),
    _ignore("offsets.storage.topic", "STRING", None, "The connector's own offsets topic.", "the ledger holds the offsets", top_level=False),
    _ignore("topic.creation.groups", "LIST", (), "Rules for the topics that Connect creates.", _NO_WORKER, top_level=False),
)

# Worker properties: they stand under the target's alias (or, for some, at the top level) and mean nothing without a worker.
WORKER_NAMES = frozenset(
    (
        "group.id client.id offset.flush.interval.ms offset.flush.timeout.ms exactly.once.source.support "
        "scheduled.rebalance.max.delay.ms rebalance.timeout.ms session.timeout.ms heartbeat.interval.ms task.shutdown.graceful.timeout.ms "
        "worker.sync.timeout.ms worker.unsync.backoff.ms connect.protocol connector.client.config.override.policy plugin.path "
        "plugin.discovery topic.creation.enable topic.tracking.enable topic.tracking.allow.reset inter.worker.key.generation.algorithm "
        "inter.worker.key.size inter.worker.key.ttl.ms inter.worker.signature.algorithm inter.worker.verification.algorithms "
        "offset.storage.topic offset.storage.partitions offset.storage.replication.factor config.storage.topic "
        "config.storage.replication.factor status.storage.topic status.storage.partitions status.storage.replication.factor "
        "listeners admin.listeners rest.advertised.host.name rest.advertised.port rest.advertised.listener "
        "rest.extension.classes access.control.allow.origin access.control.allow.methods response.http.headers.config ssl.client.auth "
        "header.converter key.converter value.converter header.converter.plugin.version key.converter.plugin.version "
        "value.converter.plugin.version"
    ).split()
)


_NO_WORKER_NO_REST = "there is no Connect worker and no REST server"


def _rest(name: str, type_: Type, default: object, doc: str) -> Property:
    return Property(name, type_, default, doc, effect=_NO_WORKER_NO_REST)


DRIVER = group_under(
    "the whole file",
    Property("clusters", "LIST", None, "The aliases of the clusters; required. An alias becomes part of topic names: choose it once."),
    Property(
        "config.providers",
        "LIST",
        (),
        "Names of further providers of references, each with `config.providers.<name>.class` (EnvVarConfigProvider, FileConfigProvider or "
        "DirectoryConfigProvider) and `.param.<key>`. `env`, `file`, `dir` and `conn` are there without.",
    ),
    _rest("dedicated.mode.enable.internal.rest", "BOOLEAN", False, "Whether the nodes of MirrorMaker 2 talk to each other."),
    _rest("listeners", "LIST", ("http://:8083",), "Where its REST server listens."),
    _rest("rest.advertised.host.name", "STRING", None, "The host name that it tells other nodes."),
    _rest("rest.advertised.port", "INT", None, "The port that it tells other nodes."),
    _rest("rest.advertised.listener", "STRING", None, "The listener that it tells other nodes."),
    _rest("access.control.allow.origin", "STRING", "", "Its Access-Control-Allow-Origin header."),
    _rest("access.control.allow.methods", "STRING", "", "Its Access-Control-Allow-Methods header."),
    _rest("response.http.headers.config", "STRING", "", "Rules for its response headers."),
    _rest("ssl.client.auth", "STRING", "none", "Whether it asks for client certificates."),
)
