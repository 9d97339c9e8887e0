"""Which runs are late."""

from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest

from kafka_mirror.airflow.work.freshness import is_late
from tests.unit.status.observations import at

ALLOWED = timedelta(seconds=100)


@pytest.mark.parametrize(
    ("queued", "start", "end", "expected"),
    [
        (None, None, None, False),
        (None, 950, None, False),
        (None, 899, None, True),
        (None, 700, 990, False),
        (899, None, None, True),
        (901, None, None, False),
        (880, 950, None, True),
        (880, 950, 990, False),
    ],
    ids=[
        *["waits", "in time", "late", "was late"],
        *["by hand and waits", "by hand and waits in time", "by hand, late by its waiting", "by hand, was late"],
    ],
)
def test_a_run_is_late_while_it_lasts(queued: float | None, start: float | None, end: float | None, expected: bool) -> None:
    def time(seconds: float | None) -> datetime | None:
        return None if seconds is None else at(seconds)

    by, run_after = ("scheduled", at(0)) if queued is None else ("manual", at(queued))
    run = SimpleNamespace(run_type=by, run_after=run_after, clear_number=0, start_date=time(start), end_date=time(end))
    assert is_late(run, ALLOWED, at(1000)) == expected


def test_a_run_of_last_week_that_was_cleared_just_now_is_not_late() -> None:
    run = SimpleNamespace(run_type="manual", run_after=at(-600_000), clear_number=1, start_date=at(950), end_date=None)
    assert not is_late(run, ALLOWED, at(1000))
    assert is_late(run, ALLOWED, at(1051))
