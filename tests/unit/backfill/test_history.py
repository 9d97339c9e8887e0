"""The history of an interval: what is below the copy's start, and what of it cannot be had any more."""

from types import SimpleNamespace
from typing import Any

from mirror.backfill.history import _Work
from mirror.backfill.model import Resolution
from mirror.backfill.tiling import OffsetInterval, TimeInterval
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import Plan
from tests.unit.ledger_records import ledger_record

TP = TopicPartition("orders", 0)


def work(start: int, end: int, log_start: int, live_start: int) -> _Work:
    """What there is to write of one partition whose log ends at 100."""
    record = ledger_record(watermark=100, start=live_start)
    found: Any = SimpleNamespace(
        plan=Plan("east->west"),
        ledger=SimpleNamespace(records={TP: record}),
        source={TP: SimpleNamespace(topic_id=record.source_topic_id, log_start=log_start)},
    )
    return _Work(Resolution("east->west", TimeInterval(0, 1), (OffsetInterval(*TP, start, end, log_start, 100),)), found)


def test_history_is_what_the_log_still_has_below_the_start_of_the_copy() -> None:
    found = work(10, 80, 0, 50)
    assert (found.parts, found.not_had) == ({TP: (10, 50)}, [])
    found = work(10, 80, 20, 50)
    assert found.parts == {TP: (20, 50)}
    assert [text.split(":")[0] for text in found.not_had] == ["orders-0"]


def test_an_interval_that_begins_where_the_log_and_the_copy_do_may_have_lost_its_beginning() -> None:
    assert len(work(30, 80, 30, 30).not_had) == 1, "nobody ever copied what stood in front of it"
    assert len(work(30, 30, 30, 30).not_had) == 1, "and be it all"
    assert work(31, 80, 30, 30).not_had == []
    assert work(0, 80, 0, 0).not_had == []
    assert work(60, 80, 60, 30).not_had == [], "the copy has it"
