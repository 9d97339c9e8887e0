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
    """What came of them."""

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


def scenes(home: Path) -> Scenes | None:
    """What was shown at an earlier start; None if not everything was."""
    kept = _kept(home)
    return Scenes(FailedOver(**kept["group"]), kept["audited"], kept["alert"]) if "alert" in kept else None


def show(stack: Stack, flow: Flow, api: AirflowApi, progress: Progress) -> Scenes:
    """Plays what was not played before, and keeps what came of it. Raises DemoFailed."""
    kept = _kept(stack.home)
    if "group" not in kept:
        with progress.step(f"the group {GROUP} fails over from {flow.source} to {flow.target}") as say:
            group = fail_over(flow, topic_selection(flow).remote(TOPIC), say)
        if group.lost or group.twice:
            raise DemoFailed(f"The group {GROUP} lost {group.lost} records and read {group.twice} twice.")
        kept = _keep(stack.home, {**kept, "group": asdict(group)})
    with progress.step(f"an audit of both sides by {flow.dag_id('audit')}"):
        kept = _keep(stack.home, {**kept, "audited": _audit(flow, api)})
    with progress.step("a gap on the source, and the alert of it") as say:
        lose_records(flow, api)
        kept = _keep(stack.home, {**kept, "alert": await_alert(flow, api, stack.alerts, say)})
    return Scenes(FailedOver(**kept["group"]), kept["audited"], kept["alert"])


def _audit(flow: Flow, api: AirflowApi) -> int:
    dag = flow.dag_id("audit")
    run = api.trigger(dag)
    if api.wait_for_run(dag, run)["state"] != "success":
        raise DemoFailed(f"The audit found both sides different, or failed:\n{api.errors(dag, run, 'audit')}")
    document: Mapping[str, Any] = api.xcom(dag, run, "audit")
    return int(document["total_source_records"])


def _kept(home: Path) -> dict[str, Any]:
    file = home / _FILE
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def _keep(home: Path, kept: dict[str, Any]) -> dict[str, Any]:
    (home / _FILE).write_text(json.dumps(kept), encoding="utf-8")
    return kept
