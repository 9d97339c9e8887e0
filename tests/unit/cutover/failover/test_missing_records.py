"""What may be missing once the source is lost: the last known end against the watermark, and from when on nobody knows."""

from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.cutover.failover.missing_records import EndSighting, missing_findings, missing_records
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import SourceEnd
from tests.unit.ledger_records import ledger_record

AT = datetime(2026, 11, 21, 8, 31, 12, tzinfo=UTC)
LATER = AT + timedelta(seconds=30)
ORDERS = TopicPartition("orders", 3)


def of(source_end, *sightings, watermark=1204):
    (missing,) = missing_records({ORDERS: ledger_record(watermark=watermark, source_end=source_end)}, {ORDERS: sightings})
    return missing


def test_what_the_last_plan_saw_and_nobody_copied_may_be_missing():
    assert str(of(SourceEnd(1217, AT))) == (
        "orders-3: records 1,204..1,216 may be missing (end known at 2026-11-21 08:31:12Z from the ledger); "
        "what was written after 2026-11-21 08:31:12Z nobody knows"
    )


def test_a_group_that_had_read_further_tells_of_more_records_and_not_of_all():
    missing = of(SourceEnd(1217, AT), EndSighting(1210, LATER, "the checkpoint of the group ledger"), EndSighting(1230, LATER, "billing's"))
    assert (missing.end, missing.complete_until, missing.offsets) == (EndSighting(1230, LATER, "billing's"), AT, 26)
    assert "1,204..1,229" in str(missing)
    assert "written after 2026-11-21 08:31:12Z nobody knows" in str(missing)


@pytest.mark.parametrize("end", [SourceEnd(1204, AT), SourceEnd(1100, AT)])
def test_where_all_that_was_known_is_copied_only_the_time_after_it_is_in_doubt(end):
    missing = of(end)
    assert (missing.offsets, missing.complete_until) == (0, AT)
    assert str(missing) == (
        "orders-3: everything in front of offset 1,204 is copied; what was written after 2026-11-21 08:31:12Z nobody knows"
    )


def test_a_record_of_a_mirror_that_noted_no_end_says_so():
    missing = of(None)
    assert (missing.offsets, missing.complete_until) == (0, None)
    assert str(missing).endswith("how far the source reached was not noted, so nobody knows what was written after that")


def test_each_partition_with_losses_is_named_and_the_others_are_counted():
    behind, even = of(SourceEnd(1205, LATER)), of(SourceEnd(1204, AT))
    findings = list(missing_findings([behind, even, even], AT))
    assert [(finding.kind, finding.code) for finding in findings] == [
        ("warning", "RecordsMayBeMissing"),
        ("information", "NothingKnownToBeMissing"),
        ("information", "LastHeartbeat"),
    ]
    assert findings[0].message.startswith("orders-3: record 1,204 may be missing")
    assert findings[1].message.startswith("2 partitions were copied up to their last known end.")
    assert "08:31:12Z" in findings[1].message
    assert "08:31:12Z" in findings[2].message
    assert [finding.code for finding in missing_findings([even], None)] == ["NothingKnownToBeMissing"]
