"""How tasks are shared out to tasks of Spark and to messages: in their order, none lost, none too large."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.errors import SparkServerRefused
from kafka_mirror.spark import connect
from kafka_mirror.spark.connect import count_for_message, shares_of


@pytest.fixture(autouse=True, scope="module")
def small_messages() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connect, "MESSAGE_BYTES", 10)
        patch.setattr(connect, "LARGEST_TASK_BYTES", 15)
        yield


@given(st.lists(st.binary(max_size=15), max_size=30), st.integers(1, 8))
def test_tasks_keep_their_order_in_messages_of_which_only_a_single_task_makes_one_large(tasks: list[bytes], slices: int) -> None:
    shares = shares_of(tasks, slices, "server:1")
    assert [task for share in shares for task in share] == tasks
    assert all(shares)
    while shares:
        count = count_for_message(shares)
        message = [task for share in shares[:count] for task in share]
        assert sum(map(len, message)) <= 10 or len(message) == 1 or (count == 1 and len(shares[0]) == 1)
        shares = shares[count:]


def test_small_tasks_are_in_as_many_shares_as_asked_for_and_in_one_message() -> None:
    shares = shares_of([b"a", b"b", b"c", b"d", b"e"], 3, "server:1")
    assert shares == [[b"a"], [b"b", b"c"], [b"d", b"e"]]
    assert count_for_message(shares) == 3


def test_a_task_that_no_message_can_hold_is_refused_with_its_size() -> None:
    with pytest.raises(SparkServerRefused, match=r"server:1 cannot be sent a task of 0 MB: 0 MB is the most\. Nothing ran there"):
        shares_of([b"a", b"b" * 16], 2, "server:1")
