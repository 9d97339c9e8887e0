"""The catalogue: every property of a flow, once, with name, type, default, documentation and what is allowed."""

from collections.abc import Mapping
from types import MappingProxyType

from mirror.config.catalogue_alerts import ALERTS
from mirror.config.catalogue_backfill import BACKFILL
from mirror.config.catalogue_connect import CONNECT
from mirror.config.catalogue_connectors import CHECKPOINT, COMMON, HEARTBEAT, INHERITED, SOURCE
from mirror.config.catalogue_driver import DRIVER
from mirror.config.catalogue_mirror import MIRROR
from mirror.config.catalogue_running import RUNNING
from mirror.config.property import Property

CATALOGUE: Mapping[str, Property] = MappingProxyType(
    {each.name: each for each in (*MIRROR, *RUNNING, *ALERTS, *BACKFILL, *COMMON, *SOURCE, *CHECKPOINT, *HEARTBEAT, *CONNECT)}
)

OF_THE_FILE: Mapping[str, Property] = MappingProxyType({each.name: each for each in DRIVER})
"""The properties that stand at the top level of the file and belong to no flow."""

TOP_LEVEL = frozenset({each.name for each in CATALOGUE.values() if each.top_level} | {"config.providers"} | set(INHERITED))
"""The names that reach every flow from the top level of the file: those of the three connectors' definitions, and ours."""

CONNECTORS = ("source", "checkpoint", "heartbeat")
"""MirrorMaker 2's three connectors: `Mirror…Connector`. Each gets the same properties and reads those that it defines."""

_OF_SOURCE = {each.name for each in SOURCE} | {"task.assigned.partitions"}
_OF_CHECKPOINT = {each.name for each in CHECKPOINT} | {"task.assigned.groups"}
_OF_BOTH = {
    *("topics", "topics.exclude", "topic.filter.class", "offset-syncs.topic.location"),
    *("consumer.poll.timeout.ms", "metric.names.formats", "task.index"),
}
_OF_HEARTBEAT = {each.name for each in HEARTBEAT}


def read_by(name: str) -> tuple[str, ...]:
    """Which of the connectors read a property of the catalogue; none of them one of our own."""
    if name.startswith("mirror."):
        return ()
    if name in _OF_BOTH:
        return ("source", "checkpoint")
    for connector, names in zip(CONNECTORS, (_OF_SOURCE, _OF_CHECKPOINT, _OF_HEARTBEAT), strict=True):
        if name in names:
            return (connector,)
    return CONNECTORS
