"""Of which flow a task is, as the api-server sees it: without the code of its DAG file."""

from types import SimpleNamespace

import pytest

from kafka_mirror.airflow.links import airflow_name_of


@pytest.mark.parametrize(
    ("operator", "dag_id", "name"),
    [
        (SimpleNamespace(), "east-to-west.copy", "east-to-west"),
        (SimpleNamespace(), "east-to-us.north.heartbeats", "east-to-us.north"),
        (SimpleNamespace(flow="east->west"), "orders.daily", "east-to-west"),
        (SimpleNamespace(partial_kwargs={"flow": "east->west"}), "orders.daily", "east-to-west"),
        (SimpleNamespace(), "mirror.configuration", ""),
        (SimpleNamespace(), "orders", ""),
    ],
)
def test_flow_is_the_operators_own_or_that_of_the_mirrors_dag(operator: SimpleNamespace, dag_id: str, name: str) -> None:
    assert airflow_name_of(operator, dag_id) == name
