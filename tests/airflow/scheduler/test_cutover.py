"""A wave by a trigger: the form that Airflow has of it, and a task that is killed in the middle."""

import os
import signal
from collections.abc import Callable

from kafka_mirror.__main__ import main
from kafka_mirror.config import load
from kafka_mirror.cutover.wave.record import RUNNING
from kafka_mirror.cutover.wave.run import read_waves
from services.consumers import read_offsets, set_offsets
from services.oracle import Record
from services.waiting import eventually
from tests.airflow.scheduler.in_airflow import InAirflow


def test_wave_whose_fence_is_killed_goes_on_by_airflows_retry_and_opens(flow: Callable[[str], InAirflow]) -> None:
    moving = flow("moving")
    pair, api, oracle, dag = moving.pair, moving.api, moving.oracle, moving.dag.replace(".copy", ".cutover")
    file = pair.directory / "moving.properties"
    topic, group, writer = moving.create_topic("payments"), f"billing-{pair.mark}", f"writes-{pair.mark}"
    moving.produce(topic, 60, seed=5)
    assert main(["--config", str(file), "copy", "--without-spark", "--flow", pair.flow]) == 0
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 3})
    oracle.open_transaction(pair.source_bootstrap, topic, writer, [Record(b"k", b"v", partition=0)], timeout_ms=600_000)
    api.wait_for_dags([dag])
    form = api.call("GET", f"dags/{dag}/details")["params"]
    assert {name: form[name]["value"] for name in ("topics", "dry_run", "by")} == {"topics": "", "dry_run": True, "by": "hand"}
    api.unpause(dag)

    run = api.trigger(dag, {"topics": topic, "groups": group, "dry_run": False, "quiet_seconds": 1, "wave": "killed"})
    waves = lambda: read_waves(load([file]).flow(pair.flow)).waves  # noqa: E731
    steps = lambda: waves()["killed"].steps if "killed" in waves() else {}  # noqa: E731
    eventually(lambda: "fence" in steps() and steps()["fence"].state == RUNNING, "the fence", 200)
    [fence] = [task for task in api.tasks(dag, run) if task["task_id"] == "fence"]
    os.kill(fence["pid"], signal.SIGKILL)
    oracle.end_transaction(writer, "commit")

    assert api.wait_for_run(dag, run)["state"] == "success"
    tries = {task["task_id"]: task["try_number"] for task in api.tasks(dag, run)}
    assert {name for name, tried in tries.items() if tried > 1} == {"fence"}
    report = api.xcom(dag, run, "report")
    assert (report["state"], report["audited_records"]) == ("open", 61)
    assert report["who"] == f"admin (run {dag} / {run})"
    moved = read_offsets(pair.target_bootstrap, group)
    assert {(tp.topic, tp.partition): offset for tp, offset in moved.items()} == {(pair.remote(topic), 0): 3}
    api.pause(dag)
