"""Whether events of lineage are as OpenLineage publishes them.

Always by the classes that OpenLineage generates from its schemas. With OPENLINEAGE_SPEC (the folder `spec` of a checkout of OpenLineage) by
the schemas themselves too: `OPENLINEAGE_SPEC=../OpenLineage/spec pytest tests/airflow/test_lineage.py`.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
from jsonschema import Draft202012Validator
from openlineage.client.facet_v2 import (
    data_quality_assertions_dataset,
    input_statistics_input_dataset,
    output_statistics_output_dataset,
)
from referencing import Registry, Resource

_CLASSES: dict[str, Any] = {
    "inputStatistics": input_statistics_input_dataset.InputStatisticsInputDatasetFacet,
    "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
    "dataQualityAssertions": data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet,
}
_OF_EVERY_FACET = {"_producer", "_schemaURL"}


def faults(events: Iterable[dict[str, Any]]) -> list[str]:
    """What is not as it is published, one sentence each."""
    found = [fault for event in events for facet in _facets(event) for fault in _by_class(*facet)]
    spec = os.environ.get("OPENLINEAGE_SPEC")
    return found + (_by_schemas(events, Path(spec)) if spec else [])


def _facets(event: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    kinds = (("inputs", "inputFacets"), ("outputs", "outputFacets"))
    return [facet for datasets, kind in kinds for dataset in event[datasets] for facet in dataset.get(kind, {}).items()]


def _by_class(name: str, facet: dict[str, Any]) -> list[str]:
    if name not in _CLASSES:
        return [f"{name} is none of our facets"]
    kind = _CLASSES[name]
    fields = {field.name: field for field in attrs.fields(kind)}
    unknown = facet.keys() - fields.keys() - _OF_EVERY_FACET
    absent = {field.name for field in fields.values() if field.default is attrs.NOTHING} - facet.keys()
    is_of_it = facet["_schemaURL"] == kind._get_schema()
    return [
        *(f"{name}.{field} is not in OpenLineage's class" for field in sorted(unknown)),
        *(f"{name}.{field} is missing" for field in sorted(absent)),
        *([] if is_of_it else [f"{name} says that it follows {facet['_schemaURL']}"]),
    ]


def _by_schemas(events: Iterable[dict[str, Any]], spec: Path) -> list[str]:
    documents = [json.loads(file.read_text()) for file in (spec / "OpenLineage.json", *(spec / "facets").glob("*.json"))]
    registry: Registry[Any] = Registry().with_resources((each["$id"], Resource.from_contents(each)) for each in documents)
    whole = next(each["$id"] for each in documents if each["$id"].endswith("/OpenLineage.json"))
    found = []
    for event in events:
        found += [error.message for error in _validator(f"{whole}#/$defs/RunEvent", registry).iter_errors(event)]
        for name, facet in _facets(event):
            found += [f"{name}: {error.message}" for error in _validator(facet["_schemaURL"], registry).iter_errors(facet)]
    return found


def _validator(reference: str, registry: "Registry[Any]") -> Draft202012Validator:
    return Draft202012Validator({"$ref": reference}, registry=registry, format_checker=Draft202012Validator.FORMAT_CHECKER)
