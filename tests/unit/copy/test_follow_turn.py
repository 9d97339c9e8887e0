"""What lanes that follow ask in a turn: together, how often and about what; the new ranges that a lane makes of it; and whether the source
has topics that the plan did not know."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.copy import follow_turn
from kafka_mirror.copy.follow_turn import Discovery, SharedTurn, digest_of, known_topics, look_for_more
from kafka_mirror.copy.plan.model import BEHIND, Range
from kafka_mirror.errors import ClusterUnreachable
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster_answers import DescribedTopic
from kafka_mirror.kafka.model import End, LogOffsets
from tests.unit.copy.memory_cluster import QuietCluster
from tests.unit.ledger_records import ledger_record

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
    turn.find_ends(0, {ORDERS}), turn.find_ends(1, {PAYMENTS})
    brokers.asked.clear()
    brokers.now, brokers.ends[PAYMENTS], brokers.ends[CONTROL] = 1.0, 9, 3
    first, second = turn.find_ends(0, {ORDERS}), turn.find_ends(1, {PAYMENTS})
    assert first is second
    assert (of_source(first), first.control) == ({ORDERS: 5, PAYMENTS: 9}, 3)
    assert brokers.asked == [("west", {CONTROL}), ("east", {ORDERS, PAYMENTS})]


def test_a_lane_whose_partitions_are_not_all_in_the_answer_asks_for_itself(turn, brokers):
    assert turn.find_ends(0, {ORDERS}) is not None
    assert turn.find_ends(1, {PAYMENTS}) is None, "the lane came after the question of this turn"
    brokers.now = 1.0
    assert turn.find_ends(1, {PAYMENTS, LATE}) is None, "a partition that the source does not tell of"
    assert turn.find_ends(0, {ORDERS}) is not None


def test_a_lane_that_ended_is_asked_for_no_longer(turn, brokers):
    turn.find_ends(0, {ORDERS}), turn.find_ends(1, {PAYMENTS})
    turn.leave(1)
    brokers.now = 1.0
    assert of_source(turn.find_ends(0, {ORDERS})) == {ORDERS: 5}


@pytest.mark.parametrize("alias", ["east", "west"])
def test_while_a_cluster_does_not_answer_one_lane_a_turn_learns_it_and_all_ask_for_themselves(turn, brokers, alias):
    turn.find_ends(0, {ORDERS}), turn.find_ends(1, {PAYMENTS})
    brokers.unreachable, brokers.now = {alias}, 1.0
    brokers.asked.clear()
    assert (turn.find_ends(0, {ORDERS}), turn.find_ends(1, {PAYMENTS})) == (None, None)
    assert [asked for asked, _ in brokers.asked].count(alias) == 1
    brokers.unreachable, brokers.now = set(), 2.0
    assert of_source(turn.find_ends(1, {PAYMENTS})) == {ORDERS: 5, PAYMENTS: 7}


def test_a_control_topic_that_is_gone_is_nobodys_answer(turn, brokers):
    del brokers.ends[CONTROL]
    assert turn.find_ends(0, {ORDERS}) is None


def test_its_connections_are_opened_by_the_first_question_and_closed_at_the_end(turn, brokers):
    assert brokers.opened == 0
    turn.find_ends(0, {ORDERS})
    assert brokers.opened == 2
    turn.close()
    assert brokers.opened == 0


ORDERS = TopicPartition("orders", 0)


class Source(QuietCluster):
    """A source of one partition that says what it is told to."""

    def __init__(self, end, epoch, epoch_end=None, start=0):
        super().__init__("east", {}, 1.0)
        self.log, self.epoch_end = LogOffsets(start, end, end + 1, epoch), epoch_end

    def log_offsets(self, partitions, errors=None, committed=True):
        return dict.fromkeys(partitions, self.log)

    def find_shared_ends(self, positions, seconds):
        return {} if self.epoch_end is None else dict.fromkeys(positions, self.epoch_end)


def looked(source):
    """What a turn finds in a partition of which 10 offsets were copied in leader epoch 4."""
    record = ledger_record(watermark=10, leader_epoch=4, source_topic_id="id-orders")
    planned = Range("orders", 0, "id-orders", 0, 10, BEHIND, skip_to=2, leader_epoch=4)
    return look_for_more(source, True, {ORDERS: record}, {ORDERS: planned})


def test_a_new_range_begins_at_the_watermark_and_has_the_leader_epoch_of_its_end():
    more, errors = looked(Source(12, 5, epoch_end=10))
    assert errors == []
    assert more == {ORDERS: Range("orders", 0, "id-orders", 10, 12, BEHIND, skip_to=2, leader_epoch=5, log_end=13)}


def test_a_log_that_was_cut_off_and_has_grown_again_is_truncated():
    more, errors = looked(Source(12, 5, epoch_end=7))
    assert (more, [error.code for error in errors]) == ({}, ["SourceTruncated"])


@pytest.mark.parametrize("source", [Source(20, 4, start=15), Source(10, 5)], ids=["a gap", "a new leader and no records"])
def test_a_gap_is_left_to_the_next_plan_and_a_leader_alone_is_no_work(source):
    assert looked(source) == ({}, [])


CONFIGURATION = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:1
west.bootstrap.servers = 127.0.0.1:1
east->west.enabled = true
east->west.topics = orders.*, unusable
east->west.topics.exclude = orders-not
"""


@pytest.fixture
def flow(tmp_path: Path) -> Callable[[str], Flow]:
    def make(line: str = "") -> Flow:
        file = tmp_path / "mm2.properties"
        file.write_text(CONFIGURATION + line)
        return load([file]).flow("east->west")

    return make


def topic(name: str, partitions: int = 1, error_code: int = 0) -> DescribedTopic:
    return DescribedTopic(name, "id", error_code, False, lambda: [(0, number, 1, 0) for number in range(partitions)])


class ListedSource:
    """A source that lists what it is told to, and counts how often it is asked."""

    def __init__(self, *topics: DescribedTopic) -> None:
        self.listed, self.asked = list(topics), 0
        self.failure: Exception | None = None

    def describe_topics(self, names: Any) -> list[DescribedTopic]:
        assert names is None
        self.asked += 1
        if self.failure:
            raise self.failure
        return self.listed


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def look(flow: Callable[[str], Flow], monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Whether a source is others' than a plan knew, a minute after it."""
    monkeypatch.setattr("kafka_mirror.kafka.cluster_answers._partition_of", lambda row: row)
    selection = topic_selection(flow(""))

    def looked(planned: list[DescribedTopic], now: list[DescribedTopic]) -> bool:
        clock = Clock()
        discovery = Discovery(known_topics(flow(""), digest_of(selection, planned)), clock)
        clock.seconds += 60
        return discovery.has_news(ListedSource(*now))

    return looked


LISTED = topic("orders", 2)


@pytest.mark.parametrize(
    "new", [[LISTED, topic("orders-2")], [topic("orders", 3)], []], ids=["a topic", "a partition", "a topic that is gone"]
)
def test_what_the_flow_means_and_the_plan_did_not_know_is_new(look: Callable[..., bool], new: list[DescribedTopic]) -> None:
    assert look([LISTED], new)


def test_what_the_flow_does_not_mean_and_what_the_plan_knew_ends_nothing_whether_it_could_be_copied_or_not(
    look: Callable[..., bool],
) -> None:
    others = [topic("clicks"), topic("orders-not"), topic("__consumer_offsets", 50), topic("orders-9", error_code=5)]
    assert not look([LISTED], [*others, LISTED])
    assert not look([topic("unusable"), LISTED], [LISTED, topic("unusable")])


@pytest.mark.parametrize("line", ["east->west.mirror.follow.discovery.seconds = 0", ""])
def test_nobody_asks_where_it_is_switched_off_or_the_plan_says_nothing(flow: Callable[[str], Flow], line: str) -> None:
    known, source, clock = known_topics(flow(line), "a digest" if line else ""), ListedSource(), Clock()
    discovery = Discovery(known, clock)
    clock.seconds += 3600
    assert (known, discovery.has_news(source), source.asked) == (None, False, 0)


def test_a_filter_that_cannot_be_pickled_keeps_nobody_from_copying(
    flow: Callable[[str], Flow], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kafka_mirror.copy.follow_turn.topic_selection", lambda _flow: lambda: None)
    assert known_topics(flow(""), "a digest") is None
    assert "cannot be pickled" in caplog.text


def test_the_lanes_of_all_processes_learn_of_it_at_the_same_time_by_one_question_each(flow: Callable[[str], Flow]) -> None:
    known, source, clock = known_topics(flow(""), "what the plan knew"), ListedSource(), Clock()
    earlier = Discovery(known, clock)
    clock.seconds += 15
    later = Discovery(known, clock)
    assert not any(discovery.has_news(source) for discovery in (earlier, earlier, later))
    assert source.asked == 0
    clock.seconds = 120.0
    assert all(discovery.has_news(source) for discovery in (earlier, earlier, later, later))
    assert source.asked == 2


def test_a_source_that_does_not_answer_is_asked_again_the_next_time(flow: Callable[[str], Flow]) -> None:
    source, clock = ListedSource(), Clock()
    discovery = Discovery(known_topics(flow(""), "what the plan knew"), clock)
    source.failure = ClusterUnreachable("east", "127.0.0.1:1", 30)
    clock.seconds += 30
    with pytest.raises(ClusterUnreachable):
        discovery.has_news(source)
    source.failure = None
    assert not discovery.has_news(source), "another lane, in the same stretch of time"
    clock.seconds += 30
    assert discovery.has_news(source)
