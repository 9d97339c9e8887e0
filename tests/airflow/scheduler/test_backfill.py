"""Airflow's own Backfill over a range of days."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from services.airflow_api import AirflowApiError
from services.oracle import Record, Side
from services.sinks import HttpSink
from tests.airflow.scheduler.in_airflow import InAirflow
from tests.waiting import PATIENCE, eventually

FIRST = datetime(2026, 11, 1, tzinfo=UTC)


class FiveDays:
    """Airflow's Backfill over five days of a flow, as often as it is asked for."""

    def __init__(self, filled: InAirflow) -> None:
        self.dag = filled.dag.replace(".copy", ".backfill")
        self._api = filled.api
        self._begun: int | None = None

    def backfill(self, reprocess: str) -> list[dict[str, Any]]:
        """The five runs of a backfill when all have ended, the oldest day first."""
        self._end_the_last()
        days = {"from_date": FIRST.isoformat(), "to_date": (FIRST + timedelta(days=4)).isoformat()}
        asked = {"dag_id": self.dag, **days, "reprocess_behavior": reprocess, "max_active_runs": 3, "run_backwards": True}
        since = datetime.now(UTC).isoformat()
        self._begun = self._api.call("POST", "backfills", json=asked)["id"]
        runs: list[dict[str, Any]] = eventually(lambda: self._ended(since), "the end of five runs", 400)
        return runs

    def copied(self, runs: list[dict[str, Any]], part: str) -> int:
        """Records that these runs copied in `live` or in `history`."""
        return sum(self._api.xcom(self.dag, run["dag_run_id"], part)["records"] for run in runs)

    def _ended(self, since: str) -> list[dict[str, Any]]:
        runs = [run for run in self._api.runs(self.dag) if run["run_type"] == "backfill" and (run["start_date"] or "") > since]
        done = [run for run in runs if run["state"] in ("success", "failed")]
        return sorted(done, key=lambda run: run["logical_date"]) if len(done) == 5 else []

    def _end_the_last(self) -> None:
        """Airflow looks every half a minute whether all runs of a backfill have ended, and takes no other one before."""
        if self._begun is None:
            return
        try:
            self._api.call("PUT", f"backfills/{self._begun}/cancel")
        except AirflowApiError as error:
            assert "409" in str(error), error  # it has looked


@pytest.mark.timeout(1800)  # two times five runs
def test_backfill_of_five_days_by_the_rest_api_copies_each_record_once_is_told_once_and_copies_nothing_again(
    flow: Callable[[str], InAirflow], hook: HttpSink
) -> None:
    filled = flow("filled")
    days, topic, begin = FiveDays(filled), filled.create_topic("orders"), int(FIRST.timestamp() * 1000)
    rows = [Record(b"%d" % n, b"%d" % n, timestamp=begin + n * 3_600_000 // 2, partition=n % 3) for n in range(240)]
    late = [Record(b"late", b"%d" % n, timestamp=begin + n * 3_600_000, partition=n % 3) for n in range(6)]
    filled.oracle.produce_records(filled.pair.source_bootstrap, topic, [*rows[:200], *late, *rows[200:]])
    into = f"history.{filled.pair.remote(topic)}"
    filled.api.wait_for_dags([days.dag])
    filled.api.unpause(days.dag)
    of_yesterday = lambda: [run["state"] for run in filled.api.runs(days.dag)] == ["success"]  # noqa: E731
    eventually(of_yesterday, "the run of yesterday by itself", 250)

    runs = days.backfill("none")

    assert [run["state"] for run in runs] == ["success"] * 5
    assert (days.copied(runs, "live"), days.copied(runs, "history")) == (0, 246)
    source = Side(filled.pair.source_bootstrap, topic)
    assert filled.oracle.assert_mirrored(source, Side(filled.pair.target_bootstrap, into)).records == 246
    assert [filled.api.xcom(days.dag, run["dag_run_id"], "audit")["total_state"] for run in runs] == ["equal"] * 5
    hook.wait(lambda found: any(each.path == "/of_backfills" for each in found), PATIENCE)
    ends = filled.oracle.count(filled.pair.target_bootstrap, into)

    again = days.backfill("completed")

    assert [run["dag_run_id"] for run in again] == [run["dag_run_id"] for run in runs], "cleared in place"
    assert [run["state"] for run in again] == ["success"] * 5
    assert (days.copied(again, "live"), days.copied(again, "history")) == (0, 0)
    assert filled.oracle.count(filled.pair.target_bootstrap, into) == ends
    of_backfills = lambda: [each.body["alert"]["summary"] for each in hook.posted if each.path == "/of_backfills"]  # noqa: E731
    eventually(lambda: len(of_backfills()) > 1, "the second message")
    said = "[2026-11-01T00:00:00Z, 2026-11-06T00:00:00Z): 5 of 5 intervals done"
    assert of_backfills() == [f"Backfill of {filled.pair.flow} {said}, {records} records copied." for records in (246, 0)]
