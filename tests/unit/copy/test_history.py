"""A lane that writes history: the protocol of the copy, into another topic, and the partition's live part as it was."""

from dataclasses import replace

import pytest

from kafka_mirror.copy.history import add_history_advice, another_topic, merge_history, view_as_history
from kafka_mirror.copy.ledger_updates import advance_record
from kafka_mirror.copy.model import PartitionProgress
from kafka_mirror.copy.plan.model import BEHIND, FIRST_SIGHT, HISTORY, Range
from kafka_mirror.errors import ClusterUnreachable, ErrorReport
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import ConfigEntry, Topic
from kafka_mirror.ledger.record import History, HistoryTopic, Skipped
from tests.unit.copy.conftest import MemoryCluster
from tests.unit.copy.happenings import raising

TP = TopicPartition("orders", 0)
INTO = "history.east.orders"


@pytest.fixture
def write(copy):
    """Writes history of `orders`, source offsets [start, end)."""

    def run(start, end, into=INTO, **changes):
        return copy(
            history=True,
            ranges=(Range("orders", 0, "id-orders", start, end, HISTORY),),
            remote_topics={"orders": into},
            **changes,
        )

    return run


@pytest.fixture
def live(known):
    """A partition whose copy began at source offset 20 and is at 30, with ten records in the remote topic."""
    return known("orders", 10, watermark=30, start=20, covered=((20, 30),))


def history_of(world):
    return world.ledger[TP].history_topics


def test_history_goes_into_its_topic_and_the_live_part_stays_as_it_is(world, write, live):
    result = write(0, 20)

    assert (result.errors, result.records) == ((), 20)
    record = world.ledger[TP]
    assert record.places_of_history == (History(0, 20, INTO, 0, 20),)
    assert (record.watermark, record.target_next, record.records, record.covered) == (30, 10, 10, ((20, 30),))
    assert (record.offset_map, record.history, record.live_start) == (live.offset_map, ((0, 20),), 20)
    assert world.ends[TopicPartition(INTO, 0)] == 20


def test_what_is_written_is_not_written_again_and_days_fill_the_gaps_between_them(world, write, live):
    write(0, 5)
    write(8, 12)
    write(0, 20, in_time_order=False)

    [written] = history_of(world)
    assert written.intervals == ((0, 12),), "the first part that was missing; the next round writes the rest"
    write(0, 20, in_time_order=False)
    write(0, 20, in_time_order=False)
    [written] = history_of(world)
    assert (written.intervals, written.records, world.ends[TopicPartition(INTO, 0)]) == (((0, 20),), 20, 20)


def test_nothing_of_the_live_part_is_ever_written_as_history(world, write, live):
    write(15, 30)
    assert history_of(world)[0].intervals == ((15, 20),)


def test_older_history_is_not_put_behind_newer_one_unless_order_does_not_matter(world, write, live):
    write(10, 15)
    result = write(0, 10)
    assert [(error.code, error.offset) for error in result.errors] == [("HistoryOutOfOrder", 0)]
    assert history_of(world)[0].intervals == ((10, 15),)

    assert write(0, 10, in_time_order=False).errors == ()

    [written] = history_of(world)
    assert written.intervals == ((0, 15),)
    assert [(place.start, place.end, place.target_start) for place in written.places] == [(10, 15, 0), (0, 10, 5)]


def test_what_is_refused_names_the_command_and_the_parameters_that_write_it_into_a_topic_of_its_own(world, write, live):
    write(10, 15)
    [error] = write(0, 10).errors
    assert "python -m kafka_mirror backfill --flow '<flow>' --topics orders --from … --to … --into 'history.{remote}-older'" in error.next
    assert 'the parameters of the DAG backfill: topics = ["orders"], into = history.{remote}-older' in error.next
    assert "order = any" in error.next

    assert write(0, 10, into="history.east.orders-older").errors == ()

    assert [(each.topic, each.intervals) for each in history_of(world)] == [(INTO, ((10, 15),)), (f"{INTO}-older", ((0, 10),))]


@pytest.mark.parametrize(
    ("into", "held", "another"),
    [
        (INTO, {}, "history.{remote}-older"),
        (INTO, {f"{INTO}-older": (0, 5)}, "history.{remote}-older"),
        (INTO, {f"{INTO}-older": (10, 15)}, "history.{remote}-older-2"),
        (f"{INTO}-older", {f"{INTO}-older": (10, 15)}, "history.{remote}-older-2"),
        (f"{INTO}-older-2", {f"{INTO}-older": (10, 15), f"{INTO}-older-2": (8, 12)}, "history.{remote}-older-3"),
        ("archive.orders", {}, "archive.orders-older"),
        ("east.orders", {}, "history.{remote}-older"),
    ],
)
def test_another_topic_is_the_next_one_that_has_nothing_newer(live, into, held, another):
    topics = tuple(HistoryTopic(topic, f"id-{topic}", 5, (interval,)) for topic, interval in held.items())
    assert another_topic(replace(live, history_topics=topics), into, 8) == another


def test_attempt_that_dies_before_its_commit_leaves_nothing_and_the_next_writes_all(world, write, live):
    world.happenings["commit"] = raising(ClusterUnreachable("west", "127.0.0.1:1", 5), times=1)
    assert write(0, 20).errors == ()
    assert world.engines == 2
    assert history_of(world)[0].records == world.ends[TopicPartition(INTO, 0)] == 20


def test_history_in_transactions_is_one_place_as_long_as_it_follows_itself(world, write, live):
    write(0, 20, transaction_max_bytes=700)
    assert world.log.count("commit") == 3
    assert world.ledger[TP].places_of_history == (History(0, 20, INTO, 0, 22),)


def test_into_the_remote_topic_it_moves_the_end_that_the_copy_goes_on_behind(world, write, copy, live):
    write(0, 20, into="east.orders")

    record = world.ledger[TP]
    assert (record.watermark, record.target_next, record.places_of_history) == (30, 30, (History(0, 20, "east.orders", 10, 30),))
    assert record.offset_map == live.offset_map, "nothing is translated by it"
    result = copy(ranges=(Range("orders", 0, "id-orders", 30, 40, "behind"),))
    assert (result.errors, world.ledger[TP].target_next, world.ledger[TP].watermark) == ((), 40, 40)
    assert world.ledger[TP].places_of_history == record.places_of_history, "the copy keeps what it does not touch"


def test_history_around_a_live_copy_stands_in_two_places_of_the_remote_topic(world, write, copy, live):
    write(0, 10, into="east.orders")
    copy(ranges=(Range("orders", 0, "id-orders", 30, 40, "behind"),))
    write(10, 20, into="east.orders")
    assert [(place.start, place.target_start, place.target_end) for place in world.ledger[TP].places_of_history] == [
        (0, 10, 20),
        (10, 30, 40),
    ]


def test_topic_that_was_made_anew_is_filled_anew(world, write, live):
    write(0, 20)
    world.ids[INTO] = "another"
    del world.ends[TopicPartition(INTO, 0)]

    assert write(0, 20).errors == ()

    [written] = history_of(world)
    assert (written.topic_id, written.intervals, world.ends[TopicPartition(INTO, 0)]) == ("another", ((0, 20),), 20)


def test_partition_without_a_start_has_no_history(world, write):
    assert [error.code for error in write(0, 20).errors] == ["HistoryWithoutStart"]
    assert world.ledger == {}


def test_topic_that_is_compacted_by_now_takes_none(world, write, live, monkeypatch):
    compacted = {"cleanup.policy": ConfigEntry("cleanup.policy", "compact,delete", "", False, False)}
    monkeypatch.setattr(MemoryCluster, "configs", lambda self, names, errors, entries: dict.fromkeys(names, compacted))
    assert [error.code for error in write(0, 20).errors] == ["HistoryIntoCompacted"]
    assert TopicPartition(INTO, 0) not in world.ends


def test_recreated_source_has_no_history_of_the_old_one(world, write, copy, live):
    result = copy(history=True, ranges=(Range("orders", 0, "new-id", 0, 20, HISTORY),), remote_topics={"orders": INTO})
    assert [error.code for error in result.errors] == ["SourceRecreated"]
    assert history_of(world) == ()


def test_where_the_copy_began_is_noted_and_stays_however_much_is_copied(world, copy):
    first = Range("orders", 0, "id-orders", 4, 10, FIRST_SIGHT)
    copy(ranges=(first,))
    copy(ranges=(replace(first, start=10, end=30, reason=BEHIND),))
    record = world.ledger[TP]
    assert (record.start, record.watermark) == (4, 30)
    assert replace(record, covered=((20, 30),)).live_start == 4, "also when the oldest covered intervals are no longer kept"


def test_record_that_was_passed_over_in_history_is_noted_and_moves_no_start(known):
    record = known("orders", 10, watermark=30, covered=((20, 30),), skipped=(Skipped(25, 26, "RecordRefused: x"),))
    assert record.start is None
    seen, part = view_as_history(record, Range("orders", 0, "id-orders", 0, 20, HISTORY), Topic(INTO, "id", ()))
    refused = Skipped(3, 4, "RecordRefused: y")

    written = merge_history(record, advance_record(seen, PartitionProgress(TP, part.end, runs=(), skipped=(refused,)), None))

    assert written.skipped == (refused, *record.skipped)
    assert (written.live_start, written.history_topics[0].intervals) == (20, ((0, 20),))


def test_errors_of_history_name_no_decision_that_would_do_nothing():
    for code in ("UnexplainedTarget", "TargetLostRecords", "RecordRefused"):
        assert "decide" not in add_history_advice(ErrorReport(code, "x", next="python -m kafka_mirror decide restart"), INTO).next
    other = ErrorReport("ClusterUnreachable", "x", next="look")
    assert add_history_advice(other, INTO) == other
