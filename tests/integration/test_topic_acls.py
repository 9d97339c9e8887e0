"""The ACLs of remote topics, with real principals on clusters with Kafka's own authorizer."""

import pytest

from kafka_mirror.errors import AuthorizationRefused
from kafka_mirror.status.steps import run_step
from services.oracle import OracleError, Record
from services.waiting import eventually
from tests.integration.access import acl

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{0}" password="{0}";'


def login(user):
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": LOGIN.format(user)}


def rows(columns):
    return sorted(zip(*columns.values(), strict=True))


def made(topic, user, operation, permission="ALLOW"):
    """One row of what a run created or reports."""
    return topic, f"User:{user}", "*", operation, permission


@pytest.fixture
def mirroring(guarded, make_pair, make_mirroring):
    """The flow of this test, which logs in as `mirror` on both sides."""
    source, target = guarded
    return make_mirroring(
        make_pair(source, target),
        {"offset-syncs.topic.location": "target"}
        | {
            f"{side}.{name}": value
            for side, cluster in zip(("source", "target"), guarded, strict=True)
            for name, value in {"bootstrap.servers": cluster.secure_bootstrap, **login("mirror")}.items()
        },
    )


def allow_the_mirror(allow, guarded, pair):
    """What docs/operate/permissions.md asks for."""
    source, target = guarded
    allow(
        source,
        acl("mirror", "*", "READ"),
        acl("mirror", "*", "DESCRIBE_CONFIGS"),
        acl("mirror", "kafka-cluster", "DESCRIBE", kind="CLUSTER"),
    )
    remote = [
        acl("mirror", f"{pair.source}.", each, pattern="PREFIXED")
        for each in ("READ", "WRITE", "CREATE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
    ]
    own = [
        acl("mirror", f"mm2-{kind}.{pair.source}.internal", each)
        for kind in ("ledger", "control", "offset-syncs")
        for each in ("READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")
    ]
    transactions = acl("mirror", "mirror.", "WRITE", kind="TRANSACTIONAL_ID", pattern="PREFIXED")
    allow(target, *remote, *own, transactions, acl("mirror", "kafka-cluster", "ALTER", kind="CLUSTER"))


def source_topic(mirroring, guarded, name, records=30):
    topic = mirroring.pair.topic(name)
    mirroring.oracle.create_topic(guarded[0].bootstrap, topic)
    mirroring.oracle.produce(guarded[0].bootstrap, topic, records, seed=1)
    return topic


def reads(oracle, cluster, user, topic):
    """How many records a user reads of a topic; the refusal's name if he may not."""
    try:
        client = {"client": login(user)}
        found = oracle.call("dump", 30, bootstrap=cluster.secure_bootstrap, topic=topic, isolation="read_committed", **client)
        return len(found)
    except OracleError as refused:
        return str(refused).split(": ")[1]


def writes(oracle, cluster, user, topic):
    """Whether a user writes a record, or the refusal's name."""
    try:
        oracle.produce_records(cluster.secure_bootstrap, topic, [Record(value=b"x")], **login(user), **{"enable.idempotence": "false"})
        return True
    except OracleError as refused:
        return str(refused).split(": ")[1]


def test_readers_of_a_topic_may_read_its_mirror_and_only_the_mirror_writes_it(guarded, mirroring, allow, oracle):
    source, target = guarded
    topic = source_topic(mirroring, guarded, "orders")
    remote = mirroring.pair.remote(topic)
    allow_the_mirror(allow, guarded, mirroring.pair)
    allow(
        source,
        acl("reader", topic, "READ"),
        acl("writer", topic, "WRITE"),
        acl("owner", topic, "ALL"),
        acl("stranger", topic, "READ", "DENY"),
    )
    judged = mirroring.copy()
    assert judged.state == "done", judged.errors
    assert {reads(oracle, target, user, remote) for user in ("reader", "writer", "owner", "stranger")} == {"TopicAuthorizationException"}

    done = run_step("topic-acls", mirroring.flow)
    assert done.errors == ()
    created = rows(done.result["created"])
    assert [row for row in created if row[0] == remote] == sorted(
        [made(remote, "reader", "READ"), made(remote, "owner", "READ"), made(remote, "stranger", "READ", "DENY")]
    )
    eventually(lambda: reads(oracle, target, "reader", remote) == 30)
    assert reads(oracle, target, "owner", remote) == 30
    assert {reads(oracle, target, user, remote) for user in ("writer", "stranger")} == {"TopicAuthorizationException"}
    for user in ("reader", "writer", "owner", "stranger"):
        assert writes(oracle, target, user, remote) == "TopicAuthorizationException", user
    assert writes(oracle, source, "writer", topic) is True
    assert mirroring.copy().state == "done", "the mirror itself goes on writing"
    assert reads(oracle, target, "reader", remote) == 31
    assert run_step("topic-configs", mirroring.flow).errors == (), "what docs/operate/permissions.md asks for is enough"


def test_whatever_the_source_denies_the_mirror_goes_on_writing_and_who_may_not_read_there_may_not_here(guarded, mirroring, allow, oracle):
    source, target = guarded
    allow_the_mirror(allow, guarded, mirroring.pair)
    topic = source_topic(mirroring, guarded, "orders", 3)
    remote = mirroring.pair.remote(topic)
    allow(
        source,
        acl("*", topic, "WRITE", "DENY"),
        acl("stranger", topic, "DESCRIBE", "DENY"),
        acl("writer", topic, "ALL", "DENY"),
        *(acl(user, topic, "READ") for user in ("reader", "stranger", "writer")),
    )
    assert mirroring.copy().state == "done"
    done = run_step("topic-acls", mirroring.flow)
    assert done.errors == ()
    eventually(lambda: reads(oracle, target, "reader", remote) == 3)
    oracle.produce(source.bootstrap, topic, 2, seed=2)
    judged = mirroring.copy()
    assert (judged.state, judged.errors) == ("done", ())
    assert reads(oracle, target, "reader", remote) == 5
    assert {reads(oracle, target, user, remote) for user in ("stranger", "writer")} == {"TopicAuthorizationException"}
    assert not [row for row in rows(done.result["created"]) if row[3:] in (("WRITE", "DENY"), ("ALL", "DENY"))]


def test_only_what_is_missing_is_created_and_what_the_source_has_no_more_is_reported(guarded, mirroring, allow, oracle):
    source, target = guarded
    topic = source_topic(mirroring, guarded, "orders", 0)
    remote = mirroring.pair.remote(topic)
    allow_the_mirror(allow, guarded, mirroring.pair)
    kept, revoked = acl("reader", topic, "READ"), acl("owner", topic, "DESCRIBE")
    allow(source, kept)
    oracle.create_acls(source.bootstrap, [revoked])
    allow(target, acl("stranger", remote, "READ"))

    before = oracle.acls(target.bootstrap)
    said = run_step("topic-acls", mirroring.flow, dry_run=True)
    assert oracle.acls(target.bootstrap) == before
    done = run_step("topic-acls", mirroring.flow)
    assert said.result == done.result
    here = {made(remote, "reader", "READ"), made(remote, "owner", "DESCRIBE")}
    assert here <= set(rows(done.result["created"]))
    assert f"{remote}: ALLOW READ for User:reader from * created" in done.lines
    assert made(remote, "stranger", "READ") in rows(done.result["drift"])

    oracle.delete_acls(source.bootstrap, [revoked])
    eventually(lambda: not any(each["name"] == topic and each["operation"] == "DESCRIBE" for each in oracle.acls(source.bootstrap)))
    after = oracle.acls(target.bootstrap)
    again = run_step("topic-acls", mirroring.flow)
    assert rows(again.result["created"]) == []
    assert {made(remote, "owner", "DESCRIBE"), made(remote, "stranger", "READ")} <= set(rows(again.result["drift"]))
    assert made(remote, "reader", "READ") not in rows(again.result["drift"])
    assert f"{remote}: ALLOW DESCRIBE for User:owner from * does not come from the source; it stays as it is" in again.lines
    assert oracle.acls(target.bootstrap) == after, "nothing is ever deleted"


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_cluster_without_an_authorizer_is_skipped_in_one_sentence(guarded, east, make_pair, make_mirroring, side):
    pair = make_pair(east, guarded[1]) if side == "source" else make_pair(guarded[0], east)
    for dry_run in (True, False):
        done = run_step("topic-acls", make_mirroring(pair).flow, dry_run)
        (line,) = done.lines
        assert line.startswith(f"Skipped: the {side} '{getattr(pair, side)}' has no authorizer")
        assert (done.errors, done.result["present"], rows(done.result["created"])) == ((), 0, [])
        assert f"Skipped: {done.result['skipped']}." == line


@pytest.mark.parametrize(("side", "operation"), [("source", "DESCRIBE"), ("target", "ALTER")])
def test_a_right_that_the_mirror_lacks_is_named_once_for_all(guarded, mirroring, allow, side, operation):
    allow_the_mirror(allow, guarded, mirroring.pair)
    topic = source_topic(mirroring, guarded, "orders", 0)
    allow(guarded[0], acl("reader", topic, "READ"), acl("owner", topic, "READ"))
    allow(guarded[side == "target"], acl("mirror", "kafka-cluster", operation, "DENY", kind="CLUSTER"))
    with pytest.raises(AuthorizationRefused, match=f"Cluster '{getattr(mirroring.pair, side)}' refuses {operation} on the cluster"):
        run_step("topic-acls", mirroring.flow)


def test_who_may_not_see_the_targets_acls_creates_all_of_them_each_time(guarded, mirroring, allow):
    allow_the_mirror(allow, guarded, mirroring.pair)
    topic = source_topic(mirroring, guarded, "orders", 0)
    allow(guarded[0], acl("reader", topic, "READ"))
    allow(guarded[1], acl("mirror", "kafka-cluster", "DESCRIBE", "DENY", kind="CLUSTER"))
    for _ in range(2):
        done = run_step("topic-acls", mirroring.flow)
        assert made(mirroring.pair.remote(topic), "reader", "READ") in rows(done.result["created"])
        assert "does not let the mirror see its ACLs" in done.lines[0]
        assert done.errors == ()


def test_a_topic_whose_configs_may_not_be_changed_is_named_and_the_others_are_changed(guarded, mirroring, allow, oracle):
    source, target = guarded
    allow_the_mirror(allow, guarded, mirroring.pair)
    topics = [source_topic(mirroring, guarded, name, 0) for name in ("orders", "payments")]
    mirroring.refresh()
    for topic in topics:
        oracle.alter_configs(source.bootstrap, topic, {"retention.ms": "3600000"})
    allow(target, acl("mirror", mirroring.pair.remote(topics[0]), "ALTER_CONFIGS", "DENY"))
    done = run_step("topic-configs", mirroring.flow)
    assert done.result["changed"]["topic"] == [mirroring.pair.remote(topics[1])]
    (error,) = done.errors
    assert (error.code, error.topic) == ("AuthorizationRefused", topics[0])
    assert f"refuses ALTER_CONFIGS on topic {mirroring.pair.remote(topics[0])}" in error.message
