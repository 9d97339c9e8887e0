"""After a change of policy, separator or rules no step makes anything under a new name before somebody decided so."""

import json

import pytest

from kafka_mirror.__main__ import main
from services.consumers import set_offsets
from services.waiting import ADMIN_TIMEOUT_MS

IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
STEPS = ("plan", "refresh-topics", "copy", "topic-configs", "topic-acls", "checkpoints", "group-offsets")


@pytest.fixture
def mirror(pair, capsys):
    """`mirror(properties, "copy")`: exit code, and what the flow came to."""

    def run(extra, step, *arguments):
        common = {"source->target.mirror.lanes": "2", "admin.timeout.ms": ADMIN_TIMEOUT_MS, "sync.group.offsets.enabled": "true"}
        file = pair.properties(f".*-{pair.mark}", common | extra)
        here = ("--without-spark",) if step == "copy" else ()
        code = main(["--config", str(file), "--json", step, *here, *arguments])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return code, flow

    return run


def codes(flow):
    return {error["code"] for error in flow["errors"]}


def of_this_test(oracle, pair):
    return {name for name in oracle.topics(pair.target_bootstrap) if pair.mark in name}


def test_after_another_separator_every_step_refuses_and_nothing_is_created(pair, oracle, topic, mirror):
    set_offsets(pair.source_bootstrap, f"billing-{pair.mark}", {(topic, 0): 3})
    assert mirror({}, "copy")[0] == 0
    before = of_this_test(oracle, pair)
    for separator in ("-", "_", ".."):
        for step in STEPS:
            code, flow = mirror({"replication.policy.separator": separator}, step)
            assert (code, codes(flow)) == (1, {"LedgerMissing"}), (step, flow["errors"])
    assert of_this_test(oracle, pair) == before


@pytest.mark.parametrize("change", ["policy", "rule"])
def test_after_another_policy_or_rule_nothing_is_made_under_the_new_name_until_that_is_decided(pair, oracle, topic, mirror, change):
    set_offsets(pair.source_bootstrap, f"billing-{pair.mark}", {(topic, 0): 3})
    assert mirror({}, "copy")[0] == 0
    before = of_this_test(oracle, pair)
    extra = IDENTITY if change == "policy" else {"source->target.mirror.rename": rf"{topic} -> other-{pair.mark}"}
    remote = topic if change == "policy" else pair.remote(f"other-{pair.mark}")
    for step in STEPS:
        code, flow = mirror(extra, step)
        if step in ("plan", "refresh-topics", "copy"):
            assert (code, codes(flow)) == (1, {"TargetRecreated"}), (step, flow["errors"])
    assert of_this_test(oracle, pair) - before <= {f"{pair.source}.checkpoints.internal"}
    new = pair.topic("new")
    oracle.create_topic(pair.source_bootstrap, new, 1)
    code, flow = mirror(extra, "refresh-topics")
    assert list(flow["result"]["created"]) == [new if change == "policy" else pair.remote(new)], "a topic that was never copied is none"
    assert mirror(extra, "decide", "restart", "--flow", pair.flow, "--topic", topic, "--reason", "the new names are meant")[0] == 0
    code, flow = mirror(extra, "refresh-topics")
    assert (code, list(flow["result"]["created"]), codes(flow)) == (0, [remote], set())
    code, flow = mirror(extra, "copy")
    assert (code, flow["result"]["records"]) == (0, 60)


def test_configs_of_a_topic_that_has_the_new_name_by_chance_are_left_alone(pair, oracle, topic, mirror):
    assert mirror({}, "copy")[0] == 0
    oracle.create_topic(pair.target_bootstrap, topic, 1, configs={"retention.ms": "1234567"})
    oracle.alter_configs(pair.source_bootstrap, topic, {"retention.ms": "7654321"})
    before = oracle.topics(pair.target_bootstrap, [topic])
    for step in ("topic-configs", "refresh-topics"):
        code, flow = mirror(IDENTITY, step)
        assert (code, codes(flow)) == (1, {"TargetRecreated"}), (step, flow)
    assert oracle.topics(pair.target_bootstrap, [topic]) == before
    assert len(oracle.partitions(pair.target_bootstrap, topic)) == 1
