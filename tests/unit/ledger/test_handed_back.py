"""A flow that MirrorMaker 2 mirrors again: what the control topic and the ledger say of it, and which decisions count then."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.copy.ledger_updates import advance_record
from kafka_mirror.copy.model import PartitionProgress
from kafka_mirror.errors import HandedBack
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.translation import SourceState, translate
from kafka_mirror.ledger.apply_decisions import PartitionFacts, act_on_decisions, with_decision_note
from kafka_mirror.ledger.checks import check_handed_back, find_handed_back
from kafka_mirror.ledger.codec import decode as decode_record
from kafka_mirror.ledger.codec import encode as encode_record
from kafka_mirror.ledger.control_records import ACCEPT_GAP, HANDED_BACK, RESTART, TAKEN_OVER, Decision, decode, encode, encode_key
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import Decided
from tests.unit.ledger_records import ledger_record

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
TP = TopicPartition("orders", 0)
NOW_STANDING = PartitionFacts("source-topic-id", 150, "east.orders", "target-topic-id")


def decision(word, when=NOW, **facts):
    return Decision(word, "somebody", when, "a test", **facts)


def test_the_newer_of_the_two_words_counts_for_they_share_a_key():
    back, over = decision(HANDED_BACK), decision(TAKEN_OVER, LATER)
    assert encode_key(back) == encode_key(over)
    assert decode(encode(over), "here") == over
    assert Decisions([back]).handed_back == back
    assert Decisions([over]).handed_back is None
    assert Decisions([]).handed_back is None


def test_a_plan_is_refused_while_the_flow_is_handed_back():
    with pytest.raises(HandedBack, match=r"handed back to MirrorMaker 2 by somebody at 2026-11-21T09:00:00.000Z") as raised:
        check_handed_back(Decisions([decision(HANDED_BACK)]))
    assert "take-over" in raised.value.next
    check_handed_back(Decisions([decision(TAKEN_OVER)]))


def test_a_partition_says_so_itself_until_it_is_taken_over():
    left = ledger_record(handed_back=Decided(HANDED_BACK, "somebody", NOW, "a test"))
    error = find_handed_back(TP, left)
    assert (error.topic, error.partition) == TP
    assert find_handed_back(TP, replace(left, handed_back=None)) is None
    assert find_handed_back(TP, ledger_record()) is None


def test_of_a_person_s_decisions_only_a_restart_takes_a_partition_back():
    left = ledger_record(watermark=100, handed_back=Decided(HANDED_BACK, "somebody", NOW, "a test"))
    gap = decision(ACCEPT_GAP, LATER, topic="orders", partition=0, watermark=100)
    assert act_on_decisions(left, [gap], NOW_STANDING) == (left, ())
    facts = {"source_topic_id": "source-topic-id", "target_topic": "east.orders", "target_topic_id": "target-topic-id"}
    restart = decision(RESTART, LATER, topic="orders", partition=0, watermark=100, offset=160, **facts)
    record, applied = act_on_decisions(left, [restart], NOW_STANDING)
    assert (record.watermark, applied, find_handed_back(TP, record)) == (160, (restart,), None)


def test_a_later_decision_does_not_take_away_that_a_partition_was_handed_back_or_taken_over():
    back = Decided(HANDED_BACK, "somebody", NOW, "a test")
    left = ledger_record(decided=back, handed_back=back)
    owned = with_decision_note(left, [decision(ACCEPT_GAP, LATER, topic="orders", partition=0, watermark=100)])
    assert owned.decided != back
    assert decode_record(encode_record(owned), "here").handed_back == back
    taken = ledger_record(records=0, target_next=500, offset_map=OffsetMap((Run(90, 80, 1, True),), thinned_behind=True))
    read = decode_record(
        encode_record(with_decision_note(taken, [decision(ACCEPT_GAP, LATER, topic="orders", partition=0, watermark=100)])), "here"
    )
    copied = advance_record(read, PartitionProgress(TP, 110, 0, (Run(100, 500, 10),), 10, 1, 510), 0)
    assert translate(95, copied, SourceState("source-topic-id", 110), "target-topic-id").target == 81
