"""What a run came to, by one plan or several, and whether it was good, judged by the ledger."""

import json
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from kafka_mirror.copy.model import FORWARDED, JOINED, REWRITTEN, BatchShare, LaneResult, RewriteReason, SkippedRecords, Watermark
from kafka_mirror.copy.plan.model import BEHIND, Plan, Range
from kafka_mirror.copy.publish import Published, compare_results
from kafka_mirror.copy.run_result import Verdict, copy_once, from_columns, join_results, to_columns, verdict
from kafka_mirror.errors import ErrorReport, JobFailed, Overtaken
from kafka_mirror.groups.offset_syncs import OffsetSyncsResult
from kafka_mirror.ledger.record import Decided
from tests.unit.decision_records import DECIDED_AT, decision
from tests.unit.ledger_records import ledger_record
from tests.unit.surface.examples import example

FLOW = SimpleNamespace(value={"mirror.lanes": 16}.get)

PLAN = Plan("east->west", (Range("orders", 0, "id", 10, 20, "behind"), Range("orders", 1, "id", 5, 9, "behind")))


def published(*offsets):
    return Published(tuple(Watermark("orders", partition, offset, offset, 1, 10) for partition, offset in enumerate(offsets)))


def test_all_ends_reached_is_done():
    judged = verdict(PLAN, [], published(20, 9))
    assert (judged.state, judged.errors, judged.owed, judged.records) == ("done", (), 0, 2)


def test_no_ranges_is_nothing_to_do():
    assert verdict(Plan("east->west"), [], Published()).state == "nothing to do"


def test_a_budget_that_left_work_is_still_good():
    judged = verdict(PLAN, [], published(15, 9))
    assert (judged.state, judged.owed) == ("done", 5)


def test_owed_work_and_nothing_moved_is_red():
    judged = verdict(PLAN, [LaneResult(0)], published(10, 5))
    assert judged.state == "failed"
    assert [error.code for error in judged.errors] == ["NothingMoved"]
    assert "orders-0@10" in judged.errors[0].message


def test_a_job_that_failed_is_red_if_anything_is_left_however_much_moved():
    def fail(_plan):
        raise JobFailed("Spark was killed.", next="Look.")

    result = copy_once(FLOW, PLAN, fail)
    judged = verdict(PLAN, result.results, published(20, 7))
    assert (judged.state, judged.owed, [error.message for error in judged.errors]) == ("failed", 2, ["Spark was killed."])
    assert judged.errors == tuple(result.errors)
    assert verdict(PLAN, result.results, published(20, 9)).state == "done"


def test_without_work_nothing_is_asked_to_copy():
    assert copy_once(FLOW, Plan("east->west"), lambda _plan: pytest.fail("it was asked")).results == ()


def test_partitions_that_were_only_followed_and_to_which_nothing_came_are_no_work_of_the_run():
    ranges = tuple(Range(topic, 0, "id", 5, end, BEHIND) for topic, end in (("clicks", 5), ("orders", 5), ("payments", 9)))
    marks = tuple(Watermark(topic, 0, end, end, 0, 0) for topic, end in (("clicks", 5), ("orders", 7), ("payments", 9)))
    judged = verdict(Plan("east->west", ranges), [], Published(marks))
    assert (judged.state, judged.watermarks) == ("done", marks[1:])
    idle = verdict(Plan("east->west", ranges[:1]), [], Published(marks[:1]))
    assert (idle.state, idle.watermarks, idle.owed) == ("nothing to do", (), 0)
    assert verdict(Plan("east->west", ranges[:1]), [], Published()).state == "nothing to do", "the ledger of its lane cannot be read"


def test_a_verdict_as_json_gives_the_verdict_again():
    found = example(Verdict)
    columns = to_columns(found)
    assert columns["watermarks"]["source_offset"] == [found.watermarks[0].source_offset]
    assert from_columns(json.loads(json.dumps(columns))) == found


def test_stuck_partitions_that_had_no_turn_are_told_though_another_one_went_on():
    stuck = replace(PLAN, ranges=tuple(replace(planned, reason="blocked") for planned in PLAN.ranges))
    judged = verdict(stuck, [LaneResult(0)], published(12, 5))
    assert (judged.state, judged.retriable) == ("failed", True)
    (error,) = judged.errors
    assert "1 partitions are stuck and were not tried again" in error.message
    assert "orders-1@5" in error.message
    refused = ErrorReport("RecordRefused", "too large", "orders", 1, 5, False, "")
    assert verdict(stuck, [LaneResult(0, errors=(refused,))], published(12, 5)).errors == (refused,)


def test_being_overtaken_does_not_count_when_the_other_attempt_did_the_work():
    overtaken = [LaneResult(3, errors=(Overtaken(3).report(),))]
    assert verdict(PLAN, overtaken, published(20, 9)).state == "done"
    left = verdict(PLAN, overtaken, published(15, 9))
    assert (left.state, left.retriable) == ("failed", True)


def test_the_error_of_a_partition_that_stands_is_in_the_verdict_and_the_others_counted():
    refused = ErrorReport("RecordRefused", "too large", "orders", 1, 7)
    judged = verdict(PLAN, [LaneResult(0, errors=(refused,))], published(20, 7))
    assert (judged.state, judged.errors, judged.retriable) == ("failed", (refused,), False)


def test_an_error_of_the_plan_makes_the_run_red_though_all_else_is_done():
    gap = ErrorReport("SourceGap", "gone", "payments", 0, 7)
    judged = verdict(Plan("east->west", PLAN.ranges, (gap,)), [], published(20, 9))
    assert (judged.state, judged.errors) == ("failed", (gap,))


def test_skipped_records_leave_a_run_green_and_are_counted_with_the_first_of_them_named():
    lanes = [
        LaneResult(1, skipped=(SkippedRecords("payments", 1, 3, 2, "RecordRefused: too large"),)),
        LaneResult(0, skipped=(SkippedRecords("orders", 0, 17, 40, "BatchNotUnpacked: it is spoilt"),)),
    ]
    judged = verdict(PLAN, lanes, published(20, 9))
    assert (judged.state, judged.skipped) == ("done", 42)
    (notice,) = judged.notices
    assert "42 records of 2 partitions" in notice
    assert "orders-0@17 (BatchNotUnpacked: it is spoilt)" in notice
    assert "42 records skipped" in str(judged)


def test_offset_syncs_that_were_not_written_make_the_run_red_and_do_not_hide_what_was_copied():
    unwritten = ErrorReport("KafkaFailure", "no leader", retriable=True)
    judged = verdict(PLAN, [], replace(published(20, 9), syncs=OffsetSyncsResult(notices=("many",), errors=(unwritten,))))
    assert (judged.state, judged.errors, judged.records, judged.owed, judged.retriable) == ("failed", (unwritten,), 2, 0, True)
    assert "many" in judged.notices


def test_the_ledger_wins_where_the_job_says_otherwise_and_it_is_said():
    said = LaneResult(0, (Watermark("orders", 0, 20, 20, 10, 100),))
    found = compare_results(PLAN, [said], {})
    assert found.watermarks == ()
    assert "the ledger counts" in found.disagreements[0]
    assert verdict(PLAN, [said], found).state == "failed"


def test_what_was_copied_is_what_the_ledger_grew_by_also_where_the_answer_to_a_commit_was_lost():
    planned = Range("orders", 0, "id", 10, 20, "behind", records=100, bytes=1000)
    record = ledger_record(watermark=20, target_next=20, records=110, bytes=1250)
    said = LaneResult(0, (Watermark("orders", 0, 20, 20, 4, 100),))
    found = compare_results(Plan("east->west", (planned,)), [said], {planned.topic_partition: record})
    assert found.watermarks == (Watermark("orders", 0, 20, 20, 10, 250),)
    assert not found.disagreements


# ---------------------------------------------------------------- decided, and not in the ledger yet

EARLIER = Decided("restart", "ana", DECIDED_AT - timedelta(days=1), "seen")
SILENT = ErrorReport("SourceUnreadable", "nothing could be read", "orders", 0, retriable=True)


@pytest.mark.parametrize("word", ["restart", "accept-records"])
@pytest.mark.parametrize("decided", [None, EARLIER])
def test_a_watermark_of_before_the_decision_is_not_taken_for_the_planned_end(word, decided):
    planned = Range("orders", 0, "new-id", 0, 7, "decided", records=100, decisions=(decision(word),))
    plan, before = Plan("east->west", (planned,)), ledger_record(watermark=100, decided=decided)
    found = compare_results(plan, [], {planned.topic_partition: before})
    assert found.watermarks == ()
    judged = verdict(plan, [LaneResult(0, errors=(SILENT,))], found)
    assert (judged.state, judged.errors, judged.owed, judged.records) == ("failed", (SILENT,), 7, 0)
    assert [error.code for error in verdict(plan, [], found).errors] == ["NothingMoved"]


def test_a_decision_that_leaves_nothing_to_copy_is_done_once_the_ledger_has_it():
    planned = Range("orders", 0, "new-id", 0, 0, "decided", decisions=(decision("restart"),))
    plan, restart = Plan("east->west", (planned,)), Decided("restart", "ana@ops", DECIDED_AT, "seen")
    assert verdict(plan, [], compare_results(plan, [], {planned.topic_partition: ledger_record(watermark=100)})).state == "failed"
    after = ledger_record(watermark=0, decided=restart)
    assert verdict(plan, [], compare_results(plan, [], {planned.topic_partition: after})).state == "done"


def test_the_ways_of_the_lanes_batches_are_added_up_with_the_most_frequent_reasons_first():
    results = [
        LaneResult(0, batches=(BatchShare(JOINED, 70, 7000),), rewritten=(RewriteReason("holes", 1, "users", 3),)),
        LaneResult(
            1,
            batches=(BatchShare(JOINED, 30, 3000), BatchShare(REWRITTEN, 4, 9)),
            rewritten=(RewriteReason("edge", 3, "orders", 2), RewriteReason("holes", 1, "orders", 1)),
        ),
    ]
    judged = verdict(PLAN, results, published(20, 9))
    assert judged.batches == (BatchShare(JOINED, 100, 10_000), BatchShare(REWRITTEN, 4, 9))
    assert judged.rewritten == (RewriteReason("edge", 3, "orders", 2), RewriteReason("holes", 2, "orders", 1))
    assert str(judged) == (
        "done: 2 records, 20 bytes copied; batches of the source: 0 forwarded, 100 joined, 4 rewritten (3 batches such as in orders-2: "
        "edge; 2 batches such as in orders-1: holes)"
    )


def lane(*partitions: int, way: str = REWRITTEN) -> LaneResult:
    """A lane that copied ten records of each of these partitions, in a batch each."""
    marks = tuple(Watermark("orders", number, 10, 10, 10, 500) for number in partitions)
    share = BatchShare(way, len(marks), 10 * len(marks))
    rewritten = (RewriteReason("an edge", len(marks), "orders", partitions[0]),) if way == REWRITTEN else ()
    return LaneResult(0, marks, transactions=1, batches=(share,), rewritten=rewritten)


def test_the_batches_of_several_plans_are_added_up() -> None:
    both = join_results(join_results(lane(0, 1), lane(1, 2)), lane(2))
    assert both.batches == (BatchShare(REWRITTEN, 5, 50),)
    assert both.rewritten == (RewriteReason("an edge", 5, "orders", 0),)


def test_their_ways_are_told_apart() -> None:
    both = join_results(lane(0, 1), lane(0, way=FORWARDED))
    assert {share.way: share.batches for share in both.batches} == {REWRITTEN: 2, FORWARDED: 1}
