"""Translation against a plain list of pairs, and each answer of the design."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.map import OffsetMap, Run, runs_of
from kafka_mirror.groups.translation import (
    EARLY,
    EXACT,
    INCOMPLETE,
    NONE,
    SourceState,
    TranslatedOffset,
    generation,
    translate,
    translate_back,
)
from kafka_mirror.ledger.record import Decided, Skipped
from tests.unit.formats.offsets.test_map import pairs_of, true_position
from tests.unit.ledger_records import ledger_record

SOURCE, TARGET = "source-topic-id", "target-topic-id"
steps = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 40)), min_size=1, max_size=60)


def mirrored(sources, targets, start=0, watermark=None, cut=None):
    """The record of a partition whose records were mirrored from `start` on, in two transactions."""
    offsets, cut = OffsetMap(), len(sources) if cut is None else cut
    for part in (slice(0, cut), slice(cut, None)):
        offsets = offsets.with_runs(runs_of(sources[part], targets[part]))
    watermark = sources[-1] + 1 if watermark is None else watermark
    return ledger_record(watermark=watermark, target_next=targets[-1] + 1, offset_map=offsets, covered=((start, watermark),))


def at(offset, record, end=10_000_000, **options):
    return translate(offset, record, SourceState(SOURCE, end, 3), TARGET, **options)


@given(steps, st.integers(0, 9), st.integers(0, 9), st.data())
def test_every_offset_translates_exactly_while_the_map_has_all_runs(gaps, behind, unread, data):
    sources, targets = pairs_of(gaps)
    record = mirrored(sources, targets, watermark=sources[-1] + 1 + behind)
    end = record.watermark + unread
    for offset in range(end + 1):
        found = at(offset, record, end)
        true = true_position(sources, targets, offset)
        assert found == TranslatedOffset(EXACT, true, true, 0, ahead=max(offset - record.watermark, 0))
    assert at(end + 1, record, end).kind == NONE


@settings(max_examples=25)
@given(st.integers(1000, 4000), st.integers(1, 3), st.integers(1, 3), st.data())
def test_where_the_map_was_thinned_an_answer_is_early_and_says_how_much_is_read_again(count, source_gap, target_gap, data):
    sources, targets = pairs_of([(source_gap + 1, target_gap, 1 + index % 3) for index in range(count)])
    record = mirrored(sources, targets, cut=data.draw(st.integers(1, len(sources) - 1)))
    kinds = set()
    for offset in data.draw(st.lists(st.integers(0, sources[-1] + 2), min_size=50, max_size=50)):
        found, true = at(offset, record), true_position(sources, targets, offset)
        again = sum(1 for source, target in zip(sources, targets, strict=True) if source < offset and target >= found.target)
        kinds.add(found.kind)
        assert found.target <= true <= found.at_most
        assert again <= found.reread
        assert found.kind != EXACT or (found.target, again, found.reread) == (true, 0, 0)
    assert kinds <= {EXACT, EARLY}


@given(steps, st.integers(1, 50))
def test_below_everything_mirrored_it_is_the_first_record_and_incomplete(gaps, start):
    sources, targets = pairs_of(gaps)
    sources = [start + source for source in sources]
    record = mirrored(sources, targets, start)
    for offset in range(start):
        assert (at(offset, record).kind, at(offset, record).target) == (INCOMPLETE, targets[0])
    assert at(start, record).kind == EXACT


def test_before_anything_was_copied_it_is_where_the_first_record_will_be():
    record = ledger_record(watermark=50, target_next=7, covered=())
    assert (at(50, record).kind, at(50, record).target) == (EXACT, 7)
    assert (at(49, record).kind, at(49, record).target) == (INCOMPLETE, 7)


def test_after_a_restart_it_does_not_pass_over_older_copies():
    record = ledger_record(watermark=20, target_next=40, offset_map=OffsetMap((Run(0, 0, 20),)), covered=((0, 20),))
    assert at(25, record) == TranslatedOffset(EARLY, 20, 40, 20, ahead=5)


@pytest.mark.parametrize(
    ("source", "target", "options", "said"),
    [
        (None, TARGET, {}, "no such partition"),
        (SourceState(SOURCE, 100), None, {}, "no remote topic"),
        (SourceState("another", 100), TARGET, {}, "recreated on the source"),
        (SourceState(SOURCE, 100), "another", {}, "remote topic was recreated"),
        (SourceState(SOURCE, 49), TARGET, {}, "beyond the partition's end on the source, 49"),
        (SourceState(SOURCE, 100, 2), TARGET, {"leader_epoch": 5}, "older than the topic: committed in leader epoch 5"),
    ],
)
def test_what_cannot_be_answered_is_not_and_says_why(source, target, options, said):
    record = ledger_record(watermark=90, offset_map=OffsetMap((Run(0, 0, 90),)), covered=((0, 90),))
    found = translate(50, record, source, target, **options)
    assert (found.kind, found.target) == (NONE, None)
    assert said in found.reason


def test_offset_syncs_fill_in_what_the_ledger_does_not_know():
    record = ledger_record(watermark=900, target_next=500, offset_map=OffsetMap((Run(800, 400, 100),)), covered=((800, 900),))
    known = {700: 350, 100: -1, 50: None, 790: 411}.get
    assert at(700, record, sync=known) == TranslatedOffset(EARLY, 350, 400, 50)
    assert at(790, record, sync=known).target == 400, "never behind the first record that the ledger knows"
    assert at(100, record, sync=known).kind == at(50, record, sync=known).kind == INCOMPLETE
    assert at(850, record, sync=known) == TranslatedOffset(EXACT, 450, 450, 0), "the ledger knows better"
    assert at(700, None, sync=known) == TranslatedOffset(EARLY, 350)
    assert at(100, None, sync=known).kind == at(100, None).kind == NONE


def test_in_front_of_where_a_flow_was_taken_over_nothing_is_missed():
    record = ledger_record(watermark=900, target_next=500, offset_map=OffsetMap((Run(800, 400, 100, True),)), covered=((0, 900),))
    assert at(700, record) == TranslatedOffset(EARLY, 0, 400, 400)
    assert at(700, record, sync={700: 350}.get) == TranslatedOffset(EARLY, 350, 400, 50)
    assert at(800, record) == TranslatedOffset(EXACT, 400, 400, 0)


@given(steps)
def test_a_reader_of_a_mirror_goes_on_upstream_where_it_was_and_never_later(gaps):
    sources, targets = pairs_of(gaps)
    record = mirrored(sources, targets)
    remote = SourceState(TARGET, targets[-1] + 2)
    positions = []
    for offset in range(targets[0], remote.end + 1):
        found = translate_back(offset, record, remote, SOURCE)
        unread = [source for source, target in zip(sources, targets, strict=True) if target >= offset]
        assert found.target <= (unread[0] if unread else sources[-1] + 1)
        assert (found.kind, found.reread) == (EXACT, 0), "the map knows every record, and what stands between them are markers"
        assert [source for source in sources if source >= found.target] == unread
        positions.append(found.target)
    assert all(first <= second for first, second in pairwise(positions))
    assert translate_back(remote.end + 1, record, remote, SOURCE).kind == NONE
    for offset in range(targets[0]):
        found = translate_back(offset, record, remote, SOURCE)
        assert (found.kind, found.reread) == (EXACT, 0), "it has read nothing that was mirrored"
        assert found.target == record.live_start <= sources[0]


def test_a_reader_of_a_mirror_that_has_read_everything_goes_on_upstream_where_the_copy_does_and_behind_no_record_that_it_has_not_read():
    remote = SourceState(TARGET, 91)
    record = ledger_record(watermark=96, offset_map=OffsetMap((Run(0, 0, 90),)), target_next=90, covered=((0, 96),))
    for offset in (90, 91):
        assert translate_back(offset, record, remote, SOURCE) == TranslatedOffset(EXACT, 96, 96, 0), "90 … 95 are markers"
    assert translate_back(89, record, remote, SOURCE).target == 89
    refused = replace(record, skipped=(Skipped(94, 95, "refused"),))
    assert translate_back(91, refused, remote, SOURCE).target == 94, "the record there is none of those that it has read"
    unknown = replace(record, offset_map=record.offset_map.with_mark(True))
    assert translate_back(90, unknown, remote, SOURCE).target == 90, "which records stand behind it nobody knows"


def test_a_reader_of_a_mirror_that_is_empty_yet_begins_upstream_where_the_mirror_does():
    record = ledger_record(watermark=40, start=40, target_next=0, offset_map=OffsetMap(), covered=())
    assert translate_back(0, record, SourceState(TARGET, 0), SOURCE) == TranslatedOffset(EXACT, 40, 40, 0)
    with_others = replace(record, target_next=7)
    assert translate_back(7, with_others, SourceState(TARGET, 7), SOURCE) == TranslatedOffset(EXACT, 40, 40, 0)
    assert translate_back(8, with_others, SourceState(TARGET, 9), SOURCE).kind == NONE, "whose records it has read nobody knows"


def test_in_front_of_what_others_wrote_a_reader_of_a_mirror_gets_no_answer():
    remote = SourceState(TARGET, 500)
    taken_over = ledger_record(watermark=900, target_next=500, offset_map=OffsetMap((Run(800, 400, 100, True),)), covered=((0, 900),))
    assert translate_back(399, taken_over, remote, SOURCE).kind == NONE
    behind = ledger_record(watermark=900, target_next=500, offset_map=OffsetMap((), True), covered=((0, 900),))
    assert translate_back(399, behind, remote, SOURCE).kind == NONE


def test_a_reader_of_a_mirror_gets_no_answer_from_another_topic():
    record = ledger_record(watermark=90, offset_map=OffsetMap((Run(0, 0, 90),)))
    remote = SourceState(TARGET, 90)
    assert translate_back(5, record, remote, SOURCE).target == 5
    for wrong in (
        translate_back(5, None, remote, SOURCE),
        translate_back(5, record, remote, "another"),
        translate_back(5, record, SourceState("another", 90), SOURCE),
        translate_back(5, record, None, SOURCE),
    ):
        assert (wrong.kind, wrong.target) == (NONE, None)


def test_a_generation_ends_with_either_topic_and_with_a_decision():
    record = ledger_record()
    decided = Decided("restart", "a person", datetime(2026, 11, 21, tzinfo=UTC), "why")
    others = [
        replace(record, source_topic_id="another"),
        replace(record, target_topic_id="another"),
        replace(record, decided=decided),
        replace(record, decided=replace(decided, when=datetime(2026, 11, 22, tzinfo=UTC))),
    ]
    assert len({generation(each) for each in (record, *others)}) == 5
    assert generation(replace(record, watermark=200, offset_map=OffsetMap((Run(0, 0, 5),)))) == generation(record)
