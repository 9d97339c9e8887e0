"""What a task read and wrote, for OpenLineage: Kafka topics by OpenLineage's naming (`kafka://host:port`, topic), with counts.

Airflow's OpenLineage provider asks an operator for it when its task has ended, well or not. Where the provider is not installed it
is not asked, and nothing is collected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from kafka_mirror.airflow.assets import namespace
from kafka_mirror.audit.model import DIFFERENT, UNPROVEN, AuditResult, PartitionAudit
from kafka_mirror.config import Flow
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.copy.model import LaneResult
from kafka_mirror.topics.schemas.plan import SchemaVersion

_PROVIDER = "airflow.providers.openlineage"
SCHEMAS = "mirror_schemaRegistry"
"""The name of our own facet: `subjects`, each with `subject`, `version` and `id`."""
EQUAL_TO_SOURCE = "equal_to_source"
"""The name of the assertion that an audit makes of a remote topic."""


@dataclass(frozen=True)
class TopicLineage:
    """One topic of the source and its remote topic: records on both sides, bytes where they are known, and what an audit says (None: it
    was no audit, or it could compare nothing)."""

    topic: str
    remote: str
    source_records: int
    target_records: int
    bytes: int | None = None
    is_equal: bool | None = None
    schemas: tuple[SchemaVersion, ...] = ()
    """The newest schemas of the topic in the source's registry, and the same in the target's."""
    remote_schemas: tuple[SchemaVersion, ...] = ()


@dataclass(frozen=True)
class Lineage:
    """What one task did. `source` and `target` are the clusters as OpenLineage calls them; `writes`: whether remote topics were written."""

    source: str
    target: str
    topics: tuple[TopicLineage, ...]
    writes: bool

    def redirect(self, remotes: Mapping[str, str]) -> "Lineage":
        """This lineage with other remote topics, by the topic of the source."""
        return replace(self, topics=tuple(replace(topic, remote=remotes.get(topic.topic, topic.remote)) for topic in self.topics))


def is_wanted() -> bool:
    """Whether anybody can ask: the provider is installed."""
    return find_spec("airflow.providers") is not None and find_spec(_PROVIDER) is not None


def lineage_of_copy(flow: Flow, results: Iterable[LaneResult]) -> Lineage | None:
    """What the lanes of a run copied; None where it cannot be asked for."""
    if not is_wanted():
        return None
    from kafka_mirror.topics.schemas.run import find_newest_schemas, translate_to_target  # no task needs them without the provider

    records: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for mark in (mark for result in results for mark in result.watermarks if mark.records):
        records[mark.topic] = records.get(mark.topic, 0) + mark.records
        sizes[mark.topic] = sizes.get(mark.topic, 0) + mark.bytes
    selection, schemas = topic_selection(flow), find_newest_schemas(flow, records)
    topics = tuple(
        TopicLineage(
            topic,
            selection.remote(topic),
            count,
            count,
            sizes[topic],
            schemas=schemas.get(topic, ()),
            remote_schemas=translate_to_target(flow, schemas.get(topic, ())),
        )
        for topic, count in sorted(records.items())
    )
    return Lineage(namespace(flow, "source"), namespace(flow, "target"), topics, writes=True)


def lineage_of_audit(flow: Flow, result: AuditResult) -> Lineage | None:
    """What an audit compared, and whether it was equal; None where it cannot be asked for."""
    if not is_wanted():
        return None
    pairs: dict[tuple[str, str], list[PartitionAudit]] = {}
    for partition in result.partitions:
        pairs.setdefault((partition.topic, partition.remote), []).append(partition)
    topics = tuple(
        TopicLineage(
            topic,
            remote,
            sum(partition.source_records for partition in partitions),
            sum(partition.target_records for partition in partitions),
            is_equal=None
            if all(partition.state == UNPROVEN for partition in partitions)
            else not any(partition.state == DIFFERENT for partition in partitions),
        )
        for (topic, remote), partitions in sorted(pairs.items())
    )
    return Lineage(namespace(flow, "source"), namespace(flow, "target"), topics, writes=False)


def facets(lineage: Lineage) -> Any:
    """A lineage in the provider's classes: datasets with statistics, and of an audit an assertion about each remote topic."""
    # The provider, and its client, are an optional package.
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import InputDataset, OutputDataset
    from openlineage.client.facet_v2 import (
        DatasetFacet,
        data_quality_assertions_dataset,
        input_statistics_input_dataset,
        output_statistics_output_dataset,
    )

    def describe(versions: Iterable[SchemaVersion]) -> dict[str, Any]:
        """The facet of a dataset whose schemas a registry knows; none of another one."""
        subjects = [{"subject": str(version.name), "version": version.version, "id": version.id} for version in versions]
        return {SCHEMAS: DatasetFacet().with_additional_properties(subjects=subjects)} if subjects else {}

    statistics = input_statistics_input_dataset.InputStatisticsInputDatasetFacet
    inputs, outputs = [], []
    for topic in lineage.topics:
        read: dict[str, Any] = {"inputStatistics": statistics(rowCount=topic.source_records, size=topic.bytes)}
        inputs.append(InputDataset(lineage.source, topic.topic, inputFacets=read, facets=describe(topic.schemas)))
        if lineage.writes:
            written = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=topic.target_records, size=topic.bytes)
            facets_there = describe(topic.remote_schemas)
            outputs.append(OutputDataset(lineage.target, topic.remote, outputFacets={"outputStatistics": written}, facets=facets_there))
            continue
        compared: dict[str, Any] = {"inputStatistics": statistics(rowCount=topic.target_records)}
        if topic.is_equal is not None:
            assertion = data_quality_assertions_dataset.Assertion(assertion=EQUAL_TO_SOURCE, success=topic.is_equal)
            compared["dataQualityAssertions"] = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(assertions=[assertion])
        inputs.append(InputDataset(lineage.target, topic.remote, inputFacets=compared))
    return OperatorLineage(inputs=inputs, outputs=outputs)
