"""What is kept of a flow's lag: a day, small enough for Airflow's stores, and never without its peaks."""

from kafka_mirror.status.lag_history import MAX_TOPICS, LagHistory, LagPoint, read_history
from kafka_mirror.status.observation import with_waits
from tests.unit.status.observations import partition, seen


def checked(seconds, *partitions, **fields):
    return with_waits(seen(seconds, *partitions, beats=(), **fields), None)


def late(age, topic="orders", **fields):
    return partition(90, 100, topic=topic, oldest_seconds=age, records=90, **fields)


def after(*checks):
    history = LagHistory()
    for check in checks:
        history = read_history(history.add(check).pack())
    return history


def test_a_check_is_a_point_with_the_longest_wait_and_all_that_was_copied():
    history = after(checked(0, late(7.0), partition(5, 5, 1, records=5)), checked(60, partition(100, 100, records=100)))
    assert [point[1:] for point in history.points] == [(0.0, 95), (0.0, 100)]


def test_what_could_not_be_seen_is_no_zero():
    (point,) = after(seen(0, late(7.0), comparable=False)).points
    assert point.seconds is None


def test_a_day_is_kept_thinned_with_its_peaks_and_no_more():
    history = LagHistory(tuple(LagPoint(60.0 * minute, 500.0 if minute == 100 else 1.0, minute) for minute in range(1440)))
    check = checked(0, partition(5, 5, records=1441))
    now = 1440 * 60.0
    moved = LagHistory(tuple(point._replace(time=point.time + check.now - now) for point in history.points)).add(check)
    assert len(moved.points) < 400
    assert max(point.seconds for point in moved.points) == 500.0
    assert sum(check.now - point.time <= 3600 for point in moved.points) >= 60, "the last hour is whole"
    assert len(moved.pack()) < 8000
    assert moved.add(check).points[0].time >= check.now - 86_400


def test_a_clock_that_was_set_back_begins_where_it_is():
    history = after(checked(100, late(7.0)), checked(50, late(7.0)))
    assert len(history.points) == 1


def test_topics_keep_the_longest_wait_of_each_quarter_of_an_hour():
    history = after(*(checked(second, partition(5, 5, topic="orders"), partition(5, 5, topic="payments")) for second in (0, 60, 1000)))
    assert set(history.topics) == {"orders", "payments"}
    assert len(history.topic_times) == len(history.topics["orders"]) == 2


def test_of_very_many_topics_those_are_kept_that_were_late():
    topics = [partition(5, 5, topic=f"topic-{number:03}") for number in range(MAX_TOPICS + 20)]
    check = checked(0, *topics)
    worst = LagHistory(topic_times=(int(check.now // 900) * 900,), topics={f"topic-{MAX_TOPICS + 9:03}": (60.0,)})
    kept = worst.add(check).topics
    assert len(kept) == MAX_TOPICS
    assert f"topic-{MAX_TOPICS + 9:03}" in kept


def test_what_cannot_be_read_is_no_history():
    assert read_history(None) == read_history("damaged") == LagHistory()
