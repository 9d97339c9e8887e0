"""What the demo says while it waits, and its table."""

import pytest

from services.demo.verify import Row, describe_progress, format_rows


@pytest.mark.parametrize(
    ("remaining", "active_tasks", "said"),
    [
        (1_000, ["copy"], "2,000 of 3,000 offsets are copied; the run is at copy"),
        (3_000, [], "0 of 3,000 offsets are copied; Airflow has yet to start the next task"),
        (0, ["copy"], "all 3,000 offsets are copied; waiting for the end of a run; the run is at copy"),
    ],
)
def test_says_what_it_waits_for(remaining: int, active_tasks: list[str], said: str) -> None:
    assert describe_progress(3_000, remaining, active_tasks) == said


def test_table_has_a_line_for_each_partition_and_the_sums() -> None:
    lines = format_rows([Row("orders", 0, 1_250, 1_200, 1_100), Row("clicks", 11, 7, 7, 7)])
    assert lines == [
        "topic   partition  source end  watermark  records  lag",
        "------  ---------  ----------  ---------  -------  ---",
        "orders          0       1,250      1,200    1,100   50",
        "clicks         11           7          7        7    0",
        "------  ---------  ----------  ---------  -------  ---",
        "all                                         1,107   50",
    ]
