"""The tab on a copy's run: its verdict, what failed, how far it came."""

from html import escape

import pytest

from kafka_mirror.copy.model import Watermark
from kafka_mirror.copy.run_result import DONE, FAILED, NOTHING_TO_DO, Verdict
from kafka_mirror.errors import ErrorReport
from kafka_mirror.status.airflow_view import CopyRun, DagRun
from kafka_mirror.web.page import MAX_ROWS, run_page
from tests.unit.web.made_up import BUSY, FLOW, HOSTILE, NOW, MadeUp, made_up

RUN = "manual__2026-11-24T08:36:38.055571+00:00"
ADDRESS = f"/runs/east-to-west.copy/{RUN}"
ENDED, RUNNING = DagRun(RUN, "success", NOW, NOW), DagRun(RUN, "running", NOW)
GAP = ErrorReport(
    "SourceGap", f"orders-3@7: {HOSTILE}", "orders", 3, 7, next="Run mirror status.", commands=("mirror status",), retriable=False
)


def with_run(run: CopyRun) -> MadeUp:
    made = made_up(BUSY)
    made.airflow.runs[FLOW, RUN] = run
    return made


def test_a_good_run_shows_what_it_copied_and_how_far_each_partition_came() -> None:
    marks = (Watermark("orders", 0, 5000, 4000, 1000, 2000), Watermark("orders", 1, 7, 7, 0, 0), Watermark("clicks", 2, 500, 400, 234, 48))
    verdict = Verdict(DONE, records=1234, bytes=2000, owed=56, notices=("the ledger was thinned",), watermarks=marks)
    text = with_run(CopyRun(ENDED, verdict)).page(ADDRESS)
    assert "Done: 1,234 records (2.0 kB) copied." in text
    assert "56 offsets are left for the next run." in text
    assert "the ledger was thinned" in text
    assert text.index("5,000") < text.index(">500<"), "those with most records come first"
    assert text.count('<tr><th scope="row">') == 2, "a partition without records is not listed"
    assert 'data-refresh="0"' in text


def test_a_failed_run_shows_each_error_with_its_place_and_what_to_do() -> None:
    text = with_run(CopyRun(ENDED, Verdict(FAILED, (GAP,), records=1))).page(ADDRESS)
    assert "Failed: 1 error, 1 record" in text
    assert "orders-3@7</span>" in text
    assert escape(HOSTILE, quote=False) in text.replace("&#34;", '"').replace("&#39;", "'")
    assert HOSTILE not in text
    assert '<code>mirror status</code><button type="button" class="copy" data-line="mirror status">' in text
    assert "retried automatically" not in text


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (CopyRun(RUNNING), "This run goes on; its verdict comes last."),
        (CopyRun(DagRun(RUN, "failed", NOW, NOW)), "ended without a verdict"),
        (
            CopyRun(ENDED, said="east->west: 3 partitions and 40 offsets would be copied."),
            "3 partitions and 40 offsets would be copied.",
        ),
        (
            CopyRun(DagRun(RUN, "failed", NOW, NOW), said="east->west: 2 partitions would be copied. 1 would fail: SourceGap."),
            "1 would fail",
        ),
        (CopyRun(ENDED, Verdict(NOTHING_TO_DO)), "Nothing to do: no partition had new records."),
    ],
    ids=["goes on", "killed", "dry run", "dry and red", "nothing to do"],
)
def test_every_other_run_says_what_it_is(run: CopyRun, said: str) -> None:
    assert said in with_run(run).page(ADDRESS)


def test_the_page_of_a_run_that_goes_on_is_looked_at_again() -> None:
    assert 'data-refresh="5"' in with_run(CopyRun(RUNNING)).page(ADDRESS)


def test_very_many_partitions_are_counted_and_not_listed() -> None:
    marks = tuple(Watermark("orders", number, 9, 9, number + 1, 1) for number in range(MAX_ROWS + 3))
    page = run_page(CopyRun(ENDED, Verdict(DONE, watermarks=marks)))
    assert (len(page.watermarks), page.left_out) == (MAX_ROWS, 3)
    assert page.watermarks[0].partition == MAX_ROWS + 2


def test_who_may_not_read_the_copy_dag_sees_no_verdict_and_other_dags_have_none() -> None:
    made = with_run(CopyRun(ENDED, Verdict(DONE)))
    assert made.client("none").get(ADDRESS).status_code == 403
    assert made.client(None).get(ADDRESS).status_code == 401
    other = made.client().get("/runs/etl/manual__1")
    assert (other.status_code, "etl is none of them" in other.text) == (404, True)
    assert made.client().get("/runs/east-to-west.copy/manual__gone").status_code == 404
