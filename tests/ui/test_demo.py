"""`make demo` and `make stop` as a user meets them, Airflow's UI in a real browser included."""

import re
import subprocess
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kafka_mirror.config import load
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.decide.run import decide
from kafka_mirror.ledger.control_records import ACCEPT_GAP
from services.demo.settings import DOWNSTREAM, FLOW
from services.demo.shop import RETURNS
from services.waiting import eventually
from tests.ui.conftest import ROOT

pytestmark = [pytest.mark.release, pytest.mark.timeout(1200)]  # the whole demo is started, which a busy machine takes minutes for

DAG = "east-to-west.copy"


def found(pattern: str, text: str) -> "re.Match[str]":
    match = re.search(pattern, text, re.MULTILINE)
    assert match, f"{pattern} is not in:\n{text}"
    return match


def test_demo_compares_both_sides_and_reports_each_partition(report: str) -> None:
    equal = found(r"^([\d,]+) records are equal on both sides", report)[1].replace(",", "")
    assert int(equal) > 20_000
    found(r"^topic +partition +source end +watermark +records +lag$", report)
    rows = re.findall(r"^(orders|payments|clicks) +(\d+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)$", report, re.MULTILINE)
    numbers = [[int(cell.replace(",", "")) for cell in row[1:]] for row in rows]
    assert len(rows) == 13
    assert all(end - watermark == lag and 0 < records <= watermark for _, end, watermark, records, lag in numbers)
    assert sum(row[3] for row in numbers) == int(equal)


def test_demo_shows_a_failover_an_audit_and_an_alert(demo: Any, report: str) -> None:
    read = r"read [\d,]+ records of payments on east, stopped, and resumed on west:\n +[\d,]+ more records"
    found(rf"^Failover: the group billing {read}, 0 lost, 0 read twice\.$", report)
    audited = found(r"^Audit: +([\d,]+) records compared on both sides, all equal", report)[1].replace(",", "")
    assert int(audited) > 20_000
    alert = found(r"^alert +east->west: .+$", report)[0]
    assert alert in demo.stack.alerts.read_text(encoding="utf-8")
    found(r"^ +SourceGap, since ", report)


def test_a_dag_that_reads_a_topic_starts_by_the_last_hour_that_is_complete(demo: Any, report: str) -> None:
    assert f"/dags/{DOWNSTREAM}" in report
    api = demo.stack.airflow.api()
    run = eventually(lambda: next(iter(api.runs(DOWNSTREAM)), None), "a run of the reader", 300)
    assert api.wait_for_run(DOWNSTREAM, run["dag_run_id"])["state"] == "success"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d", run["partition_key"])


def test_every_line_to_try_by_hand_runs_as_it_is_pasted(demo: Any, report: str) -> None:
    pasted = re.findall(r"^  (export PYTHONPATH=include MIRROR_CONFIG=.+|\.venv/bin/python -m kafka_mirror .+)$", report, re.MULTILINE)
    assert [line.split()[3:4] for line in pasted[1:]] == [["status"], ["audit"], ["translate"], ["decide"]]
    for line in pasted[1:]:
        shown = f"{line} --dry-run" if " decide " in line else line  # the gap is decided in Airflow's UI, below
        done = subprocess.run(["bash", "-c", f"{pasted[0]}; {shown}"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode in (0, 1), f"{shown}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr


def test_copy_is_triggered_from_the_ui_and_succeeds(demo: Any, report: str, page: Page) -> None:
    decide(load([demo.stack.configuration]).flow(FLOW), DecisionRequest(ACCEPT_GAP, "the test", "they are not needed", RETURNS))
    login = found(r"user (\S+), password (\S+)", report)
    page.goto(found(rf"http://127\.0\.0\.1:\d+/dags/{DAG}", report)[0])
    page.fill("input[name=username]", login[1])
    page.fill("input[name=password]", login[2])
    page.click("button[type=submit]")
    expect(page.get_by_role("heading", name=DAG)).to_be_visible()
    page.get_by_role("button", name="Trigger").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Trigger", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.wait_for_url(re.compile("/runs/manual__"))

    api = demo.stack.airflow.api()
    [run] = [run["dag_run_id"] for run in api.runs(DAG) if run["run_type"] == "manual"]
    assert api.wait_for_run(DAG, run)["state"] == "success"
    assert set(api.states(DAG, run)) == {"plan", "copy"}
    expect(page.get_by_text("Success", exact=True).first).to_be_visible()
    expect(page.get_by_text("Running", exact=True)).to_have_count(0)

    page.locator("a[href$='/plugin/mirror-run']").click()
    tab = page.frame_locator("iframe")
    expect(tab.get_by_role("heading", level=1)).to_contain_text(re.compile("Done: [\\d,]+ records|Nothing to do"))
    expect(tab.get_by_text(f"Run {run} of {FLOW}")).to_be_visible()


def test_second_demo_reuses_what_runs_and_stop_ends_all_of_it(demo: Any, report: str) -> None:
    again = demo.command()
    assert "already running: the producer, the retention, Airflow, Spark, the inbox of alerts, the Kafka clusters, PostgreSQL" in again
    assert found(r"user \S+, password \S+", again)[0] in report
    demo.command("stop")
    assert not any(part.running() for part in demo.stack.parts())
    assert "No demo is running." in demo.command("stop")
