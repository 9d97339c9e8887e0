"""What is committed for an idle group: never backwards, never outside its partition."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_rules import ToCommit, to_commit

A, B, C = (TopicPartition("east.orders", number) for number in range(3))
positions = st.dictionaries(st.sampled_from((A, B, C)), st.integers(0, 20))
logs = st.dictionaries(
    st.sampled_from((A, B, C)), st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda pair: (min(pair), max(pair)))
)


@given(positions, positions, logs)
def test_what_is_written_lies_in_the_log_and_in_front_of_what_is_there(translated, committed, logs):
    found = to_commit(translated, committed, logs)
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
    assert to_commit({A: 10, B: 10, C: 10}, {A: 10, B: 11}, log) == ToCommit({}, (A,), (B,), (C,))
    assert to_commit({A: 2, B: 90}, {}, log).write == {A: 5, B: 50}
