"""Clusters that do not answer or refuse us: one sentence, soon, and nothing is written.

Mistakes in the configuration, which need no broker to be found: tests/unit/commands. Missing permissions: test_permissions.py.
"""

import json
import socket

import pytest

from tests.integration.access import (
    JAAS,
    LONG_BEFORE,
    WRONG,
    allow_everything,
    only_error,
    source_topic,
    topics_of,
    with_user,
)

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
    assert seconds < LONG_BEFORE
    assert topics_of(pair.target_bootstrap, pair) == set()


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_broker_that_never_answers_is_waited_for_until_the_deadline_and_no_longer(pair, run, silent, side):
    file = pair.properties(extra={f"{side}.bootstrap.servers": silent, "admin.timeout.ms": "1500"})
    code, flow, _, seconds = run(file, "copy", "--without-spark")
    error = only_error(flow)
    assert (code, error["code"]) == (1, "ClusterUnreachable")
    assert f"Cluster '{getattr(pair, side)}' did not answer at {silent} within 1.5 s: nothing refuses the connection" in error["message"]
    assert seconds < LONG_BEFORE
    assert topics_of(pair.target_bootstrap, pair) == set()


def test_a_name_that_nobody_knows_is_said(pair, run):
    file = pair.properties(extra={"source.bootstrap.servers": "kafka.invalid:9092", "admin.timeout.ms": "1500"})
    error = only_error(run(file, "plan")[1])
    assert error["code"] == "ClusterUnreachable"
    assert "Failed to resolve 'kafka.invalid:9092'" in error["message"]


# ---------------------------------------------------------------- clusters that refuse us


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
    assert seconds < LONG_BEFORE
    assert topics_of(pair.target_bootstrap, pair) == set()


@pytest.mark.parametrize("role", ["source.consumer", "target.producer"])
def test_a_wrong_password_of_one_client_alone_is_told_too(make_pair, run, secure, oracle, allow, east, role):
    """MirrorMaker 2 lets every client have its own credentials; the others are right here."""
    side = role.split(".")[0]
    pair = make_pair(*((secure, east) if side == "source" else (east, secure)))
    topic = source_topic(pair, oracle, "orders")
    allow_everything(allow, secure, pair, topic)
    assert run(with_user(pair, side, secure), "copy", "--without-spark")[0] == 0
    oracle.produce(pair.source_bootstrap, topic, 30, seed=2)
    file = with_user(pair, side, secure, extra={f"{role}.sasl.jaas.config": JAAS.format(WRONG)})
    code, flow, _, seconds = run(file, "copy", "--without-spark")
    assert code == 1
    assert {error["code"] for error in flow["errors"]} == {"AuthenticationFailed"}
    assert (flow["result"]["records"], flow["result"]["owed"]) == (0, 30)
    assert seconds < LONG_BEFORE


def test_a_listener_of_another_protocol_is_suspected(pair, run, secure):
    file = pair.properties(extra={"target.bootstrap.servers": secure.secure_bootstrap, "admin.timeout.ms": "1500"})
    error = only_error(run(file, "plan")[1])
    assert error["code"] == "ClusterUnreachable"
    assert "security.protocol" in error["message"]
