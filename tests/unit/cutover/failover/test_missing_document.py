"""What a failover's record keeps of what may be missing: all of it as long as there is room, and the partitions with losses first."""

import dataclasses
import json
from datetime import UTC, datetime, timedelta

from kafka_mirror.cutover.failover.missing_document import MAX_BYTES, MISSING, UnlistedPartitions, missing_document, read_missing
from kafka_mirror.cutover.failover.missing_records import EndSighting, MissingRecords
from kafka_mirror.cutover.wave.record import OPENED, StepNote, WaveRecord, decode_wave, encode_wave
from kafka_mirror.cutover.wave.step import DONE, FAILOVER, PREFLIGHT
from kafka_mirror.formats.offsets.partition import TopicPartition

AT = datetime(2026, 11, 21, 8, 31, 12, 345_000, tzinfo=UTC)
LATER = AT + timedelta(minutes=1)
RECORD = WaveRecord("w", (".*",), (), FAILOVER, "ann", "it burns", 1_000, OPENED, 22_000)


def missing(topic, partition, offsets, complete_until=AT, watermark=1_204_567):
    end = EndSighting(watermark + offsets, complete_until)
    return MissingRecords(TopicPartition(topic, partition), watermark, end, complete_until)


def kept(partitions):
    """What comes back from the control topic."""
    facts = {"partitions": len(partitions), MISSING: missing_document(partitions)}
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
    document = missing_document(partitions)
    assert len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()) <= MAX_BYTES
    assert read_missing(missing_document(partitions, 0)).left_out == UnlistedPartitions(5_000, 5_000, AT)
