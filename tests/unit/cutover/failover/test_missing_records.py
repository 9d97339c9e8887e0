"""What may be missing once the source is lost: how it is found, and what the wave's record keeps of it, partitions with losses first."""

import dataclasses
import json
from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.cutover.failover.missing_records import (
    MAX_BYTES,
    MISSING,
    EndSighting,
    MissingRecords,
    UnlistedPartitions,
    find_missing_records,
    read_missing,
    report_missing,
    write_missing,
)
from kafka_mirror.cutover.wave.record import OPENED, StepNote, WaveRecord, decode_wave, encode_wave
from kafka_mirror.cutover.wave.step import DONE, FAILOVER, PREFLIGHT
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import SourceEnd
from tests.unit.ledger_records import ledger_record

AT = datetime(2026, 11, 21, 8, 31, 12, 345_000, tzinfo=UTC)
LATER = AT + timedelta(minutes=1)
ORDERS = TopicPartition("orders", 3)


def of(source_end, *sightings, watermark=1204):
    (missing,) = find_missing_records({ORDERS: ledger_record(watermark=watermark, source_end=source_end)}, {ORDERS: sightings})
    return missing


def test_what_the_last_plan_saw_and_no_run_copied_may_be_missing():
    assert str(of(SourceEnd(1217, AT))) == (
        "orders-3: records 1,204..1,216 may be missing (end known at 2026-11-21 08:31:12Z from the ledger); "
        "what was written after 2026-11-21 08:31:12Z is unknown"
    )


def test_a_group_that_had_read_further_tells_of_more_records_and_not_of_all():
    missing = of(SourceEnd(1217, AT), EndSighting(1210, LATER, "the checkpoint of the group ledger"), EndSighting(1230, LATER, "billing's"))
    assert (missing.end, missing.complete_until, missing.offsets) == (EndSighting(1230, LATER, "billing's"), AT, 26)
    assert "1,204..1,229" in str(missing)
    assert "written after 2026-11-21 08:31:12Z is unknown" in str(missing)


@pytest.mark.parametrize("end", [SourceEnd(1204, AT), SourceEnd(1100, AT)])
def test_where_all_that_was_known_is_copied_only_the_time_after_it_is_in_doubt(end):
    missing = of(end)
    assert (missing.offsets, missing.complete_until) == (0, AT)
    assert str(missing) == (
        "orders-3: everything in front of offset 1,204 is copied; what was written after 2026-11-21 08:31:12Z is unknown"
    )


def test_a_record_of_a_mirror_that_noted_no_end_says_so():
    missing = of(None)
    assert (missing.offsets, missing.complete_until) == (0, None)
    assert str(missing).endswith("how far the source reached was not noted, so what was written after that is unknown")


def test_each_partition_with_losses_is_named_and_the_others_are_counted():
    behind, even = of(SourceEnd(1205, LATER)), of(SourceEnd(1204, AT))
    findings = list(report_missing([behind, even, even], AT))
    assert [(finding.kind, finding.code) for finding in findings] == [
        ("warning", "RecordsMayBeMissing"),
        ("information", "NothingKnownToBeMissing"),
        ("information", "LastHeartbeat"),
    ]
    assert findings[0].message.startswith("orders-3: record 1,204 may be missing")
    assert findings[1].message.startswith("2 partitions were copied up to their last known end.")
    assert "08:31:12Z" in findings[1].message
    assert "08:31:12Z" in findings[2].message
    assert [finding.code for finding in report_missing([even], None)] == ["NothingKnownToBeMissing"]


RECORD = WaveRecord("w", (".*",), (), FAILOVER, "ann", "it burns", 1_000, OPENED, 22_000)


def missing(topic, partition, offsets, complete_until=AT, watermark=1_204_567):
    end = EndSighting(watermark + offsets, complete_until)
    return MissingRecords(TopicPartition(topic, partition), watermark, end, complete_until)


def kept(partitions):
    """What comes back from the control topic."""
    facts = {"partitions": len(partitions), MISSING: write_missing(partitions)}
    record = RECORD.with_step(PREFLIGHT, StepNote(DONE, "ann", 1_000, 2_000, facts=facts))
    return read_missing(decode_wave("w", encode_wave(record)).steps[PREFLIGHT].facts[MISSING])


def test_all_that_is_known_of_a_partition_comes_back_and_partitions_with_losses_stand_first():
    of_group = dataclasses.replace(missing("pay", 1, 7), end=EndSighting(1_204_574, LATER, "the checkpoint of the group billing"))
    unknown = MissingRecords(TopicPartition("orders", 2), 5, EndSighting(5, None))
    even, behind = missing("orders", 10, 0), missing("orders", 3, 13, LATER)
    back = kept([even, of_group, unknown, behind])
    assert back.partitions == (behind, of_group, unknown, even)
    assert back.left_out == UnlistedPartitions()


def test_the_record_of_a_failover_takes_a_missing_record_in_each_of_20_000_partitions():
    partitions = [missing(f"payments.region-{number // 10:05}.v1", number % 10, 1) for number in range(20_000)]
    back = kept(partitions)
    assert back.partitions == tuple(partitions)
    assert back.left_out == UnlistedPartitions()


def test_what_the_record_has_no_room_for_is_counted_and_is_first_what_is_not_known_to_lack_anything():
    behind = [missing(f"{'a-long-name.' * 8}{number:06}", 0, 2) for number in range(4_000)]
    even = [missing(f"{'another-name.' * 8}{number:06}", 0, 0, LATER if number else AT) for number in range(16_000)]
    back = kept([*even, *behind])
    assert [each for each in back.partitions if each.offsets] == behind
    assert len(back.partitions) > len(behind)
    assert (back.left_out.partitions, back.left_out.offsets) == (20_000 - len(back.partitions), 0)
    assert back.left_out.complete_until == LATER, "the rows are sorted, so the oldest has its row"

    only_behind = kept([*behind, *(missing(f"{'one-more-name.' * 8}{number:06}", 0, 3) for number in range(9_000))])
    assert only_behind.left_out.partitions > 0
    assert only_behind.left_out.offsets == 3 * only_behind.left_out.partitions
    assert only_behind.left_out.complete_until == AT


def test_no_document_is_larger_than_it_may_be():
    partitions = [missing(f"{'ü' * 100}{number}", 0, 1, AT + timedelta(seconds=number)) for number in range(5_000)]
    document = write_missing(partitions)
    assert len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()) <= MAX_BYTES
    assert read_missing(write_missing(partitions, 0)).left_out == UnlistedPartitions(5_000, 5_000, AT)
