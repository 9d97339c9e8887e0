"""What lanes of one process ask together in a turn: how often, about what, and what each of them learns."""

from dataclasses import dataclass, field, replace

import pytest

from kafka_mirror.copy import follow_turn
from kafka_mirror.copy.follow_turn import SharedTurn
from kafka_mirror.errors import ClusterUnreachable
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import End

ORDERS, PAYMENTS, LATE = TopicPartition("orders", 0), TopicPartition("payments", 3), TopicPartition("late", 0)
CONTROL = TopicPartition("mm2-control.east.internal", 0)


@dataclass
class Brokers:
    """Two clusters in memory. `asked`: each question; `unreachable`: whose questions fail."""

    ends: dict[TopicPartition, int]
    asked: list = field(default_factory=list)
    unreachable: set[str] = field(default_factory=set)
    opened: int = 0
    now: float = 0.0


@pytest.fixture
def brokers(monkeypatch):
    made = Brokers({ORDERS: 5, PAYMENTS: 7, CONTROL: 2})

    class Cluster:
        def __init__(self, alias, _settings, seconds):
            self.alias, self.seconds = alias, seconds

        def __enter__(self):
            made.opened += 1
            return self

        def __exit__(self, *_raised):
            made.opened -= 1

        def ends(self, partitions, _errors, committed, patient):
            assert committed and not patient
            return {tp: End(offset, None) for tp, offset in self._answer(partitions).items()}

        def offsets(self, partitions, at, committed):
            assert (at, committed) == ("latest", True)
            return self._answer(partitions)

        def _answer(self, partitions):
            made.asked.append((self.alias, frozenset(partitions)))
            if self.alias in made.unreachable:
                raise ClusterUnreachable(self.alias, "broker:9092", self.seconds)
            return {tp: made.ends[tp] for tp in partitions if tp in made.ends}

    monkeypatch.setattr(follow_turn, "Cluster", Cluster)
    return made


@pytest.fixture
def turn(brokers, lane_task):
    return SharedTurn(replace(lane_task, follow_seconds=1.0, control_topic=CONTROL.topic), now=lambda: brokers.now)


def of_source(ends):
    """The offsets that a lane learned of the source."""
    return {tp: end.offset for tp, end in ends.source.items()}


def test_the_first_lane_of_a_turn_asks_for_all_and_the_others_take_its_answer(turn, brokers):
    turn.ends(0, {ORDERS}), turn.ends(1, {PAYMENTS})
    brokers.asked.clear()
    brokers.now, brokers.ends[PAYMENTS], brokers.ends[CONTROL] = 1.0, 9, 3
    first, second = turn.ends(0, {ORDERS}), turn.ends(1, {PAYMENTS})
    assert first is second
    assert (of_source(first), first.control) == ({ORDERS: 5, PAYMENTS: 9}, 3)
    assert brokers.asked == [("west", {CONTROL}), ("east", {ORDERS, PAYMENTS})]


def test_a_lane_whose_partitions_are_not_all_in_the_answer_asks_for_itself(turn, brokers):
    assert turn.ends(0, {ORDERS}) is not None
    assert turn.ends(1, {PAYMENTS}) is None, "the lane came after the question of this turn"
    brokers.now = 1.0
    assert turn.ends(1, {PAYMENTS, LATE}) is None, "a partition that the source does not tell of"
    assert turn.ends(0, {ORDERS}) is not None


def test_a_lane_that_ended_is_asked_for_no_longer(turn, brokers):
    turn.ends(0, {ORDERS}), turn.ends(1, {PAYMENTS})
    turn.leave(1)
    brokers.now = 1.0
    assert of_source(turn.ends(0, {ORDERS})) == {ORDERS: 5}


@pytest.mark.parametrize("alias", ["east", "west"])
def test_while_a_cluster_does_not_answer_one_lane_a_turn_learns_it_and_all_ask_for_themselves(turn, brokers, alias):
    turn.ends(0, {ORDERS}), turn.ends(1, {PAYMENTS})
    brokers.unreachable, brokers.now = {alias}, 1.0
    brokers.asked.clear()
    assert (turn.ends(0, {ORDERS}), turn.ends(1, {PAYMENTS})) == (None, None)
    assert [asked for asked, _ in brokers.asked].count(alias) == 1
    brokers.unreachable, brokers.now = set(), 2.0
    assert of_source(turn.ends(1, {PAYMENTS})) == {ORDERS: 5, PAYMENTS: 7}


def test_a_control_topic_that_is_gone_is_nobodys_answer(turn, brokers):
    del brokers.ends[CONTROL]
    assert turn.ends(0, {ORDERS}) is None


def test_its_connections_are_opened_by_the_first_question_and_closed_at_the_end(turn, brokers):
    assert brokers.opened == 0
    turn.ends(0, {ORDERS})
    assert brokers.opened == 2
    turn.close()
    assert brokers.opened == 0
