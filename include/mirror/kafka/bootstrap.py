"""Asking a cluster by one of its bootstrap servers at a time, where what a broker said is in doubt.

A broker that is cut off from its cluster, and not from us, goes on answering as the leader that it was. It names the other brokers as
well, so a client that begins there asks one of them or it, by chance. The others have struck it from their list: who begins at one of them
never asks it.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from mirror.errors import MirrorError
from mirror.kafka.cluster import Cluster
from mirror.kafka.servers import beginning_at, servers
from mirror.offsets.partition import TopicPartition

_SECONDS = 5.0
"""How long one server may take: most clusters that are asked this way have a broker that does not answer."""


def furthest_ends(
    alias: str, settings: Mapping[str, Any], partitions: Iterable[TopicPartition], seconds: float
) -> dict[TopicPartition, int]:
    """The end of each partition, uncommitted records included, as the broker has it that has most: every bootstrap server is asked. What a
    deposed leader has, the true one has too. A server that does not answer is left out."""
    wanted, ends = list(partitions), dict[TopicPartition, int]()
    for turn in range(1, len(servers(settings)) + 1):
        with suppress(MirrorError), Cluster(alias, beginning_at(settings, turn), min(seconds, _SECONDS)) as cluster:
            for tp, end in cluster.offsets(wanted, "latest").items():
                ends[tp] = max(end, ends.get(tp, end))
    return ends
