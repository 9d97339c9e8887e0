"""What the mirror may not write, as brokers say it without a write."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafka_mirror.errors import AuthorizationRefused, MirrorError
from kafka_mirror.groups.offset_syncs import place
from kafka_mirror.kafka.model import NewTopic
from kafka_mirror.ledger.clusters import control_of, ledger_of, two_clusters

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.kafka.cluster import Cluster


def refused_writes(flow: "Flow", remotes: Iterable[str]) -> list[MirrorError]:
    """The refusals: WRITE on the remote topics that exist and on the mirror's own topics, CREATE of its own that do not exist.

    Brokers are asked what we may do with a topic, and to check a request to create one. They do not tell whether a transactional id is ours
    to use. Raises as `two_clusters`.
    """
    with two_clusters(flow) as (source, target):
        refused = _refusals(target, [ledger_of(flow, target).topic, control_of(flow, target).topic, *remotes])
        if flow.value("emit.offset-syncs.enabled"):
            side, syncs = place(flow)
            refused += _refusals(source if side == "source" else target, [syncs])
    return refused


def _refusals(cluster: "Cluster", names: list[str]) -> list[MirrorError]:
    refused: dict[str, MirrorError] = {}
    existing = cluster.topics(names, refused, operation="WRITE")
    missing = [NewTopic(name, 1, -1, {}) for name in names if name not in existing and name not in refused]
    outcomes = cluster.create_topics(missing, dry_run=True)
    return [*refused.values(), *(outcome for outcome in outcomes.values() if isinstance(outcome, AuthorizationRefused))]
