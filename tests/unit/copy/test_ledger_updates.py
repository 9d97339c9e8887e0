"""The next ledger record, from the last one and what a transaction did."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.copy.ledger_updates import advance_record, with_source_end
from kafka_mirror.copy.model import PartitionProgress
from kafka_mirror.copy.plan.model import Range
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.apply_decisions import PartitionFacts, act_on_decisions
from kafka_mirror.ledger.record import SourceEnd
from tests.unit.decision_records import decision
from tests.unit.ledger_records import ledger_record

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
TP = TopicPartition("orders", 0)
RECORD = ledger_record(leader_epoch=4, target_next=90, offset_map=OffsetMap((Run(0, 0, 90),)), covered=((0, 100),), records=90, bytes=900)


@pytest.mark.parametrize(("of_the_record", "of_the_plan", "kept"), [(5, 7, 7), (8, 7, 8), (None, 7, 7), (None, None, 4), (None, 3, 4)])
def test_the_leader_epoch_is_the_newest_that_an_offset_below_the_watermark_may_have(of_the_record, of_the_plan, kept):
    assert advance_record(RECORD, PartitionProgress(TP, 110, of_the_record), of_the_plan).leader_epoch == kept


@pytest.mark.parametrize(("log_end", "end"), [(None, 110), (115, 115)])
def test_the_end_of_the_source_is_that_of_the_log_behind_an_open_transaction_too(log_end, end):
    planned = Range("orders", 0, "source-topic-id", 100, 110, "behind", log_end=log_end)
    assert with_source_end(RECORD, planned, NOW).source_end == SourceEnd(end, NOW)


def test_a_plan_that_was_copied_late_does_not_take_newer_knowledge_back():
    noted = replace(RECORD, source_end=SourceEnd(200, NOW))
    planned = Range("orders", 0, "source-topic-id", 100, 110, "behind")
    assert with_source_end(noted, planned, NOW - timedelta(seconds=1)) == noted
    assert with_source_end(noted, planned, None) == noted


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(-3600, 3600), st.booleans()), min_size=1, max_size=12))
def test_what_is_known_to_be_missing_does_not_shrink_by_the_order_of_clocks(plans):
    """Each plan sees so many records more, by a clock that is so many seconds off; some are copied one plan late."""
    record, end, seen, late = RECORD, 100, [], []
    for number, (grown, off, is_late) in enumerate(plans):
        end += grown
        planned = Range("orders", 0, "source-topic-id", 100, end, "behind"), NOW + timedelta(minutes=number, seconds=off)
        copied = [*([] if is_late else [planned]), *late]
        late = [planned] if is_late else []
        for each, time in copied:
            seen.append((each.end, time))
            before, record = record, with_source_end(record, each, time)
            assert before.source_end is None or record.source_end.offset >= before.source_end.offset
    if seen:
        assert record.source_end.offset == max(reached for reached, _ in seen)
        assert (record.source_end.offset, record.source_end.time) in seen


def test_the_end_of_a_topic_that_is_no_more_is_forgotten_by_the_restart():
    noted = replace(RECORD, watermark=100, source_end=SourceEnd(5000, NOW))
    standing = PartitionFacts("another-id", 0, noted.target_topic, noted.target_topic_id, 0)
    changed, applied = act_on_decisions(noted, [decision("restart", watermark=100, offset=0, source_topic_id="another-id")], standing)
    assert applied
    planned = Range("orders", 0, "another-id", 0, 30, "behind")
    assert with_source_end(changed, planned, NOW + timedelta(minutes=1)).source_end == SourceEnd(30, NOW + timedelta(minutes=1))
