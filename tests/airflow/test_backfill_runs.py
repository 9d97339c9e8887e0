"""Which run of one of Airflow's backfills tells people what became of all of them (runs that end in any order, again, and beside others),
and which runs write history: those of which somebody asked for it."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.backfill.model import BackfillSummary, TimeInterval

DAY = timedelta(days=1)
FIRST = datetime(2026, 11, 1, tzinfo=UTC)
ALL_EMPTY = {"topics": [], "from": None, "to": None, "history": False, "into": None, "order": None, "dry_run": False}


@dataclass
class Airflow:
    """The runs of a DAG and what their summaries left, and nothing else that a task may ask of Airflow."""

    runs: dict[str, SimpleNamespace] = field(default_factory=dict)
    left: dict[tuple[str, str], Any] = field(default_factory=dict)
    present: SimpleNamespace | None = None

    def add(self, day: int, run_type: str = "backfill") -> None:
        start = FIRST + day * DAY
        self.runs[f"run-{day}"] = SimpleNamespace(
            dag_id="a.backfill",
            run_id=f"run-{day}",
            run_type=run_type,
            state="queued",
            clear_number=0,
            logical_date=start,
            data_interval_start=start,
            data_interval_end=start + DAY,
        )

    def clear(self, day: int) -> None:
        run = self.runs[f"run-{day}"]
        run.state, run.clear_number = "queued", run.clear_number + 1

    def before(self, _dag: str, time: datetime) -> SimpleNamespace | None:
        return max((run for run in self.runs.values() if run.logical_date < time), key=lambda run: run.logical_date, default=None)

    def xcom_pull(self, *, dag_id: str, task_ids: str, run_id: str, key: str) -> Any:
        assert (dag_id, task_ids) == ("a.backfill", "summary")
        return self.left.get((run_id, key))

    def xcom_push(self, key: str, value: Any) -> None:
        assert self.present is not None
        self.left[self.present.run_id, key] = value


@pytest.fixture
def airflow(airflow_home: Path, monkeypatch: pytest.MonkeyPatch) -> Airflow:
    from kafka_mirror.airflow.work import backfill_run

    made = Airflow()
    monkeypatch.setattr(backfill_run, "get_current_context", lambda: {"dag_run": made.present, "ti": made})
    monkeypatch.setattr(backfill_run, "newest_run", made.before)
    return made


@pytest.fixture
def end(airflow: Airflow) -> Callable[..., Any]:
    """Lets the run of a day end; gives the range that it tells, as the numbers of its days."""
    from kafka_mirror.airflow.work.backfill_run import SUMMARY, range_to_tell

    def run(day: int, records: int = 1) -> list[int] | None:
        present = airflow.present = airflow.runs[f"run-{day}"]
        start, length = int(present.data_interval_start.timestamp() * 1000), int(DAY.total_seconds() * 1000)
        summary = BackfillSummary("a->b", TimeInterval(start, start + length), "done", history_records=records)
        present.state = "running"
        airflow.xcom_push(SUMMARY, {"cleared": present.clear_number, "summary": summary.as_document()})
        told = range_to_tell(summary)
        present.state = "success"
        if told is None:
            return None
        return [round((each.times.start / 1000 - FIRST.timestamp()) / DAY.total_seconds()) for each in told.intervals]

    return run


@pytest.mark.parametrize("seed", range(8))
def test_the_last_run_to_end_tells_of_all_days_and_no_other_run_tells_anything(
    airflow: Airflow, end: Callable[..., Any], seed: int
) -> None:
    days = list(range(5))
    for day in days:
        airflow.add(day)
    random.Random(seed).shuffle(days)
    assert [end(day) for day in days] == [None] * 4 + [[0, 1, 2, 3, 4]]


def test_cleared_and_run_again_they_are_told_again(airflow: Airflow, end: Callable[..., Any]) -> None:
    for day in range(3):
        airflow.add(day)
    assert [end(day) for day in (1, 0, 2)] == [None, None, [0, 1, 2]]
    for day in range(3):
        airflow.clear(day)
    assert [end(day) for day in (2, 1, 0)] == [None, None, [0, 1, 2]]


def test_backfill_beside_an_earlier_one_tells_of_its_own_days(airflow: Airflow, end: Callable[..., Any]) -> None:
    for day in (0, 1):
        airflow.add(day)
    assert [end(day) for day in (1, 0)] == [None, [0, 1]]
    for day in (2, 3):
        airflow.add(day)
    assert [end(day) for day in (2, 3)] == [None, [2, 3]]


def test_run_that_was_ended_by_hand_has_no_result_and_holds_nobody_up(airflow: Airflow, end: Callable[..., Any]) -> None:
    for day in range(3):
        airflow.add(day)
    airflow.runs["run-1"].state = "failed"
    assert [end(day) for day in (0, 2)] == [None, [0, 1, 2]]


def test_scheduled_run_tells_nothing_and_is_no_part_of_a_backfill_and_a_run_by_hand_tells_of_itself(
    airflow: Airflow, end: Callable[..., Any]
) -> None:
    airflow.add(0, "scheduled")
    airflow.add(1)
    airflow.add(2)
    airflow.add(9, "manual")
    assert end(0) is None
    assert [end(day) for day in (1, 2)] == [None, [1, 2]]
    assert end(9) == [9]


def test_two_that_end_in_the_same_moment_agree_on_the_earlier_one(airflow: Airflow, end: Callable[..., Any]) -> None:
    """Both have left their summaries, and both their marks, before either looks at the other's mark."""
    from kafka_mirror.airflow.work.backfill_run import NOTIFIED, SUMMARY

    airflow.add(0)
    airflow.add(1)
    end(1)
    other = airflow.runs["run-0"]
    summary = airflow.left["run-1", SUMMARY]["summary"]
    for told_by, silent in ((0, 1),):
        airflow.left["run-0", SUMMARY] = {
            "cleared": 0,
            "summary": {**summary, "times": [int(FIRST.timestamp() * 1000), summary["times"][0]]},
        }
        airflow.left["run-0", NOTIFIED] = {"cleared": 0, "runs": []}
        other.state = "running"
        assert end(silent) is None
        airflow.left["run-1", NOTIFIED] = {"cleared": 0, "runs": []}
        assert end(told_by) == [0, 1]


@pytest.mark.parametrize(
    ("run_type", "params", "asked"),
    [
        ("scheduled", {}, False),
        ("manual", {}, False),
        ("manual", {"topics": ["orders"], "from": "2026-11-01", "to": "2026-11-02"}, False),
        ("manual", {"history": True}, True),
        ("manual", {"into": "history.{remote}-older"}, True),
        ("manual", {"order": "any"}, True),
        ("backfill", {}, True),
        ("backfill", {"topics": ["orders"], "into": "history.{remote}-older"}, True),
    ],
)
def test_history_is_written_where_somebody_asked_for_it(
    airflow_home: Path, monkeypatch: pytest.MonkeyPatch, run_type: str, params: dict[str, Any], asked: bool
) -> None:
    from kafka_mirror.airflow.work import backfill_run

    context = {"params": {**ALL_EMPTY, **params}, "dag_run": SimpleNamespace(run_type=run_type)}
    monkeypatch.setattr(backfill_run, "get_current_context", lambda: context)
    assert backfill_run.history_is_requested() is asked
