"""The report of a wave: its pauses, its figures, and what to do to go back."""

import dataclasses
from datetime import UTC, datetime

import pytest

from kafka_mirror.cutover.failover.missing_records import MISSING, EndSighting, MissingRecords, write_missing
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, UNDER_WAY, StepNote, WaveRecord
from kafka_mirror.cutover.wave.report import MAX_ROWS, WaveReport
from kafka_mirror.cutover.wave.step import (
    AUDIT_GATE,
    DONE,
    EMPTY_SINCE_MS,
    FAILOVER,
    FENCE,
    KNOWN_MS,
    LAST_WRITE_MS,
    MOVE_GROUPS,
    OPEN,
    PLANNED,
    PREFLIGHT,
    QUIET_SINCE_MS,
    RECORDS,
    REREAD,
    STOPPED,
)
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_move import AFTER, BEFORE

STEPS = {
    PREFLIGHT: StepNote(DONE, "ann", 1_000, 3_500),
    FENCE: StepNote(DONE, "ann", 4_000, 16_000, facts={LAST_WRITE_MS: 5_000, QUIET_SINCE_MS: 6_000}),
    AUDIT_GATE: StepNote(DONE, "ann", 16_000, 20_000, facts={RECORDS: 1_234}),
    MOVE_GROUPS: StepNote(DONE, "a|b", 20_000, 21_000, facts={EMPTY_SINCE_MS: 14_000}),
    OPEN: StepNote(DONE, "ann", 21_000, 22_000),
}
RECORD = WaveRecord("w", ("orders.*",), ("bill.*",), PLANNED, "ann", "we  move\nnow", 1_000, OPENED, 22_000, steps=STEPS)
GROUPS = {"billing": {BEFORE: {"orders": {"0": None, "10": 4}}, AFTER: {"orders": {"0": 7, "10": 9}, "pay": {"2": 1}}}}
REPORT = WaveReport("east->west", RECORD, GROUPS)


def of_step(step, **facts):
    """The report of a wave in which this step noted only these facts."""
    return WaveReport("east->west", RECORD.with_step(step, dataclasses.replace(STEPS[step], facts=facts)), GROUPS)


def test_the_write_pause_is_from_the_last_write_until_the_wave_is_open():
    assert REPORT.write_pause == 17_000


@pytest.mark.parametrize("last", [None, 999], ids=["nobody knows it", "before the wave began"])
def test_without_a_write_during_the_wave_it_is_from_when_the_ends_stood_still(last):
    assert of_step(FENCE, **{LAST_WRITE_MS: last, QUIET_SINCE_MS: 6_000}).write_pause == 16_000


def test_the_read_pause_is_from_when_the_groups_were_empty_until_the_wave_is_open():
    assert REPORT.read_pause == 8_000
    assert of_step(MOVE_GROUPS).read_pause is None


def test_there_is_no_pause_to_tell_before_the_wave_is_open():
    under_way = WaveReport("east->west", dataclasses.replace(RECORD, state=UNDER_WAY, ended=None))
    assert (under_way.write_pause, under_way.read_pause) == (None, None)


def test_the_document_has_every_figure_in_seconds_and_every_position():
    document = REPORT.as_document()
    assert (document["write_pause_seconds"], document["read_pause_seconds"], document["audited_records"]) == (17.0, 8.0, 1_234)
    assert (document["who"], document["began"], document["ended"]) == ("ann", "1970-01-01T00:00:01.000Z", "1970-01-01T00:00:22.000Z")
    assert [(step["step"], step["seconds"]) for step in document["steps"]] == [
        *((PREFLIGHT, 2.5), (FENCE, 12.0), (AUDIT_GATE, 4.0), (MOVE_GROUPS, 1.0), (OPEN, 1.0)),
    ]
    assert document["positions"] == [
        {"group": "billing", "topic": "orders", "partition": 0, "before": None, "after": 7, "reread": 0},
        {"group": "billing", "topic": "orders", "partition": 10, "before": 4, "after": 9, "reread": 0},
        {"group": "billing", "topic": "pay", "partition": 2, "before": None, "after": 1, "reread": 0},
    ]
    assert (document["may_be_missing"], document["groups_known_at"]) == (None, {})


def test_the_page_says_the_same_to_people():
    page = REPORT.as_markdown()
    for line in (
        "# Wave w of east->west: open",
        "- Topics: `orders.*`; groups: `bill.*`; mode: planned.",
        "- Begun by ann at 1970-01-01T00:00:01.000Z: we move now",
        "- Open at 1970-01-01T00:00:22.000Z, after 21.0 s.",
        "- Write pause: 17.0 s. Read pause: 8.0 s.",
        "- Records audited: 1,234.",
        "| catch-up | | | | |",
        "| move-groups | done | a\\|b | 1970-01-01T00:00:20.000Z | 1.0 |",
        "| billing | orders | 0 | – | 7 | 0 |",
    ):
        assert line in page.splitlines()


def test_the_page_lists_so_many_positions_and_says_how_many_more_there_are():
    many = {"billing": {AFTER: {"orders": {str(number): 1 for number in range(MAX_ROWS + 5)}}}}
    page = WaveReport("east->west", RECORD, many).as_markdown()
    assert page.count("| billing |") == MAX_ROWS
    assert "5 more positions are in the JSON of this report." in page


@pytest.mark.parametrize(
    ("state", "commands"),
    [
        (UNDER_WAY, ("python -m kafka_mirror cutover rollback --flow 'east->west' --wave w",)),
        (ROLLED_BACK, ()),
        (
            OPENED,
            (
                "python -m kafka_mirror cutover plan --flow 'west->east' --topics 'orders.*' --groups 'bill.*'",
                "python -m kafka_mirror cutover run --flow 'west->east' --topics 'orders.*' --groups 'bill.*'",
            ),
        ),
    ],
)
def test_the_way_back_is_a_roll_back_until_the_wave_is_open_and_then_a_wave_of_the_opposite_flow(state, commands):
    assert WaveReport("east->west", dataclasses.replace(RECORD, state=state)).undo == commands


def test_a_step_that_has_not_ended_has_no_seconds():
    record = dataclasses.replace(RECORD, steps={FENCE: StepNote(STOPPED, "ann", 5)}, state=UNDER_WAY, ended=None)
    assert "| fence | stopped | ann | 1970-01-01T00:00:00.005Z |  |" in WaveReport("east->west", record).as_markdown()


AT = datetime(2026, 11, 21, 8, 31, 12, 345_000, tzinfo=UTC)


def failover(partitions, groups=None):
    """The report of a wave whose source is lost."""
    facts = {MISSING: write_missing(partitions)}
    record = dataclasses.replace(RECORD, mode=FAILOVER, steps={PREFLIGHT: dataclasses.replace(STEPS[PREFLIGHT], facts=facts)})
    return WaveReport("east->west", record, groups or {})


def test_a_failover_says_what_may_be_missing_in_each_partition_with_the_time_of_that_knowledge():
    behind = MissingRecords(TopicPartition("orders", 3), 1204, EndSighting(1217, AT), AT)
    even = MissingRecords(TopicPartition("orders", 0), 80, EndSighting(80, AT), AT)
    report = failover([even, behind])
    document = report.as_document()["may_be_missing"]
    assert document["left_out"] == {"partitions": 0, "offsets": 0, "complete_until": None}
    assert document["partitions"][0] == {
        "topic": "orders",
        "partition": 3,
        "watermark": 1204,
        "end": 1217,
        "offsets": 13,
        "end_known_at": "2026-11-21T08:31:12.345Z",
        "end_known_from": "the ledger",
        "complete_until": "2026-11-21T08:31:12.345Z",
    }
    page = report.as_markdown().splitlines()
    when = "2026-11-21 08:31:12Z"
    assert f"| orders-3 | 1204 | 1204..1216 | 13 | {when} | the ledger | {when} |" in page
    assert f"| orders-0 | 80 | – | 0 | {when} | the ledger | {when} |" in page


def test_the_page_lists_so_many_partitions_and_counts_those_that_the_record_had_no_room_for():
    many = [MissingRecords(TopicPartition("orders", number), 5, EndSighting(6, AT), AT) for number in range(MAX_ROWS + 5)]
    page = failover(many).as_markdown()
    assert page.count("| orders-") == MAX_ROWS
    assert "5 more partitions are in the JSON of this report." in page
    facts = {MISSING: write_missing(many, 1_500)}
    record = RECORD.with_step(PREFLIGHT, dataclasses.replace(STEPS[PREFLIGHT], facts=facts))
    left = WaveReport("east->west", record).missing_listing.left_out.partitions
    said = f"{left} more partitions: at most {left} records are known to be missing in them; what was written there after 2026-11-21"
    assert left
    assert said in WaveReport("east->west", record).as_markdown()


def test_a_failover_says_how_many_records_groups_read_again_and_since_when_nobody_knows():
    facts = {BEFORE: {"orders": {"0": None, "1": None}}, AFTER: {"orders": {"0": 7, "1": 9}}, REREAD: {"orders": {"1": 3}}}
    report = failover([], {"billing": {**facts, KNOWN_MS: 1_000}, "late": {**facts, REREAD: {"orders": {"0": None}}}})
    page = report.as_markdown()
    assert [(place.group, place.partition, place.reread) for place in report.positions] == [
        ("billing", 0, 0),
        ("billing", 1, 3),
        ("late", 0, None),
        ("late", 1, 0),
    ]
    assert "| billing | orders | 1 | – | 9 | 3 |" in page
    assert "| late | orders | 0 | – | 7 | unknown |" in page
    assert "What billing read on the source after its checkpoints it reads again; the oldest is of 1970-01-01T00:00:01.000Z." in page
    assert report.as_document()["groups_known_at"] == {"billing": "1970-01-01T00:00:01.000Z"}
