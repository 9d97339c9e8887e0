"""What a decision about partitions is bound to, and where there is nothing to decide."""

from dataclasses import replace

import pytest

from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.decide.binding import PartitionState, bind, throttle
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.errors import NothingToDecide, UsageError
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import NO_TOPIC_ID, TopicPartition
from kafka_mirror.ledger.record import Blocked
from tests.unit.decision_records import DECIDED_AT, decision
from tests.unit.ledger_records import ledger_record

TP = TopicPartition("orders", 0)
SOURCE = SourceOffsets(TP, "source-topic-id", log_start=10, readable_end=150, end=160, leader_epoch=3)
RECORD = ledger_record(offset_map=OffsetMap((Run(0, 0, 60), Run(70, 61, 30))), target_next=91)
STATE = PartitionState(TP, RECORD, SOURCE, "east.orders", "target-topic-id", remote_end=92, remote_stable=92)


def bound(word, state=STATE, **request):
    (made,) = bind(DecisionRequest(word, "ana@ops", "seen", "orders", **request), [state], DECIDED_AT)
    return made.decision


@pytest.mark.parametrize("word", ["accept-gap", "skip-record", "restart", "accept-records"])
def test_a_healthy_partition_is_no_question_and_its_state_is_told(word):
    with pytest.raises(NothingToDecide, match=r"orders-0: copied up to 100, the source has \[10, 160\); east.orders-0 ends at 92"):
        bound(word)


@pytest.mark.parametrize("word", ["accept-gap", "skip-record", "restart"])
def test_a_partition_that_was_never_copied_is_no_question(word):
    with pytest.raises(NothingToDecide, match="not in the ledger"):
        bound(word, replace(STATE, record=None), partition=0, start="earliest" if word == "restart" else None)


def test_only_the_partitions_that_need_it_are_decided_about():
    gap = replace(STATE, tp=TopicPartition("orders", 1), source=replace(SOURCE, log_start=120))
    (made,) = bind(DecisionRequest("accept-gap", "ana@ops", "seen", "orders"), [STATE, gap], DECIDED_AT)
    assert (made.decision.partition, made.decision.watermark, made.decision.who, made.decision.why) == (1, 100, "ana@ops", "seen")
    assert "[100, 120)" in made.effect


def test_a_gap_of_another_topic_under_the_same_name_is_none():
    with pytest.raises(NothingToDecide):
        bound("accept-gap", replace(STATE, source=replace(SOURCE, log_start=120, topic_id="other")))


def test_what_the_target_lost_is_no_record_that_blocks():
    lost = replace(RECORD, blocked=Blocked(100, "TargetLostRecords", "x", DECIDED_AT, 1))
    with pytest.raises(NothingToDecide):
        bound("skip-record", replace(STATE, record=lost))


def test_the_record_that_blocks_is_the_one_that_is_skipped():
    assert bound("skip-record", replace(STATE, record=replace(RECORD, blocked=Blocked(100, "x", "", DECIDED_AT, 1)))).offset == 100
    with pytest.raises(NothingToDecide):
        bound("skip-record", replace(STATE, record=replace(RECORD, blocked=Blocked(99, "x", "", DECIDED_AT, 1))))


def test_records_are_accepted_up_to_the_end_that_is_seen():
    made = bound("accept-records", replace(STATE, unexplained=True))
    assert (made.target_topic, made.target_topic_id, made.target_end) == ("east.orders", "target-topic-id", 92)


# ---------------------------------------------------------------- where to restart


def test_a_topic_without_an_id_whose_leader_epoch_went_back_is_restarted_from_its_beginning():
    state = replace(
        STATE, record=replace(RECORD, source_topic_id=NO_TOPIC_ID, leader_epoch=4), source=replace(SOURCE, topic_id=NO_TOPIC_ID)
    )
    assert bound("restart", state).offset == 10


@pytest.mark.parametrize(
    "state",
    [
        replace(STATE, source=replace(SOURCE, topic_id="other")),
        replace(STATE, remote_id="other"),
        replace(STATE, remote="west.orders"),
        replace(STATE, remote_id=None, remote_end=None, remote_stable=None),
    ],
    ids=["source recreated", "target recreated", "renamed", "target missing"],
)
def test_another_topic_is_copied_from_the_sources_beginning(state):
    made = bound("restart", state)
    assert (made.watermark, made.offset, made.target_end) == (100, 10, None)
    assert (made.source_topic_id, made.target_topic, made.target_topic_id) == (state.source.topic_id, state.remote, state.remote_id)


@pytest.mark.parametrize(
    ("source", "start"),
    [
        (replace(SOURCE, end=80, readable_end=80), 80),
        (replace(SOURCE, end=80, readable_end=80, epoch_end=70), 70),
        (replace(SOURCE, epoch_end=70), 70),
    ],
    ids=["its end", "where the old epoch ends", "grown again"],
)
def test_a_truncated_source_is_taken_up_where_it_departed(source, start):
    assert bound("restart", replace(STATE, source=source)).offset == start


@pytest.mark.parametrize(
    ("end", "stable", "start", "left"),
    [(81, 81, 90, 81), (60, 60, 70, 60), (90, 65, 74, 65), (90, 30, 30, 30)],
    ids=["inside a run", "between runs", "a marker was lost", "a long transaction's marker was lost"],
)
def test_what_the_target_lost_is_copied_from_its_first_record_on(end, stable, start, left):
    made = bound("restart", replace(STATE, remote_end=end, remote_stable=stable))
    assert (made.offset, made.target_end) == (start, left)


def test_what_both_sides_lost_is_copied_from_the_earlier_one_on():
    both = replace(STATE, source=replace(SOURCE, end=95, readable_end=95), remote_end=81, remote_stable=81)
    assert bound("restart", both).offset == 90


def test_what_a_lane_saw_to_be_lost_is_copied_again_though_the_end_does_not_show_it():
    seen = replace(STATE, record=replace(RECORD, blocked=Blocked(74, "TargetLostRecords", "gone", DECIDED_AT, 1)), remote_end=120)
    made = bound("restart", seen)
    assert (made.offset, made.target_end) == (74, None)


def test_an_empty_offset_map_has_nothing_of_ours_to_lose():
    emptied = replace(STATE, record=replace(RECORD, offset_map=OffsetMap()), remote_end=81, remote_stable=81)
    assert bound("restart", emptied).offset == 100


@pytest.mark.parametrize(("start", "offset"), [("earliest", 10), ("latest", 150), (42, 42)])
def test_a_person_may_say_where_and_for_one_partition_even_where_nothing_is_wrong(start, offset):
    assert bound("restart", partition=0, start=start).offset == offset
    assert bound("restart", replace(STATE, remote_id="other"), partition=0, start=start).offset == offset
    if isinstance(start, str):
        with pytest.raises(NothingToDecide):
            bound("restart", start=start)


@pytest.mark.parametrize("start", [9, 161])
def test_an_offset_that_the_source_does_not_have_is_refused(start):
    with pytest.raises(UsageError, match=r"\[10, 160\)"):
        bound("restart", partition=0, start=start)


def asked(rate, before=None, configured=-1):
    (made,) = throttle(DecisionRequest("throttle", "ana@ops", "the link is full", bytes_per_second=rate), before, configured, DECIDED_AT)
    return made


@pytest.mark.parametrize(
    ("rate", "before", "configured", "words"),
    [
        (5_000_000, None, -1, "the flow copies at most 5,000,000 bytes a second;"),
        (-1, None, 1000, "the flow copies as fast as it can;"),
        (None, decision("throttle"), 2000, "the flow copies at most 2,000 bytes a second, as the properties say;"),
        (None, decision("throttle"), -1, "the flow copies as fast as it can, as the properties say;"),
    ],
)
def test_the_decision_says_what_holds_from_then_on(rate, before, configured, words):
    made = asked(rate, before, configured)
    assert made.effect.startswith(words)
    assert made.effect.endswith("a run that is under way does so from its next transaction on")
    assert (made.decision.bytes_per_second, made.decision.who, made.decision.key) == (rate, "ana@ops", ("throttle", None, None))


def test_where_nobody_decided_there_is_nothing_to_take_back():
    with pytest.raises(NothingToDecide, match="the properties say at most 2,000 bytes a second"):
        asked(None, configured=2000)
