"""A DAG of a person's own beside the mirror's: it waits in the triggerer, and all tasks have their links."""

from collections.abc import Callable
from datetime import UTC, datetime

from services.airflow import AirflowServices
from services.waiting import eventually
from tests.airflow.scheduler.in_airflow import InAirflow


def test_a_dag_waits_in_the_triggerer_without_a_worker_and_outlives_the_triggerer(
    airflow: AirflowServices, flow: Callable[[str], InAirflow]
) -> None:
    arriving = flow("arriving")
    api, own = arriving.api, "own.waits"
    topic = arriving.create_topic("orders")
    arriving.produce(topic, 60, seed=1)
    api.wait_for_dags([own])
    api.unpause(own)
    run = api.trigger(own, {"topics": topic, "up_to": datetime.now(UTC).isoformat()})
    eventually(lambda: api.states(own, run)["arrived"] == "deferred", "a sensor without a slot")

    airflow.kill("triggerer")
    airflow.start("triggerer")
    copy = api.trigger(arriving.dag)
    assert arriving.ended(copy) == "success"
    assert api.wait_for_run(own, run)["state"] == "success"
    assert api.xcom(own, run, "arrived")["offsets"] == 60

    page = f"{airflow.url}/mirror/flows/{arriving.pair.source}-to-{arriving.pair.target}"
    assert api.links(own, run, "arrived") == {"Mirror": page, "Runbook": None, "Spark UI": None}
    assert api.links(own, run, "after") == {}, "a task that has nothing to do with the mirror"
    for task in api.states(arriving.dag, copy):
        assert api.links(arriving.dag, copy, task)["Mirror"] == page
        assert api.xcom_keys(arriving.dag, copy, task) == ["return_value"], "a link costs no row"


def test_a_failed_task_links_to_its_error_and_a_group_step_to_its_page(flow: Callable[[str], InAirflow]) -> None:
    arriving = flow("arriving")
    api, own = arriving.api, "own.waits"
    api.wait_for_dags([own])
    api.unpause(own)
    run = api.trigger(own, {"topics": "no-such-topic", "up_to": datetime.now(UTC).isoformat()})
    assert api.wait_for_run(own, run)["state"] == "failed"
    assert str(api.links(own, run, "arrived")["Runbook"]).endswith("/mirror/runbook#usageerror")
    for kind in ("checkpoints", "refresh-topics"):
        dag = arriving.dag.replace(".copy", f".{kind}")
        api.unpause(dag)
        step = api.trigger(dag)
        assert api.wait_for_run(dag, step)["state"] == "success"
        assert str(api.links(dag, step, kind.replace("-", "_"))["Mirror"]).endswith(f"/mirror/flows/{dag.partition('.')[0]}")
        api.pause(dag)
