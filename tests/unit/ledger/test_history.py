"""History in the ledger's value: kept through reading and writing, ignored by who does not know it, bounded, and cut by a restart."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.errors import LedgerDamaged
from kafka_mirror.ledger.codec import decode, encode
from kafka_mirror.ledger.history import MAX_PLACES, History, HistoryTopic
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


@pytest.mark.parametrize("wrong", [[{}], [{**json.loads("{}"), "topic": 1}], {"a": 1}, [["x"]], "text"])
def test_history_that_is_damaged_is_damage(wrong: object) -> None:
    value = {**json.loads(encode(ledger_record())), "history_topics": wrong}
    with pytest.raises(LedgerDamaged):
        decode(json.dumps(value).encode(), "here")


def test_places_are_bounded_and_what_is_written_is_known_all_the_same() -> None:
    written = HistoryTopic("into", "id", 0)
    for number in range(MAX_PLACES + 10):
        written = written.extended(History(3 * number, 3 * number + 1, "into", 2 * number, 2 * number + 1), 1, 100)
    assert len(written.places) == MAX_PLACES
    assert len(written.intervals) == MAX_PLACES + 10
    assert written.places[-1] == History(
        3 * (MAX_PLACES + 9), 3 * (MAX_PLACES + 9) + 1, "into", 2 * (MAX_PLACES + 9), 2 * (MAX_PLACES + 9) + 1
    )


def test_place_goes_on_only_where_both_sides_do() -> None:
    behind = WRITTEN.extended(History(10, 12, "history.orders", 12, 14), 2, 200)
    assert behind.places == (History(0, 12, "history.orders", 1, 14),), "a marker of ours between them is nothing"
    apart = WRITTEN.extended(History(11, 12, "history.orders", 12, 13), 1, 100)
    assert len(apart.places) == 2
    others = replace(WRITTEN, target_next=20).extended(History(10, 12, "history.orders", 21, 23), 2, 200)
    assert len(others.places) == 2, "somebody else's records stand between"


def test_records_that_the_topic_lost_are_missing_again() -> None:
    longer = WRITTEN.extended(History(20, 25, "history.orders", 12, 17), 5, 500)
    left = longer.before_target(12)
    assert (left.intervals, left.target_next, len(left.places)) == (((0, 10),), 12, 1)


def test_start_of_a_partition_from_before_it_was_noted_is_the_first_offset_that_the_ledger_knows() -> None:
    assert ledger_record(watermark=50).live_start == 50
    assert ledger_record(watermark=50, covered=((20, 30), (40, 50))).live_start == 20
    assert ledger_record(watermark=50, covered=((20, 50),), start=7).live_start == 7
