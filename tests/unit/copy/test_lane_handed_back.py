"""A plan that was made before hand-back, and is copied after it: also what the ledger does not have yet is MirrorMaker 2's."""

from datetime import UTC, datetime

import pytest

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.codec import decode, decode_key, encode, encode_key
from kafka_mirror.ledger.control_records import HANDED_BACK, TAKEN_OVER
from kafka_mirror.ledger.record import Decided, Writer, note, note_key
from tests.unit.copy.conftest import LEDGER
from tests.unit.copy.happenings import watermarks

WHEN = datetime(2026, 11, 1, tzinfo=UTC)


def noted(decision):
    return note(LEDGER, "id-of-it", ("E", "W"), 1, Decided(decision, "ana", WHEN, "why"), Writer("", "host", "hand-back", WHEN))


def test_a_partition_that_was_never_copied_is_left_to_mirror_maker(copy, world):
    world.note = noted(HANDED_BACK)
    result = copy()
    assert {(error.code, error.topic, error.partition) for error in result.errors} == {
        ("HandedBack", "orders", 0),
        ("HandedBack", "payments", 0),
    }
    assert (world.ledger, world.ends, result.transactions) == ({}, {}, 0)


@pytest.mark.parametrize("decision", [None, TAKEN_OVER])
def test_it_is_copied_where_the_lane_was_never_handed_back_or_is_taken_over_again(copy, world, decision):
    world.note = noted(decision) if decision else None
    assert watermarks(copy()) == {("orders", 10), ("payments", 10)}


def test_a_partition_that_was_taken_over_by_itself_goes_by_its_own_record(copy, world, known):
    known("orders", 4)
    world.note = noted(HANDED_BACK)
    assert watermarks(copy()) == {("orders", 10)}


def test_the_note_has_the_form_of_every_ledger_record():
    """Its bytes are for keeps: a mirror that does not know notes reads one of a partition that the source does not have."""
    made, key = noted(HANDED_BACK), note_key(LEDGER, 3)
    assert decode(encode(made), "here") == made
    assert encode_key(key) == b'["mm2-ledger.east.internal",3]'
    assert decode_key(encode_key(key), "here") == TopicPartition(LEDGER, 3)
    assert made.is_handed_back and not made.records
