"""Where a flow is read from: the files that its DAG file names, or those of MIRROR_CONFIG."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_mirror.airflow import flow_files
from kafka_mirror.airflow.deadlines import tell_missed_run
from kafka_mirror.airflow.flow_files import configured_flow, files_of, set_files
from kafka_mirror.airflow.heartbeat_trigger import HeartbeatTrigger
from kafka_mirror.config import load
from kafka_mirror.errors import UsageError

LINES = "clusters={0},hub\n{0}.bootstrap.servers=localhost:1\nhub.bootstrap.servers=localhost:2\n{0}->hub.enabled=true\n"


@dataclass(frozen=True)
class Beats:
    """What the trigger hands back."""

    beats: int = 1


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test says of files is over with it."""
    monkeypatch.setattr(flow_files, "_files", {})


@pytest.fixture
def team(tmp_path: Path) -> Callable[[str], Path]:
    """Writes the file of a team's flow into the hub."""

    def write(name: str) -> Path:
        file = tmp_path / f"{name}.properties"
        file.write_text(LINES.format(name))
        return file

    return write


def test_a_flow_is_read_from_the_files_of_its_dag_file_whatever_the_process_has(
    team: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    paris, tokyo = team("paris"), team("tokyo")
    monkeypatch.setenv("MIRROR_CONFIG", str(tokyo))
    set_files(load([paris]).all_names, [str(paris)])
    assert configured_flow("paris->hub").file == str(paris)
    assert configured_flow("tokyo->hub").file == str(tokyo)
    set_files(load([paris]).all_names, [])
    with pytest.raises(UsageError, match="no enabled flow 'paris->hub'"):
        configured_flow("paris->hub")


def test_a_triggerer_that_reads_no_dag_file_is_told_the_files(team: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    paris = team("paris")
    monkeypatch.setenv("MIRROR_CONFIG", "")
    _, arguments = HeartbeatTrigger("paris->hub", 1.0, [str(paris)]).serialize()
    assert arguments == {"flow": "paris->hub", "until": 1.0, "files": [str(paris)]}
    beats = []
    monkeypatch.setattr("kafka_mirror.topics.heartbeats.beat_until", lambda flow, *_: beats.append(flow.file) or Beats())
    HeartbeatTrigger(**arguments)._beat(None)  # type: ignore[arg-type]
    assert beats == [str(paris)]


def test_the_callback_of_a_deadline_finds_the_flows_notifiers_in_its_files(
    team: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    paris = team("paris")
    monkeypatch.setenv("MIRROR_CONFIG", "")
    read = []
    monkeypatch.setattr(
        "kafka_mirror.airflow.deadlines.send_by", lambda _connections, alert: read.append(configured_flow(alert.flow)) or {}
    )
    run = {"dag_id": "paris-to-hub.copy", "dag_run_id": "one", "state": "running", "logical_date": None}
    context = {"dag_run": run, "deadline": {"deadline_time": "2026-11-21T10:15:00Z"}}
    tell_missed_run("paris->hub", ["pager"], 900, context, [str(paris)])
    assert [flow.file for flow in read] == [str(paris)]
    assert files_of("paris->hub") == (str(paris),)
