"""The cut between history and live where the copy is about to begin anew: a restart that somebody decided, and no run has acted on yet."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_mirror.backfill.plan_view import read_pending_ledger
from kafka_mirror.copy.plan.model import DECIDED, FIRST_SIGHT, Range
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.copy.plan.run import PlanContext
from kafka_mirror.ledger.control_records import RESTART, Decision
from tests.unit.backfill.surveys import RECORD, TP, Slices, asked, found, slices, topic

__all__ = ["slices"]


def restart(offset: int, source: str = "source-topic-id", target: str = "target-topic-id", end: int = 200) -> PlanContext:
    """A survey in which a restart there is planned, of a source topic and into a remote topic with these ids; the log ends at `end`."""
    facts: dict[str, Any] = {"watermark": 200, "offset": offset, "source_topic_id": source, "target_topic": "east.orders"}
    decision = Decision(RESTART, "somebody", datetime(2026, 11, 22, tzinfo=UTC), "again", *TP, target_topic_id=target, **facts)
    planned = Range(*TP, source, offset, end, DECIDED, decisions=(decision,))
    survey = found(TP, ranges=[planned], source_topic=topic("orders", (True,), source))
    survey.remotes["orders"] = topic("east.orders", (True,), target)  # type: ignore[index]
    survey.source[TP] = SourceOffsets(TP, source, 0, end, end, leader_epoch=0)  # type: ignore[index]
    return survey


@pytest.mark.parametrize(
    ("survey", "start", "watermark", "begun"),
    [
        (found(TP), 100, 200, False),
        (found(TP, records={}, ranges=[Range(*TP, "source-topic-id", 60, 200, FIRST_SIGHT)]), 60, None, True),
        (restart(0), 0, 0, True),
        (restart(150), 100, 150, False),
        (restart(0, source="anew"), 0, 0, True),
        (restart(90, source="anew", end=90), 90, 90, True),
        (restart(200, target="anew"), 200, 200, True),
    ],
    ids=["none", "first sight", "back", "back a little", "new topic", "new topic's end", "new remote topic"],
)
def test_live_part_begins_where_the_copy_will(survey: PlanContext, start: int, watermark: int | None, begun: bool) -> None:
    seen = read_pending_ledger(survey)
    assert (seen.starts[TP], TP in seen.begun) == (start, begun)
    assert (seen.records[TP].watermark if TP in seen.records else None) == watermark


def test_a_partition_that_has_nothing_of_the_times_is_left_for_the_copy_to_begin(slices: Slices) -> None:
    survey = found(TP, records={}, ranges=[Range(*TP, "source-topic-id", 0, 200, FIRST_SIGHT)])
    part = slices.live(asked(0, 0), survey)
    assert (slices.count, part.offsets, part.records, part.owed, part.errors) == (1, 0, 0, 0, ())


@pytest.mark.parametrize("survey", [restart(0), restart(0, source="anew")], ids=["back", "new topic"])
def test_what_a_restart_copies_again_is_live_and_owed_and_no_history(slices: Slices, survey: PlanContext) -> None:
    assert RECORD.live_start == 100
    part = slices.live(asked(0, 80), survey, dry_run=True)
    assert (part.offsets, part.owed) == (80, 80)
    part = slices.history(asked(0, 80), survey)
    assert (part.offsets, part.owed, part.errors) == (0, 0, ())
