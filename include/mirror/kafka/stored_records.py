"""The records of our own topics at the least cost: over the connections that a cluster has anyway, else by a consumer."""

from collections.abc import Iterator, Mapping
from typing import Any

from mirror.formats.batch_records import StoredRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.reader import BoundedReader, Ranges
from mirror.offsets.partition import TopicPartition

_OF_A_LOGIN = ("bootstrap.servers", "security.", "sasl.", "ssl.")


def stored_records(cluster: Cluster, settings: Mapping[str, Any], ranges: Ranges, seconds: float) -> Iterator[StoredRecord]:
    """The committed records of all ranges, in order within each partition. `settings` are those of a consumer of the cluster. Raises as
    `BoundedReader.read`."""
    if login(settings) == login(cluster.settings) and (records := cluster.connections.records(ranges)) is not None:
        yield from records
        return
    for message in BoundedReader(cluster.alias, settings).read(ranges, seconds):
        tp = TopicPartition(message.topic() or "", int(message.partition() or 0))
        yield StoredRecord(tp, int(message.offset() or 0), _bytes(message.key()), _bytes(message.value()))


def newest_records(cluster: Cluster, settings: Mapping[str, Any], ranges: Ranges, seconds: float) -> list[StoredRecord]:
    """The newest committed record of each key in the ranges, in the order in which they were written in each partition. Likewise; of logs
    that are read from their beginning, what this process has read before is not read again."""
    if login(settings) == login(cluster.settings) and not any(start for start, _ in ranges.values()):
        newest = cluster.connections.newest({tp: end for tp, (_, end) in ranges.items()})
        if newest is not None:
            return newest
    by_key: dict[tuple[int, bytes | None], StoredRecord] = {}
    for record in stored_records(cluster, settings, ranges, seconds):
        key = (record.partition.partition, record.key)
        by_key.pop(key, None)  # it stands where it was written last
        by_key[key] = record
    return list(by_key.values())


def login(settings: Mapping[str, Any]) -> dict[str, Any]:
    """By whom, and where, a client with these settings is connected."""
    return {name: value for name, value in settings.items() if name.startswith(_OF_A_LOGIN)}


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)
