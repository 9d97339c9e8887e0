"""When an engine ends its transaction for its age."""

import pytest

from kafka_mirror.copy.model import TransactionLimits

LIMITS = TransactionLimits(bytes=1000, seconds=15.0)


@pytest.mark.parametrize(("age", "is_up"), [(14.9, False), (15.0, True)])
def test_a_transaction_that_holds_something_ends_by_its_age_alone(age: float, is_up: bool) -> None:
    assert [LIMITS.is_time_up(age, silence, patience=30.0) for silence in (0.0, 1000.0)] == [is_up, is_up]


@pytest.mark.parametrize(("patience", "ends_at"), [(30.0, 30.0), (5.0, 15.0)])
def test_an_empty_one_ends_when_the_source_is_silent_for_longer_than_any_answer_may_take(patience: float, ends_at: float) -> None:
    assert not LIMITS.is_time_up(None, ends_at - 0.1, patience)
    assert LIMITS.is_time_up(None, ends_at, patience)
