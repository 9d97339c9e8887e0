"""An incident for the demo: the source lost records before they were copied, the mirror says so, and a person has to decide."""

import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient, OffsetSpec

from kafka_mirror.config import Flow
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.decide.run import decide
from kafka_mirror.ledger.control_records import PAUSE, RESUME
from services.airflow_api import AirflowApi
from services.demo.settings import DemoFailed
from services.demo.shop import RETURNS

_RECORDS, _LOST = 40, 25
_SECONDS = 400.0


def lose_records(flow: Flow, api: AirflowApi) -> None:
    """Writes records to a topic that the copy leaves out meanwhile, and deletes the oldest of them, as a short retention does."""
    _decide(flow, PAUSE, "the demo writes records to it and deletes the oldest before a copy")
    _await_runs(flow.dag_id("copy"), api)
    bootstrap = flow.find_bootstrap("source")
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(_RECORDS):
        producer.produce(RETURNS, b'{"order":"order-%07d"}' % number, b"customer-%04d" % number, 0)
    producer.flush(120)
    admin = AdminClient({"bootstrap.servers": bootstrap})  # must live until its answers are read
    [end] = admin.list_offsets({Position(RETURNS, 0): OffsetSpec.latest()}).values()
    [deleted] = admin.delete_records([Position(RETURNS, 0, end.result(120).offset - _RECORDS + _LOST)]).values()
    deleted.result(120)
    _decide(flow, RESUME, "the demo has deleted its oldest records; the next copy finds the gap")


def _await_runs(copy: str, api: AirflowApi) -> None:
    """Waits for runs that have read the decisions before the pause: they may still plan the records that come now."""
    for run in api.runs(copy)[:3]:
        if run["state"] not in ("success", "failed"):
            api.wait_for_run(copy, run["dag_run_id"])


def _decide(flow: Flow, decision: str, why: str) -> None:
    decide(flow, DecisionRequest(decision, "make demo", why, RETURNS))


def await_alert(flow: Flow, api: AirflowApi, inbox: Path, wait: Callable[[str], None]) -> str:
    """Waits for the alert of the gap; gives it as it arrived."""
    copy, freshness = flow.dag_id("copy"), flow.dag_id("freshness")
    _wait_until(lambda: any(run["state"] == "failed" for run in api.runs(copy)[:3]), f"a run of {copy} to find the gap", wait)
    deadline = time.monotonic() + _SECONDS
    while not (gaps := [alert for alert in read_alerts(inbox) if alert.startswith("alert") and "SourceGap" in alert]):
        if time.monotonic() > deadline:
            raise DemoFailed(f"No alert of the gap arrived in {_SECONDS:g} s; see the runs of {freshness}.")
        wait(f"{freshness} has sent no alert of the gap yet")
        api.wait_for_run(freshness, api.trigger(freshness))  # it looks each minute by itself
        time.sleep(0.5)
    return gaps[-1]


def read_alerts(inbox: Path) -> list[str]:
    """What the inbox holds, an alert each: its first line is not indented, the others are."""
    texts: list[str] = []
    for line in inbox.read_text(encoding="utf-8").splitlines() if inbox.exists() else []:
        if line.startswith(" ") and texts:
            texts[-1] += f"\n{line}"
        else:
            texts.append(line)
    return texts


def _wait_until(over: Callable[[], bool], what: str, wait: Callable[[str], None]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not over():
        if time.monotonic() > deadline:
            raise DemoFailed(f"The demo waited {_SECONDS:g} s for {what}.")
        wait(f"waiting for {what}")
        time.sleep(0.5)
