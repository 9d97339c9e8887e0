"""Decisions in the control topic: what is written right behind what was read, and what a commit in doubt turns out to be."""

from types import SimpleNamespace

import pytest

from kafka_mirror.errors import DecidedMeanwhile
from kafka_mirror.formats.batches.batch_records import StoredRecord
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger import control
from kafka_mirror.ledger.compare_and_set import CommitInDoubt
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import encode, encode_key
from tests.unit.decision_records import decision

PAUSE = decision("pause")
OTHER = decision("pause", topic="another")


@pytest.fixture
def written_in_doubt(monkeypatch):
    """Writes a decision whose commit is in doubt, to a topic that holds these decisions afterwards; gives how far the topic was read."""

    def run(*there):
        class Writer:
            def __init__(self, *_arguments):
                pass

            def write(self, *_arguments):
                raise CommitInDoubt("the log: unknown")

        monkeypatch.setattr(control, "ConditionalWriter", Writer)
        topic = Control(
            "mm2-control.east.internal",
            SimpleNamespace(alias="west", timeout=1.0, offsets=lambda logs, *_, **__: dict.fromkeys(logs, 9)),
            {},
            {},
            "mirror.control",
        )
        monkeypatch.setattr(topic, "_find_end", lambda: 9)
        records = [StoredRecord(TopicPartition(topic.topic, 0), 0, encode_key(each), encode(each)) for each in there]
        looks = []
        monkeypatch.setattr(topic, "_read_records", lambda end: looks.append(end) or records)
        topic.write_next([PAUSE])
        return looks

    return run


def test_a_decision_whose_commit_is_in_doubt_is_written_if_the_topic_holds_it(written_in_doubt):
    assert written_in_doubt(OTHER, PAUSE) == [9], "once, up to the end"


def test_one_that_the_topic_does_not_hold_was_overtaken_by_whoever_decided_meanwhile(written_in_doubt):
    with pytest.raises(DecidedMeanwhile):
        written_in_doubt(OTHER)
