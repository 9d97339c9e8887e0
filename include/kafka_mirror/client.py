"""What MirrorMaker 2's `MirrorClient` and `RemoteClusterUtils` tell applications that have the target's bootstrap servers.

It needs no flow and no file: only the cluster to which consumers fail over, where `heartbeats` and checkpoints are. If MirrorMaker 2
or this mirror wrote them, the answers are the same.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple

from kafka_mirror.config import Flow
from kafka_mirror.config.clients.catalogue import CLIENT_KEYS
from kafka_mirror.config.clients.mapping import client_settings
from kafka_mirror.config.policies import policy_of, replication_policy
from kafka_mirror.config.setting import Client, Setting
from kafka_mirror.errors import CheckpointsMissing, ConfigurationError, KafkaFailure, Problem
from kafka_mirror.formats import mm2
from kafka_mirror.formats.mm2 import Fields
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.policy import ReplicationPolicy, replication
from kafka_mirror.policy.java_regex import compile_java

_TARGET = "target"


class OffsetAndMetadata(NamedTuple):
    """Where a group goes on in a remote partition, and the metadata of its commit on the source."""

    offset: int
    metadata: str = ""


Offsets = dict[TopicPartition, OffsetAndMetadata]
"""By remote partition."""


class MirrorClient:
    """One target cluster, as applications see its mirrors. Its methods raise the errors of `kafka_mirror.errors`; none answers in part.

    A context manager; every method opens what it needs, so one client may serve for long.
    """

    def __init__(self, cluster: Mapping[str, str] | Flow, seconds: float = 60.0) -> None:
        """`cluster`: Java properties of the target as MirrorMaker 2's clients take them (`bootstrap.servers`, `security.protocol`,
        `ssl.*`, `sasl.*`, `replication.policy.*`; under `admin.` and `consumer.` those of one client alone), or a flow, whose target is
        meant. `seconds`: how long each method may take.

        Raises ConfigurationError with all that is wrong.
        """
        if isinstance(cluster, Flow):
            self._alias = cluster.target
            self._policy = replication_policy(cluster)
            admin, self._consumer = cluster.client("target", "admin"), cluster.client("target", "consumer")
        else:
            self._alias = _TARGET
            self._policy = policy_of(cluster)
            admin, self._consumer = _settings(cluster, "admin"), _settings(cluster, "consumer")
        self._seconds = seconds
        self._cluster = Cluster(self._alias, admin, seconds)

    def __enter__(self) -> "MirrorClient":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the connections."""
        self._cluster.close()

    @property
    def replication_policy(self) -> ReplicationPolicy:
        """How remote topics are named on this cluster."""
        return self._policy

    def replication_hops(self, alias: str) -> int | None:
        """How many mirrors lie between the cluster `alias` and this one, as heartbeats show it; None if there is no way (Java: −1)."""
        return replication.fewest_hops(self._policy, self._topics(), alias)

    def heartbeat_topics(self) -> frozenset[str]:
        """The topics with heartbeats, this cluster's own and mirrored ones."""
        return frozenset(filter(self._policy.is_heartbeats_topic, self._topics()))

    def checkpoint_topics(self) -> frozenset[str]:
        """The topics with translated group offsets, one for each source."""
        return frozenset(filter(self._policy.is_checkpoints_topic, self._topics()))

    def upstream_clusters(self) -> frozenset[str]:
        """The aliases of all clusters that are mirrored to this one, directly or not, as heartbeats show it."""
        return replication.upstream_clusters(self._policy, self._topics())

    def remote_topics(self, source: str | None = None) -> frozenset[str]:
        """The topics that were mirrored; with `source` only those that came from that cluster directly.

        Under the IdentityReplicationPolicy a topic's name does not say so: without `source.cluster.alias` only heartbeats are found.
        """
        return replication.remote_topics(self._policy, self._topics(), source)

    def remote_consumer_offsets(self, alias: str, group: str) -> Offsets:
        """Where a consumer group of the cluster `alias` goes on here, by remote partition; empty for a group without checkpoints.

        Raises CheckpointsMissing if no mirror translates offsets of that cluster, DeadlineExceeded if not all could be read in time.
        """
        return self._checkpoints(alias, lambda name: name == group).get(group, {})

    def remote_consumer_offsets_matching(self, alias: str, pattern: str | re.Pattern[str]) -> dict[str, Offsets]:
        """Where each group of the cluster `alias` goes on here whose whole id matches, by remote partition.

        `pattern` is a Java pattern as text, or a compiled Python one. Groups without checkpoints are absent. Raises ValueError for a text
        that is no pattern."""
        matches: Callable[[str], object] = compile_java(pattern).matches if isinstance(pattern, str) else pattern.fullmatch
        return self._checkpoints(alias, matches)

    # ------------------------------------------------------------ inside

    def _topics(self) -> list[str]:
        return self._cluster.names()

    def _checkpoints(self, alias: str, wanted: Callable[[str], object]) -> dict[str, Offsets]:
        """The newest checkpoint of every remote partition of the groups that are `wanted`."""
        partition = TopicPartition(self._policy.checkpoints_topic(alias), 0)
        started = time.monotonic()
        if partition.topic not in self._cluster.topics([partition.topic]):
            raise CheckpointsMissing(partition.topic, alias)
        ends = self._cluster.offsets([partition], "latest", committed=True)
        if partition not in ends:
            raise KafkaFailure(f"Cluster '{self._alias}': {partition} has no leader.", topic=partition.topic, partition=0)
        reader = BoundedReader(self._alias, self._consumer)
        remaining = max(self._seconds - (time.monotonic() - started), 0.1)
        return newest(((m.key, m.value) for m in reader.read({partition: (0, ends[partition])}, remaining, in_all=True)), wanted)


def translate_offsets(properties: Mapping[str, str], alias: str, group: str, seconds: float = 30.0) -> Offsets:
    """`RemoteClusterUtils.translateOffsets`: one question to a cluster. Raises as `MirrorClient.remote_consumer_offsets`."""
    with MirrorClient(properties, seconds) as client:
        return client.remote_consumer_offsets(alias, group)


def translate_offsets_matching(
    properties: Mapping[str, str], alias: str, pattern: str | re.Pattern[str], seconds: float = 30.0
) -> dict[str, Offsets]:
    """Translates the offsets of every group whose whole id matches, in one read. Raises ValueError for a text that is no pattern."""
    with MirrorClient(properties, seconds) as client:
        return client.remote_consumer_offsets_matching(alias, pattern)


def newest(records: Iterable[tuple[Any, Any]], wanted: Callable[[str], object]) -> dict[str, Offsets]:
    """Keys and values of checkpoints in their order, as offsets of the groups that are wanted: the last one of each partition counts.

    A record without value takes its partition out. What is no checkpoint is passed over, as MirrorMaker 2 does it.
    """
    by_group: dict[str, Offsets] = {}
    for key, value in records:
        with suppress(ValueError):
            fields = Fields(key)
            group, partition = fields.string(), TopicPartition(fields.string(), fields.number("i"))
            if not wanted(group):
                continue
            if value is None:
                by_group.get(group, {}).pop(partition, None)
            else:
                read = mm2.decode_checkpoint(key, value)
                by_group.setdefault(group, {})[partition] = OffsetAndMetadata(read.downstream, read.metadata)
    return {group: offsets for group, offsets in by_group.items() if offsets}


def _settings(properties: Mapping[str, str], role: str) -> dict[str, Any]:
    """librdkafka's settings of one of the client's clients; of what stands under `admin.` and `consumer.` only what MM2 lets through."""
    texts = {name: properties[f"{role}.{name}"] if f"{role}.{name}" in properties else properties.get(name) for name in CLIENT_KEYS}
    settings = {name: Setting(text, name) for name, text in texts.items() if text is not None}
    if "bootstrap.servers" not in settings:
        problem = Problem("bootstrap.servers", "is missing; it has to say where the brokers of the target are: host:port, …")
        raise ConfigurationError([problem])
    mapped = client_settings(settings, Client("mirror-client", _TARGET, "target", role, files=True))
    if mapped.problems:
        raise ConfigurationError(mapped.problems)
    return mapped.settings
