"""The metrics endpoint of Airflow's own api-server."""

from collections.abc import Callable

import httpx
from prometheus_client.parser import text_string_to_metric_families

from services.airflow import AirflowServices
from services.waiting import PATIENCE, eventually
from tests.airflow.scheduler.flows import METRICS_TOKEN
from tests.airflow.scheduler.in_airflow import InAirflow


def test_prometheus_reads_the_metrics_of_a_flow_whose_cluster_an_airflow_connection_names(
    airflow: AirflowServices, flow: Callable[[str], InAirflow]
) -> None:
    """The api-server itself looks at the clusters: it is no task, and finds the connection in its database all the same."""
    triggered = flow("triggered")
    ours = {"source": triggered.pair.source, "target": triggered.pair.target}

    def scrape(token: str) -> httpx.Response:
        return httpx.get(f"{airflow.url}/mirror/metrics", headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE)

    def seen() -> dict[str, float]:
        answer = scrape(METRICS_TOKEN)
        assert answer.status_code == 200
        families = text_string_to_metric_families(answer.text)
        found = [each for family in families for each in family.samples if each.labels == ours]
        return {each.name: each.value for each in found if ("mirror_up", 1.0) in [(one.name, one.value) for one in found]}

    assert scrape("nobody's").status_code == 401
    metrics = eventually(seen, "figures of the flow")
    assert metrics["mirror_lag_records"] >= 0
    assert 0 <= metrics["mirror_snapshot_age_seconds"] < 300
