"""Where topics and remote topics differ: configs, partitions, readers and writers."""

import pytest

from kafka_mirror.cutover.steps.topic_settings import AclSides, TopicSides, report_acls, report_configs
from kafka_mirror.cutover.wave.findings import INFORMATION, STOP, WARNING
from kafka_mirror.kafka.model import LITERAL, PREFIXED, Acl, ConfigEntry, PatternAcl
from kafka_mirror.policy.filters import DefaultConfigPropertyFilter

FILTER = DefaultConfigPropertyFilter(("min\\.insync\\.replicas",))


def entries(**values):
    """Entries that somebody set for the topic, by name with `_` for dots."""
    names = {name.replace("_", "."): value for name, value in values.items()}
    default = ConfigEntry("flush.ms", "9", "DEFAULT_CONFIG", False, False)
    return {"flush.ms": default} | {name: ConfigEntry(name, value, "DYNAMIC_TOPIC_CONFIG", False, False) for name, value in names.items()}


def sides(source, remote, partitions=(2, 2)):
    return TopicSides("orders", "east.orders", *partitions, source, remote)


def configs(*of_sides, is_synced=True, **facts):
    return [(each.kind, each.code, each.message) for each in report_configs(sides(*of_sides, **facts), FILTER, is_synced)]


def test_equal_topics_say_nothing():
    assert configs(entries(retention_ms="5"), entries(retention_ms="5")) == []


def test_a_config_that_the_flow_keeps_equal_stops_it_and_is_a_warning_where_it_does_not():
    source, remote = entries(retention_ms="5"), entries(retention_ms="7")
    assert configs(source, remote) == [(STOP, "ConfigsDiffer", "east.orders: its configs are not those of orders: retention.ms 7 -> 5.")]
    assert configs(source, remote, is_synced=False)[0][0] == WARNING


def test_a_config_that_the_flow_leaves_alone_is_information():
    assert configs(entries(min_insync_replicas="2"), entries()) == [
        (
            INFORMATION,
            "ConfigsDiffer",
            "east.orders: these configs differ, and the flow leaves them alone: min.insync.replicas 2 (remote topic: None).",
        )
    ]


def test_configs_that_could_not_be_read_are_not_compared():
    assert configs({}, entries(retention_ms="7")) == []


@pytest.mark.parametrize(("partitions", "codes"), [((2, 3), ["PartitionsDiffer"]), ((3, 2), []), ((2, 2), [])])
def test_a_remote_topic_with_more_partitions_is_a_warning(partitions, codes):
    assert [each[1] for each in configs(entries(), entries(), partitions=partitions)] == codes


def acl(operation, principal="User:app", topic="orders", permission="ALLOW", pattern=LITERAL, host="*"):
    return PatternAcl(Acl(topic, principal, host, operation, permission), pattern)


def findings_of(source, target, missing=(), is_synced=True):
    of_sides = AclSides(
        source if source is None else frozenset(source),
        target if target is None else frozenset(target),
        dict.fromkeys((each.acl for each in missing), "orders"),
        {"orders": "east.orders"},
    )
    return list(report_acls(of_sides, "east", "west", is_synced))


def acls(*of_sides, **facts):
    return [(each.kind, each.code) for each in findings_of(*of_sides, **facts)]


def test_a_source_without_authorizer_has_no_fence_by_acl():
    assert acls(None, ()) == [(INFORMATION, "NoAuthorizer")]


def test_where_the_target_has_no_authorizer_there_is_nothing_to_compare():
    assert acls([acl("WRITE")], None, [acl("READ", topic="east.orders")]) == []


def test_readers_whom_the_remote_topic_lacks_stop_it_where_the_flow_carries_them():
    lacking = [acl("READ", topic="east.orders")]
    assert acls([acl("READ")], [], lacking) == [(STOP, "AclsDiffer")]
    assert acls([acl("READ")], [], lacking, is_synced=False) == [(WARNING, "AclsDiffer")]


@pytest.mark.parametrize("operation", ["WRITE", "ALL"])
def test_writers_whom_the_target_does_not_know_are_a_warning(operation):
    assert acls([acl(operation)], []) == [(WARNING, "WritersWithoutAcl")]
    assert acls([acl(operation)], [acl(operation, principal="User:other")]) == [(WARNING, "WritersWithoutAcl")]


@pytest.mark.parametrize("there", [acl("WRITE"), acl("ALL"), acl("WRITE", topic="*"), acl("WRITE", principal="User:*")])
def test_writers_whom_the_target_knows_are_none(there):
    assert acls([acl("WRITE")], [there]) == []


def test_readers_those_who_are_denied_and_writers_of_other_topics_are_no_writers():
    assert acls([acl("READ"), acl("WRITE", permission="DENY"), acl("WRITE", topic="payments")], []) == []


MANY = [("ord", PREFIXED), ("", PREFIXED), ("*", LITERAL)]


@pytest.mark.parametrize(("topic", "pattern"), MANY)
@pytest.mark.parametrize("operation", ["READ", "ALL"])
def test_readers_by_an_acl_of_many_topics_are_named_with_it(topic, pattern, operation):
    (found,) = [
        each for each in findings_of([acl(operation, "User:CN=a b, O=x", topic, pattern=pattern)], []) if each.code.startswith("Readers")
    ]
    assert (found.kind, found.code, found.topic) == (WARNING, "ReadersWithoutAcl", "orders")
    where = f"the prefix {topic}" if pattern == PREFIXED else "*"
    assert f"ALLOW {operation} for User:CN=a b, O=x from * on {where}." in found.message
    assert "east.orders on west" in found.message


def test_each_principal_is_named_however_many_there_are():
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
def test_readers_whom_the_remote_topic_knows_are_none(there):
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
def test_what_does_not_let_them_read_the_remote_topic_does_not_count(there):
    assert acls([acl("READ", topic="ord", pattern=PREFIXED)], there) == [(WARNING, "ReadersWithoutAcl")]


def test_who_is_denied_on_the_source_is_no_reader_there():
    reader = acl("READ", topic="ord", pattern=PREFIXED)
    assert acls([reader, acl("READ", topic="*", permission="DENY")], []) == []
    assert acls([reader, acl("READ", topic="*", permission="DENY", host="10.0.0.1")], []) == [(WARNING, "ReadersWithoutAcl")]


def test_writers_by_a_prefix_are_named_and_a_fence_hides_none_of_them():
    writer = acl("WRITE", topic="ord", pattern=PREFIXED)
    fence = acl("WRITE", principal="User:*", permission="DENY")
    for source in ([writer], [writer, fence]):
        (found,) = findings_of(source, [])
        assert (found.code, "on the prefix ord" in found.message) == ("WritersWithoutAcl", True)
    assert acls([writer], [writer]) == []
