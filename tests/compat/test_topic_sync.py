"""Which configs and ACLs remote topics get, decided by MirrorMaker 2's own MirrorSourceConnector and by the mirror."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.kafka.model import LITERAL, Acl, ConfigEntry, PatternAcl
from kafka_mirror.policy import DefaultReplicationPolicy, TopicSelection
from kafka_mirror.policy.filters import DefaultConfigPropertyFilter, DefaultTopicFilter
from kafka_mirror.topics.config_diff import select_configs_to_create, select_configs_to_sync
from kafka_mirror.topics.topic_acls import remote_acls
from tests.compat.peer import Peer, compared

EXCLUDE = CATALOGUE["config.properties.exclude"].default
NAMES = st.sampled_from(
    ["cleanup.policy", "retention.ms", "message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms", *EXCLUDE[:4]]
)
SOURCES = st.sampled_from(
    [
        "DYNAMIC_TOPIC_CONFIG",
        "DYNAMIC_BROKER_CONFIG",
        "DYNAMIC_DEFAULT_BROKER_CONFIG",
        "DYNAMIC_BROKER_LOGGER_CONFIG",
        "STATIC_BROKER_CONFIG",
        "DEFAULT_CONFIG",
    ]
)
ENTRIES = st.lists(
    st.builds(ConfigEntry, NAMES | st.text("abc.", min_size=1, max_size=6), st.text(max_size=5), SOURCES, st.booleans(), st.booleans()),
    max_size=12,
    unique_by=lambda entry: entry.name,
)
PROPERTIES = st.fixed_dictionaries(
    {},
    optional={
        "use.defaults.from": st.sampled_from(["source", "target", "Source", "other"]),
        "config.properties.exclude": st.sampled_from(["", "retention.*", "a.*, min.insync.replicas", "cleanup.policy"]),
    },
)


@compared(300)
@given(ENTRIES, PROPERTIES)
def test_the_same_entries_are_carried_when_a_topic_is_created_and_later(
    peer: Peer, entries: list[ConfigEntry], properties: dict[str, str]
) -> None:
    peer.cases["topic configs"] += len(entries)
    rows = [vars(entry) for entry in entries]
    theirs = peer.ask("topic_configs", entries=rows, properties=properties)
    value = {
        name: CATALOGUE[name].parse(properties[name]) if name in properties else CATALOGUE[name].default
        for name in ("config.properties.exclude", "use.defaults.from")
    }
    chosen = DefaultConfigPropertyFilter(value["config.properties.exclude"], value["use.defaults.from"])
    source = {entry.name: entry for entry in entries}
    assert select_configs_to_create(source, chosen) == theirs["created"]
    assert select_configs_to_sync(source, chosen) == theirs["synced"]


TOPICS = st.sampled_from(
    ["orders", "*", "private", "west.orders", "east.orders", "north.orders", "mm2-offset-syncs.west.internal", "__x", "heartbeats"]
)
OPERATIONS = st.sampled_from(["READ", "WRITE", "ALL", "CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"])
ACLS = st.lists(
    st.builds(
        Acl,
        TOPICS,
        st.sampled_from(["User:a", "User:CN=b, O=c", "Group:d"]),
        st.sampled_from(["*", "10.0.0.1"]),
        OPERATIONS,
        st.sampled_from(["ALLOW", "DENY"]),
    ),
    max_size=12,
)


@compared(300)
@given(ACLS, st.sampled_from([{}, {"topics": "orders, heartbeats"}, {"topics.exclude": "private"}]))
def test_the_same_bindings_are_created(peer: Peer, acls: list[Acl], properties: dict[str, str]) -> None:
    peer.cases["ACLs"] += len(acls)
    theirs = {Acl(*row) for row in peer.ask("topic_acls", acls=acls, properties=properties)}
    value = {
        name: CATALOGUE[name].parse(properties[name]) if name in properties else CATALOGUE[name].default
        for name in ("topics", "topics.exclude")
    }
    chosen = DefaultTopicFilter(value["topics"], value["topics.exclude"])
    ours = set(
        remote_acls([PatternAcl(acl, LITERAL) for acl in acls], TopicSelection("east", "west", DefaultReplicationPolicy({}), chosen))
    )
    assert ours == {carried for acl in {*theirs, *_denials_of_all(acls, theirs)} for carried in _denied_without_writing(acl)}


def _denials_of_all(acls: list[Acl], theirs: set[Acl]) -> set[Acl]:
    """Denials of the topic `*` are of each topic with an ALLOW, too."""
    allowed = {acl.topic for acl in theirs if acl.permission == "ALLOW"}
    return {acl._replace(topic=topic) for acl in acls if (acl.topic, acl.permission) == ("*", "DENY") for topic in allowed}


def _denied_without_writing(acl: Acl) -> list[Acl]:
    """What the mirror makes of a binding of MirrorMaker 2's: a denial never keeps the mirror itself from writing."""
    operations = {
        ("DENY", "WRITE"): [],
        ("DENY", "DESCRIBE"): ["READ"],
        ("DENY", "ALL"): ["READ", "CREATE", "DELETE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"],
    }.get((acl.permission, acl.operation), [acl.operation])
    return [acl._replace(operation=operation) for operation in operations]


def test_the_connectors_see_what_they_are_given(peer: Peer) -> None:
    """That the cases above are decided at all: both sides could agree on nothing."""
    entry = ConfigEntry("retention.ms", "1", "DYNAMIC_TOPIC_CONFIG", False, False)
    assert peer.ask("topic_configs", entries=[vars(entry)], properties={}) == {
        "created": {"retention.ms": "1"},
        "synced": {"retention.ms": "1"},
    }
    assert peer.ask("topic_acls", acls=[Acl("orders", "User:a", "*", "ALL", "ALLOW")], properties={}) == [
        ["east.orders", "User:a", "*", "READ", "ALLOW"]
    ]
