"""Whoever may create topics on the source chooses their names: one whose remote name Kafka would not take stops no other topic."""

import json

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from kafka_mirror.__main__ import main
from kafka_mirror.errors import RemoteNameUnusable
from kafka_mirror.ledger.clusters import clusters
from kafka_mirror.topics.topic_configs import sync_topic_configs
from services.consumers import set_offsets
from services.waiting import ADMIN_TIMEOUT_MS, PATIENCE
from tests.integration.left_behind import taken

FRAGILE = {"source->target.replication.policy.class": "tests.integration.policies.Fragile"}
LONGEST = 249

DAY = (
    ("refresh-topics",),
    ("plan",),
    ("copy", "--without-spark"),
    ("refresh-groups",),
    ("checkpoints",),
    ("group-offsets",),
    ("topic-configs",),
    ("translate", "--group", "readers"),
    ("status",),
    ("freshness",),
    ("audit",),
    ("backfill", "--from", "2020-01-01", "--to", "2100-01-01", "--without-spark"),
    ("decide", "pause", "--topic", "ORDERS", "--reason", "a test"),
    ("decide", "resume", "--topic", "ORDERS", "--reason", "a test"),
    ("hand-back",),
)
"""Every command that gives names of remote topics to a client, in the order of a flow's life."""

SILENT = {"refresh-groups", "freshness", "audit", "decide", "hand-back"}
"""Those whose errors are of something else; freshness has it among what is over its limit."""

OF_GROUPS = {"checkpoints", "group-offsets", "translate"}
"""Those that ask the ledger where a topic's records stand: of two with one remote name there are none, and others say why."""


def longest(pair):
    """A topic of this pair with a name as long as Kafka takes it."""
    return pair.topic("x" * (LONGEST - len(pair.topic(""))))


@pytest.fixture
def mirror(pair, capsys):
    def run(extra, *command):
        settings = {"mirror.lanes": "2", "sync.group.offsets.enabled": "true", "admin.timeout.ms": ADMIN_TIMEOUT_MS}
        settings = {f"source->target.{name}": value for name, value in settings.items()}
        properties = pair.properties(extra={**settings, "offset.storage.replication.factor": "1", **extra})
        main(["--config", str(properties), *command, "--flow", pair.flow, "--json"])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return flow

    return run


@pytest.mark.parametrize(
    ("names", "extra"),
    [((), {}), (("raises", "slash", "unknown"), FRAGILE), (("same", "twin"), FRAGILE)],
    ids=["too long", "a policy of the user's", "two of the same name"],
)
def test_a_topic_without_a_usable_remote_name_is_left_out_everywhere_and_named(pair, oracle, mirror, names, extra):
    orders, unusable = pair.topic("orders"), {longest(pair), *map(pair.topic, names)}
    for topic in (orders, *unusable):
        oracle.create_topic(pair.source_bootstrap, topic, 1)
        oracle.produce(pair.source_bootstrap, topic, 60, seed=1)
    set_offsets(pair.source_bootstrap, f"readers-{pair.mark}", {(topic, 0): 10 for topic in (orders, *unusable)})
    expected = {("RemoteNameUnusable", topic) for topic in unusable}
    alone = {each for each in expected if not each[1].startswith(("same", "twin"))}
    for command in DAY:
        words = [{"ORDERS": orders, "readers": f"readers-{pair.mark}"}.get(word, word) for word in command]
        flow = mirror(extra, *words)
        found = {(error["code"], error["topic"]) for error in flow["errors"]}
        said = alone if command[0] in OF_GROUPS else expected
        assert found == (set() if command[0] in SILENT else said), (command, flow["errors"])
        if command[0] == "freshness":
            assert unusable <= {each["topic"] for each in flow["result"]["over"]}
        if command[0] == "checkpoints":
            assert flow["result"]["written"] == 1
        if command[0] == "translate":
            positions = {each["topic"]: each["position"] for each in flow["result"]["partitions"]}
            assert positions == {orders: 10, **dict.fromkeys(unusable)}
    assert sum(count.records for count in oracle.count(pair.target_bootstrap, pair.remote(orders))) == 60


def test_a_decision_about_a_topic_without_a_usable_remote_name_says_why_there_is_nothing_to_decide(pair, oracle, mirror):
    oracle.create_topic(pair.source_bootstrap, longest(pair), 1)
    (error,) = mirror({}, "decide", "accept-gap", "--topic", longest(pair), "--reason", "a test")["errors"]
    assert (error["code"], error["topic"]) == ("RemoteNameUnusable", longest(pair))


def test_two_topics_with_one_remote_name_are_left_out_unless_one_of_them_is_mirrored_already(pair, oracle, make_mirroring):
    mirroring = make_mirroring(pair, FRAGILE)
    same, twin, orders = map(pair.topic, ("same", "twin", "orders"))
    for topic in (same, orders):
        oracle.create_topic(pair.source_bootstrap, topic, 1)
        oracle.produce(pair.source_bootstrap, topic, 30, seed=1)
    assert mirroring.copy().records == 60
    oracle.create_topic(pair.source_bootstrap, twin, 1)
    for topic in (same, twin, orders):
        oracle.produce(pair.source_bootstrap, topic, 30, seed=2)
    admin = AdminClient({"bootstrap.servers": mirroring.source})
    admin.create_partitions([NewPartitions(same, 2)])[same].result(PATIENCE)
    refreshed = mirroring.refresh()
    (error,) = refreshed.errors
    assert (error.code, error.topic, f"'{same}'" in error.message) == ("RemoteNameUnusable", twin, True), "both are named"
    assert refreshed.extended == {pair.remote(same): 2}, "a stranger's topic keeps no other from what it lacks"
    with clusters(mirroring.flow) as (source, target):
        assert [each.topic for each in sync_topic_configs(mirroring.flow, source, target).errors] == [twin]
    judged = mirroring.copy()
    assert [(error.code, error.topic) for error in judged.errors] == [("RemoteNameUnusable", twin)]
    assert judged.records == 60
    mirroring.assert_mirrored(same)
    mirroring.assert_mirrored(orders)


def test_take_over_goes_on_without_a_topic_that_has_no_usable_remote_name(mirroring, left):
    topic, other = left.topic("orders"), longest(mirroring.pair)
    mirroring.oracle.create_topic(mirroring.source, other, 1)
    offsets = left.copies(topic, (0, 40))
    left.stored({topic: offsets[39], other: 5})
    done, watermarks = taken(mirroring)
    assert [(error.code, error.topic) for error in done.errors] == [(RemoteNameUnusable.__name__, other)]
    assert set(watermarks) == {topic}
