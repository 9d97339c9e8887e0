"""How a difference is shown."""

from services.comparison import Comparison

RECORD = {"partition": 0, "offset": 7, "timestamp": 5, "timestamp_type": "CreateTime", "key": "6b", "value": "76", "headers": [["h", None]]}
EQUAL = {
    "partition": 0,
    "equal": 2,
    "source_records": 2,
    "target_records": 2,
    "on_source": True,
    "on_target": True,
    "difference": None,
    "rows": [],
}


def test_equal_topics_are_one_line() -> None:
    assert str(Comparison.of([EQUAL], "orders", "east.orders")) == "orders and east.orders are equal: 2 records in 1 partitions."


def test_missing_record_is_shown_beside_the_one_that_the_source_has() -> None:
    rows = [{"source": RECORD, "target": None, "differs": "only on the source"}]
    text = str(Comparison.of([EQUAL | {"target_records": 1, "difference": "only on the source", "rows": rows}], "orders", "east.orders"))
    assert "east.orders is not the mirror of orders: 1 of 1 partitions differ." in text
    assert "partition 0: 2 records on the source, 1 on the target; 2 equal, then only on the source" in text
    [line] = [line for line in text.splitlines() if "@7" in line]
    assert line.startswith(" >> @7 timestamp 5 key 'k'")
    assert line.endswith("| (no record)")
    assert "headers ['h'=null]" in text


def test_partition_that_one_side_lacks_is_a_difference_even_without_records() -> None:
    comparison = Comparison.of([EQUAL | {"on_target": False}], "orders", "east.orders")
    assert not comparison.equal
    assert "the partition exists only on the source" in str(comparison)
