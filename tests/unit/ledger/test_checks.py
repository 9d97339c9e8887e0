"""Rules about the ledger as a whole."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.copy.ledger_updates import advance_record
from kafka_mirror.copy.model import PartitionProgress
from kafka_mirror.errors import FlowClosed, ForeignWriter, HandedBack, LedgerMissing, OtherCluster
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.translation import SourceState, translate
from kafka_mirror.ledger.apply_decisions import PartitionFacts, act_on_decisions, with_decision_note
from kafka_mirror.ledger.checks import (
    check_closed,
    check_clusters,
    check_handed_back,
    check_lane_open,
    check_ledger,
    check_writer,
    find_handed_back,
)
from kafka_mirror.ledger.codec import decode as decode_record
from kafka_mirror.ledger.codec import encode as encode_record
from kafka_mirror.ledger.control_records import (
    ACCEPT_GAP,
    CLOSED,
    HANDED_BACK,
    REOPENED,
    RESTART,
    TAKEN_OVER,
    Decision,
    decode,
    encode,
    encode_key,
)
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import Decided, Writer, note
from tests.unit.decision_records import decision
from tests.unit.ledger_records import ledger_record

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
RECORD = ledger_record(writer=Writer("theirs", "h", "r", NOW - timedelta(seconds=599)))


def test_the_clusters_of_the_ledger_are_accepted():
    check_clusters([RECORD], "east", "source-id", "west", "target-id")


@pytest.mark.parametrize(("source", "target", "alias"), [("other", "target-id", "east"), ("source-id", "other", "west")])
def test_another_cluster_behind_an_alias_is_named(source, target, alias):
    with pytest.raises(OtherCluster, match=alias):
        check_clusters([RECORD], "east", source, "west", target)


def test_a_record_by_another_installation_whose_clock_is_ahead_says_so():
    ahead = ledger_record(writer=Writer("theirs", "h", "r", NOW + timedelta(days=1)))
    with pytest.raises(ForeignWriter, match=r"still 86400 s ahead of this host's clock"):
        check_writer([ahead], "ledger", 3, "ours", 60, NOW)


def test_a_recent_record_by_another_installation_keeps_us_out():
    with pytest.raises(ForeignWriter, match="theirs"):
        check_writer([RECORD], "ledger", 3, "ours", 60, NOW)


@pytest.mark.parametrize(
    ("installation", "record"),
    [
        ("", RECORD),
        ("theirs", RECORD),
        ("ours", replace(RECORD, writer=replace(RECORD.writer, installation=""))),
        ("ours", replace(RECORD, writer=replace(RECORD.writer, time=NOW - timedelta(seconds=600)))),
    ],
)
def test_our_own_unnamed_and_long_silent_writers_do_not(installation, record):
    check_writer([record], "ledger", 3, installation, 60, NOW)


def test_a_cluster_that_was_adopted_is_accepted_and_the_other_side_is_still_looked_at():
    adopted = Decisions([decision("adopt-cluster")])
    check_clusters([RECORD], "east", "new-source-id", "west", "target-id", adopted)
    with pytest.raises(OtherCluster, match="west"):
        check_clusters([RECORD], "east", "new-source-id", "west", "other", adopted)


def test_what_was_written_until_ownership_was_taken_does_not_keep_us_out_and_what_came_later_does():
    taken = Decisions([decision("take-ownership", until=RECORD.writer.time)])
    check_writer([RECORD], "ledger", 3, "ours", 60, NOW, taken)
    later = replace(RECORD, writer=replace(RECORD.writer, time=NOW))
    with pytest.raises(ForeignWriter):
        check_writer([RECORD, later], "ledger", 3, "ours", 60, NOW, taken)
    with pytest.raises(ForeignWriter):
        check_writer([RECORD], "ledger", 3, "a third", 60, NOW, taken)


@pytest.mark.parametrize(("planned", "found"), [("", None), ("", "another"), ("id", "id")])
def test_the_ledger_that_was_planned_with_is_accepted_and_so_is_any_where_none_was(planned, found):
    check_ledger("mm2-ledger.east.internal", planned, found)


@pytest.mark.parametrize("found", [None, "another"])
def test_a_ledger_that_is_gone_or_another_one_is_named(found):
    with pytest.raises(LedgerMissing) as raised:
        check_ledger("mm2-ledger.east.internal", "id", found)
    assert (raised.value.known_id, raised.value.found_id) == ("id", found)


AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
DECIDED = Decision(CLOSED, "ana", AT, "the site is gone")
OPENED = Decision(REOPENED, "ben", AT + timedelta(hours=1), "compared")


def lane_note(decision):
    return note("ledger", "id", ("E", "W"), 4, Decided.of(decision), Writer("", "host", "run", AT))


def test_a_closed_flow_is_not_planned_and_says_who_closed_it_when_and_why():
    with pytest.raises(FlowClosed, match=r"closed by ana at 2026-11-21T08:00:00.000Z, after a failover: the site is gone") as closed:
        check_closed(Decisions([DECIDED]))
    assert [command.split(" -m kafka_mirror ")[1].split(" --")[0] for command in closed.value.step.commands] == [
        "cutover compare",
        "cutover reopen",
    ]


def test_a_lane_that_was_closed_copies_no_plan_from_before():
    with pytest.raises(FlowClosed):
        check_lane_open(lane_note(DECIDED))


def test_an_open_flow_goes_on():
    check_closed(Decisions())
    check_closed(Decisions([OPENED]))
    check_lane_open(None)
    check_lane_open(lane_note(OPENED))


def test_opening_stands_under_the_key_of_closing_and_both_survive_their_bytes():
    assert encode_key(DECIDED) == encode_key(OPENED) == b'["closed",null,null]'
    assert [decode(encode(decision), "here") for decision in (DECIDED, OPENED)] == [DECIDED, OPENED]
    assert (Decisions([DECIDED]).closed, Decisions([DECIDED]).reopened) == (DECIDED, None)
    assert (Decisions([OPENED]).closed, Decisions([OPENED]).reopened) == (None, OPENED)


HANDED_BACK_AT = datetime(2026, 11, 21, 9, tzinfo=UTC)
LATER = HANDED_BACK_AT + timedelta(hours=1)
TP = TopicPartition("orders", 0)
NOW_STANDING = PartitionFacts("source-topic-id", 150, "east.orders", "target-topic-id")


def somebodys(word, when=HANDED_BACK_AT, **facts):
    return Decision(word, "somebody", when, "a test", **facts)


def test_the_newer_of_the_two_words_counts_for_they_share_a_key():
    back, over = somebodys(HANDED_BACK), somebodys(TAKEN_OVER, LATER)
    assert encode_key(back) == encode_key(over)
    assert decode(encode(over), "here") == over
    assert Decisions([back]).handed_back == back
    assert Decisions([over]).handed_back is None
    assert Decisions([]).handed_back is None


def test_a_plan_is_refused_while_the_flow_is_handed_back():
    with pytest.raises(HandedBack, match=r"handed back to MirrorMaker 2 by somebody at 2026-11-21T09:00:00.000Z") as raised:
        check_handed_back(Decisions([somebodys(HANDED_BACK)]))
    assert "take-over" in raised.value.next
    check_handed_back(Decisions([somebodys(TAKEN_OVER)]))


def test_a_partition_says_so_itself_until_it_is_taken_over():
    left = ledger_record(handed_back=Decided(HANDED_BACK, "somebody", HANDED_BACK_AT, "a test"))
    error = find_handed_back(TP, left)
    assert (error.topic, error.partition) == TP
    assert find_handed_back(TP, replace(left, handed_back=None)) is None
    assert find_handed_back(TP, ledger_record()) is None


def test_of_a_person_s_decisions_only_a_restart_takes_a_partition_back():
    left = ledger_record(watermark=100, handed_back=Decided(HANDED_BACK, "somebody", HANDED_BACK_AT, "a test"))
    gap = somebodys(ACCEPT_GAP, LATER, topic="orders", partition=0, watermark=100)
    assert act_on_decisions(left, [gap], NOW_STANDING) == (left, ())
    facts = {"source_topic_id": "source-topic-id", "target_topic": "east.orders", "target_topic_id": "target-topic-id"}
    restart = somebodys(RESTART, LATER, topic="orders", partition=0, watermark=100, offset=160, **facts)
    record, applied = act_on_decisions(left, [restart], NOW_STANDING)
    assert (record.watermark, applied, find_handed_back(TP, record)) == (160, (restart,), None)


def test_a_later_decision_does_not_take_away_that_a_partition_was_handed_back_or_taken_over():
    back = Decided(HANDED_BACK, "somebody", HANDED_BACK_AT, "a test")
    left = ledger_record(decided=back, handed_back=back)
    owned = with_decision_note(left, [somebodys(ACCEPT_GAP, LATER, topic="orders", partition=0, watermark=100)])
    assert owned.decided != back
    assert decode_record(encode_record(owned), "here").handed_back == back
    taken = ledger_record(records=0, target_next=500, offset_map=OffsetMap((Run(90, 80, 1, True),), thinned_behind=True))
    read = decode_record(
        encode_record(with_decision_note(taken, [somebodys(ACCEPT_GAP, LATER, topic="orders", partition=0, watermark=100)])), "here"
    )
    copied = advance_record(read, PartitionProgress(TP, 110, 0, (Run(100, 500, 10),), 10, 1, 510), 0)
    assert translate(95, copied, SourceState("source-topic-id", 110), "target-topic-id").target == 81
