"""A flow's two clusters, connected with its resolved client settings, and its ledger and control topic on the target.

It stands here because `kafka` knows no flows, and this is the first room that does.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import replication_policy
from kafka_mirror.errors import MirrorError, SameCluster
from kafka_mirror.formats.offsets.partition import deciders_id
from kafka_mirror.kafka.broker_connection import OF_SOURCE, OF_TARGET
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.topic import Ledger


@contextmanager
def clusters(flow: Flow) -> Iterator[tuple[Cluster, Cluster]]:
    """The flow's source and target. Every call to them ends within `admin.timeout.ms`; nothing is sent before the first call.
    The first one to each raises ClusterTooOld for brokers that the mirror does not copy from or to."""
    seconds = flow.request_seconds
    with (
        Cluster(flow.source, flow.client("source", "admin"), seconds, OF_SOURCE) as source,
        Cluster(flow.target, flow.client("target", "admin"), seconds, OF_TARGET) as target,
    ):
        yield source, target


@contextmanager
def two_clusters(flow: Flow) -> Iterator[tuple[Cluster, Cluster]]:
    """Opens the flow's clusters for steps that write: asks both for their ids. Raises SameCluster, and what a cluster answers."""
    with clusters(flow) as (source, target):
        check_two_clusters(source, target, flow.value("mirror.one.cluster"))
        yield source, target


def check_two_clusters(source: Cluster, target: Cluster, may_be_one: bool) -> None:
    """Raises SameCluster where brokers of both tell one id, unless they `may_be_one` (mirror.one.cluster). Those without one pass."""
    if may_be_one:
        return
    common = (source.ids() & target.ids()) - _NO_IDS
    if common:
        raise SameCluster(source.alias, _describe_address(source), target.alias, _describe_address(target), min(common))


def check_answering_clusters(flow: Flow) -> None:
    """Raises SameCluster, for what does not wait for the brokers of both sides. A cluster that does not answer soon is not judged."""
    if flow.value("mirror.one.cluster"):
        return
    seconds = min(flow.request_seconds, _SOON_SECONDS)
    with (
        Cluster(flow.source, flow.client("source", "admin"), seconds) as source,
        Cluster(flow.target, flow.client("target", "admin"), seconds) as target,
    ):
        try:
            source.cluster_id()
            target.cluster_id()
        except MirrorError:
            return
        check_two_clusters(source, target, may_be_one=False)


_SOON_SECONDS = 5.0
_NO_IDS = frozenset(("", "None"))
"""What brokers without an id of their cluster come to."""


def _describe_address(cluster: Cluster) -> str:
    return str(cluster.settings["bootstrap.servers"])


def ledger_of(flow: Flow, target: Cluster) -> Ledger:
    """The flow's ledger on its target."""
    topic = replication_policy(flow).ledger_topic(flow.source)
    return Ledger(topic, flow.value("mirror.lanes"), target, flow.client("target", "consumer"))


def control_of(flow: Flow, target: Cluster) -> Control:
    """The flow's control topic on its target."""
    topic = replication_policy(flow).control_topic(flow.source)
    transactional_id = deciders_id(flow.source, flow.value("mirror.lanes"))
    return Control(topic, target, flow.client("target", "consumer"), flow.client("target", "producer"), transactional_id)
