"""The demo's table."""

from services.demo.report import table
from services.demo.verify import Row


def test_table_has_a_line_for_each_partition_and_the_sums() -> None:
    lines = table([Row("orders", 0, 1_250, 1_200, 1_100), Row("clicks", 11, 7, 7, 7)])
    assert lines == [
        "topic   partition  source end  watermark  records  lag",
        "------  ---------  ----------  ---------  -------  ---",
        "orders          0       1,250      1,200    1,100   50",
        "clicks         11           7          7        7    0",
        "------  ---------  ----------  ---------  -------  ---",
        "all                                         1,107   50",
    ]
