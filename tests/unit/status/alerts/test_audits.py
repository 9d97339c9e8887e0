"""What an audit found stays known until an audit of the same place finds it mended."""

import json
from typing import Any

from kafka_mirror.audit.model import CHANGED_VALUE, DIFFERENT, EQUAL, UNPROVEN, AuditResult, Difference, PartitionAudit
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.status.alerts.audits import COUNTED, KEPT, Audits
from kafka_mirror.status.status import GONE, PartitionStatus
from tests.unit.status.observations import at, hidden, partition, seen


def audited(minute: int, *partitions: tuple[int, str, tuple[int, int], int | None], topic: str = "orders") -> dict[str, Any]:
    """The document of an audit: (partition, state, source interval, offset of the difference)."""
    rows = []
    for number, state, source, offset in partitions:
        difference = Difference(CHANGED_VALUE, topic, number, f"east.{topic}", offset, offset) if state == DIFFERENT else None
        rows.append(PartitionAudit(topic, number, f"east.{topic}", state, source, difference=difference))
    return json.loads(json.dumps(AuditResult("east->west", at(60 * minute), tuple(rows)).as_document()))


def places(audits: Audits) -> set[tuple[str, int]]:
    assert from_document(Audits, json.loads(json.dumps(to_document(audits)))) == audits
    return {(each.topic, each.partition) for each in audits.mismatches}


def test_a_difference_is_a_problem_of_its_topic_with_the_first_difference_and_the_command() -> None:
    audits = Audits().add_audit("run 1", audited(0, (0, EQUAL, (0, 9), None), (1, DIFFERENT, (0, 9), 4)))
    [problem] = [each for each in audits.problems("east->west", 30) if each.opens]
    assert (problem.kind, problem.what, problem.partition) == ("AuditMismatch", "orders", 1)
    assert problem.detail == "orders-1: changed value at source offset 4, east.orders-1@4 (audit of 2026-11-21 12:00 UTC)"
    assert "python -m kafka_mirror audit --flow 'east->west'" in problem.next.text
    assert problem.next.commands == ("python -m kafka_mirror audit --flow 'east->west' --topics orders",)


def test_an_audit_of_something_else_mends_nothing() -> None:
    audits = Audits().add_audit("audit", audited(0, (1, DIFFERENT, (0, 9), 4)))
    for document in (
        audited(1, (0, EQUAL, (0, 9), None)),
        audited(2, (1, EQUAL, (0, 9), None), topic="bills"),
        audited(3, (1, EQUAL, (5, 9), None)),
        audited(4, (1, UNPROVEN, (0, 9), None)),
    ):
        audits = audits.add_audit(document["time"], document)
    assert places(audits) == {("orders", 1)}


def test_an_audit_of_the_same_place_mends_it_or_finds_it_again_once() -> None:
    audits = Audits().add_audit("run 1", audited(0, (1, DIFFERENT, (0, 9), 4)))
    again = audits.add_audit("run 2", audited(1, (1, DIFFERENT, (0, 20), 4)))
    assert len(again.mismatches) == 1
    assert places(again.add_audit("run 3", audited(2, (1, EQUAL, (3, 5), None)))) == set()


def test_what_the_source_has_no_more_or_the_flow_does_not_mirror_any_more_is_over_for_no_audit_can_look_there_again() -> None:
    audits = Audits().add_audit("run", audited(0, (1, DIFFERENT, (5, 9), 6), (2, DIFFERENT, (0, 9), 4)))
    mirrored = (partition(20, 20, 1), partition(20, 20, 2))

    def left(*partitions: PartitionStatus, starts: tuple[int, int] = (0, 0), comparable: bool = True) -> set[tuple[str, int]]:
        log_starts = {TopicPartition("orders", 1): starts[0], TopicPartition("orders", 2): starts[1]}
        return places(audits.drop_gone(seen(0, *partitions, log_starts=log_starts, comparable=comparable)))

    assert left(*mirrored, starts=(6, 0)) == {("orders", 1), ("orders", 2)}
    assert left(*mirrored, starts=(7, 4)) == {("orders", 2)}
    assert left(mirrored[0], partition(20, 20, 2, state=GONE)) == {("orders", 1)}
    assert left(starts=(7, 7), comparable=False) == {("orders", 1), ("orders", 2)}, "nothing is known"
    assert places(audits.drop_gone(seen(0, *mirrored))) == {("orders", 1), ("orders", 2)}, "no log start could be seen"


def test_a_mismatch_of_a_log_that_was_created_anew_and_does_not_reach_so_far_is_over() -> None:
    audits = Audits().add_audit("run", audited(0, (1, DIFFERENT, (0, 9000), 5000), (2, DIFFERENT, (0, 9000), None)))
    assert places(audits.drop_gone(seen(0, partition(20, 20, 1), partition(9000, 9000, 2)))) == {("orders", 2)}
    assert places(audits.drop_gone(seen(0, partition(5001, 5001, 1), partition(20, 20, 2)))) == {("orders", 1)}
    assert places(audits.drop_gone(seen(0, hidden(1), hidden(2)))) == {("orders", 1), ("orders", 2)}, "no end could be seen"


def test_very_many_mismatches_do_not_grow_without_end() -> None:
    audits = Audits()
    for day in range(3):
        audits = audits.add_audit(f"run {day}", audited(day, *((number, DIFFERENT, (day, day + 1), day) for number in range(KEPT // 2))))
    assert len(audits.mismatches) == KEPT
    assert {each.offset for each in audits.mismatches} == {1, 2}, "the newest"


def test_an_audit_that_is_added_again_changes_nothing_unless_its_task_ran_anew() -> None:
    found = audited(0, (1, DIFFERENT, (0, 9), 4))
    audits = Audits().add_audit("run 1", found).add_audit("run 2", audited(1, (1, EQUAL, (0, 9), None)))
    assert places(audits.add_audit("run 1", found)) == set()
    assert places(audits.add_audit("run 1", audited(2, (1, DIFFERENT, (0, 9), 4)))) == {("orders", 1)}


def test_of_very_many_runs_the_newest_are_known() -> None:
    audits = Audits()
    for minute in range(COUNTED + 5):
        audits = audits.add_audit(f"run {minute}", audited(minute))
    assert len(audits.counted) == COUNTED
    assert {"run 5", f"run {COUNTED + 4}"} <= set(audits.counted)
    assert "run 4" not in audits.counted
