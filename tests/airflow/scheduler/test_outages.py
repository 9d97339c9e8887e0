"""Runs that lose a broker, or the Airflow that runs them, and go on by themselves."""

from collections.abc import Callable
from pathlib import Path

import pytest

from services.airflow import COMPONENTS, AirflowServices
from services.kafka import KafkaCluster
from services.sinks import HttpSink, MailSink, text
from services.waiting import PATIENCE, eventually
from tests.airflow.scheduler.hangs import Hangs
from tests.airflow.scheduler.in_airflow import GREEN, InAirflow, checked


def test_run_goes_on_by_itself_after_a_broker_outage_of_which_people_are_told(
    flow: Callable[[str], InAirflow], south: KafkaCluster, hook: HttpSink, mails: MailSink, services_directory: Path
) -> None:
    outage = flow("outage")
    freshness = outage.dag.replace(".copy", ".freshness")
    outage.api.wait_for_dags([freshness])
    outage.api.unpause(freshness)
    # The run of this week may have been late on a busy machine: what is said of that is over before this one begins.
    eventually(lambda: checked(outage.api, freshness)["open"] == [], "the end of older alerts")
    posted, mailed = len(hook.posted), len(mails.mails)
    topic = outage.create_topic("orders")
    outage.produce(topic, 300, seed=3)
    south.kill()

    run = outage.api.trigger(outage.dag)
    eventually(lambda: outage.states(run)["plan"] == "up_for_retry", "a second try")
    assert south.bootstrap in outage.api.log(outage.dag, run, "plan")
    # That a run without a date is late is told while it goes on, by what stands in the environment; that a cluster is down, by all.
    mails.wait(lambda found: any(run in text(mail) for mail in found), PATIENCE)
    hook.wait(lambda found: any(run in str(each.body) for each in found), PATIENCE)
    eventually(lambda: [each["kind"] for each in checked(outage.api, freshness)["open"]] == ["ClusterUnreachable"], "the alert")
    south.start()

    assert outage.ended(run) == "success"
    assert outage.states(run) == GREEN
    assert outage.assert_mirrored(topic) == 300
    assert {task["task_id"]: task["try_number"] for task in outage.api.tasks(outage.dag, run)}["plan"] > 1
    eventually(lambda: checked(outage.api, freshness)["open"] == [], "the end of the alert")
    outage.api.pause(freshness)
    late, down = f"{outage.pair.flow}/DeadlineMissed/{outage.dag}", f"{outage.pair.flow}/ClusterUnreachable/{outage.pair.target}"

    def posted_to(path: str) -> list[tuple[str, str]]:
        return [(each.body["alert"]["key"], each.body["event"]) for each in hook.posted[posted:] if each.path == path]

    for key, expected in ((late, ["opened"]), (down, ["opened", "cleared"])):
        assert [event for of_key, event in posted_to("/in_environment") if of_key == key] == expected
        subjects = [str(mail["Subject"]) for mail in mails.mails[mailed:] if f"({key})" in text(mail)]
        assert ["cleared" if "over: " in subject else "opened" for subject in subjects] == expected
    assert posted_to("/in_database") == [(down, "opened"), (down, "cleared")], "the callback of a deadline may not read the database"
    files = [path for path in (services_directory / "scheduler").rglob("*") if path.is_file()]
    assert any(b"tell_missed_run" in path.read_bytes() for path in files)
    assert [path for path in files if b"integration-key" in path.read_bytes()] == [], "no log has the secret"


@pytest.mark.release  # all of Airflow starts twice; a killed Spark job is in tests/faults/test_killed_copies.py
def test_run_that_was_killed_with_its_airflow_is_completed_after_the_restart(
    flow: Callable[[str], InAirflow], airflow: AirflowServices
) -> None:
    restarted = flow("restarted")
    topic = restarted.create_topic("orders")
    restarted.produce(topic, 30_000, seed=4, transactions=500, abort_percent=10)
    wanted = sum(count.records for count in restarted.oracle.count(restarted.pair.source_bootstrap, topic))

    run = restarted.api.trigger(restarted.dag)
    eventually(lambda: restarted.mirrored(topic) > 0, "the first records")
    for component in COMPONENTS:
        airflow.kill(component)
    assert 0 < restarted.mirrored(topic) < wanted
    airflow.start()

    assert restarted.ended(run) == "success"
    assert restarted.assert_mirrored(topic) == wanted
    assert restarted.states(run) == GREEN


@pytest.mark.release  # a worker that hangs is in tests/airflow/test_copy_dag.py
def test_task_and_lane_that_hang_in_c_code_are_ended_with_a_word_and_the_run_goes_on(
    flow: Callable[[str], InAirflow], hangs: Hangs
) -> None:
    hanging = flow("hanging")
    topic = hanging.create_topic("orders")
    hanging.produce(topic, 300, seed=11, transactions=20, abort_percent=10)
    for task in ("plan", "copy"):
        hangs.arm(task)

    run = hanging.api.trigger(hanging.dag)

    assert hanging.ended(run) == "success"
    assert hangs.has_hung("plan")
    assert hangs.has_hung("copy")
    assert {task["task_id"]: task["try_number"] for task in hanging.api.tasks(hanging.dag, run)}["plan"] == 2
    planned, copied = hanging.api.log(hanging.dag, run, "plan"), hanging.api.log(hanging.dag, run, "copy")
    for log in (planned, copied):
        assert "for 4 s no line of its Python ran, so C code holds Python's lock" in log
        assert "in hang_with_the_lock" in log, "where it hung"
    assert f"hangs (the task plan of {hanging.dag} / {run}): " in planned
    assert "Airflow starts try 2 of 4" in planned
    assert hanging.assert_mirrored(topic) > 0
    assert hanging.states(run) == GREEN
