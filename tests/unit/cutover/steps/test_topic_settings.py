"""Where topics and remote topics differ: configs, partitions, readers and writers; and rights that a move lacks."""

from types import SimpleNamespace as Answer

import pytest

from kafka_mirror.config import load
from kafka_mirror.cutover.steps import preflight
from kafka_mirror.cutover.steps.preflight import check_acls, check_configs, check_rights
from kafka_mirror.cutover.wave.step import INFORMATION, STOP, WARNING
from kafka_mirror.errors import AuthorizationRefused
from kafka_mirror.kafka.model import LITERAL, PREFIXED, Acl, ConfigEntry, Partition, PatternAcl, Topic
from tests.unit.cli.command_line import VALID


@pytest.fixture
def flow(tmp_path):
    return flow_with(tmp_path)


@pytest.fixture
def unsynced(tmp_path):
    """A flow that carries neither configs nor ACLs."""
    return flow_with(tmp_path, "sync.topic.configs.enabled = false", "sync.topic.acls.enabled = false")


def flow_with(folder, *lines):
    file = folder / "mm2.properties"
    file.write_text("\n".join((VALID, "config.properties.exclude = min\\\\.insync\\\\.replicas", *lines)))
    return load([file]).flow("east->west")


def topic(name, partitions):
    return Topic(name, "id", tuple(Partition(number, 1, (1,), (1,)) for number in range(partitions)))


class Side:
    """A cluster with these topics, each of the same configs."""

    def __init__(self, alias, *topics, configs=()):
        self.alias = alias
        self.there = {topic.name: topic for topic in topics}
        self.settings = dict(configs)
        self.operations = []

    def topics(self, names, _refused, operation="DESCRIBE"):
        self.operations += [(name, operation) for name in names]
        return {name: self.there[name] for name in names if name in self.there}

    def configs(self, names, _refused):
        return dict.fromkeys(names, self.settings)


def entries(**values):
    """Entries that somebody set for the topic, by name with `_` for dots."""
    names = {name.replace("_", "."): value for name, value in values.items()}
    default = ConfigEntry("flush.ms", "9", "DEFAULT_CONFIG", False, False)
    return {"flush.ms": default} | {name: ConfigEntry(name, value, "DYNAMIC_TOPIC_CONFIG", False, False) for name, value in names.items()}


def configs(flow, source, remote, partitions=(2, 2)):
    topics = {"orders": topic("orders", partitions[0]), "payments": topic("payments", 1)}
    sides = Side("east", configs=source), Side("west", topic("east.orders", partitions[1]), configs=remote)
    return [(each.kind, each.code, each.message) for each in check_configs(flow, topics, *sides, {})]


def test_equal_topics_say_nothing_and_one_without_remote_topic_is_left_to_the_state_of_its_partitions(flow):
    assert configs(flow, entries(retention_ms="5"), entries(retention_ms="5")) == []


def test_a_config_that_the_flow_keeps_equal_stops_it_and_is_a_warning_where_it_does_not(flow, unsynced):
    source, remote = entries(retention_ms="5"), entries(retention_ms="7")
    assert configs(flow, source, remote) == [
        (STOP, "ConfigsDiffer", "east.orders: its configs are not those of orders: retention.ms 7 -> 5.")
    ]
    assert configs(unsynced, source, remote)[0][0] == WARNING


def test_a_config_that_the_flow_leaves_alone_is_information(flow):
    assert configs(flow, entries(min_insync_replicas="2"), entries()) == [
        (
            INFORMATION,
            "ConfigsDiffer",
            "east.orders: these configs differ, and the flow leaves them alone: min.insync.replicas 2 (remote topic: None).",
        )
    ]


def test_configs_that_could_not_be_read_are_not_compared(flow):
    assert configs(flow, {}, entries(retention_ms="7")) == []


@pytest.mark.parametrize(("partitions", "codes"), [((2, 3), ["PartitionsDiffer"]), ((3, 2), []), ((2, 2), [])])
def test_a_remote_topic_with_more_partitions_is_a_warning(flow, partitions, codes):
    assert [each[1] for each in configs(flow, entries(), entries(), partitions=partitions)] == codes


def acl(operation, principal="User:app", topic="orders", permission="ALLOW", pattern=LITERAL, host="*"):
    return PatternAcl(Acl(topic, principal, host, operation, permission), pattern)


@pytest.fixture
def findings_of(flow, monkeypatch):
    """`findings_of(source, target)`: what is said of these ACLs of both sides."""

    def call(source, target, of=flow):
        acls = {alias: there if there is None else frozenset(there) for alias, there in (("east", source), ("west", target))}
        monkeypatch.setattr(preflight, "pattern_acls", lambda cluster: acls[cluster.alias])
        return list(check_acls(of, ["orders"], Side("east"), Side("west")))

    return call


@pytest.fixture
def acls(findings_of):
    return lambda *given: [(each.kind, each.code) for each in findings_of(*given)]


def test_a_source_without_authorizer_has_no_fence_by_acl(acls):
    assert acls(None, ()) == [(INFORMATION, "NoAuthorizer")]


def test_where_the_target_has_no_authorizer_there_is_nothing_to_compare(acls):
    assert acls([acl("WRITE"), acl("READ")], None) == []


def test_readers_whom_the_remote_topic_lacks_stop_it_where_the_flow_carries_them(acls, unsynced):
    assert acls([acl("READ")], []) == [(STOP, "AclsDiffer")]
    assert acls([acl("READ")], [], unsynced) == [(WARNING, "AclsDiffer")]
    assert acls([acl("READ")], [acl("READ", topic="east.orders")]) == []
    assert acls([acl("READ")], [acl("READ", topic="east.orders", pattern=PREFIXED)]) == [(STOP, "AclsDiffer")]
    assert acls([acl("READ", topic="payments")], []) == [], "of another topic"


def test_writers_whom_the_target_does_not_know_are_a_warning(acls):
    assert acls([acl("WRITE")], []) == [(WARNING, "WritersWithoutAcl")]
    assert acls([acl("WRITE")], [acl("WRITE", principal="User:other")]) == [(WARNING, "WritersWithoutAcl")]
    assert acls([acl("ALL")], [acl("READ", topic="east.orders")]) == [(WARNING, "WritersWithoutAcl")]


@pytest.mark.parametrize("there", [acl("WRITE"), acl("ALL"), acl("WRITE", topic="*"), acl("WRITE", principal="User:*")])
def test_writers_whom_the_target_knows_are_none(acls, there):
    assert acls([acl("WRITE")], [there]) == []


def test_readers_those_who_are_denied_and_writers_of_other_topics_are_no_writers(acls):
    reads = acl("READ", topic="east.orders")
    assert acls([acl("READ"), acl("WRITE", permission="DENY"), acl("WRITE", topic="payments")], [reads]) == []


MANY = [("ord", PREFIXED), ("", PREFIXED), ("*", LITERAL)]


@pytest.mark.parametrize(("topic", "pattern"), MANY)
@pytest.mark.parametrize("operation", ["READ", "ALL"])
def test_readers_by_an_acl_of_many_topics_are_named_with_it(findings_of, topic, pattern, operation):
    (found,) = [
        each for each in findings_of([acl(operation, "User:CN=a b, O=x", topic, pattern=pattern)], []) if each.code.startswith("Readers")
    ]
    assert (found.kind, found.code, found.topic) == (WARNING, "ReadersWithoutAcl", "orders")
    where = f"the prefix {topic}" if pattern == PREFIXED else "*"
    assert f"ALLOW {operation} for User:CN=a b, O=x from * on {where}." in found.message
    assert "east.orders on west" in found.message


def test_each_principal_is_named_however_many_there_are(findings_of):
    readers = [acl("READ", f"User:tenant-{number}", "ord", pattern=PREFIXED) for number in range(40)]
    (found,) = findings_of(readers, [])
    assert all(f" User:tenant-{number} " in found.message for number in range(40))


@pytest.mark.parametrize(
    "there",
    [
        acl("READ", topic="east.orders"),
        acl("ALL", topic="east.", pattern=PREFIXED),
        acl("READ", topic="*"),
        acl("READ", principal="User:*", topic="east.orders"),
    ],
)
def test_readers_whom_the_remote_topic_knows_are_none(acls, there):
    assert acls([acl("READ", topic="ord", pattern=PREFIXED)], [there]) == []


@pytest.mark.parametrize(
    "there",
    [
        [acl("READ", topic="ord", pattern=PREFIXED)],
        [acl("READ", topic="east.orders", host="10.0.0.1")],
        [acl("READ", topic="east.orders", principal="User:other")],
        [acl("READ", topic="east.orders"), acl("READ", topic="*", permission="DENY")],
        [acl("READ", topic="east.orders"), acl("ALL", topic="east", principal="User:*", permission="DENY", pattern=PREFIXED)],
    ],
)
def test_what_does_not_let_them_read_the_remote_topic_does_not_count(acls, there):
    assert acls([acl("READ", topic="ord", pattern=PREFIXED)], there) == [(WARNING, "ReadersWithoutAcl")]


def test_who_is_denied_on_the_source_is_no_reader_there(acls):
    reader = acl("READ", topic="ord", pattern=PREFIXED)
    assert acls([reader, acl("READ", topic="*", permission="DENY")], []) == []
    assert acls([reader, acl("READ", topic="*", permission="DENY", host="10.0.0.1")], []) == [(WARNING, "ReadersWithoutAcl")]


def test_writers_by_a_prefix_are_named_and_a_fence_hides_none_of_them(acls, findings_of):
    writer = acl("WRITE", topic="ord", pattern=PREFIXED)
    fence = acl("WRITE", principal="User:*", permission="DENY")
    for source in ([writer], [writer, fence]):
        (found,) = findings_of(source, [])
        assert (found.code, "on the prefix ord" in found.message) == ("WritersWithoutAcl", True)
    assert acls([writer], [writer]) == []


@pytest.mark.parametrize("hidden", ["east", "west"])
def test_acls_that_a_cluster_hides_are_a_right_that_is_lacking(flow, monkeypatch, hidden):
    def read(cluster):
        if cluster.alias == hidden:
            raise AuthorizationRefused(cluster.alias, "DESCRIBE", "the cluster")
        return frozenset()

    monkeypatch.setattr(preflight, "pattern_acls", read)
    (lacking,) = check_acls(flow, ["orders"], Side("east"), Side("west"))
    assert (lacking.kind, lacking.code) == (WARNING, "RightMissing")
    assert f"Cluster '{hidden}' does not let the mirror DESCRIBE" in lacking.message


@pytest.mark.parametrize(
    ("operations", "lacking"),
    [({"DESCRIBE", "ALTER"}, []), ({"DESCRIBE"}, ["ALTER"]), ({"ALTER"}, ["DESCRIBE"]), (set(), ["DESCRIBE", "ALTER"])],
)
def test_rights_on_the_source_are_named_and_the_control_topic_has_to_be_writable(flow, operations, lacking):
    source, target = Answer(alias="east", list_operations=lambda: frozenset(operations)), Side("west")
    warnings = [*check_rights(flow, source, target, {})]
    assert {each.kind for each in warnings} <= {WARNING}
    assert [each.message.partition("does not let the mirror ")[2].split()[0] for each in warnings] == lacking
    assert target.operations == [("mm2-control.east.internal", "WRITE")]
