"""What Airflow's OpenLineage provider hears of a copy and of an audit, by its file transport, out of `airflow dags test`."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from openlineage.client.naming.dataset import Kafka
from openlineage.client.serde import Serde

from kafka_mirror.airflow.work.lineage import SCHEMAS, Lineage, TopicLineage, facets, lineage_of_audit
from kafka_mirror.audit.model import DIFFERENT, EQUAL, UNPROVEN, AuditResult, PartitionAudit
from kafka_mirror.config import Flow
from kafka_mirror.config.flow import FlowName
from kafka_mirror.topics.schemas.plan import SchemaVersion, SubjectName
from services.flows import ClusterPair
from services.oracle import Oracle, Record
from tests.airflow.lineage_schemas import faults

ROOT = Path(__file__).parents[2]
RECORDS = 20


@pytest.fixture
def events_of(pair: ClusterPair, another_airflow_home: Path, mm2_properties: Callable[..., Path], tmp_path: Path) -> Callable[[str], Any]:
    """Runs one of the pair's DAGs by the command line; gives the events of the task of the same name, in their order."""
    told = tmp_path / "lineage.json"
    transport = {"type": "file", "log_file_path": str(told), "append": True}
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(another_airflow_home),
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
        "MIRROR_CONFIG": str(mm2_properties()),
    }

    def run(what: str) -> Any:
        dag_id = FlowName(pair.source, pair.target).dag_id(what)
        command = [sys.executable, "-m", "airflow", "dags", "test", dag_id]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
        assert told.exists(), done.stdout + done.stderr
        events = [json.loads(line) for line in told.read_text().splitlines()]
        of_task = [event for event in events if event["job"]["name"] == f"{dag_id}.{what}"]
        assert faults(of_task) == []
        return of_task

    return run


def test_a_facet_that_is_not_as_published_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENLINEAGE_SPEC", raising=False)
    schema = "https://openlineage.io/spec/facets/1-0-0/InputStatisticsInputDatasetFacet.json"
    facet = {"_producer": "p", "_schemaURL": schema, "rowCounts": 1}
    event = {"inputs": [{"inputFacets": {"inputStatistics": facet, "more": facet}}], "outputs": []}
    assert faults([event]) == [
        "inputStatistics.rowCounts is not in OpenLineage's class",
        f"inputStatistics says that it follows {schema}",
        "more is none of our facets",
    ]


def dataset(bootstrap: str, topic: str) -> dict[str, str]:
    """A topic as OpenLineage's own class names it."""
    named = Kafka(*bootstrap.split(",")[0].split(":"), topic)
    return {"namespace": named.get_namespace(), "name": named.get_name()}


def without_facets(datasets: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{"namespace": each["namespace"], "name": each["name"]} for each in datasets]


class MadeUpFlow:
    """A flow of which only the clusters' addresses are asked."""

    def find_bootstrap(self, side: str) -> str:
        return f"{side}-1:9092, {side}-2:9092"


def test_an_audit_that_compared_nothing_of_a_topic_asserts_nothing_and_one_different_partition_is_enough() -> None:
    states = {"orders": (EQUAL, EQUAL), "clicks": (EQUAL, DIFFERENT), "gone": (UNPROVEN, UNPROVEN), "half": (UNPROVEN, EQUAL)}
    partitions = tuple(
        PartitionAudit(topic=topic, partition=number, remote=f"east.{topic}", state=state, source_records=2, target_records=1)
        for topic, of_topic in states.items()
        for number, state in enumerate(of_topic)
    )
    found = lineage_of_audit(cast(Flow, MadeUpFlow()), AuditResult("east->west", datetime.now(UTC), partitions))
    assert found is not None
    assert (found.source, found.target, found.writes) == ("kafka://source-1:9092", "kafka://target-1:9092", False)
    assert {each.topic: each.is_equal for each in found.topics} == {"orders": True, "clicks": False, "gone": None, "half": True}
    assert {(each.source_records, each.target_records) for each in found.topics} == {(4, 2)}


def test_history_is_written_to_its_own_topics() -> None:
    copied = Lineage("kafka://a:1", "kafka://b:1", (TopicLineage("orders", "east.orders", 1, 1), TopicLineage("x", "east.x", 1, 1)), True)
    assert [each.remote for each in copied.redirect({"orders": "east.orders.history"}).topics] == ["east.orders.history", "east.x"]


def test_both_topics_have_the_ids_that_their_registries_know() -> None:
    there = SchemaVersion(SubjectName(".", "orders-value"), 2, 7, '"long"')
    here = replace(there, name=SubjectName(".copy", "orders-value"))
    copied = TopicLineage("orders", "east.orders", 1, 1, schemas=(there,), remote_schemas=(here,))
    told = facets(Lineage("kafka://a:1", "kafka://b:1", (copied, TopicLineage("clicks", "east.clicks", 1, 1)), writes=True))
    event = {name: [Serde.to_dict(each) for each in getattr(told, name)] for name in ("inputs", "outputs")}
    assert [each["facets"].get(SCHEMAS, {}).get("subjects") for each in (*event["inputs"], *event["outputs"])] == [
        [{"subject": "orders-value", "version": 2, "id": 7}],
        None,
        [{"subject": ":.copy:orders-value", "version": 2, "id": 7}],
        None,
    ]
    facet = event["inputs"][0]["facets"][SCHEMAS]
    assert facet.keys() == {"_producer", "_schemaURL", "subjects"}
    assert facet["_schemaURL"].endswith("OpenLineage.json#/$defs/DatasetFacet"), "which allows further fields"


def test_a_copy_tells_topics_and_counts_and_an_audit_tells_whether_they_are_equal(
    pair: ClusterPair, oracle: Oracle, events_of: Callable[[str], Any]
) -> None:
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic, 2)
    oracle.produce(pair.source_bootstrap, topic, RECORDS, seed=1)
    source, target = dataset(pair.source_bootstrap, topic), dataset(pair.target_bootstrap, pair.remote(topic))

    *_, copied = events_of("copy")

    assert copied["eventType"] == "COMPLETE"
    assert (without_facets(copied["inputs"]), without_facets(copied["outputs"])) == ([source], [target])
    read, written = copied["inputs"][0]["inputFacets"]["inputStatistics"], copied["outputs"][0]["outputFacets"]["outputStatistics"]
    assert (read["rowCount"], written["rowCount"]) == (RECORDS, RECORDS)
    assert read["size"] == written["size"] > 0

    oracle.produce_records(pair.target_bootstrap, pair.remote(topic), [Record(value=b"not ours")])
    *_, audited = events_of("audit")

    assert audited["eventType"] == "FAIL"
    assert without_facets(audited["inputs"]) == [source, target]
    [assertion] = audited["inputs"][1]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert (assertion["assertion"], assertion["success"]) == ("equal_to_source", False)
    assert audited["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] == RECORDS
    assert audited["outputs"] == []
