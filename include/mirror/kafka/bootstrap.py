"""Asking a cluster by one of its bootstrap servers at a time, where what a broker said is in doubt.

A broker that is cut off from its cluster, and not from us, goes on answering as the leader that it was. It names the other brokers as
well, so a client that begins there asks one of them or it, by chance. The others have struck it from their list: who begins at one of them
never asks it.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from mirror.errors import DeadlineExceeded, MirrorError, StaleAnswer
from mirror.kafka.cluster import Cluster
from mirror.kafka.servers import beginning_at, servers
from mirror.offsets.partition import TopicPartition

Result = TypeVar("Result")

_SECONDS = 5.0
"""How long one server may take: most clusters that are asked this way have a broker that does not answer."""


def asking_on(settings: Mapping[str, Any], look: Callable[[Mapping[str, Any]], Result]) -> Result:
    """What `look` gives with these client settings. What one broker told another one may never reach, so after DeadlineExceeded or
    StaleAnswer it looks again with each bootstrap server alone, until one gives it all. Raises the first error if none does."""
    try:
        return look(settings)
    except (DeadlineExceeded, StaleAnswer) as late:
        first = late
    number = len(servers(settings))
    for turn in range(1, number + 1 if number > 1 else 1):
        try:
            return look(beginning_at(settings, turn))
        except MirrorError as error:
            if not error.retriable:
                raise
    raise first


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
