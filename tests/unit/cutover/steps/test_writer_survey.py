"""What the source is asked about those who write."""

from types import SimpleNamespace as Answer

import pytest

from kafka_mirror.config import load
from kafka_mirror.cutover.steps import writers
from kafka_mirror.cutover.steps.writers import survey_writers
from kafka_mirror.errors import KafkaFailure
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import ActiveProducer, LogOffsets
from kafka_mirror.kafka.producers import OpenTransaction
from tests.unit.cli.command_line import VALID

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)
QUIET, OLDER, YOUNGER = ActiveProducer(7, 0, 1, None), ActiveProducer(8, 0, 1, 20), ActiveProducer(9, 0, 1, 25)


@pytest.fixture
def flow(tmp_path):
    file = tmp_path / "mm2.properties"
    file.write_text(VALID + "mirror.open.transaction.max.seconds = 77\n")
    return load([file]).flow("east->west")


def test_the_owner_of_the_oldest_open_transaction_of_each_partition_is_asked_for(flow, monkeypatch):
    questions = []

    def holders(_source, starts, longest):
        questions.append((starts, longest))
        return {ORDERS: OpenTransaction(8, 0, "tx", 1, 3.0)}

    monkeypatch.setattr(writers, "active_producers", lambda *_: {ORDERS: (QUIET, YOUNGER, OLDER), PAYMENTS: (QUIET,)})
    monkeypatch.setattr(writers, "holders", holders)
    found = survey_writers(flow, None, [ORDERS], {})
    assert questions == [({ORDERS: 20}, 77)]
    assert found.owners == {ORDERS: OpenTransaction(8, 0, "tx", 1, 3.0)}


def test_without_open_transactions_no_owner_is_asked_for(flow, monkeypatch):
    monkeypatch.setattr(writers, "active_producers", lambda *_: {ORDERS: (QUIET,)})
    monkeypatch.setattr(writers, "holders", lambda *_: pytest.fail("nobody holds anything"))
    assert survey_writers(flow, None, [ORDERS], {}).owners == {}


def test_partitions_of_which_leaders_are_too_old_to_tell_come_with_where_a_transaction_holds_them_back(flow, monkeypatch):
    refused = {"payments": KafkaFailure("payments")}
    monkeypatch.setattr(writers, "active_producers", lambda *_: {})
    source = Answer(log_offsets=lambda asked, _refused: {tp: LogOffsets(0, 4 + tp.partition, 5, None) for tp in asked})
    partitions = [ORDERS, TopicPartition("orders", 1), PAYMENTS]
    found = survey_writers(flow, source, partitions, refused)
    assert found.untold == {ORDERS: 4, TopicPartition("orders", 1): None}, "who is refused is another matter"
