"""What the demo shows beside the copy, once: a group that fails over, an audit, and a gap with its alert."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import topic_selection
from services.airflow_api import AirflowApi
from services.demo.failover import GROUP, TOPIC, FailedOver, fail_over
from services.demo.incident import await_alert, lose_records
from services.demo.progress import Progress
from services.demo.settings import DemoFailed
from services.demo.stack import Stack

_FILE = "scenes.json"


@dataclass(frozen=True)
class Scenes:
    """The results of the scenes."""

    group: FailedOver
    audited: int
    """Records that the audit found equal."""
    alert: str

    def text(self, stack: Stack, flow: Flow) -> str:
        """For the person who started the demo."""
        group, url = self.group, f"{stack.airflow.url}/plugin/mirror"
        return f"""\
Failover: the group {GROUP} read {group.before:,} records of {TOPIC} on {flow.source}, stopped, and resumed on {flow.target}:
          {group.after:,} more records, {group.lost} lost, {group.twice} read twice.
Audit:    {self.audited:,} records compared on both sides, all equal ({flow.dag_id("audit")}).
Alert:    the source lost records of one topic before they were copied, on purpose. {flow.dag_id("copy")} is red until you decide:
          press «accept the gap» on the status page, {url}

{self.alert}"""


def read_scenes(home: Path) -> Scenes | None:
    """The results of an earlier start; None if not every scene was played then."""
    results = _read(home)
    return Scenes(FailedOver(**results["group"]), results["audited"], results["alert"]) if "alert" in results else None


def show(stack: Stack, flow: Flow, api: AirflowApi, progress: Progress) -> Scenes:
    """Plays what was not played before, and stores the results. Raises DemoFailed."""
    results = _read(stack.home)
    if "group" not in results:
        with progress.step(f"the group {GROUP} fails over from {flow.source} to {flow.target}") as say:
            group = fail_over(flow, topic_selection(flow).remote(TOPIC), say)
        if group.lost or group.twice:
            raise DemoFailed(f"The group {GROUP} lost {group.lost} records and read {group.twice} twice.")
        results = _write(stack.home, {**results, "group": asdict(group)})
    with progress.step(f"an audit of both sides by {flow.dag_id('audit')}"):
        results = _write(stack.home, {**results, "audited": _audit(flow, api)})
    with progress.step("a gap on the source, and the alert of it") as say:
        lose_records(flow, api)
        results = _write(stack.home, {**results, "alert": await_alert(flow, api, stack.alerts, say)})
    return Scenes(FailedOver(**results["group"]), results["audited"], results["alert"])


def _audit(flow: Flow, api: AirflowApi) -> int:
    dag = flow.dag_id("audit")
    run = api.trigger(dag)
    if api.wait_for_run(dag, run)["state"] != "success":
        raise DemoFailed(f"The audit found both sides different, or failed:\n{api.errors(dag, run, 'audit')}")
    document: Mapping[str, Any] = api.xcom(dag, run, "audit")
    return int(document["total_source_records"])


def _read(home: Path) -> dict[str, Any]:
    file = home / _FILE
    results: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return results


def _write(home: Path, results: dict[str, Any]) -> dict[str, Any]:
    (home / _FILE).write_text(json.dumps(results), encoding="utf-8")
    return results
