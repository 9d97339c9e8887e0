"""For how long partitions wait, against a source of which every moment is known."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.status.alerts.tracker import AlertState, state_of
from kafka_mirror.status.observation import MARKS, PartitionWork, update_wait_times

ORDERS = TopicPartition("orders", 0)


def waits(checks: list[tuple[float, int, int]]) -> list[tuple[float, float]]:
    """(seconds, still) after each check (time, watermark, end); 0 where there is no work."""
    memory = None
    answers = []
    for now, watermark, end in checks:
        work = {ORDERS: PartitionWork(watermark, end)} if watermark < end else {}
        memory = update_wait_times(memory, work, (), now)
        found = memory.get(ORDERS)
        answers.append((found.seconds(now), found.measure_standstill(now)) if found else (0.0, 0.0))
    return answers


def test_a_partition_waits_since_its_oldest_record_was_first_seen() -> None:
    assert waits([(0, 0, 40), (60, 0, 40), (120, 40, 90), (180, 40, 90), (240, 90, 90), (300, 90, 91)]) == [
        (0, 0),
        (60, 60),
        (0, 0),
        (60, 60),
        (0, 0),
        (0, 0),
    ]


def test_a_source_that_grows_does_not_make_old_records_younger() -> None:
    assert [seconds for seconds, _ in waits([(0, 0, 10), (60, 0, 20), (120, 5, 30), (180, 10, 40)])] == [0, 60, 120, 120]


def test_a_watermark_that_moves_a_little_each_time_is_progress_and_late_all_the_same() -> None:
    answers = waits([(60.0 * minute, minute, 1000 + 1000 * minute) for minute in range(10)])
    assert [still for _, still in answers] == [0] * 10
    assert answers[-1][0] == 540


def test_a_watermark_that_goes_back_begins_anew() -> None:
    assert waits([(0, 50, 60), (60, 50, 60), (120, 0, 60)])[-1] == (0, 0)


def test_what_is_not_known_this_time_stays_remembered_and_what_is_done_does_not() -> None:
    other = TopicPartition("orders", 1)
    memory = update_wait_times(None, {ORDERS: PartitionWork(0, 5), other: PartitionWork(0, 5)}, (), 0)
    memory = update_wait_times(memory, {}, [ORDERS], 60)
    assert set(memory) == {ORDERS}
    assert memory[ORDERS].seconds(60) == 60


@given(
    st.lists(st.tuples(st.floats(1, 300), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=60),
)
def test_no_wait_is_ever_overstated_and_a_partition_that_stands_still_is_measured_exactly(steps: list[tuple[float, int, int]]) -> None:
    now, watermark, end = 0.0, 0, 0
    first_seen: dict[int, float] = {}
    checks, truth = [], []
    for passed, grown, copied in steps:
        now += passed
        end += grown
        watermark = min(end, watermark + copied)
        for offset in range(end):
            first_seen.setdefault(offset, now)
        checks.append((now, watermark, end))
        truth.append(now - first_seen[watermark] if watermark < end else 0.0)
    for (seconds, still), true in zip(waits(checks), truth, strict=True):
        assert seconds <= true + 1e-6
        assert still <= seconds + 1e-6
    if all(copied == 0 for _, _, copied in steps):
        assert [seconds for seconds, _ in waits(checks)] == truth


@given(st.lists(st.tuples(st.floats(1, 300), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=60))
def test_little_is_remembered_and_it_survives_as_a_document(steps: list[tuple[float, int, int]]) -> None:
    now, watermark, end, memory = 0.0, 0, 0, None
    for passed, grown, copied in steps:
        now, end = now + passed, end + grown
        watermark = min(end, watermark + copied)
        memory = update_wait_times(memory, {ORDERS: PartitionWork(watermark, end)} if watermark < end else {}, (), now)
        assert all(len(waiting.ends) <= MARKS for waiting in memory.values())
        assert state_of(AlertState(memory).as_document()).memory == memory
