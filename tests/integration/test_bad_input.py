"""What cannot work says so in one sentence, soon, and writes nothing: clusters that do not answer, refuse us, or allow too little.

Mistakes in the configuration, which need no broker to be found: tests/unit/commands.
"""

import json
import socket
import time
import uuid
from dataclasses import replace

import pytest
from confluent_kafka.admin import AdminClient

from mirror.__main__ import main
from services.kafka import KafkaCluster

PASSWORD = "correct horse"
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="{}";'
WRONG = "battery staple"


@pytest.fixture(scope="module")
def secure(services_directory):
    """A cluster whose users may do nothing until a test allows it; its plain listener may do everything."""
    cluster = KafkaCluster(services_directory / "secure", "secure", users={"mirror": PASSWORD})
    cluster.start()
    yield cluster
    cluster.stop()


@pytest.fixture
def run(capsys):
    """`run(file, "copy", ...)` gives exit code, the flow's part of the JSON document, standard error, and seconds."""

    def call(file, *arguments):
        started = time.monotonic()
        code = main(["--config", str(file), *arguments, "--json"])
        seconds = time.monotonic() - started
        output, words = capsys.readouterr()
        (flow,) = json.loads(output)["flows"]
        return code, flow, words, seconds

    return call


def topics_of(bootstrap, pair):
    """What the flow of this pair has made there."""
    names = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10).topics
    return {name for name in names if name.startswith(f"{pair.source}.") or pair.source in name}


def only_error(flow):
    (error,) = flow["errors"]
    return error


# ---------------------------------------------------------------- clusters that do not answer


@pytest.fixture
def silent():
    """An address that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def closed():
    """An address at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{probe.getsockname()[1]}"  # bound, but not listening


@pytest.mark.parametrize("command", [["plan"], ["copy", "--without-spark"], ["refresh-topics"]])
@pytest.mark.parametrize("side", ["source", "target"])
def test_an_unreachable_cluster_is_named_with_address_and_reason_within_the_deadline(pair, run, closed, side, command):
    file = pair.properties(extra={f"{side}.bootstrap.servers": closed, "admin.timeout.ms": "1500"})
    code, flow, words, seconds = run(file, *command)
    error = only_error(flow)
    assert (code, error["code"], error["retriable"]) == (1, "ClusterUnreachable", True)
    for part in (f"Cluster '{getattr(pair, side)}' did not answer at {closed} within 1.5 s", "Connection refused"):
        assert part in error["message"]
    assert "Next: Check that the brokers run" in words
    assert seconds < 8
    assert topics_of(pair.target_bootstrap, pair) == set()


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_broker_that_never_answers_is_waited_for_until_the_deadline_and_no_longer(pair, run, silent, side):
    file = pair.properties(extra={f"{side}.bootstrap.servers": silent, "admin.timeout.ms": "1500"})
    code, flow, _, seconds = run(file, "copy", "--without-spark")
    error = only_error(flow)
    assert (code, error["code"]) == (1, "ClusterUnreachable")
    assert f"Cluster '{getattr(pair, side)}' did not answer at {silent} within 1.5 s: nothing refuses the connection" in error["message"]
    assert seconds < 8
    assert topics_of(pair.target_bootstrap, pair) == set()


def test_a_name_that_nobody_knows_is_said(pair, run):
    file = pair.properties(extra={"source.bootstrap.servers": "kafka.invalid:9092", "admin.timeout.ms": "1500"})
    error = only_error(run(file, "plan")[1])
    assert error["code"] == "ClusterUnreachable"
    assert "Failed to resolve 'kafka.invalid:9092'" in error["message"]


# ---------------------------------------------------------------- clusters that refuse us


def with_user(pair, sides, cluster, password=PASSWORD, extra=None):
    """The pair's properties, with `source`, `target` or both by the SASL listener of a cluster."""
    login = {
        "bootstrap.servers": cluster.secure_bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": JAAS.format(password),
    }
    named = {f"{side}.{name}": value for side in sides.split() for name, value in login.items()}
    ours = {"source->target.mirror.lanes": "2", "source->target.offset-syncs.topic.location": "target"}
    return pair.properties(extra={**named, **ours, **(extra or {})})


@pytest.mark.parametrize("command", [["plan"], ["copy", "--without-spark"], ["refresh-topics"]])
@pytest.mark.parametrize("side", ["source", "target"])
def test_a_wrong_password_is_told_as_such_long_before_the_deadline(pair, run, secure, side, command):
    code, flow, words, seconds = run(with_user(pair, side, secure, WRONG), *command)
    error = only_error(flow)
    assert (code, error["code"], error["retriable"]) == (1, "AuthenticationFailed", False)
    assert f"Cluster '{getattr(pair, side)}' at {secure.secure_bootstrap} refused the connection" in error["message"]
    assert "Invalid username or password" in error["message"]
    assert f"{getattr(pair, side)}.sasl.*" in error["next"]
    assert WRONG not in words + json.dumps(flow)
    assert seconds < 10, "admin.timeout.ms is a minute"
    assert topics_of(pair.target_bootstrap, pair) == set()


@pytest.mark.parametrize("role", ["source.consumer", "target.producer"])
def test_a_wrong_password_of_one_client_alone_is_told_too(make_pair, run, secure, oracle, east, role):
    """MirrorMaker 2 lets every client have its own credentials; the others are right here."""
    side = role.split(".")[0]
    pair = make_pair(*((secure, east) if side == "source" else (east, secure)))
    topic = source_topic(pair, oracle, "orders")
    allow_everything(oracle, secure, pair, topic)
    assert run(with_user(pair, side, secure), "copy", "--without-spark")[0] == 0
    oracle.produce(pair.source_bootstrap, topic, 30, seed=2)
    file = with_user(pair, side, secure, extra={f"{role}.sasl.jaas.config": JAAS.format(WRONG)})
    code, flow, _, seconds = run(file, "copy", "--without-spark")
    assert code == 1
    assert {error["code"] for error in flow["errors"]} == {"AuthenticationFailed"}
    assert (flow["result"]["records"], flow["result"]["owed"]) == (0, 30)
    assert seconds < 20


def test_a_listener_of_another_protocol_is_suspected(pair, run, secure):
    file = pair.properties(extra={"target.bootstrap.servers": secure.secure_bootstrap, "admin.timeout.ms": "1500"})
    error = only_error(run(file, "plan")[1])
    assert error["code"] == "ClusterUnreachable"
    assert "security.protocol" in error["message"]


# ---------------------------------------------------------------- clusters that allow too little


def source_topic(pair, oracle, name):
    """A topic on the source with one partition and 30 records."""
    topic = pair.topic(name)
    oracle.create_topic(pair.source_bootstrap, topic, 1)
    oracle.produce(pair.source_bootstrap, topic, 30, seed=1)
    return topic


def allow(oracle, cluster, kind, name, *operations, pattern="LITERAL"):
    acls = [{"principal": "User:mirror", "type": kind, "name": name, "operation": each, "pattern": pattern} for each in operations]
    oracle.create_acls(cluster.bootstrap, acls)


def forbid(oracle, cluster, kind, name, operation, pattern="LITERAL"):
    acl = {"principal": "User:mirror", "type": kind, "name": name, "operation": operation, "pattern": pattern, "permission": "DENY"}
    oracle.create_acls(cluster.bootstrap, [acl])


def allow_everything(oracle, cluster, pair, *topics):
    """All that the README asks for, on either side."""
    for topic in topics:
        allow(oracle, cluster, "TOPIC", topic, "READ", "DESCRIBE_CONFIGS")
    allow(oracle, cluster, "TOPIC", f"{pair.source}.", "READ", "WRITE", "CREATE", "ALTER", "DESCRIBE_CONFIGS", pattern="PREFIXED")
    for own in own_topics(pair):
        allow(oracle, cluster, "TOPIC", own, "READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")
    allow(oracle, cluster, "TOPIC", syncs_topic(pair), "READ", "WRITE", "CREATE")
    allow(oracle, cluster, "TRANSACTIONAL_ID", "mirror.", "WRITE", pattern="PREFIXED")


def own_topics(pair):
    """The ledger and the control topic."""
    return f"mm2-ledger.{pair.source}.internal", f"mm2-control.{pair.source}.internal"


def syncs_topic(pair):
    """Where offset syncs go, on the target."""
    return f"mm2-offset-syncs.{pair.source}.internal"


def refusal(error):
    """What an AuthorizationRefused says, with the names of the test's own topics left as they are."""
    assert (error["code"], error["retriable"]) == ("AuthorizationRefused", False)
    assert error["next"].startswith("Grant the mirror's principal ")
    return error["message"], error["topic"]


def test_what_the_readme_asks_for_is_enough(make_pair, run, secure, oracle):
    pair = replace(make_pair(secure, secure), target=f"target{uuid.uuid4().hex[:6]}")
    topic = source_topic(pair, oracle, "orders")
    allow_everything(oracle, secure, pair, topic)
    file = with_user(pair, "source target", secure, extra={"source->target.topics": topic})
    code, flow, words, _ = run(file, "copy", "--without-spark")
    assert (code, words, flow["result"]["records"]) == (0, "", 30)
    assert run(file, "refresh-topics")[0] == 0


@pytest.fixture
def source_pair(make_pair, secure, west):
    """The secure cluster is the source."""
    return make_pair(secure, west)


@pytest.fixture
def target_pair(make_pair, east, secure):
    """The secure cluster is the target."""
    return make_pair(east, secure)


def test_a_source_topic_that_may_be_described_but_not_read_is_named_and_the_others_are_copied(source_pair, run, secure, oracle):
    pair = source_pair
    readable, unreadable = source_topic(pair, oracle, "readable"), source_topic(pair, oracle, "unreadable")
    allow(oracle, secure, "TOPIC", readable, "READ", "DESCRIBE_CONFIGS")
    allow(oracle, secure, "TOPIC", unreadable, "DESCRIBE", "DESCRIBE_CONFIGS")
    code, flow, _, seconds = run(with_user(pair, "source", secure), "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.source}' refuses READ on topic {unreadable}.", unreadable)
    assert (flow["result"]["records"], flow["result"]["owed"]) == (30, 30)
    assert seconds < 20
    allow(oracle, secure, "TOPIC", unreadable, "READ")
    code, flow, _, _ = run(with_user(pair, "source", secure), "copy", "--without-spark")
    assert (code, flow["result"]["records"]) == (0, 30), "with the permission the next run goes on"


def test_a_source_topic_that_is_hidden_is_named_if_it_is_spelled_out(source_pair, run, secure, oracle):
    pair = source_pair
    visible, hidden = source_topic(pair, oracle, "visible"), source_topic(pair, oracle, "hidden")
    allow(oracle, secure, "TOPIC", visible, "READ", "DESCRIBE_CONFIGS")
    file = with_user(pair, "source", secure, extra={"source->target.topics": f"{visible}, {hidden}"})
    code, flow, _, _ = run(file, "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.source}' refuses DESCRIBE on topic {hidden}.", hidden)
    assert flow["result"]["records"] == 30
    assert topics_of(pair.target_bootstrap, pair) == {pair.remote(visible), syncs_topic(pair), *own_topics(pair)}


def test_a_topic_that_was_mirrored_and_is_hidden_now_does_not_silently_fall_out(source_pair, run, secure, oracle):
    pair = source_pair
    topic = source_topic(pair, oracle, "orders")
    allow(oracle, secure, "TOPIC", topic, "READ", "DESCRIBE_CONFIGS")
    file = with_user(pair, "source", secure)
    assert run(file, "copy", "--without-spark")[0] == 0
    forbid(oracle, secure, "TOPIC", topic, "ALL")
    code, flow, _, _ = run(file, "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.source}' refuses DESCRIBE on topic {topic}.", topic)


@pytest.mark.parametrize("operation", ["WRITE", "CREATE", "DESCRIBE"])
def test_one_remote_topic_that_the_target_refuses_is_named_and_the_others_are_copied(target_pair, run, secure, oracle, operation):
    pair = target_pair
    allowed, refused = source_topic(pair, oracle, "allowed"), source_topic(pair, oracle, "refused")
    allow_everything(oracle, secure, pair)
    forbid(oracle, secure, "TOPIC", pair.remote(refused), operation)
    code, flow, _, seconds = run(with_user(pair, "target", secure), "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.target}' refuses {operation} on topic {pair.remote(refused)}.", refused)
    marks = flow["result"]["watermarks"]
    assert dict(zip(marks["topic"], marks["source_offset"], strict=True)) == {allowed: 30}
    assert seconds < 20
    assert sum(count.records for count in oracle.count(secure.bootstrap, pair.remote(allowed))) == 30


def test_a_remote_topic_that_may_not_be_read_is_named_when_it_has_to_be_looked_into(target_pair, run, secure, oracle):
    pair = target_pair
    topic, other = source_topic(pair, oracle, "orders"), source_topic(pair, oracle, "other")
    allow_everything(oracle, secure, pair)
    file = with_user(pair, "target", secure)
    oracle.create_topic(secure.bootstrap, pair.remote(topic), 1)
    oracle.produce(secure.bootstrap, pair.remote(topic), 1, seed=2)
    forbid(oracle, secure, "TOPIC", pair.remote(topic), "READ")
    code, flow, _, _ = run(file, "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.target}' refuses READ on topic {pair.remote(topic)}.", topic)
    assert dict(zip(flow["result"]["watermarks"]["topic"], flow["result"]["watermarks"]["source_offset"], strict=True)) == {other: 30}


@pytest.mark.parametrize("own", [0, 1], ids=["ledger", "control"])
@pytest.mark.parametrize("operation", ["CREATE", "DESCRIBE", "READ", "WRITE", "DESCRIBE_CONFIGS"])
def test_a_topic_of_our_own_that_may_not_be_used_stops_the_flow_and_nothing_is_copied(target_pair, run, secure, oracle, operation, own):
    pair = target_pair
    topic = source_topic(pair, oracle, "orders")
    allow_everything(oracle, secure, pair)
    topic_of_ours = own_topics(pair)[own]
    forbid(oracle, secure, "TOPIC", topic_of_ours, operation)
    code, flow, _, seconds = run(with_user(pair, "target", secure), "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.target}' refuses {operation} on topic {topic_of_ours}.", topic_of_ours)
    assert seconds < 20
    if pair.remote(topic) in topics_of(secure.bootstrap, pair):
        assert sum(count.records for count in oracle.count(secure.bootstrap, pair.remote(topic))) == 0


@pytest.mark.parametrize("operation", ["CREATE", "DESCRIBE", "WRITE"])
def test_offset_syncs_that_may_not_be_written_are_named_and_the_records_are_copied(target_pair, run, secure, oracle, operation):
    pair = target_pair
    topic = source_topic(pair, oracle, "orders")
    allow_everything(oracle, secure, pair)
    forbid(oracle, secure, "TOPIC", syncs_topic(pair), operation)
    code, flow, _, seconds = run(with_user(pair, "target", secure), "copy", "--without-spark")
    message, named = refusal(only_error(flow))
    assert (code, named, flow["result"]["records"], flow["result"]["owed"]) == (1, syncs_topic(pair), 30, 0)
    assert message.startswith("The records are copied, but not all of their offset syncs are written. ")
    assert message.endswith(f"Cluster '{pair.target}' refuses {operation} on topic {named}.")
    assert "emit.offset-syncs.enabled=false writes none." in only_error(flow)["next"]
    assert seconds < 20
    assert sum(count.records for count in oracle.count(secure.bootstrap, pair.remote(topic))) == 30


def test_transactional_ids_that_may_not_be_used_are_named_once_for_all_lanes(target_pair, run, secure, oracle):
    pair = target_pair
    for name in ("orders", "payments", "shipments"):
        source_topic(pair, oracle, name)
    allow_everything(oracle, secure, pair)
    prefix = f"mirror.{len(pair.source)}.{pair.source}.2."
    forbid(oracle, secure, "TRANSACTIONAL_ID", prefix, "WRITE", pattern="PREFIXED")
    code, flow, _, _ = run(with_user(pair, "target", secure), "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.target}' refuses WRITE on transactional ids with the prefix {prefix}.", None)
    assert (flow["result"]["records"], flow["result"]["owed"]) == (0, 90)
