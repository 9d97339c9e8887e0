"""History in the ledger: kept through reading and writing, ignored by who does not know it, bounded, cut by a restart, told to people."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.groups.translation import INCOMPLETE, SourceState, translate
from kafka_mirror.ledger.codec import decode, encode
from kafka_mirror.ledger.record import MAX_PLACES, History, HistoryTopic, history_text
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
