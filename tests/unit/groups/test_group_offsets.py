"""What `group-offsets` commits: nothing that a cutover moved, and nothing that would move a group back."""

from datetime import UTC, datetime
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_offsets import CommitPlan, leave_out_moved, plan_commit
from kafka_mirror.kafka.model import Committed
from kafka_mirror.ledger.control_records import MOVED, RETURNED, Decision
from kafka_mirror.ledger.decisions import Decisions

ORDERS, PAYMENTS, FROM_TARGET = (TopicPartition(name, 0) for name in ("orders", "payments", "west.stock"))
AT = Committed(5)


def decided(word, topic="orders"):
    return Decision(word, "somebody", datetime(2026, 1, 1, tzinfo=UTC), "a test", topic, wave="first")


def remaining(offsets, *decisions):
    positions = {group: dict.fromkeys(partitions, AT) for group, partitions in offsets.items()}
    selection = SimpleNamespace(from_target=lambda topic: topic[5:] if topic.startswith("west.") else None)
    there, reasons = leave_out_moved(positions, Decisions(decisions), selection)
    return {group: set(of_group) for group, of_group in there.items()}, reasons


def test_a_position_in_a_moved_topic_is_left_alone_and_the_wave_is_named():
    there, reasons = remaining({"billing": [ORDERS, PAYMENTS], "other": [PAYMENTS]}, decided(MOVED))
    assert there == {"billing": {PAYMENTS}, "other": {PAYMENTS}}
    assert reasons == {"billing": "left alone, for the wave first moved orders to the target"}


def test_a_group_moves_with_its_positions_in_what_the_source_has_from_the_target():
    there, reasons = remaining({"billing": [ORDERS, FROM_TARGET], "other": [FROM_TARGET]}, decided(MOVED))
    assert there == {"other": {FROM_TARGET}}
    assert set(reasons) == {"billing"}


def test_a_topic_that_returned_is_committed_again():
    assert remaining({"billing": [ORDERS]}, decided(RETURNED)) == ({"billing": {ORDERS}}, {})
    assert remaining({"billing": [ORDERS]}) == ({"billing": {ORDERS}}, {})


A, B, C = (TopicPartition("east.orders", number) for number in range(3))
positions = st.dictionaries(st.sampled_from((A, B, C)), st.integers(0, 20))
logs = st.dictionaries(
    st.sampled_from((A, B, C)), st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda pair: (min(pair), max(pair)))
)


@given(positions, positions, logs)
def test_what_is_written_lies_in_the_log_and_in_front_of_what_is_there(translated, committed, logs):
    found = plan_commit(translated, committed, logs)
    assert set(translated) == set(found.write) | {*found.there, *found.ahead, *found.missing}
    for tp, offset in found.write.items():
        start, end = logs[tp]
        assert start <= offset <= end
        assert committed.get(tp, -1) < offset
        assert offset == translated[tp] or translated[tp] not in range(start, end + 1)
    assert set(found.missing) == set(translated) - set(logs)
    assert all(committed[tp] > translated[tp] or translated[tp] > logs[tp][1] for tp in found.ahead)


def test_each_partition_has_its_own_answer():
    log = dict.fromkeys((A, B), (5, 50))
    assert plan_commit({A: 10, B: 10, C: 10}, {A: 10, B: 11}, log) == CommitPlan({}, (A,), (B,), (C,))
    assert plan_commit({A: 2, B: 90}, {}, log).write == {A: 5, B: 50}
