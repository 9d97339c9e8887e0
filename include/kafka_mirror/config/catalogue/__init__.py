"""The properties: name, type, default, and what each is for, one file a subject.

The rest of `config` reads them here; the handbook's tables are made from them.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kafka_mirror.config.catalogue.alerts import ALERTS
from kafka_mirror.config.catalogue.mirror import BACKFILL, MIRROR, SCHEMAS
from kafka_mirror.config.catalogue.mm2 import CHECKPOINT, COMMON, CONNECT, DRIVER, HEARTBEAT, INHERITED, SOURCE
from kafka_mirror.config.catalogue.values import Property

CATALOGUE: Mapping[str, Property] = MappingProxyType(
    {prop.name: prop for prop in (*MIRROR, *ALERTS, *BACKFILL, *SCHEMAS, *COMMON, *SOURCE, *CHECKPOINT, *HEARTBEAT, *CONNECT)}
)

OF_THE_FILE: Mapping[str, Property] = MappingProxyType({prop.name: prop for prop in DRIVER})
"""The properties that stand at the top level of the file and belong to no flow."""

TOP_LEVEL = frozenset({prop.name for prop in CATALOGUE.values() if prop.top_level} | {"config.providers"} | set(INHERITED))
"""The names that reach every flow from the top level of the file: those of the three connectors' definitions, and ours."""

CONNECTORS = ("source", "checkpoint", "heartbeat")
"""MirrorMaker 2's three connectors: `Mirror…Connector`. Each gets the same properties and reads those that it defines."""

_OF_SOURCE = {prop.name for prop in SOURCE} | {"task.assigned.partitions"}
_OF_CHECKPOINT = {prop.name for prop in CHECKPOINT} | {"task.assigned.groups"}
_OF_BOTH = {
    *("topics", "topics.exclude", "topic.filter.class", "offset-syncs.topic.location"),
    *("consumer.poll.timeout.ms", "metric.names.formats", "task.index"),
}
_OF_HEARTBEAT = {prop.name for prop in HEARTBEAT}


def connectors_reading(name: str) -> tuple[str, ...]:
    """Returns the connectors that read a property of the catalogue; none for one of the mirror's own."""
    if name.startswith("mirror."):
        return ()
    if name in _OF_BOTH:
        return ("source", "checkpoint")
    for connector, names in zip(CONNECTORS, (_OF_SOURCE, _OF_CHECKPOINT, _OF_HEARTBEAT), strict=True):
        if name in names:
            return (connector,)
    return CONNECTORS
