"""Which ACLs remote topics are to have, by comparison alone."""

import pytest

from mirror.kafka.model import Acl
from mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, TopicSelection
from mirror.policy.filters import DefaultTopicFilter
from mirror.sync.topic_acls import drifted_acls, remote_acls


def selection(policy=DefaultReplicationPolicy, topics=".*"):
    return TopicSelection("east", "west", policy({"source.cluster.alias": "east"}), DefaultTopicFilter((topics,), ("private",)))


def acl(topic, operation, permission="ALLOW", principal="User:bob", host="*"):
    return Acl(topic, principal, host, operation, permission)


@pytest.mark.parametrize(
    ("permission", "operation", "carried"),
    [
        ("ALLOW", "READ", "READ"),
        ("ALLOW", "ALL", "READ"),
        ("ALLOW", "WRITE", None),
        ("ALLOW", "DESCRIBE", "DESCRIBE"),
        ("ALLOW", "DESCRIBE_CONFIGS", "DESCRIBE_CONFIGS"),
        ("ALLOW", "ALTER_CONFIGS", "ALTER_CONFIGS"),
        ("ALLOW", "DELETE", "DELETE"),
        ("ALLOW", "CREATE", "CREATE"),
        ("ALLOW", "ALTER", "ALTER"),
        ("DENY", "ALL", "ALL"),
        ("DENY", "WRITE", "WRITE"),
        ("DENY", "READ", "READ"),
    ],
)
def test_readers_stay_readers_and_nobody_becomes_a_writer(permission, operation, carried):
    found = remote_acls([acl("orders", operation, permission)], selection())
    assert found == ({acl("east.orders", carried, permission): "orders"} if carried else {})


def test_principal_and_host_are_kept():
    (found,) = remote_acls([acl("orders", "READ", principal="User:CN=bob, O=x", host="10.0.0.7")], selection())
    assert (found.principal, found.host) == ("User:CN=bob, O=x", "10.0.0.7")


@pytest.mark.parametrize("topic", ["private", "west.orders", "mm2-offset-syncs.west.internal", "__consumer_offsets"])
def test_acls_of_topics_that_are_not_mirrored_are_not_carried(topic):
    assert remote_acls([acl(topic, "READ")], selection()) == {}


def test_a_grant_on_every_topic_becomes_a_literal_name_or_stays_one_where_names_are_kept():
    assert set(remote_acls([acl("*", "ALL")], selection())) == {acl("east.*", "READ")}
    assert set(remote_acls([acl("*", "ALL")], selection(IdentityReplicationPolicy))) == {acl("*", "READ")}


def test_two_that_mean_the_same_on_the_target_are_one():
    assert len(remote_acls([acl("orders", "READ"), acl("orders", "ALL")], selection())) == 1


def drift(*there, wanted=(), names=("orders",), chosen=None):
    return drifted_acls(there, wanted, names, chosen or selection())


def test_what_the_source_does_not_have_is_drift():
    gone, wanted = acl("east.orders", "DESCRIBE"), acl("east.orders", "READ")
    assert drift(gone, wanted, wanted=[wanted]) == [gone]
    assert drift(acl("east.deleted", "READ")) == [acl("east.deleted", "READ")]


def test_the_right_to_write_is_no_drift_for_the_mirror_has_to_have_it():
    assert drift(acl("east.orders", "WRITE"), acl("east.orders", "ALL")) == []
    assert drift(acl("east.orders", "WRITE", "DENY")) == [acl("east.orders", "WRITE", "DENY")]


@pytest.mark.parametrize("topic", ["orders", "north.orders", "east.private", "east.checkpoints.internal", "mm2-ledger.east.internal", "*"])
def test_acls_of_topics_that_the_flow_does_not_write_are_no_drift(topic):
    assert drift(acl(topic, "READ")) == []


def test_where_names_are_kept_only_topics_that_the_source_has_are_looked_at():
    identity = selection(IdentityReplicationPolicy)
    assert drift(acl("orders", "READ"), acl("own", "READ"), acl("*", "READ"), chosen=identity) == [acl("orders", "READ")]
