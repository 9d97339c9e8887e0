"""Which runs are late, and which were, unseen, between two checks."""

from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest

from mirror.airflow.late_runs import is_late
from tests.unit.alerts.seen import at

ALLOWED = timedelta(seconds=100)


@pytest.mark.parametrize(
    ("start", "end", "unseen_since", "expected"),
    [
        (None, None, 0, False),
        (950, None, 0, False),
        (899, None, None, True),
        (700, 990, 940, True),
        (700, 930, 940, False),
        (700, 990, None, False),
        (930, 990, 940, False),
    ],
    ids=["waits", "in time", "late", "late and just over", "over before the last check", "over and known", "was in time"],
)
def test_a_run_is_late_while_it_lasts_and_once_if_nobody_saw_it(
    start: float | None, end: float | None, unseen_since: float | None, expected: bool
) -> None:
    def time(seconds: float | None) -> datetime | None:
        return None if seconds is None else at(seconds)

    run = SimpleNamespace(start_date=time(start), end_date=time(end))
    assert is_late(run, ALLOWED, at(1000), time(unseen_since)) == expected
