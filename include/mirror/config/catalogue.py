"""The catalogue: every property of a flow, once, with name, type, default, documentation and what is allowed."""

from collections.abc import Mapping
from types import MappingProxyType

from mirror.config.catalogue_connect import CONNECT
from mirror.config.catalogue_connectors import CHECKPOINT, COMMON, HEARTBEAT, INHERITED, SOURCE
from mirror.config.catalogue_mirror import MIRROR
from mirror.config.property import Property

CATALOGUE: Mapping[str, Property] = MappingProxyType(
    {each.name: each for each in (*MIRROR, *COMMON, *SOURCE, *CHECKPOINT, *HEARTBEAT, *CONNECT)}
)

TOP_LEVEL = frozenset({each.name for each in CATALOGUE.values() if each.top_level} | {"config.providers"} | set(INHERITED))
"""The names that reach every flow from the top level of the file: those of the three connectors' definitions, and ours."""
