"""Generated configurations, values, references and whole files, as people write them and as they should not."""

from hypothesis import strategies as st

from kafka_mirror.config.catalogue import CATALOGUE

# ------------------------------------------------------------ configurations

_CLUSTERS = ["A", "B", "C", "us-west", "a.b", "A.B", "a", "consumer", "source", "producer", "sasl", "B x", "topics"]
_INHERITED_OR_NOT = [
    *("bootstrap.servers", "sasl.mechanism", "sasl.jaas.config", "ssl.keystore.password", "ssl.truststore.type", "sasl.oauthbearer.scope"),
    *(
        "security.providers",
        "request.timeout.ms",
        "client.dns.lookup",
        "ssl.client.auth",
        "ssl.unknown",
        "client.id",
        "metadata.max.age.ms",
    ),
]
_OF_WORKERS = [
    *("offset.storage.topic", "offset.storage", "config.storage.replication.factor", "status.storage.partitions", "key.converter.x"),
    *("value.converter", "header.converter.y", "group.id", "tasks.max", "task.y", "worker.x", "offset.flush.interval.ms", "workers"),
    *("replication.policy.class", "replication.policy.separator", "replication.policy.x", "config.providers.v.class", "config.providersx"),
]
_OF_CONNECTORS = [
    *("topics", "topics.exclude", "groups", "enabled", "emit.heartbeats.enabled", "offset.lag.max", "name", "use.defaults.from"),
    *("transforms", "transforms.a.type", "consumer.poll.timeout.ms", "topic.creation.enable", "exactly.once.support", "admin.timeout.ms"),
    *(
        "source.cluster.alias",
        "target.cluster.alias",
        "sync.topic.acls.enabled",
        "mirror.lanes",
        "my.own",
        "task.index",
        "forwarding.admin.class",
    ),
    *("task.assigned.partitions", "transaction.boundary", "tasks.max.enforce", "errors.tolerance", "replication.factor", "heartbeats"),
]
_OF_CLIENTS = [
    "fetch.min.bytes",
    "linger.ms",
    "auto.offset.reset",
    "enable.auto.commit",
    "bootstrap.servers",
    "ssl.key.password",
    "x",
    "override.acks",
]
_ROLES = ["consumer.", "producer.", "admin.", "administrator.", "consumer", "producer.override."]
_VALUES = {
    "enabled": ["true", "false", "TRUE", "true ", " true", "yes", ""],
    "emit.heartbeats.enabled": ["true", "false", "True"],
    "offset.lag.max": ["5", " 7 "],
    "tasks.max": ["2", "3"],
    "replication.policy.class": ["org.apache.kafka.connect.mirror.IdentityReplicationPolicy"],
    "consumer.poll.timeout.ms": ["5"],
    "admin.timeout.ms": ["6"],
    "sync.topic.acls.enabled": ["false"],
    "tasks.max.enforce": ["true"],
    "errors.tolerance": ["all"],
    "replication.factor": ["1"],
    "security.protocol": ["SSL", "PLAINTEXT", "sasl_ssl"],
    "forwarding.admin.class": ["org.apache.kafka.clients.admin.ForwardingAdmin"],
    "value.converter": ["org.apache.kafka.connect.converters.ByteArrayConverter"],
    "ssl.client.auth": ["none"],
}
_ANY_VALUE = ["1", "x", "y ", " z", "", "a,b", "é", "a=b:c", "#", r"\d.*"]


@st.composite
def configurations(draw: st.DrawFn) -> tuple[list[str], dict[str, str]]:
    """The aliases and the properties of a file for MirrorMaker 2 in which every prefix meets every kind of name."""
    clusters = draw(st.lists(st.sampled_from(_CLUSTERS), min_size=2, max_size=3, unique=True))
    sides = ["", "source.", "target.", "source.cluster.", "target.cluster."]
    flows = [f"{source}->{target}." for source in clusters for target in clusters if source != target]
    prefixes = st.sampled_from(["", "", *(f"{alias}." for alias in clusters), *flows, "Z.", "Z->A."])
    names = st.sampled_from([*_INHERITED_OR_NOT, *_OF_WORKERS, *_OF_CONNECTORS, "security.protocol"]) | st.builds(
        "{}{}{}".format, st.sampled_from(sides), st.sampled_from(_ROLES), st.sampled_from(_OF_CLIENTS)
    )
    properties = {"clusters": draw(st.sampled_from([",", ", ", " , "])).join(clusters)}
    for prefix, name in draw(st.lists(st.tuples(prefixes, names), max_size=25)):
        properties[prefix + name] = draw(st.sampled_from(_VALUES.get(name, _ANY_VALUE)))
    return clusters, properties


@st.composite
def written(draw: st.DrawFn, properties: dict[str, str]) -> bytes:
    """The properties as a person or a program writes them: separators, escapes, comments and broken lines of every kind."""
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    separators = st.sampled_from(["=", " = ", ":", "\t", " : ", "  "])
    between = st.sampled_from(["", "", "", f"# a=b{end}", f"{end}", f"  ! x \\{end}", f"\t{end}"])
    text = ""
    for key, value in properties.items():
        broken = draw(st.integers(0, 6 * len(value) + 6))
        pieces = [escaped(value[:broken], False), escaped(value[broken:], False)] if 0 < broken < len(value) else [escaped(value, False)]
        separator = draw(separators) if value[:1] not in ("=", ":") and value else "="
        text += draw(between) + escaped(key, True) + separator + f"\\{end}   ".join(pieces) + end
    return text.encode("latin-1")


def escaped(text: str, key: bool) -> str:
    """The text with the escapes that it needs where it stands."""
    result = []
    for place, character in enumerate(text):
        if character == "\\" or (character == " " and (key or place == 0)) or (key and character in "=:#!\t"):
            result.append("\\" + character)
        else:
            result.append(character if character.isascii() else f"\\u{ord(character):04x}")
    return "".join(result)


# ------------------------------------------------------------ values

_NUMBERS = ["0", "1", "-1", "5", "+7", " 8\t", "007", "-0", "-5", "32767", "32768", "2147483647", "2147483648", "-2147483649"]
_NUMBERS += ["9223372036854775807", "9223372036854775808", "", " ", "1.0", "1e3", "0x10", "1_000", "--1", "1 000", "true", "5L"]
_JAVA_CLASSES = ["java.lang.String", "no.such.Class", "", " "]
_MIRROR = "org.apache.kafka.connect.mirror."
TEXTS_BY_TYPE = {
    "BOOLEAN": ["true", "false", "TRUE", " False\t", "", "yes", "1", "\xa0true", "true false"],
    "SHORT": _NUMBERS,
    "INT": _NUMBERS,
    "LONG": _NUMBERS,
    "STRING": ["", " ", "x", " x ", "source", " target ", "Source", "none", "all", "restart", "interval", "poll"],
    "LIST": ["", " ", "a", "a,b", " a , b\t,c ", "a,a", "a,,b", ",", "a,", ", a", "legacy", "new,legacy", "Legacy", "(", "a{1,2}", "a b"],
    "CLASS": [
        *(_MIRROR + name for name in ("DefaultReplicationPolicy", "IdentityReplicationPolicy", "DefaultTopicFilter", "DefaultGroupFilter")),
        *(f" {_MIRROR}DefaultConfigPropertyFilter ", "org.apache.kafka.clients.admin.ForwardingAdmin"),
        *("org.apache.kafka.connect.converters.ByteArrayConverter", "org.apache.kafka.connect.json.JsonConverter"),
        *_JAVA_CLASSES,
    ],
}

"""Of each type of property: texts that it takes, and texts that it does not."""

# ------------------------------------------------------------ references

REFERENCE_PIECES = [
    *("${env:COMPAT_A}", "${env:COMPAT_B}", "${env:COMPAT_EMPTY}", "${env:COMPAT_NESTED}", "${env:COMPAT_NONE}", "${env::COMPAT_A}"),
    *(
        "${env:p:COMPAT_A}",
        "${file:{folder}/a.properties:user}",
        "${file:{folder}/a.properties:password}",
        "${file:{folder}/a.properties:x}",
    ),
    *("${file:{folder}/a.properties:empty}", "${file:{folder}/a.properties:nested}", "${file:{folder}/none:user}", "${file:user}"),
    *("${file:{folder}/latin.properties:user}", "${file:{folder}/folder/../a.properties:user}", "${file:{folder}:user}"),
    *(
        "${dir:{folder}:password}",
        "${dir:{folder}:none}",
        "${dir:{folder}:binary}",
        "${dir:{folder}:folder}",
        "${dir:{folder}/none:password}",
    ),
    *(
        "${dir:{folder}:../password}",
        "${dir:{folder}/password:x}",
        "${vault:a:b}",
        "${vault:b}",
        "${}",
        "${:}",
        "${a}",
        "${env}",
        "$",
        "{",
        "}",
    ),
    *("${", "${env:", ":", "plain", "$${env:COMPAT_A}", "${env:COMPAT_A", "${ env:COMPAT_A}", "${env: COMPAT_A}", "${env:COMPAT_A }"),
]
"""Pieces of texts with references; {folder} stands for a folder with secrets."""

# ------------------------------------------------------------ whole files

_GOOD_TEXTS = {
    "BOOLEAN": ["true", "false", "FALSE", " true"],
    "SHORT": ["1", "3", "-1", " 2 "],
    "INT": ["1", "5", "+7"],
    "LONG": ["1", "60", "86400", " 8"],
    "LIST": ["a", "a, b", "x.*,y.*", ""],
    "STRING": [],
    "CLASS": [],
}
_GOOD_TEXTS_OF = {
    "replication.policy.separator": ["_", "-", "."],
    "offset-syncs.topic.location": ["source", "target ", " source"],
    "errors.tolerance": ["none"],
    "config.action.reload": ["none", "restart"],
    "metric.names.formats": ["legacy", "new", "legacy,new"],
    "topic.filter.class": [f"{_MIRROR}DefaultTopicFilter ", f"{_MIRROR}DefaultTopicFilter"],
    "transforms": [],
    "predicates": [],
    "enabled": [],
}


def good_lines() -> st.SearchStrategy[str]:
    """Lines that both take: a property of the connectors at the top level or of a flow."""
    lines = [
        f"{prefix}{name}={text}"
        for name, definition in CATALOGUE.items()
        if not name.startswith("mirror.")
        for prefix in ("", "A->B.", "B->A.")
        for text in _GOOD_TEXTS_OF.get(name, _GOOD_TEXTS[definition.type])
    ]
    return st.sampled_from(lines)
