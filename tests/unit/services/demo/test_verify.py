"""What the demo says while it waits."""

import pytest

from services.demo.verify import awaited


@pytest.mark.parametrize(
    ("behind", "at_work", "said"),
    [
        (1_000, ["copy"], "2,000 of 3,000 offsets are copied; the run is at copy"),
        (3_000, [], "0 of 3,000 offsets are copied; Airflow has yet to start the next task"),
        (0, ["copy"], "all 3,000 offsets are copied; waiting for the end of a run; the run is at copy"),
    ],
)
def test_says_what_it_waits_for(behind: int, at_work: list[str], said: str) -> None:
    assert awaited(3_000, behind, at_work) == said
