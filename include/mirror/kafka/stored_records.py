"""The records of our own topics, over the connections of a cluster."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mirror.formats.batch_records import StoredRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.cluster_connections import ClusterConnections
from mirror.offsets.partition import TopicPartition

_OF_A_LOGIN = ("bootstrap.servers", "security.", "sasl.", "ssl.")

Ranges = Mapping[TopicPartition, tuple[int, int]]


def stored_records(cluster: Cluster, settings: Mapping[str, Any], ranges: Ranges) -> list[StoredRecord]:
    """The committed records of all ranges, in order within each partition. `settings` are those of a consumer of the cluster. Raises as
    `ClusterConnections.records`."""
    with _connections(cluster, settings) as connections:
        return connections.records(ranges)


def newest_records(cluster: Cluster, settings: Mapping[str, Any], ranges: Ranges) -> list[StoredRecord]:
    """The newest committed record of each key in the ranges, in the order in which they were written in each partition. Logs that are read
    from their beginning are remembered: this process reads only what follows the next time."""
    with _connections(cluster, settings) as connections:
        if not any(start for start, _ in ranges.values()):
            return connections.newest({tp: end for tp, (_, end) in ranges.items()})
        records = connections.records(ranges)
    by_key: dict[tuple[int, bytes | None], StoredRecord] = {}
    for record in records:
        key = (record.partition.partition, record.key)
        by_key.pop(key, None)  # it stands where it was written last
        by_key[key] = record
    return list(by_key.values())


def login(settings: Mapping[str, Any]) -> dict[str, Any]:
    """By whom, and where, a client with these settings is connected."""
    return {name: value for name, value in settings.items() if name.startswith(_OF_A_LOGIN)}


@contextmanager
def _connections(cluster: Cluster, settings: Mapping[str, Any]) -> Iterator[ClusterConnections]:
    """The cluster's own connections, or others if the consumer logs in otherwise, or elsewhere."""
    if login(settings) == login(cluster.settings):
        yield cluster.connections
        return
    others = ClusterConnections(cluster.alias, settings, cluster.timeout)
    try:
        yield others
    finally:
        others.close()
