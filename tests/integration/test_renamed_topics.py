"""Topics that have other names on the target by rule (mirror.rename), through a day of the flow's life on real brokers."""

import json

import pytest

from kafka_mirror.__main__ import main
from services.consumers import read_offsets, set_offsets
from services.oracle import Side
from services.waiting import ADMIN_TIMEOUT_MS, eventually

KEPT = {"source->target.replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
RULE = "source->target.mirror.rename"
FAST = ("--quiet-seconds", "1", "--wait", "30", "--reason", "a test")


@pytest.fixture(params=[{}, KEPT], ids=["remote names", "names kept"])
def policy(request):
    """What the file says of the replication policy."""
    return request.param


@pytest.fixture
def rule(pair):
    """shop.orders becomes store.orders."""
    return {RULE: rf"shop\.(.+)-{pair.mark} -> store.$1-{pair.mark}"}


@pytest.fixture
def renamed(pair, policy):
    """The remote topic of a source topic that has this name by rule."""
    return lambda name: pair.topic(name) if policy else pair.remote(pair.topic(name))


@pytest.fixture
def orders(pair, oracle):
    """A topic that the rule is for, with 60 records, and a group that has read some of them."""
    topic = pair.topic("shop.orders")
    oracle.create_topic(pair.source_bootstrap, topic, 2, {"retention.ms": "86400000"})
    oracle.produce(pair.source_bootstrap, topic, 60, seed=1)
    set_offsets(pair.source_bootstrap, f"billing-{pair.mark}", {(topic, 0): 7, (topic, 1): 11})
    return topic


@pytest.fixture
def mirror(pair, policy, capsys):
    """The command line: what it says of the flow."""

    def run(extra, *command):
        settings = {"source->target.mirror.lanes": "2", "admin.timeout.ms": ADMIN_TIMEOUT_MS, "groups": f".*-{pair.mark}"}
        settings["source->target.sync.group.offsets.enabled"] = "true"
        file = pair.properties(extra={**settings, **policy, **extra})
        main(["--config", str(file), *command, "--flow", pair.flow, "--json"])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return flow

    return run


def test_records_configs_positions_and_audits_go_by_the_new_name(pair, oracle, mirror, orders, rule, renamed):
    remote = renamed("store.orders")
    assert mirror(rule, "copy", "--without-spark")["result"]["records"] == 60
    oracle.assert_mirrored(Side(pair.source_bootstrap, orders), Side(pair.target_bootstrap, remote))

    oracle.alter_configs(pair.source_bootstrap, orders, {"retention.ms": "3600000"})
    eventually(lambda: mirror(rule, "topic-configs", "--dry-run")["result"]["changed"]["topic"] == [remote])
    assert mirror(rule, "topic-configs")["errors"] == []
    eventually(lambda: oracle.topics(pair.target_bootstrap, [remote])[remote].configs["retention.ms"] == "3600000")

    assert mirror(rule, "checkpoints")["result"]["written"] == 2
    assert mirror(rule, "group-offsets")["errors"] == []
    assert read_offsets(pair.target_bootstrap, f"billing-{pair.mark}") == {(remote, 0): 7, (remote, 1): 11}
    told = mirror(rule, "translate", "--group", f"billing-{pair.mark}")["result"]["partitions"]
    assert {(each["topic"], each["partition"], each["position"]) for each in told} == {(orders, 0, 7), (orders, 1, 11)}

    audit = mirror(rule, "audit")
    assert (audit["state"], audit["errors"]) == ("done", [])
    status = mirror(rule, "status")["result"]
    assert (status["partitions_in_all"], status["lag"]) == (2, 0)


def test_a_wave_moves_a_renamed_topic_with_its_group(pair, mirror, orders, rule, renamed):
    assert mirror(rule, "copy", "--without-spark")["errors"] == []
    moved = mirror(rule, "cutover", "run", "--topics", orders, "--groups", f"billing-{pair.mark}", *FAST)
    assert (moved["state"], moved["errors"]) == ("done", []), moved
    assert read_offsets(pair.target_bootstrap, f"billing-{pair.mark}") == {
        (renamed("store.orders"), 0): 7,
        (renamed("store.orders"), 1): 11,
    }
    assert mirror(rule, "copy", "--without-spark")["result"]["records"] == 0
