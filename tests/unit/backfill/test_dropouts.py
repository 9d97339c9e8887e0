"""Partitions that the survey of a slice has no offsets of, though their interval is known: they are owed, and nothing loops for ever."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kafka_mirror.errors import ErrorReport, KafkaFailure, MirrorError, TargetMissing
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.control_records import PAUSE, Decision
from kafka_mirror.ledger.record import HistoryTopic, LedgerRecord
from tests.unit.backfill.surveys import HISTORY, OTHER, RECORD, TP, Slices, asked, found, slices, topic

__all__ = ["slices"]

MISSING = TargetMissing(*TP, "east.orders").report().with_flow("east->west")
LANE = KafkaFailure("The ledger partition has no leader.", topic="mm2-ledger.east.internal", partition=3)
PAUSED = Decision(PAUSE, "somebody", datetime(2026, 11, 21, tzinfo=UTC), "a move", "orders", 0)


def written(end: int) -> LedgerRecord:
    """The record, once [0, end) was written as history."""
    return replace(RECORD, history_topics=(HistoryTopic(HISTORY.name, HISTORY.id, end, ((0, end),)),))


def codes(errors: tuple[ErrorReport, ...]) -> list[tuple[str, str | None, int | None]]:
    return [(each.code, each.topic, each.partition) for each in errors]


def test_history_of_a_partition_without_a_leader_is_owed_with_an_error(slices: Slices) -> None:
    part = slices.history(asked(0, 80), found(OTHER, records={TP: written(30)}))
    assert (part.owed, codes(part.errors), part.errors[0].retriable) == (50, [("SourceUnreadable", "orders", 0)], True)
    assert slices.count == 4, "it may come back, but nobody waits for ever"


def test_history_of_a_partition_that_the_plan_speaks_of_has_its_error(slices: Slices) -> None:
    assert slices.history(asked(0, 80), found(errors=[MISSING])).errors == (MISSING,)


@pytest.mark.parametrize("gone", [topic("orders", ()), topic("orders", (False, True))], ids=["topic", "leader"])
def test_history_of_what_is_gone_is_owed(slices: Slices, gone: Topic) -> None:
    part = slices.history(asked(0, 80), found(source_topic=gone))
    assert (part.owed, codes(part.errors)) == (80, [("SourceUnreadable", "orders", 0)])


def test_history_that_is_written_needs_its_partition_no_more(slices: Slices) -> None:
    part = slices.history(asked(0, 80), found(records={TP: written(80)}))
    assert (part.owed, part.errors, part.not_had, slices.count) == (0, (), (), 1)
    part = slices.history(asked(120, 180), found())
    assert (part.offsets, part.owed, part.errors) == (0, 0, ()), "it has none"


def test_live_part_of_a_partition_without_a_leader_is_owed_with_an_error(slices: Slices) -> None:
    part = slices.live(asked(0, 250), found())
    assert (part.owed, codes(part.errors), slices.count) == (50, [("SourceUnreadable", "orders", 0)], 4)
    assert slices.live(asked(0, 250), found(errors=[MISSING])).errors == (MISSING,)
    part = slices.live(asked(0, 180), found(errors=[MISSING]))
    assert (part.owed, part.errors) == (0, ()), "the copy has passed the interval"


@pytest.mark.parametrize("survey", [{}, {"unreadable": [LANE]}], ids=["begun by nobody", "lane unreadable"])
def test_partition_that_the_ledger_does_not_show_is_owed_as_a_whole(slices: Slices, survey: dict[str, list[MirrorError]]) -> None:
    error = ("KafkaFailure", "mm2-ledger.east.internal", 3) if survey else ("SourceUnreadable", "orders", 0)
    for part in (slices.live, slices.history):
        filled = part(asked(20, 80), found(records={}, **survey))  # type: ignore[arg-type]
        assert (filled.owed, codes(filled.errors), slices.count) == (60, [error], 4)


def test_partition_whose_start_no_leader_could_tell_is_owed_as_a_whole(slices: Slices) -> None:
    part = slices.live(asked(20, 80), found(TP, records={}))
    assert (part.owed, codes(part.errors)) == (60, [("SourceUnreadable", "orders", 0)])


def test_partition_that_was_paused_in_between_is_not_waited_for_and_not_hidden(slices: Slices) -> None:
    survey = found(decisions=[PAUSED])
    for part, missing, done in ((slices.live, asked(0, 250), asked(0, 180)), (slices.history, asked(0, 80), asked(120, 180))):
        filled = part(missing, survey)
        assert (filled.owed, filled.errors, slices.count) == (0, (), 1)
        assert filled.not_had == (f"orders-0 is left out: {PAUSED}",)
        assert part(done, survey).not_had == ()


def test_what_the_source_does_not_have_any_more_is_no_work_to_wait_for(slices: Slices) -> None:
    part = slices.live(asked(0, 250), found(TP, records={TP: RECORD}))
    assert (part.owed, [each.code for each in part.errors], slices.count) == (50, ["NothingMoved"], 4)
