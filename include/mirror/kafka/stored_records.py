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


def login(settings: Mapping[str, Any]) -> dict[str, Any]:
    """By whom, and where, a client with these settings is connected."""
    return {name: value for name, value in settings.items() if name.startswith(_OF_A_LOGIN)}


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)
