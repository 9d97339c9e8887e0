"""The write fence on real brokers: with ACLs on clusters with Kafka's own authorizer, and by hand; and waves forth and back, whom their
ACLs hold off, and when they go."""

import threading
from types import SimpleNamespace

import pytest
from confluent_kafka import Producer

from kafka_mirror.cutover.steps import fence, open_wave
from kafka_mirror.cutover.steps.preflight import preflight
from kafka_mirror.cutover.wave.move import open_move
from kafka_mirror.cutover.wave.run import run_wave
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import DONE, FENCE, LAST_WRITE_MS, OPEN, QUIET_SINCE_MS, STOPPED, WAITING
from kafka_mirror.ledger.clusters import clusters
from kafka_mirror.topics.topic_acls import sync_topic_acls
from services.oracle import OracleError, Record
from services.waiting import PATIENCE, eventually
from tests.integration.access import CLUSTER, acl, logged_in, login_of
from tests.integration.moving_waves import both_ways
from tests.wave_notes import Killed, NotesInMemory
from tests.wave_notes import waiting_options as options


def client(cluster, user, **settings):
    """librdkafka's settings of one user's client."""
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": user, "sasl.password": user}
    return {"bootstrap.servers": cluster.secure_bootstrap, **login, "message.timeout.ms": 20_000, **settings}


def produced(settings, topic, partition=0):
    """The name of the refusal of one record; '' if it was written."""
    outcomes = []
    producer = Producer(settings)
    producer.produce(topic, b"v", b"k", partition, on_delivery=lambda error, _: outcomes.append(error))
    assert producer.flush(PATIENCE) == 0
    (error,) = outcomes
    return error.name() if error else ""


@pytest.fixture
def guarded_flow(guarded, make_pair, make_mirroring, oracle, allow):
    """`guarded_flow(policy properties)`: a flow that logs in as `mirror` on both sides, and a topic to which `writer` writes and which
    `reader` reads."""

    def make(extra=None, rights=("ALTER",), **names):
        source, target = guarded
        pair = make_pair(source, target)
        mirroring = make_mirroring(pair, {**logged_in(guarded), **(extra or {})})
        topic = pair.topic("orders")
        oracle.create_topic(source.bootstrap, topic, 2)
        oracle.produce(source.bootstrap, topic, 20, seed=1)
        everything = [acl("mirror", "*", "READ"), acl("mirror", "*", "DESCRIBE_CONFIGS")]
        allow(source, *everything, *(acl("mirror", CLUSTER, right, kind="CLUSTER") for right in rights))
        allow(target, acl("mirror", "*", "ALL"), acl("mirror", "*", "ALL", kind="TRANSACTIONAL_ID"))
        allow(source, acl("writer", topic, "WRITE"), acl("owner", topic[:-3], "ALL", pattern="PREFIXED"), acl("reader", topic, "READ"))
        allow(source, acl("writer", "tx", "WRITE", kind="TRANSACTIONAL_ID", pattern="PREFIXED"))
        return mirroring, topic

    return make


@pytest.fixture
def notes():
    return NotesInMemory()


def denials(oracle, cluster, topic):
    """Principals to whom the topic's ACLs deny something."""
    return sorted(each["principal"] for each in oracle.acls(cluster.bootstrap) if each["name"] == topic and each["permission"] == "DENY")


@pytest.fixture(autouse=True)
def no_denials(request, oracle):
    """What a test denied is gone after it."""
    yield
    if "guarded" in request.fixturenames:
        for cluster in request.getfixturevalue("guarded"):
            oracle.delete_acls(cluster.bootstrap, [each for each in oracle.acls(cluster.bootstrap) if each["permission"] == "DENY"])


def test_a_fence_by_acl_holds_off_every_producer_and_no_reader_and_is_taken_back(guarded, guarded_flow, oracle, notes):
    mirroring, topic = guarded_flow()
    source = guarded[0]
    assert produced(client(source, "writer"), topic) == ""
    with open_move(mirroring.flow, Wave((topic,))) as move:
        outcome = notes.record(fence.step(move, notes, options(by="acl")))
        assert (outcome.state, outcome.findings[0].code) == (DONE, "QuietProducers"), outcome
        assert {user: produced(client(source, user), topic) for user in ("writer", "owner")} == dict.fromkeys(
            ("writer", "owner"), "TOPIC_AUTHORIZATION_FAILED"
        )
        ends = outcome.facts["ends"][topic]
        assert (sum(ends), len(ends)) == (21, 2)
        assert outcome.facts[LAST_WRITE_MS] <= outcome.facts[QUIET_SINCE_MS] <= outcome.facts["done_ms"] - 1000
        assert fence.find_fence_breaks(move, notes) == ()
        assert mirroring.copy().state == "done", "the mirror reads behind its own fence"
        again = notes.record(fence.step(move, notes, options(by="acl")))
        assert (again.state, again.facts["ends"]) == (DONE, outcome.facts["ends"])
        assert (again.facts["begun_ms"], again.facts[LAST_WRITE_MS]) == (outcome.facts["begun_ms"], outcome.facts[LAST_WRITE_MS])
        assert denials(oracle, source, topic) == ["User:*"]
        assert notes.record(fence.rollback(move, notes, options())).state == DONE
        assert (denials(oracle, source, topic), notes.read_step(FENCE)) == ([], {})
        assert fence.find_fence_breaks(move, notes)[0].code == "NotFenced"
    assert eventually(lambda: produced(client(source, "writer"), topic) == "")


def test_a_transaction_that_is_open_may_end_behind_the_fence_and_is_named_until_it_does(guarded, guarded_flow, notes):
    mirroring, topic = guarded_flow()
    producer = Producer(client(guarded[0], "writer", **{"transactional.id": f"tx-{mirroring.pair.mark}"}))
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    producer.produce(topic, b"v", b"k", 0)
    assert producer.flush(PATIENCE) == 0
    with open_move(mirroring.flow, Wave((topic,))) as move:
        outcome = notes.record(fence.step(move, notes, options(by="acl", timeout=2.0)))
        assert outcome.state == WAITING
        (open_transaction,) = [each for each in outcome.findings if each.code == "TransactionOpen"]
        assert open_transaction.message.startswith(f"{topic}-0: a transaction is open from offset ")
        assert "producer id " in open_transaction.message
        assert "epoch " in open_transaction.message
        assert open_transaction.error.commands[1].startswith(
            f"kafka-transactions.sh --bootstrap-server <source> abort --topic {topic} --partition 0 --start-offset "
        )
        assert "ends" not in outcome.facts
        threading.Timer(1.0, lambda: producer.commit_transaction(PATIENCE)).start()
        outcome = notes.record(fence.step(move, notes, options(by="acl")))
        assert (outcome.state, sum(outcome.facts["ends"][topic])) == (DONE, 22), "the record and its marker"
        assert fence.find_fence_breaks(move, notes) == ()


@pytest.mark.parametrize(("settings", "name"), [({"enable.idempotence": True}, "producer id "), ({}, "that is not idempotent")])
def test_a_super_user_is_not_held_off_and_named_as_far_as_kafka_knows_it(guarded, guarded_flow, notes, settings, name):
    mirroring, topic = guarded_flow()
    stop = threading.Event()

    def write():
        producer = Producer({"bootstrap.servers": guarded[0].bootstrap, **settings})
        while not stop.wait(0.05):
            producer.produce(topic, b"v", b"k", 1)
            producer.flush(PATIENCE)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        with open_move(mirroring.flow, Wave((topic,))) as move:
            outcome = notes.record(fence.step(move, notes, options(by="acl", timeout=3.0)))
    finally:
        stop.set()
        thread.join()
    assert outcome.state == WAITING
    (growth,) = [each for each in outcome.findings if each.code == "StillWritten"]
    assert name in growth.message
    assert "in partitions 1," in growth.message
    assert "a DENY does not hold off a super user" in growth.error.next


def test_without_the_right_to_alter_acls_nothing_is_changed(guarded, guarded_flow, oracle, notes):
    mirroring, topic = guarded_flow(rights=("DESCRIBE",))
    with open_move(mirroring.flow, Wave((topic,))) as move:
        outcome = fence.step(move, notes, options(by="acl"))
    assert (outcome.state, [each.code for each in outcome.findings]) == (STOPPED, ["RightMissing"])
    assert "does not let the mirror ALTER the cluster" in outcome.findings[0].message
    assert (denials(oracle, guarded[0], topic), notes.history) == ([], [])


def test_without_an_authorizer_nothing_is_changed(mirroring, topic, notes):
    with open_move(mirroring.flow, Wave((topic,))) as move:
        outcome = fence.step(move, notes, options(by="acl"))
    assert (outcome.state, [each.code for each in outcome.findings], notes.history) == (STOPPED, ["NoAuthorizer"], [])


def way_back_of(mirroring):
    """What is asked of the flow in the other direction, which logs in to the source as this one does."""
    flow = mirroring.flow
    return SimpleNamespace(target=flow.source, client=lambda *_: flow.client("source", "admin"), request_seconds=flow.request_seconds)


def test_names_kept_the_way_back_may_write_once_the_fence_is_lifted_for_it_and_no_producer(guarded, guarded_flow, oracle, notes, allow):
    policy = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
    mirroring, topic = guarded_flow(policy)
    source = guarded[0]
    with open_move(mirroring.flow, Wave((topic,))) as move:
        assert notes.record(fence.step(move, notes, options(by="acl"))).state == DONE
        refused = fence.lift_for_way_back(move, notes, options(), way_back_of(mirroring))
        assert (refused.state, refused.findings[0].code) == (STOPPED, "WayBackDenied"), "nobody lets the mirror write there"
        assert denials(oracle, source, topic) == ["User:*"]
        allow(source, acl("mirror", topic, "WRITE"))
        assert produced(client(source, "mirror"), topic) == "TOPIC_AUTHORIZATION_FAILED"
        lifted = notes.record(fence.lift_for_way_back(move, notes, options(), way_back_of(mirroring)))
        assert (lifted.state, denials(oracle, source, topic)) == (DONE, ["User:owner", "User:writer"]), lifted
        eventually(lambda: produced(client(source, "mirror"), topic) == "")
        assert produced(client(source, "writer"), topic) == "TOPIC_AUTHORIZATION_FAILED"
        assert produced(client(source, "owner"), topic) == "TOPIC_AUTHORIZATION_FAILED"
        again = notes.record(fence.lift_for_way_back(move, notes, options(), way_back_of(mirroring)))
        assert (again.state, again.lines, again.facts) == (DONE, (), lifted.facts)
        assert fence.rollback(move, notes, options()).state == DONE
    assert denials(oracle, source, topic) == []


def test_by_hand_the_step_waits_until_people_have_stopped_the_producers(mirroring, topic, oracle, notes):
    transaction, said = f"tx-{mirroring.pair.mark}", []
    oracle.open_transaction(mirroring.source, topic, transaction, [Record(b"k", b"v")])
    with open_move(mirroring.flow, Wave((topic,))) as move:
        outcome = notes.record(fence.step(move, notes, options(timeout=1.5, progress=said.append)))
        assert (outcome.state, [each.code for each in outcome.findings]) == (WAITING, ["TransactionOpen"])
        assert f"transactional id '{transaction}'" in outcome.findings[0].message
        assert "coordinator is broker" in outcome.findings[0].message
        assert said[0].endswith(f"transactions are open in {topic}-0.")
        oracle.end_transaction(transaction, "abort")
        outcome = notes.record(fence.step(move, notes, options()))
        assert (outcome.state, "acls" in outcome.facts) == (DONE, False)
        assert fence.rollback(move, notes, options()).lines == ("The fence set no ACL; producers that people stopped may write again.",)


def test_the_check_alone_looks_once(mirroring, topic, oracle, notes):
    with open_move(mirroring.flow, Wave((topic,))) as move:
        assert fence.step(move, notes, options(by="read-only-check")).state == DONE
        transaction = f"tx-{mirroring.pair.mark}"
        oracle.open_transaction(mirroring.source, topic, transaction, [Record(b"k", b"v")])
        try:
            outcome = fence.step(move, notes, options(by="read-only-check", timeout=600.0))
        finally:
            oracle.end_transaction(transaction, "abort")
    assert (outcome.state, [each.code for each in outcome.findings]) == (STOPPED, ["TransactionOpen"])


def test_no_flow_carries_a_fence_be_it_its_own_or_that_of_another_flow_of_the_source(
    guarded, guarded_flow, make_pair, make_mirroring, oracle, notes, allow
):
    mirroring, topic = guarded_flow()
    other = make_mirroring(make_pair(*guarded), logged_in(guarded), topics=topic)
    allow(guarded[0], acl("stranger", topic, "READ", permission="DENY"))
    allow(guarded[1], acl("mirror", CLUSTER, "ALTER", kind="CLUSTER"))
    assert mirroring.copy().state == "done"
    with open_move(mirroring.flow, Wave((topic,))) as move:
        notes.record(fence.step(move, notes, options(by="acl")))
    for flow, remote in ((mirroring.flow, mirroring.pair.remote(topic)), (other.flow, other.pair.remote(topic))):
        with clusters(flow) as (source, target):
            done = sync_topic_acls(flow, source, target)
        try:
            assert (done.errors, {each.principal for each in done.created if each.permission == "DENY"}) == ((), {"User:stranger"})
            assert denials(oracle, guarded[1], remote) == ["User:stranger"]
        finally:
            bindings = [each for each in oracle.acls(guarded[1].bootstrap) if each["name"] == remote]
            oracle.delete_acls(guarded[1].bootstrap, bindings)


def test_where_a_topic_without_acls_is_open_to_all_a_fence_by_acl_would_shut_readers_out_so_nothing_is_changed(
    make_cluster, make_pair, make_mirroring, oracle, west, notes
):
    everybody = {"allow.everyone.if.no.acl.found": "true"}
    source = make_cluster("open", properties=everybody, users={"mirror": "mirror", "reader": "reader"})
    mirroring = make_mirroring(make_pair(source, west))
    topic = mirroring.pair.topic("orders")
    oracle.create_topic(source.bootstrap, topic, 1)
    oracle.produce(source.bootstrap, topic, 5, seed=1)
    read = {"bootstrap": source.secure_bootstrap, "topic": topic, "isolation": "read_committed", "client": login_of()}
    assert len(oracle.call("dump", 30, **read)) == 5
    with open_move(mirroring.flow, Wave((topic,))) as move:
        outcome = fence.step(move, notes, options(by="acl"))
    assert (outcome.state, [each.code for each in outcome.findings], notes.history) == (STOPPED, ["TopicWithoutAcls"], [])
    assert denials(oracle, source, topic) == []
    oracle.create_acls(source.bootstrap, [acl("*", topic, "WRITE", permission="DENY")])
    with pytest.raises(OracleError, match="TopicAuthorization"):
        eventually(lambda: len(oracle.call("dump", 30, **read)) != 5)


# ------------------------------------------------------------ forth and back


@pytest.fixture
def ways(guarded, make_pair, oracle, allow):
    """`ways(names_kept)`: both flows log in as `mirror`, and `writer` may write to `topic` on either side."""

    def make(*, names_kept):
        pair = make_pair(*guarded)
        topic = pair.topic("orders")
        for cluster in guarded:
            allow(
                cluster,
                acl("mirror", "*", "ALL"),
                acl("mirror", "*", "ALL", kind="TRANSACTIONAL_ID"),
                acl("mirror", "*", "ALL", kind="GROUP"),
            )
            allow(cluster, acl("mirror", CLUSTER, "ALTER", kind="CLUSTER"), acl("writer", topic, "WRITE"))
        both = both_ways(pair, oracle, logged_in(guarded), names_kept=names_kept)
        oracle.create_topic(pair.source_bootstrap, topic, 2)
        oracle.produce(pair.source_bootstrap, topic, 20, seed=1)
        return SimpleNamespace(there=both.there, back=both.back, topic=topic, source=guarded[0], target=guarded[1])

    return make


def moved(mirroring, topic, name):
    assert mirroring.copy().errors == ()
    return run_wave(mirroring.flow, Wave((topic,)), options(by="acl", wave=name))


def test_names_kept_the_way_back_writes_after_open_although_a_kill_came_between_and_a_wave_back_lets_producers_in(
    ways, oracle, monkeypatch
):
    both = ways(names_kept=True)
    topic, there, back = both.topic, both.there, both.back
    with monkeypatch.context() as patched:
        patched.setattr(open_wave, "lift_for_way_back", kill)
        with pytest.raises(Killed):
            moved(there, topic, "forth")
    assert denials(oracle, both.source, topic) == ["User:*"]
    run = run_wave(there.flow, Wave((topic,)), options(by="acl", wave="forth"))
    assert ([each.step for each in run.outcomes], run.record.state) == ([OPEN], "open"), run
    assert denials(oracle, both.source, topic) == ["User:writer"]
    assert produced(client(both.target, "writer"), topic) == ""
    assert produced(client(both.source, "writer"), topic) == "TOPIC_AUTHORIZATION_FAILED"
    copied = back.copy()
    assert (copied.errors, copied.records) == ((), 1)

    assert "FenceGoes" in {each.code for each in preflight(back.flow, Wave((topic,))).findings}
    run = moved(back, topic, "back")
    assert run.record.state == "open", run
    assert denials(oracle, both.source, topic) == []
    assert eventually(lambda: produced(client(both.source, "writer"), topic) == "")
    assert denials(oracle, both.target, topic) == ["User:writer"]


def test_with_remote_names_a_wave_back_lets_producers_write_again_where_they_came_from(ways, oracle):
    both = ways(names_kept=False)
    topic, there, back = both.topic, both.there, both.back
    assert moved(there, topic, "forth").record.state == "open"
    assert denials(oracle, both.source, topic) == ["User:*"]
    oracle.create_topic(both.target.bootstrap, topic, 2)
    oracle.produce(both.target.bootstrap, topic, 10, seed=2)
    back.refresh()
    run = moved(back, topic, "back")
    assert run.record.state == "open", run
    assert denials(oracle, both.source, topic) == []
    assert eventually(lambda: produced(client(both.source, "writer"), topic) == "")


def kill(*_):
    raise Killed
