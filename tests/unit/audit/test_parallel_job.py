"""A large audit on Spark: by spark-submit or on a Spark that stays, the same work."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from kafka_mirror.audit import parallel
from kafka_mirror.audit.copied_ranges import AuditRange, Outcome
from kafka_mirror.audit.model import Difference, LeftOut
from kafka_mirror.audit.reader import AuditContext
from kafka_mirror.cli.audit import comparer
from kafka_mirror.cli.parser import parser
from kafka_mirror.config import Flow
from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.errors import SparkServerUnavailable
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.spark_session import SparkOfThisProcess

SERVER = "sc://127.0.0.1:15002"
CONTEXT = AuditContext("east", "west", 4, ClientSettings({}, {}, {}, {}))


def stretch(number: int) -> AuditRange:
    tp = TopicPartition(f"topic {number}", 0)
    return AuditRange(tp, tp, 0, 100, 0, 100, 100, 100)


STRETCHES = [stretch(number) for number in range(3)]


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> SparkOfThisProcess:
    server = SparkOfThisProcess()
    monkeypatch.setattr("kafka_mirror.spark.connect.flow_session", server.flow_session)
    monkeypatch.setattr("kafka_mirror.spark.run.submit", server.submit)

    def compare(_context: Any, ranges: Sequence[AuditRange]) -> list[Outcome]:
        return [Outcome(stretch=each, source_records=1, target_records=1) for each in ranges]

    monkeypatch.setattr(parallel, "compare_audit_ranges", compare)
    return server


def test_an_audit_by_hand_runs_on_the_server_that_is_named(make_flow: Callable[..., Flow], spark: SparkOfThisProcess) -> None:
    outcomes = parallel.compare_by_hand(make_flow(), SERVER, "audit orders")(CONTEXT, STRETCHES)
    assert sorted(each.stretch.source.topic for each in outcomes) == ["topic 0", "topic 1", "topic 2"]
    assert (spark.sessions, spark.jobs) == ([("audit", "hand: audit orders", SERVER)], [])
    assert spark.tasks[0] == (parallel.ON_WORKERS, 2, 2), "the stretches in shares, one for each core"


def test_an_audit_by_hand_runs_on_the_server_of_the_flows_connection(
    make_flow: Callable[..., Flow], spark: SparkOfThisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": "15002", "password": "t/1"}
    monkeypatch.setattr("kafka_mirror.config.references._lookup", [lambda _connection, field: of(fields, field)])
    parallel.compare_by_hand(make_flow({"mirror.spark.connection": "mirror_spark"}), None, "audit")(CONTEXT, STRETCHES)
    assert spark.sessions == [("audit", "hand: audit", f"{SERVER}/;token=t%2F1")]


def of(fields: dict[str, str], field: str) -> str:
    if field not in fields:
        raise ValueError(f"there is no {field}")
    return fields[field]


def test_another_master_gets_a_job(make_flow: Callable[..., Flow], spark: SparkOfThisProcess) -> None:
    for master in ("spark://one:7077", None):
        outcomes = parallel.compare_by_hand(make_flow(), master, "audit")(CONTEXT, STRETCHES)
        assert sorted(outcomes, key=lambda each: each.stretch.source) == [
            Outcome(stretch=each, source_records=1, target_records=1) for each in STRETCHES
        ]
    assert spark.jobs == [("mirror audit east->west", "spark://one:7077"), ("mirror audit east->west", "local[*,4]")]
    assert spark.sessions == []


def test_what_a_job_found_comes_back_through_files_as_it_was() -> None:
    different = replace(STRETCHES[0], source_left=((3, 5),), runs=(Run(0, 10, 7),), lenient=True)
    difference = Difference("foreign record", "topic 0", 0, "east.topic 0", None, 7)
    error = SparkServerUnavailable("127.0.0.1:15002", "connection refused").report()
    outcomes = (Outcome(stretch=different, error=error, source_records=3, left_out=(LeftOut(1, 3, "why"),), difference=difference),)
    assert from_document(tuple[Outcome, ...], to_document(outcomes)) == outcomes


def test_a_server_that_is_gone_is_the_audits_error(make_flow: Callable[..., Flow], spark: SparkOfThisProcess) -> None:
    spark.failure = SparkServerUnavailable("127.0.0.1:15002", "connection refused")
    with pytest.raises(SparkServerUnavailable):
        parallel.compare_by_hand(make_flow(), SERVER, "audit")(CONTEXT, STRETCHES)


@pytest.mark.parametrize(
    ("command", "by"),
    [
        (["audit"], "audit"),
        (["audit", "--topics", "orders,bills", "--from", "2026-11-20", "--to", "2026-11-21"], "audit orders bills 2026-11-20 2026-11-21"),
        (["backfill", "--from", "2026-11-20", "--to", "2026-11-21"], "backfill 2026-11-20 2026-11-21"),
    ],
)
def test_the_command_line_audits_on_the_server_and_interrupts_no_other_question(
    command: list[str], by: str, make_flow: Callable[..., Flow], spark: SparkOfThisProcess
) -> None:
    flow = make_flow()
    options = parser().parse_args([*command, "--master", SERVER])
    assert len(comparer(flow, options)(CONTEXT, STRETCHES)) == 3
    assert spark.sessions == [("audit", f"hand: {by}", SERVER)]
