"""The history of an interval: what is below the copy's start, and what of it cannot be had any more."""

from types import SimpleNamespace
from typing import Any

from kafka_mirror.backfill.destination import HistoryTopics, find_history_elsewhere
from kafka_mirror.backfill.history import _Work
from kafka_mirror.backfill.model import OffsetInterval, Resolution, TimeInterval
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.errors import AuthorizationRefused
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.record import HistoryTopic
from tests.unit.ledger_records import ledger_record

TP = TopicPartition("orders", 0)


INTO = Topic("history.east.orders", "new-id", ())
NEWER = HistoryTopic(INTO.name, INTO.id, 20, ((30, 50),))
OLDER = HistoryTopic("history.east.orders-older", "old-id", 20, ((0, 20),))


def work(start: int, end: int, log_start: int, live_start: int, history_topics: tuple[HistoryTopic, ...] = ()) -> _Work:
    """What there is to write of one partition whose log ends at 100."""
    record = ledger_record(watermark=100, start=live_start, history_topics=history_topics)
    found: Any = SimpleNamespace(
        plan=Plan("east->west"),
        ledger=SimpleNamespace(records={TP: record}),
        source={TP: SimpleNamespace(topic_id=record.source_topic_id, log_start=log_start, leader_epoch=None)},
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


def planned(found: _Work, elsewhere: set[tuple[str, str]]) -> list[tuple[int, int]]:
    found.elsewhere = elsewhere
    found.plan(HistoryTopics({"orders": INTO.name}, {INTO.name: INTO}), in_time_order=False, dry_run=False)
    return [(each.start, each.end) for each in found.planned.ranges]


def test_what_stands_in_another_topic_is_not_written_again_unless_a_topic_was_named() -> None:
    both = (NEWER, OLDER)
    assert planned(work(0, 50, 0, 50, both), {(OLDER.topic, OLDER.topic_id)}) == [(20, 30)]
    assert planned(work(0, 50, 0, 50, both), set()) == [(0, 30)], "named, or the other topic is gone"
    whole = work(0, 20, 0, 50, both)
    assert planned(whole, {(OLDER.topic, OLDER.topic_id)}) == []
    part = whole.as_part(SimpleNamespace(name="east->west"), HistoryTopics())  # type: ignore[arg-type]
    assert (part.owed, [OLDER.topic in notice for notice in part.notices]) == (0, [True])


def test_ranges_never_cover_what_stands_in_another_topic() -> None:
    middle = HistoryTopic("history.middle", "middle-id", 10, ((10, 20),))
    assert planned(work(0, 50, 0, 50, (middle,)), {(middle.topic, middle.topic_id)}) == [(0, 10)], "the next slice writes what is behind it"


def test_refused_history_names_the_times_of_the_backfill() -> None:
    found = work(0, 20, 0, 50, (NEWER,))
    found.plan(HistoryTopics({"orders": INTO.name}, {INTO.name: INTO}), in_time_order=True, dry_run=False)
    [error] = found.as_part(SimpleNamespace(name="east->west"), HistoryTopics()).errors  # type: ignore[arg-type]
    assert error.code == "HistoryOutOfOrder"
    assert "--flow 'east->west' --topics orders --from 1970-01-01T00:00:00Z --to 1970-01-01T00:00:00.001000Z --into" in error.next


def test_topic_counts_as_long_as_it_is_the_one_that_was_written_to() -> None:
    hidden, gone = HistoryTopic("history.hidden", "hidden-id", 1), HistoryTopic("history.gone", "gone-id", 1)

    def topics(names: list[str], errors: dict[str, Any]) -> dict[str, Topic]:
        assert "history.hidden" in names
        errors["history.hidden"] = AuthorizationRefused("west", "DESCRIBE", "topic history.hidden", topic="history.hidden")
        return {INTO.name: INTO, OLDER.topic: Topic(OLDER.topic, "another-id", ())}

    target: Any = SimpleNamespace(topics=topics)
    found = find_history_elsewhere(target, [ledger_record(history_topics=(NEWER, OLDER)), ledger_record(history_topics=(hidden, gone))])
    assert found == {(INTO.name, INTO.id), ("history.hidden", "hidden-id")}
    assert find_history_elsewhere(None, [ledger_record()]) == frozenset()  # type: ignore[arg-type]
