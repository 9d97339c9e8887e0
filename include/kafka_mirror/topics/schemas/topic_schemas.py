"""The schemas of topics as their registry knows them now, for those who only want to name them (lineage)."""

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kafka_mirror.errors import MirrorError
from kafka_mirror.policy.schema_contexts import parse_contexts
from kafka_mirror.topics.schemas.model import DEFAULT_CONTEXT, SchemaVersion, SubjectName
from kafka_mirror.topics.schemas.plan import Contexts
from kafka_mirror.topics.schemas.run import source_registry

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

log = logging.getLogger(__name__)

_PARTS = ("key", "value")


def newest_schemas(flow: "Flow", topics: Iterable[str]) -> Mapping[str, tuple[SchemaVersion, ...]]:
    """The newest version of the subjects `<topic>-key` and `<topic>-value` in the source's registry, of topics that have any.

    Nothing for a flow without registries, and, with a warning, where the registry does not answer: no record depends on it.
    """
    if not flow.value("mirror.schemas.source.url"):
        return {}
    subjects = {topic: [SubjectName(DEFAULT_CONTEXT, f"{topic}-{part}") for part in _PARTS] for topic in topics}
    try:
        with source_registry(flow) as registry:
            newest = registry.newest(name for names in subjects.values() for name in names)
    except MirrorError as error:
        log.warning("%s: the lineage names no schemas: %s", flow.name, error)
        return {}
    by_topic = {topic: tuple(version for name in names if (version := newest[name]) is not None) for topic, names in subjects.items()}
    return {topic: versions for topic, versions in by_topic.items() if versions}


def on_target(flow: "Flow", versions: Iterable[SchemaVersion]) -> tuple[SchemaVersion, ...]:
    """The schemas as the target's registry is to have them: of the same ids, in the contexts that the flow gives them there."""
    contexts = Contexts(parse_contexts(flow.value("mirror.schemas.contexts")))
    return tuple(map(contexts.move, versions))
