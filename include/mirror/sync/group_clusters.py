"""Both clusters of a flow, opened for work on its consumer groups."""

from collections.abc import Iterator
from contextlib import contextmanager

from mirror.kafka.cluster import Cluster
from mirror.kafka.groups import Groups
from mirror.sync.group_work import GroupWork


@contextmanager
def group_clusters(work: GroupWork) -> Iterator[tuple[Cluster, Cluster, Groups]]:
    """The source, the target, and the source's groups."""
    with (
        Cluster(work.source, work.source_admin, work.seconds) as source,
        Cluster(work.target, work.target_admin, work.seconds) as target,
        Groups(source, work.source_admin) as groups,
    ):
        yield source, target, groups
