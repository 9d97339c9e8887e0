"""What the flow's own state says against a wave."""

from datetime import UTC, datetime

import pytest

from kafka_mirror.cutover.steps.preflight import judge_partitions
from kafka_mirror.cutover.wave.step import INFORMATION, STOP, WARNING
from kafka_mirror.errors import ErrorReport
from kafka_mirror.status.status import (
    BEHIND,
    DECIDED,
    FIRST_SIGHT,
    GONE,
    NO_LEADER,
    NO_REMOTE,
    PAUSED,
    UNKNOWN,
    UP_TO_DATE,
    PartitionStatus,
    Status,
)


def partition(number=0, state=UP_TO_DATE, topic="orders", **facts):
    return PartitionStatus(topic, number, state, **{"lag": 0, **facts})


def findings(*partitions, errors=(), max_lag=None, topics=("orders",)):
    status = Status("east->west", datetime.now(UTC), partitions, tuple(errors))
    return [(each.kind, each.code, each.message) for each in judge_partitions(status, topics, max_lag)]


def error(topic=None, number=None):
    return ErrorReport("SourceGap", f"gap in {topic}-{number}.", topic, number)


def test_a_wave_that_is_copied_is_said_to_be_so_and_nothing_else():
    assert findings(partition(), partition(1)) == [
        (INFORMATION, "Lag", "The wave lags by 0 records in all, and by at most 0 in one partition.")
    ]


def test_errors_of_the_flow_and_of_the_wave_stop_it_and_those_of_other_topics_do_not():
    errors = [error(), error("orders"), error("orders", 1), error("payments", 1)]
    found = findings(partition(error=errors[2]), errors=errors)
    assert [each for each in found if each[0] == STOP] == [(STOP, "SourceGap", each.message) for each in errors[:3]]


def test_a_paused_partition_stops_it_with_who_decided_that():
    found = findings(partition(state=PAUSED, note="paused by me"), partition(3, PAUSED, note="paused by me"))
    assert found[0] == (STOP, "PartitionsPaused", "orders: partitions 0, 3 are not copied: paused by me.")


@pytest.mark.parametrize(
    ("state", "code"), [(NO_REMOTE, "NoRemotePartition"), (NO_LEADER, "LeaderMissing"), (UNKNOWN, "PartitionStateUnknown")]
)
def test_a_partition_that_nobody_can_vouch_for_stops_it(state, code):
    (found,) = findings(partition(2, state, lag=None))
    assert found[:2] == (STOP, code)
    assert "orders-2" in found[2]


def test_a_partition_that_is_gone_stops_it_and_with_an_error_it_is_named_once():
    assert [each[:2] for each in findings(partition(state=GONE, lag=None))] == [(STOP, "SourcePartitionGone")]
    told = error("orders", 0)
    assert [each[:2] for each in findings(partition(state=NO_REMOTE, lag=None, error=told), errors=[told])] == [(STOP, "SourceGap")]


@pytest.mark.parametrize(("state", "code"), [(DECIDED, "DecisionPending"), (FIRST_SIGHT, "NotCopiedYet")])
def test_what_the_next_copy_does_is_a_warning(state, code):
    assert findings(partition(state=state, note="restart by me"))[0][:2] == (WARNING, code)


def test_lag_stops_it_only_beyond_what_was_allowed_and_each_such_partition_is_named():
    late = [partition(state=BEHIND, lag=10), partition(1, BEHIND, lag=11), partition(2, BEHIND, lag=5_000)]
    assert [each[1:] for each in findings(*late, max_lag=10) if each[0] == STOP] == [
        ("WaveBehind", "orders: 2 of 3 partitions are more than 10 records behind: 1 (11), 2 (5,000).")
    ]
    assert not [each for each in findings(*late, max_lag=5_000) if each[0] == STOP]
    assert not [each for each in findings(*late) if each[0] == STOP]
    assert findings(*late)[-1][2] == "The wave lags by 5,021 records in all, and by at most 5,000 in one partition."


def test_zero_is_a_limit_too():
    assert findings(partition(state=BEHIND, lag=1), max_lag=0)[0][0] == STOP


def test_partitions_of_other_topics_are_not_judged():
    assert findings(partition(topic="payments", state=PAUSED, note="PartitionsPaused")) == []
