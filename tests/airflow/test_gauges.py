"""Figures of a flow arrive at an OpenTelemetry collector by Airflow's own metrics."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from services.ports import LOOPBACK

DOCUMENT = {
    "lag_records": 12,
    "lag_seconds": 3.5,
    "lag_bytes": None,
    "behind_offsets": 14,
    "oldest_seconds": 60.0,
    "watermark_records": 100,
    "open": [{}],
}
UNSEEN = dict.fromkeys(DOCUMENT) | {"open": []}
EMITTER = """
import json, sys
from airflow.sdk.observability.metrics.stats_utils import get_stats_factory
from airflow.sdk.observability import stats
from kafka_mirror.airflow.work.freshness import emit_gauges
from kafka_mirror.config.flow import FlowName
if hasattr(stats, "initialize"):  # as Airflow's task runner does, in 3.3 and in 3.2
    stats.initialize(factory=get_stats_factory(), export_legacy_names=True)
else:
    stats.Stats.initialize(factory=get_stats_factory(stats.Stats))
emit_gauges(FlowName("east.a", "west"), json.loads(sys.argv[1]))
"""


@pytest.fixture
def collector() -> Iterator[tuple[int, list[ExportMetricsServiceRequest]]]:
    """Its port, and what it was sent."""
    received: list[ExportMetricsServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(ExportMetricsServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], received
        server.shutdown()


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            DOCUMENT,
            {
                "lag_records": 14,
                "lag_seconds": 60,
                "served_lag_records": 12,
                "served_lag_seconds": 3.5,
                "copied_records": 100,
                "up": 1,
                "alerts": 1,
            },
        ),
        (UNSEEN, {"up": 0, "alerts": 0}),
    ],
    ids=("seen", "not seen"),
)
def test_an_opentelemetry_collector_gets_what_is_known_of_a_flow(
    tmp_path: Path, collector: tuple[int, list[ExportMetricsServiceRequest]], document: dict[str, object], expected: dict[str, float]
) -> None:
    port, received = collector
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__METRICS__OTEL_ON": "True",
        "AIRFLOW__METRICS__OTEL_HOST": LOOPBACK,
        "AIRFLOW__METRICS__OTEL_PORT": str(port),
    }
    subprocess.run([sys.executable, "-c", EMITTER, json.dumps(document)], check=True, env=environment)
    metrics = [metric for request in received for of in request.resource_metrics for scope in of.scope_metrics for metric in scope.metrics]
    found = {}
    for metric in metrics:
        [point] = metric.gauge.data_points
        assert {tag.key: tag.value.string_value for tag in point.attributes} == {"source": "east.a", "target": "west"}
        found[metric.name] = point.as_double if point.HasField("as_double") else point.as_int
    assert found == {f"airflow.mirror.{name}.east__a-to-west": value for name, value in expected.items()}
