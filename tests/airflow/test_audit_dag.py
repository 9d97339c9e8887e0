"""`audit` with real brokers, in this process: its colour, what it leaves in XCom, and when it starts Spark."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from services.flows import ClusterPair
from services.oracle import Oracle, Record


def test_an_audit_is_green_or_red_by_the_first_difference_and_starts_spark_only_for_much(
    pair: ClusterPair, oracle: Oracle, mm2_properties: Callable[..., Path], run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafka_mirror.__main__ import main
    from kafka_mirror.airflow.operators import MirrorAuditOperator
    from kafka_mirror.audit.compare_ranges import compare_audit_ranges
    from kafka_mirror.audit.reader import audit_context

    submitted: list[int] = []

    def run_job(_function: Any, flow: Any, work: Any, step: str, _by: str) -> Any:
        assert step == "audit"
        submitted.append(len(work.stretches))
        return compare_audit_ranges(audit_context(flow, work.show_payload), work.stretches)

    monkeypatch.setattr(MirrorAuditOperator, "spark_runner", lambda *_: SimpleNamespace(run=run_job))
    file = mm2_properties(extra={"source->target.mirror.lanes": "4", "source->target.mirror.audit.spark.threshold": "30"})
    monkeypatch.setenv("MIRROR_CONFIG", str(file))
    dag = f"{pair.source}-to-{pair.target}.audit"

    small, large = pair.topic("small"), pair.topic("large")
    for topic, records in ((small, 20), (large, 60)):
        oracle.create_topic(pair.source_bootstrap, topic)
        oracle.produce(pair.source_bootstrap, topic, records, seed=records)
    assert main(["--config", str(file), "copy", "--without-spark"]) == 0

    run = run_dag(dag)
    left = run.xcom["audit"]
    assert (run.state, left["total_state"], left["total_source_records"], left["columns"]["topic"]) == (
        "success",
        "equal",
        80,
        [large, small],
    )
    assert submitted == [2]

    oracle.produce_records(pair.source_bootstrap, large, [Record(b"later", b"not copied yet")])
    assert run_dag(dag).state == "success"
    run = run_dag(dag, {"complete": True})
    assert (run.state, run.xcom["audit"]["total_state"], run.xcom["audit"]["total_backlog_offsets"]) == ("failed", "equal", 1)
    assert run_dag(dag, {"topics": small, "complete": True}).state == "success"

    submitted.clear()
    oracle.produce_records(pair.target_bootstrap, pair.remote(small), [Record(b"x", b"y")])
    run = run_dag(dag, {"topics": small})
    left = run.xcom["audit"]
    assert (run.state, run.tasks, left["total_state"], left["total_different"]) == ("failed", {"audit": "failed"}, "different", 1)
    assert (left["differences"][0]["kind"], left["differences"][0]["topic"]) == ("foreign record", small)
    assert run_dag(dag, {"topics": large, "from": "2001-01-01", "to": "2001-01-02"}).xcom["audit"]["total_source_records"] == 0
    assert submitted == [], "what is little is compared in the task"
