"""Records that are written only behind what was read: a writer that another one fences says so, whenever it learns of it."""

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from mirror.errors import UnexpectedOffset
from mirror.kafka import compare_and_set
from mirror.kafka.compare_and_set import ConditionalWriter, Fenced
from mirror.kafka.writing import Outgoing
from mirror.offsets.partition import TopicPartition

LOG = TopicPartition("mm2-control.east.internal", 0)


class Brokers:
    """A producer whose records are delivered at `delivered`, and that is fenced by the call of that name."""

    def __init__(self, delivered: int, fenced_by: str) -> None:
        self._delivered = delivered
        self._fenced_by = fenced_by
        self._reports: list[object] = []

    def __getattr__(self, name: str) -> object:
        return lambda *_arguments: self._called(name)

    def produce(self, _topic: str, _value: bytes, _key: bytes, _partition: int, report: object) -> None:
        self._reports.append(report)

    def flush(self, _seconds: float) -> int:
        self._called("flush")
        for report in self._reports:
            report(None, SimpleNamespace(offset=lambda: self._delivered))  # type: ignore[operator]
        self._reports.clear()
        return 0

    def _called(self, name: str) -> None:
        if name == self._fenced_by:
            raise KafkaException(KafkaError(KafkaError._FENCED, "fenced by a newer instance", fatal=True))


@pytest.fixture
def write(monkeypatch):
    """Writes one record behind the end 7, in a transaction that goes wrong somewhere."""

    def run(delivered: int, fenced_by: str) -> None:
        brokers = Brokers(delivered, fenced_by)
        monkeypatch.setattr(compare_and_set, "Producer", lambda _settings: brokers)
        monkeypatch.setattr(compare_and_set, "close", lambda producer: producer.closed())
        ConditionalWriter("west", {}, "mirror.4.east.16.control", 1.0).write([Outgoing(LOG.topic, b"k", b"v")], LOG, 7, "the decision")

    return run


@pytest.mark.parametrize("call", ["init_transactions", "begin_transaction", "flush", "commit_transaction"])
def test_a_writer_that_is_fenced_before_it_has_committed_has_written_nothing(write, call):
    with pytest.raises(Fenced):
        write(7, call)


@pytest.mark.parametrize("call", ["abort_transaction", "closed", ""])
def test_records_that_land_elsewhere_are_not_committed_whoever_ends_their_transaction(write, call):
    with pytest.raises(UnexpectedOffset):
        write(9, call)


def test_what_was_committed_stands_though_the_writer_is_fenced_afterwards(write):
    write(7, "closed")
