"""Refreshing topics between two real clusters of one broker each."""

from collections.abc import Callable, Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from kafka_mirror.config import Flow, load
from kafka_mirror.errors import MirrorError
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.clusters import clusters
from kafka_mirror.policy import is_ledger_or_control_topic
from kafka_mirror.topics.topics import RefreshTopicsResult, refresh_topics
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.waiting import PATIENCE, eventually

IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
Properties = Callable[..., Path]


@cache
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def change(cluster: KafkaCluster, futures: dict[str, Any], partitions: int) -> None:
    """Waits until the change is made and the broker, which follows its controller, shows so many partitions (0: no topic)."""
    ((name, future),) = futures.items()
    future.result(PATIENCE)
    eventually(lambda: partition_count(cluster.bootstrap, name) == partitions, f"{name} with {partitions} partitions")


def partition_count(bootstrap: str, name: str) -> int:
    topic = admin(bootstrap).list_topics(timeout=PATIENCE).topics.get(name)
    return len(topic.partitions) if topic else 0


def create(cluster: KafkaCluster, name: str, partitions: int = 1, **configs: str) -> None:
    config = {key.replace("_", "."): value for key, value in configs.items()}
    change(cluster, admin(cluster.bootstrap).create_topics([NewTopic(name, partitions, 1, config=config)]), partitions)


def extend(cluster: KafkaCluster, name: str, partitions: int) -> None:
    change(cluster, admin(cluster.bootstrap).create_partitions([NewPartitions(name, partitions)]), partitions)


def delete(cluster: KafkaCluster, name: str) -> None:
    change(cluster, admin(cluster.bootstrap).delete_topics([name]), 0)


def allow(cluster: KafkaCluster, user: str, rules: list[tuple[str, AclOperation]]) -> None:
    """Gives rights on topics."""
    bindings = [
        AclBinding(ResourceType.TOPIC, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        for name, operation in rules
    ]
    for future in admin(cluster.bootstrap).create_acls(bindings).values():
        future.result(PATIENCE)


def flow_of(file: Path, pair: ClusterPair) -> Flow:
    return load([file], {}).flow(pair.flow)


def refresh(flow: Flow, dry_run: bool = False) -> RefreshTopicsResult:
    with clusters(flow) as (source, target):
        return refresh_topics(flow, source, target, dry_run)


def seen_on_target(flow: Flow, name: str) -> tuple[int, dict[str, str | None]]:
    """Partition count and the configs that were set for the topic itself."""
    with clusters(flow) as (_, target):
        entries = target.configs([name])[name].values()
        own = {entry.name: entry.value for entry in entries if entry.source == "DYNAMIC_TOPIC_CONFIG"}
        return len(target.topics([name])[name].partitions), own


def test_topics_are_created_grow_and_then_stay(pair: ClusterPair, mm2_properties: Properties, east: KafkaCluster) -> None:
    flow = flow_of(mm2_properties(), pair)
    orders, pay = pair.topic("orders"), pair.topic("pay")
    create(east, orders, 3, cleanup_policy="compact", retention_ms="86400000", min_insync_replicas="1")
    create(east, pay)
    expected = RefreshTopicsResult({pair.remote(orders): 3, pair.remote(pay): 1}, {}, (), (), ())
    assert refresh(flow, dry_run=True) == expected
    assert refresh(flow) == expected
    assert seen_on_target(flow, pair.remote(orders)) == (3, {"cleanup.policy": "compact", "retention.ms": "86400000"})
    assert seen_on_target(flow, pair.remote(pay)) == (1, {})

    extend(east, orders, 5)
    grown = RefreshTopicsResult({}, {pair.remote(orders): 5}, (), (pair.remote(pay),), ())
    assert refresh(flow, dry_run=True) == grown
    assert refresh(flow) == grown
    assert seen_on_target(flow, pair.remote(orders))[0] == 5
    assert refresh(flow) == RefreshTopicsResult({}, {}, (), (pair.remote(orders), pair.remote(pay)), ())


def test_a_topic_deleted_at_the_source_is_reported_and_kept(pair: ClusterPair, mm2_properties: Properties, east: KafkaCluster) -> None:
    flow = flow_of(mm2_properties(), pair)
    gone = pair.topic("gone")
    create(east, gone)
    refresh(flow)
    delete(east, gone)
    again = refresh(flow)
    assert replace(again, idle=None) == RefreshTopicsResult({}, {}, (pair.remote(gone),), (), ())
    assert again.idle is not None and again.idle.is_whole_list
    assert seen_on_target(flow, pair.remote(gone))[0] == 1


def test_identity_policy_keeps_names_and_reports_no_deletions(
    pair: ClusterPair, mm2_properties: Properties, east: KafkaCluster, west: KafkaCluster
) -> None:
    flow = flow_of(mm2_properties(extra=IDENTITY), pair)
    both, new, own = pair.topic("both"), pair.topic("new"), pair.topic("own")
    create(east, both, 2)
    create(east, new)
    create(west, both)
    create(west, own)
    assert refresh(flow) == RefreshTopicsResult({new: 1}, {both: 2}, (), (), ())
    assert refresh(flow) == RefreshTopicsResult({}, {}, (), (both, new), ())


def test_refused_topics_are_named_and_the_others_created(pair: ClusterPair, mm2_properties: Properties, east: KafkaCluster) -> None:
    good, long_name = pair.topic("good"), pair.topic("x" * 235)
    create(east, good)
    create(east, long_name)
    result = refresh(flow_of(mm2_properties(), pair))
    assert result.created == {pair.remote(good): 1}
    (error,) = result.errors
    assert (error.topic, error.code) == (long_name, "RemoteNameUnusable")

    other = pair.topic("other")
    create(east, other)
    flow = flow_of(mm2_properties(topics=other, extra={"replication.factor": "3"}), pair)
    (refused,) = refresh(flow).errors
    assert (refused.topic, refused.code, refused.retriable) == (other, "RemoteTopicRefused", False)
    assert "replication.factor" in refused.next
    assert refresh(flow, dry_run=True).errors == (refused,)


def test_two_runs_at_once_create_everything_once(pair: ClusterPair, mm2_properties: Properties, east: KafkaCluster) -> None:
    flow = flow_of(mm2_properties(), pair)
    names = sorted(pair.topic(f"t{number}") for number in range(12))
    for name in names:
        create(east, name, 2)
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: refresh(flow), range(2)))
    assert [result.errors for result in results] == [(), ()]
    made = [name for result in results for name in result.created]
    assert sorted(made) == [pair.remote(name) for name in names]
    assert refresh(flow).unchanged == tuple(pair.remote(name) for name in names)


class LateLook(Cluster):
    """A target whose first answer about remote topics is from before another run wrote."""

    def topics(self, names: Iterable[str] | None = None, errors: MutableMapping[str, MirrorError] | None = None) -> dict[str, Topic]:
        asked = None if names is None else [*names]
        is_control = asked is not None and all(is_ledger_or_control_topic(name) for name in asked)
        if not is_control and not hasattr(self, "looked"):
            self.looked = True
            return {}
        return super().topics(asked, errors)


def test_a_topic_that_exists_by_the_time_it_is_created_is_taken_if_it_fits(
    pair: ClusterPair, mm2_properties: Properties, east: KafkaCluster, west: KafkaCluster
) -> None:
    flow = flow_of(mm2_properties(), pair)
    fits, smaller = pair.topic("fits"), pair.topic("smaller")
    for name, there in ((fits, 3), (smaller, 1)):
        create(east, name, 2)
        create(west, pair.remote(name), there)
    with clusters(flow) as (source, _), LateLook(pair.target, flow.client("target", "admin")) as target:
        result = refresh_topics(flow, source, target)
    assert (result.created, result.unchanged) == ({}, (pair.remote(fits),))
    assert [(error.topic, error.retriable) for error in result.errors] == [(smaller, True)]
    assert refresh(flow).extended == {pair.remote(smaller): 2}


def test_what_the_source_does_not_let_us_see_is_an_error_that_names_it(
    make_cluster: Callable[..., KafkaCluster], make_pair: Callable[..., ClusterPair], west: KafkaCluster
) -> None:
    guarded = make_cluster("guarded", users={"mirror": "secret"})
    pair = make_pair(guarded, west)
    seen, hidden, bare = pair.topic("seen"), pair.topic("hidden"), pair.topic("bare")
    for name in (seen, hidden, bare):
        create(guarded, name)
    allow(guarded, "mirror", [(bare, AclOperation.DESCRIBE), (seen, AclOperation.DESCRIBE), (seen, AclOperation.DESCRIBE_CONFIGS)])
    login = {
        "source.bootstrap.servers": guarded.secure_bootstrap,
        "source.security.protocol": "SASL_PLAINTEXT",
        "source.sasl.mechanism": "PLAIN",
        "source.sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="secret";',
    }
    flow = flow_of(pair.properties(f"{seen}, {hidden}, {bare}", login), pair)
    with clusters(flow) as (source, _):
        eventually(lambda: bool(source.configs([seen], {})), f"the right to read the configs of {seen}")
    result = refresh(flow)
    assert result.created == {pair.remote(seen): 1}
    assert [(error.topic, error.code) for error in result.errors] == [(bare, "AuthorizationRefused"), (hidden, "AuthorizationRefused")]
    assert "DESCRIBE_CONFIGS" in result.errors[0].message
