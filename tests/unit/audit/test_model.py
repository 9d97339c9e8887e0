"""An audit's result as a document, and what it says as a whole."""

import json
from dataclasses import replace
from datetime import UTC, datetime

from kafka_mirror.audit.model import (
    DIFFERENT,
    EQUAL,
    MISSING,
    UNPROVEN,
    AuditResult,
    Backlog,
    Difference,
    LeftOut,
    PartitionAudit,
    RecordText,
)
from kafka_mirror.audit.report import errors_of, lines_of, sentence
from kafka_mirror.errors import ErrorReport

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
EQUAL_ONE = PartitionAudit(
    "orders", 0, "east.orders", EQUAL, (0, 9), (1, 12), source_records=9, target_records=9, source_digest="ab", target_digest="ab"
)
LEFT_OUT = PartitionAudit("orders", 1, "east.orders", UNPROVEN, left_out=(LeftOut(0, 9, "gone"), LeftOut(9, 12, "gone too")))
FOUND = Difference(
    MISSING,
    "orders",
    2,
    "east.orders",
    5,
    7,
    RecordText(5, 1, "CreateTime", "k", 1, None, 0, 0),
    RecordText(7, 2, "CreateTime", None, None, 3, 1, 4),
)
DIFFERENT_ONE = PartitionAudit(
    "orders",
    2,
    "east.orders",
    DIFFERENT,
    (0, 9),
    (0, 8),
    source_records=9,
    target_records=8,
    source_digest="ab",
    target_digest="cd",
    difference=FOUND,
    notes=("n",),
)


def result(*partitions: PartitionAudit, errors: tuple[ErrorReport, ...] = ()) -> AuditResult:
    return AuditResult("east->west", NOW, partitions, errors, ("a notice",))


def test_the_document_is_plain_json_and_gives_the_result_again() -> None:
    whole = result(EQUAL_ONE, LEFT_OUT, DIFFERENT_ONE, errors=(ErrorReport("X", "y"),))
    document = whole.as_document()
    assert document == json.loads(json.dumps(document)), "alerts read it before it is JSON"
    assert AuditResult.from_document(document) == whole


def test_one_difference_makes_the_whole_different_and_only_what_was_compared_is_equal() -> None:
    assert result(EQUAL_ONE, LEFT_OUT, DIFFERENT_ONE).state == DIFFERENT
    assert result(EQUAL_ONE, LEFT_OUT).state == EQUAL
    assert result(LEFT_OUT).state == UNPROVEN
    assert result().state == UNPROVEN


def test_a_difference_is_an_error_that_names_the_offset_and_the_command_to_look_at_it() -> None:
    (error,) = errors_of(result(EQUAL_ONE, DIFFERENT_ONE))
    assert (error.code, error.topic, error.partition, error.offset, error.retriable) == ("AuditDifferent", "orders", 2, 5, False)
    assert "missing record" in error.message
    assert "python -m kafka_mirror audit --flow 'east->west' --topics orders --show-payload" in error.next


def test_a_topic_that_was_asked_for_and_never_copied_is_an_error_beside_the_differences() -> None:
    assert errors_of(result(EQUAL_ONE), ["orders"]) == ()
    found = errors_of(result(EQUAL_ONE, DIFFERENT_ONE), ["orders", "typo", "odrers"])
    assert [each.code for each in found] == ["AuditDifferent", "NothingAudited"]
    assert "Nothing was ever copied of odrers, typo, so" in found[1].message
    assert "python -m kafka_mirror plan --flow 'east->west'" in found[1].next


def test_both_records_stand_side_by_side_and_what_differs_is_marked() -> None:
    lines = lines_of(result(DIFFERENT_ONE, LEFT_OUT))
    assert lines[1] == "orders-2: missing record at source offset 5, east.orders-2@7"
    assert next(line.split() for line in lines if "≠" in line) == ["≠", "timestamp", "1", "2"]
    assert any(line.split() == ["≠", "key", "k", "null"] for line in lines)
    assert not any("header contents" in line for line in lines), "the payload was not asked for"
    assert "Left out: orders-1 [0, 9): gone" in lines
    assert lines[0].startswith("east->west: different: 9 records of the source and 8 of the target in 2 partitions")
    assert lines[-1] == "a notice"


def test_equal_is_not_complete_while_anything_is_not_copied() -> None:
    whole = result(EQUAL_ONE)
    assert (errors_of(whole, complete=True), "Not copied yet" in sentence(whole)) == ((), False)
    waiting = replace(whole, backlog=(Backlog("orders", 0, 3000), Backlog("returns", 2, 995, "SourceGap")), not_begun=("bills",))
    assert (waiting.state, errors_of(waiting)) == (EQUAL, ())
    (error,) = errors_of(waiting, complete=True)
    assert (error.code, error.retriable) == ("AuditIncomplete", False)
    assert "at most 3,995 records in partitions: 2, 1 of them stuck; topics or parts of topics that no copy has begun: 1." in error.message
    assert lines_of(waiting)[0] == (
        "east->west: equal up to where the copy is: 9 records of the source and 9 of the target in 1 partitions were compared in 0.0 s. "
        "Not copied yet, so not compared: at most 3,995 records in partitions: 2, 1 of them stuck; topics or parts of topics that no copy "
        "has begun: 1."
    )
    assert AuditResult.from_document(json.loads(json.dumps(waiting.as_document()))) == waiting
    assert [error.code for error in errors_of(replace(whole, not_begun=("bills",)), complete=True)] == ["AuditIncomplete"]
    (error,) = errors_of(result(EQUAL_ONE, LEFT_OUT), complete=True)
    assert "Nothing could be compared of partitions: 1." in error.message
    assert [error.code for error in errors_of(result(EQUAL_ONE, DIFFERENT_ONE), complete=True)] == ["AuditDifferent"]
    assert [error.code for error in errors_of(result(EQUAL_ONE, errors=(ErrorReport("X", "y"),)), complete=True)] == ["X"]
