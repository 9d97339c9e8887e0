"""History in a ledger record, and offsets that were skipped."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.groups.translation import INCOMPLETE, SourceState, translate
from kafka_mirror.ledger.codec import decode, encode
from kafka_mirror.ledger.record import MAX_PLACES, History, HistoryTopic, Skipped, history_text, merge_skips
from tests.unit.ledger_records import ledger_record

offsets = st.integers(0, 2**62)
entries = st.builds(
    lambda topic, topic_id, next_, intervals, places, records: HistoryTopic(
        topic, topic_id, next_, tuple(intervals), tuple(History(a, b, topic, c, d) for a, b, c, d in places), records, records
    ),
    st.text(),
    st.text(),
    offsets,
    st.lists(st.tuples(offsets, offsets), max_size=4),
    st.lists(st.tuples(offsets, offsets, offsets, offsets), max_size=4),
    offsets,
)
WRITTEN = HistoryTopic("history.orders", "id", 11, ((0, 10),), (History(0, 10, "history.orders", 1, 11),), 10, 1000)
NEWER = HistoryTopic("history.east.orders", "new-id", 24, ((48, 72),))
OLDER = HistoryTopic("history.east.orders-older", "old-id", 48, ((0, 48),))
RECORD = ledger_record(watermark=100, start=72, covered=((72, 100),), history_topics=(NEWER, OLDER))


@given(st.lists(entries, max_size=3).map(tuple), st.none() | offsets)
def test_record_with_history_is_the_same_when_it_is_read_again(history: tuple[HistoryTopic, ...], start: int | None) -> None:
    record = ledger_record(history_topics=history, start=start)
    assert decode(encode(record), "here") == record


def test_bytes_are_for_keeps_and_a_reader_that_does_not_know_the_fields_finds_version_1() -> None:
    value = json.loads(encode(ledger_record(history_topics=(WRITTEN,), start=10)))
    assert value["v"] == 1
    assert value["start"] == 10
    assert value["history_topics"] == [
        {
            "topic": "history.orders",
            "topic_id": "id",
            "target_next": 11,
            "intervals": [[0, 10]],
            "places": [[0, 10, 1, 11]],
            "records": 10,
            "bytes": 1000,
        }
    ]
    assert not {"start", "history_topics"} & set(json.loads(encode(ledger_record())))


def test_places_are_bounded_and_what_is_written_is_known_all_the_same() -> None:
    written = HistoryTopic("into", "id", 0)
    for number in range(MAX_PLACES + 10):
        written = written.extend(History(3 * number, 3 * number + 1, "into", 2 * number, 2 * number + 1), 1, 100)
    assert len(written.places) == MAX_PLACES
    assert len(written.intervals) == MAX_PLACES + 10
    assert written.places[-1] == History(
        3 * (MAX_PLACES + 9), 3 * (MAX_PLACES + 9) + 1, "into", 2 * (MAX_PLACES + 9), 2 * (MAX_PLACES + 9) + 1
    )


def test_place_goes_on_only_where_both_sides_do() -> None:
    behind = WRITTEN.extend(History(10, 12, "history.orders", 12, 14), 2, 200)
    assert behind.places == (History(0, 12, "history.orders", 1, 14),), "a marker of ours between them is nothing"
    apart = WRITTEN.extend(History(11, 12, "history.orders", 12, 13), 1, 100)
    assert len(apart.places) == 2
    others = replace(WRITTEN, target_next=20).extend(History(10, 12, "history.orders", 21, 23), 2, 200)
    assert len(others.places) == 2, "somebody else's records stand between"


def test_records_that_the_topic_lost_are_missing_again() -> None:
    longer = WRITTEN.extend(History(20, 25, "history.orders", 12, 17), 5, 500)
    left = longer.cut_before_target(12)
    assert (left.intervals, left.target_next, len(left.places)) == (((0, 10),), 12, 1)


def test_start_of_a_partition_from_before_it_was_noted_is_the_first_offset_that_the_ledger_knows() -> None:
    assert ledger_record(watermark=50).live_start == 50
    assert ledger_record(watermark=50, covered=((20, 30), (40, 50))).live_start == 20
    assert ledger_record(watermark=50, covered=((20, 50),), start=7).live_start == 7


def test_every_topic_is_named_with_its_offsets_in_the_order_of_the_source() -> None:
    assert history_text(RECORD) == "[0, 48) in history.east.orders-older, [48, 72) in history.east.orders"
    assert history_text(RECORD, 50) == "[50, 72) in history.east.orders"
    assert history_text(ledger_record()) == ""


def test_many_pieces_are_counted() -> None:
    scattered = HistoryTopic("history.east.orders", "new-id", 24, tuple((start, start + 1) for start in range(0, 10, 2)))
    assert history_text(ledger_record(start=72, history_topics=(scattered,))) == "[0, 1) [2, 3) [4, 5) and 2 more in history.east.orders"


def test_group_in_front_of_the_copy_is_told_where_backfills_wrote_what_it_has_not_read() -> None:
    source = SourceState(RECORD.source_topic_id, 100)
    answer = translate(10, RECORD, source, RECORD.target_topic_id)
    assert answer.kind == INCOMPLETE
    assert answer.reason.endswith("backfills wrote the offsets [10, 48) in history.east.orders-older, [48, 72) in history.east.orders")
    without = translate(10, ledger_record(watermark=100, start=72, covered=((72, 100),)), source, RECORD.target_topic_id)
    assert (without.kind, "backfill" in without.reason) == (INCOMPLETE, False)


def passed(skipped):
    return sum(each.offsets for each in skipped)


def test_touching_skips_of_one_reason_are_one_and_others_are_not():
    three = (Skipped(0, 2, "gap"), Skipped(2, 3, "gap"), Skipped(3, 4, "too large"), Skipped(5, 6, "too large"))
    assert merge_skips(three) == (Skipped(0, 3, "gap"), Skipped(3, 4, "too large"), Skipped(5, 6, "too large"))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5), st.sampled_from("abc")), max_size=300))
def test_no_skipped_offset_is_ever_forgotten(steps):
    skipped, position = [], 0
    for gap, length, reason in steps:
        skipped.append(Skipped(position + gap, position + gap + length, reason))
        position += gap + length
    kept = merge_skips(skipped)
    assert len(kept) <= 64
    assert passed(kept) == passed(skipped)
    assert all(any(each.start <= one.start and one.end <= each.end for each in kept) for one in skipped)
    assert merge_skips(kept) == kept
    assert decode(encode(ledger_record(skipped=kept)), "").skipped == kept


def test_of_too_many_skips_the_oldest_of_one_reason_are_drawn_together_and_the_newest_stay():
    decided = Skipped(0, 7, "gap accepted by somebody")
    many = [Skipped(10 * i, 10 * i + 1, "too large") for i in range(1, 100)]
    kept = merge_skips([decided, *many])
    assert kept[:2] == (decided, Skipped(10, 371, "too large", 37))
    assert kept[2:] == tuple(many[37:])


def test_of_an_interval_that_is_cut_no_more_offsets_are_passed_over_than_are_left():
    assert Skipped(40, 60, "refused", 15).cut_before(50) == Skipped(40, 50, "refused", 10)
    assert Skipped(40, 60, "refused", 5).cut_before(50) == Skipped(40, 50, "refused", 5)
    assert Skipped(40, 60, "gap").cut_before(60) == Skipped(40, 60, "gap")
