"""Records that are written only behind what was read: a writer that another one fences says so, whenever it learns of it."""

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from mirror.errors import UnexpectedOffset
from mirror.kafka import compare_and_set, fence
from mirror.kafka.compare_and_set import CommitInDoubt, ConditionalWriter, Fenced, not_readable
from mirror.kafka.writer import Outgoing
from mirror.offsets.partition import TopicPartition

LOG = TopicPartition("mm2-control.east.internal", 0)
REMOTE = TopicPartition("east.orders", 3)


class Brokers:
    """A producer whose records are delivered at `delivered`, and that is fenced by the call of that name."""

    def __init__(self, delivered: int, fenced_by: str) -> None:
        self._delivered = delivered
        self._fenced_by = fenced_by
        self._reports: list[object] = []
        self.calls: list[str] = []
        self.written: list[bytes] = []
        self.committed: list[bytes] = []

    def __getattr__(self, name: str) -> object:
        return lambda *_arguments: self._called(name)

    def produce(self, _topic: str, value: bytes, _key: bytes, _partition: int, report: object) -> None:
        self._reports.append(report)
        self.written.append(value)

    def commit_transaction(self, _seconds: float) -> None:
        self._called("commit_transaction")
        self.committed += self.written

    def flush(self, _seconds: float) -> int:
        self._called("flush")
        for report in self._reports:
            report(None, SimpleNamespace(offset=lambda: self._delivered))  # type: ignore[operator]
        self._reports.clear()
        return 0

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if name == self._fenced_by:
            raise KafkaException(KafkaError(KafkaError._FENCED, "fenced by a newer instance", fatal=True))


@pytest.fixture
def write(monkeypatch):
    """Writes one record behind the end 7, in a transaction that goes wrong somewhere."""

    def run(brokers: Brokers) -> None:
        monkeypatch.setattr(fence, "Producer", lambda _settings: brokers)
        for module in (compare_and_set, fence):
            monkeypatch.setattr(module, "close", lambda producer: producer.closed())
        ConditionalWriter("west", {}, "mirror.4.east.16.control", 1.0).write([Outgoing(LOG.topic, b"k", b"v")], LOG, 7, "the decision")

    return run


@pytest.mark.parametrize("call", ["init_transactions", "begin_transaction", "flush", "commit_transaction"])
def test_a_writer_that_is_fenced_before_it_has_committed_has_written_nothing(write, call):
    brokers = Brokers(7, call)
    with pytest.raises(Fenced):
        write(brokers)
    assert (brokers.committed, brokers.calls[-1]) == ([], "closed")


@pytest.mark.parametrize("call", ["abort_transaction", "closed", ""])
def test_records_that_land_elsewhere_are_not_committed_whoever_ends_their_transaction(write, call):
    brokers = Brokers(9, call)
    with pytest.raises(UnexpectedOffset):
        write(brokers)
    assert "abort_transaction" in brokers.calls
    assert brokers.committed == []


def test_what_was_committed_stands_though_the_writer_is_fenced_afterwards(write):
    brokers = Brokers(7, "closed")
    write(brokers)
    assert brokers.committed == [b"v"]
    assert "abort_transaction" not in brokers.calls
    assert brokers.calls[-1] == "closed"


class CoordinatorThatMeetsItself(Brokers):
    """Answers a commit with an unknown error, as Kafka 4.3.1 does while a later producer fences this one."""

    def commit_transaction(self, _seconds: float) -> None:
        self.calls.append("commit_transaction")
        raise KafkaException(KafkaError(KafkaError.UNKNOWN, "EndTxn commit failed: Unknown broker error"))


def test_a_commit_of_which_the_broker_says_nothing_is_in_doubt_once_a_later_producer_has_ended_it(write):
    brokers = CoordinatorThatMeetsItself(7, "")
    with pytest.raises(CommitInDoubt):
        write(brokers)
    assert "init_transactions" in brokers.calls[brokers.calls.index("commit_transaction") :]


class Markers:
    """A target whose last stable offsets reach these values, one look after another."""

    def __init__(self, *looks: dict[TopicPartition, int]) -> None:
        self.looks = list(looks)
        self.asked: list[set[TopicPartition]] = []

    def offsets(self, partitions, _spec, *, committed):
        assert committed
        self.asked.append(set(partitions))
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]


def test_each_partition_is_looked_at_until_its_marker_can_be_read():
    markers = Markers({LOG: 6, REMOTE: 40}, {LOG: 6}, {LOG: 7})
    assert not_readable(markers, {LOG: 7, REMOTE: 40}, 5) == {}
    assert markers.asked == [{LOG, REMOTE}, {LOG}, {LOG}]


def test_what_cannot_be_read_in_time_is_given():
    assert not_readable(Markers({LOG: 6, REMOTE: 40}), {LOG: 7, REMOTE: 40}, 0.05) == {LOG: 7}
