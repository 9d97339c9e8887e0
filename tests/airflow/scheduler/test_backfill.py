"""Airflow's own Backfill over a range of days."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from services.airflow_api import AirflowApiError
from services.oracle import Record, Side
from services.sinks import HttpSink
from services.waiting import PATIENCE, eventually
from tests.airflow.scheduler.in_airflow import InAirflow

FIRST = datetime(2026, 11, 1, tzinfo=UTC)


class Backfills:
    """Airflow's Backfills over days of a flow, one after the other."""

    def __init__(self, filled: InAirflow) -> None:
        self.dag = filled.dag.replace(".copy", ".backfill")
        self._api = filled.api
        self._begun: int | None = None

    def backfill(self, reprocess: str, first: datetime = FIRST, days: int = 3, backwards: bool = True, **conf: Any) -> list[dict[str, Any]]:
        """The runs of a backfill over so many days when all have ended, the oldest day first."""
        self._end_the_last()
        asked = {
            "dag_id": self.dag,
            "from_date": first.isoformat(),
            "to_date": (first + timedelta(days=days - 1)).isoformat(),
            "reprocess_behavior": reprocess,
            "max_active_runs": 3,
            "run_backwards": backwards,
            "dag_run_conf": conf,
        }
        since = datetime.now(UTC).isoformat()
        self._begun = self._api.call("POST", "backfills", json=asked)["id"]
        runs: list[dict[str, Any]] = eventually(lambda: self._ended(since, days), f"the end of {days} runs", 400, longest=2)
        return runs

    def copied(self, runs: list[dict[str, Any]], part: str) -> int:
        """Records that these runs copied in `live` or in `history`."""
        return sum(self._api.xcom(self.dag, run["dag_run_id"], part)["records"] for run in runs)

    def audits(self, runs: list[dict[str, Any]]) -> list[str]:
        """What the audit of each run found."""
        return [self._api.xcom(self.dag, run["dag_run_id"], "audit")["total_state"] for run in runs]

    def _ended(self, since: str, days: int) -> list[dict[str, Any]]:
        runs = [run for run in self._api.runs(self.dag) if run["run_type"] == "backfill" and (run["start_date"] or "") > since]
        done = [run for run in runs if run["state"] in ("success", "failed")]
        return sorted(done, key=lambda run: run["logical_date"]) if len(done) == days else []

    def _end_the_last(self) -> None:
        """Airflow looks every half a minute whether all runs of a backfill have ended, and takes no other one before."""
        if self._begun is None:
            return
        try:
            self._api.call("PUT", f"backfills/{self._begun}/cancel")
        except AirflowApiError as error:
            assert "409" in str(error), error  # it has looked


@pytest.mark.timeout(1800)  # two times three runs
def test_backfill_of_three_days_by_the_rest_api_copies_each_record_once_is_told_once_and_copies_nothing_again(
    flow: Callable[[str], InAirflow], hook: HttpSink
) -> None:
    filled = flow("filled")
    days, topic, begin = Backfills(filled), filled.create_topic("orders"), int(FIRST.timestamp() * 1000)
    rows = [Record(b"%d" % n, b"%d" % n, timestamp=begin + n * 3_600_000 // 2, partition=n % 3) for n in range(144)]
    late = [Record(b"late", b"%d" % n, timestamp=begin + n * 3_600_000, partition=n % 3) for n in range(6)]
    filled.oracle.produce_records(filled.pair.source_bootstrap, topic, [*rows[:120], *late, *rows[120:]])
    into = f"history.{filled.pair.remote(topic)}"
    filled.api.wait_for_dags([days.dag])
    filled.api.unpause(days.dag)
    of_yesterday = lambda: [run["state"] for run in filled.api.runs(days.dag)] == ["success"]  # noqa: E731
    eventually(of_yesterday, "the run of yesterday by itself", 250, longest=2)

    runs = days.backfill("none")

    assert [run["state"] for run in runs] == ["success"] * 3
    assert (days.copied(runs, "live"), days.copied(runs, "history")) == (0, 150)
    source = Side(filled.pair.source_bootstrap, topic)
    assert filled.oracle.assert_mirrored(source, Side(filled.pair.target_bootstrap, into)).records == 150
    assert days.audits(runs) == ["equal"] * 3
    hook.wait(lambda found: any(each.path == "/of_backfills" for each in found), PATIENCE)
    ends = filled.oracle.count(filled.pair.target_bootstrap, into)

    again = days.backfill("completed")

    assert [run["dag_run_id"] for run in again] == [run["dag_run_id"] for run in runs], "cleared in place"
    assert [run["state"] for run in again] == ["success"] * 3
    assert (days.copied(again, "live"), days.copied(again, "history")) == (0, 0)
    assert filled.oracle.count(filled.pair.target_bootstrap, into) == ends
    of_backfills = lambda: [each.body["alert"]["summary"] for each in hook.posted if each.path == "/of_backfills"]  # noqa: E731
    eventually(lambda: len(of_backfills()) > 1, "the second message")
    said = "[2026-11-01T00:00:00Z, 2026-11-04T00:00:00Z): 3 of 3 intervals done"
    assert of_backfills() == [f"Backfill of {filled.pair.flow} {said}, {records} records copied." for records in (150, 0)]


def last_days(filled: InAirflow, name: str, count: int) -> tuple[str, datetime]:
    """A topic with 24 records of each of so many days before today, and the first of these days."""
    topic, first = filled.create_topic(name), datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=count)
    begin = int(first.timestamp() * 1000)
    rows = [Record(b"%d" % n, b"%d" % n, timestamp=begin + n * 3_600_000, partition=n % 3) for n in range(24 * count)]
    filled.oracle.produce_records(filled.pair.source_bootstrap, topic, rows)
    return topic, first


def equal(filled: InAirflow, topic: str, into: str, start: dict[int, int] | None = None, end: dict[int, int] | None = None) -> int:
    """The witness finds the history in a topic equal to the source's; gives how many records there are."""
    source = Side(filled.pair.source_bootstrap, topic, start=start or {}, end=end or {})
    return int(filled.oracle.assert_mirrored(source, Side(filled.pair.target_bootstrap, into)).records)


@pytest.mark.release
@pytest.mark.timeout(1800)  # a dozen runs
def test_scheduled_run_writes_no_history_so_that_days_may_be_asked_for_in_any_order_and_what_was_written_before_has_a_way_on(
    flow: Callable[[str], InAirflow],
) -> None:
    filled = flow("unasked")
    days, api = Backfills(filled), filled.api
    (topic, first), (older, _) = (last_days(filled, name, 3) for name in ("orders", "payments"))
    into = f"history.{filled.pair.remote(topic)}"
    api.wait_for_dags([days.dag])

    api.unpause(days.dag)

    [yesterday] = eventually(
        lambda: [run for run in api.runs(days.dag) if run["state"] in ("success", "failed")], "yesterday's run", 250, longest=2
    )
    assert (yesterday["run_type"], yesterday["state"]) == ("scheduled", "success")
    wanted = {"resolve": "success", "live": "success", "history": "skipped", "audit": "success", "summary": "success"}
    assert api.states(days.dag, yesterday["dag_run_id"]) == wanted
    assert filled.oracle.topic_id(filled.pair.target_bootstrap, into) is None
    said = api.log(days.dag, yesterday["dag_run_id"], "history")
    assert "this run was not asked for it" in said and "history = true" in said and "python -m kafka_mirror backfill" in said
    assert f"Left out: {topic}-0" in api.log(days.dag, yesterday["dag_run_id"], "audit")

    runs = days.backfill("none", first, 2, topics=[topic])
    assert ([run["state"] for run in runs], days.copied(runs, "history"), days.audits(runs)) == (["success"] * 2, 48, ["equal"] * 2)
    runs = days.backfill("completed", first, 3, backwards=False, topics=[topic])
    assert ([run["state"] for run in runs], days.copied(runs, "history"), days.audits(runs)) == (["success"] * 3, 24, ["equal"] * 3)
    assert equal(filled, topic, into) == 72

    # An installation of before: its newest day was written by itself.
    into, aside = f"history.{filled.pair.remote(older)}", f"history.{filled.pair.remote(older)}-older"
    [run] = days.backfill("completed", first + timedelta(days=2), 1, topics=[older])
    assert (run["state"], days.copied([run], "history")) == ("success", 24)

    refused = days.backfill("completed", first, 2, topics=[older])
    assert [run["state"] for run in refused] == ["failed"] * 2
    errors = api.xcom(days.dag, refused[0]["dag_run_id"], "history")["errors"]
    assert {error["code"] for error in errors} == {"HistoryOutOfOrder"}
    tries = {task["task_id"]: task["try_number"] for task in api.tasks(days.dag, refused[0]["dag_run_id"])}
    said = api.errors(days.dag, refused[0]["dag_run_id"], "summary", tries["summary"])
    assert f"--topics {older} --from {first:%Y-%m-%d}T00:00:00Z" in said
    assert "--into 'history.{remote}-older'" in said and "into = history.{remote}-older" in said

    way_on = days.backfill("completed", first, 2, topics=[older], into="history.{remote}-older")
    assert ([run["state"] for run in way_on], days.copied(way_on, "history"), days.audits(way_on)) == (["success"] * 2, 48, ["equal"] * 2)
    cut = dict.fromkeys(range(3), 16)
    assert (equal(filled, older, aside, end=cut), equal(filled, older, into, start=cut)) == (48, 24)

    whole = days.backfill("completed", first, 3)
    assert ([run["state"] for run in whole], days.copied(whole, "history"), days.audits(whole)) == (["success"] * 3, 0, ["equal"] * 3)
    audit = api.trigger(filled.dag.replace(".copy", ".audit"), {"topics": older})
    api.unpause(filled.dag.replace(".copy", ".audit"))
    assert api.wait_for_run(filled.dag.replace(".copy", ".audit"), audit)["state"] == "success"
    found = api.xcom(filled.dag.replace(".copy", ".audit"), audit, "audit")
    assert (found["total_state"], found["total_source_records"], found["total_target_records"]) == ("equal", 72, 72)
    assert {into, aside} <= set(found["columns"]["remote"]), "it says what stands in which topic"
    api.pause(days.dag)
