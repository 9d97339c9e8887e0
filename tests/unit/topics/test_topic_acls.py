"""Which ACLs remote topics are to have, by comparison alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.kafka.model import LITERAL, PREFIXED, Acl, PatternAcl, may
from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, TopicSelection
from kafka_mirror.policy.filters import DefaultTopicFilter
from kafka_mirror.topics import topic_acls
from kafka_mirror.topics.topic_acls import count_prefixed, find_drifted_acls


def selection(policy=DefaultReplicationPolicy, topics=".*"):
    return TopicSelection("east", "west", policy({"source.cluster.alias": "east"}), DefaultTopicFilter((topics,), ("private",)))


def remote_acls(acls, chosen):
    """The same for bindings of single topics."""
    return topic_acls.remote_acls([PatternAcl(each, LITERAL) for each in acls], chosen)


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
        ("DENY", "WRITE", None),
        ("DENY", "READ", "READ"),
        ("DENY", "DESCRIBE", "READ"),
        ("DENY", "ALTER_CONFIGS", "ALTER_CONFIGS"),
    ],
)
def test_readers_stay_readers_and_nobody_becomes_a_writer(permission, operation, carried):
    found = remote_acls([acl("orders", operation, permission)], selection())
    assert found == ({acl("east.orders", carried, permission): "orders"} if carried else {})


def test_who_is_denied_everything_is_denied_everything_but_writing_and_what_writing_takes():
    carried = {each.operation for each in remote_acls([acl("orders", "ALL", "DENY")], selection())}
    assert carried == {"READ", "CREATE", "DELETE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"}


PRINCIPALS = ["User:mirror", "User:CN=bob, O=x", "User:a:b", "Group:ops"]
OPERATIONS = ["READ", "WRITE", "ALL", "CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"]
HOSTS = ["10.0.0.1", "10.0.0.2"]
ACLS = st.builds(
    Acl,
    st.sampled_from(["orders", "*"]),
    st.sampled_from([*PRINCIPALS, "User:*"]),
    st.sampled_from([*HOSTS, "*"]),
    st.sampled_from(OPERATIONS),
    st.sampled_from(["ALLOW", "DENY"]),
)
PREFIXES = st.sampled_from(["", "o", "orders", "orders.", "p"])
OF_THE_SOURCE = st.frozensets(
    st.one_of(
        st.builds(PatternAcl, ACLS, st.just(LITERAL)),
        st.builds(lambda each, prefix: PatternAcl(each._replace(topic=prefix), PREFIXED), ACLS, PREFIXES),
    ),
    max_size=12,
)
POLICIES = st.sampled_from([DefaultReplicationPolicy, IdentityReplicationPolicy])
DESCRIBES = {"DESCRIBE", "READ", "WRITE", "DELETE", "ALTER"}


def allowed(acls, principal, host, operation, topic):
    """Kafka's own rule (StandardAuthorizer): a denial wins, and who may read, write, delete or alter may describe."""

    def has(permission, operations):
        return any(
            each.permission == permission
            and (topic.startswith(each.topic) if pattern == PREFIXED else each.topic in (topic, "*"))
            and each.principal in (principal, "User:*")
            and each.host in (host, "*")
            and each.operation in {*operations, "ALL"}
            for each, pattern in acls
        )

    return not has("DENY", {operation}) and has("ALLOW", DESCRIBES if operation == "DESCRIBE" else {operation})


def may_use(acls, principal, host, operation, topic):
    """Whether a client may read or write: it has to see the topic, too."""
    return all(allowed(acls, principal, host, each, topic) for each in (operation, "DESCRIBE"))


def on_the_target(acls, chosen):
    return {PatternAcl(each, LITERAL) for each in topic_acls.remote_acls(acls, chosen)}


@given(OF_THE_SOURCE, st.sampled_from(PRINCIPALS), st.sampled_from(HOSTS), st.sampled_from(["READ", "WRITE"]))
def test_who_may_use_a_topic_is_judged_as_kafka_does(acls, principal, host, operation):
    assert may(acls, operation, "orders", principal, host) == may_use(acls, principal, host, operation, "orders")


@given(OF_THE_SOURCE, st.sampled_from(PRINCIPALS), st.sampled_from(HOSTS), POLICIES)
def test_no_acl_of_the_source_keeps_the_mirror_from_writing(acls, principal, host, policy):
    chosen = selection(policy)
    remote = chosen.remote("orders")
    own = {PatternAcl(Acl(remote, principal, "*", "WRITE", "ALLOW"), LITERAL)}
    assert may_use(own | on_the_target(acls, chosen), principal, host, "WRITE", remote)


@given(OF_THE_SOURCE, st.sampled_from(PRINCIPALS), st.sampled_from(HOSTS), POLICIES)
def test_who_may_not_read_a_topic_may_not_read_its_mirror_and_nobody_is_let_write(acls, principal, host, policy):
    chosen = selection(policy)
    if policy is IdentityReplicationPolicy:  # there an ALLOW of every topic goes along as one, and denials by a prefix do not
        acls = {each for each in acls if not (each.acl.topic == "*" and each.acl.permission == "ALLOW")}
    remote = chosen.remote("orders")
    carried = on_the_target(acls, chosen)
    assert not allowed(carried, principal, host, "WRITE", remote)
    if may_use(carried, principal, host, "READ", remote):
        assert may_use(acls, principal, host, "READ", "orders")


def test_allows_by_a_prefix_that_are_about_mirrored_topics_are_counted():
    acls = [PatternAcl(acl(prefix, "READ"), PREFIXED) for prefix in ("", "ord", "orders", "orders.v1", "p")]
    acls += [PatternAcl(acl("ord", "WRITE"), PREFIXED), PatternAcl(acl("ord", "READ", "DENY"), PREFIXED)]
    acls += [PatternAcl(acl("*", "READ"), LITERAL)]
    assert count_prefixed(acls, ["orders", "clicks"]) == 4
    assert count_prefixed(acls, []) == 0


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
    return find_drifted_acls(there, wanted, names, chosen or selection())


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
