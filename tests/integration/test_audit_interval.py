"""An audit of an interval in the middle of what the offset map has forgotten, on real brokers: it reads no more than it must, and finds
as much."""

import pytest

from mirror.audit.run import audit
from mirror.offsets.map import OffsetMap, Run
from mirror.offsets.partition import TopicPartition
from services.oracle import Record
from tests.integration.planter import NOW, numbered

RECORDS, START, END = 6_000, 2_500, 4_500
ALL = numbered(RECORDS)
FOREIGN = Record(b"x", b"y", (), NOW + 3_000)


def audited(planter, name, target, interval=(START, END)):
    """What the audit of the interval says of a topic whose remote topic has these records; its map knows the first and the last one."""
    last = len(target) - 1
    coarse = OffsetMap((Run(0, 0, 1), Run(RECORDS - 1, last, 1, thinned=True)))
    topic = planter.plant(name, ALL, target)
    planter.vouch(topic, RECORDS, last + 1, offset_map=coarse)
    (found,) = audit(planter.mirroring.flow, source_offsets={TopicPartition(topic, 0): interval}).partitions
    return found


def test_it_reads_at_most_a_twentieth_more_than_was_asked_for(planter):
    found = audited(planter, "equal", ALL)
    assert found.state == "equal"
    assert (found.source, found.target) == ((START, END), (START, END))
    assert found.source_records == END - START


@pytest.mark.parametrize("size", [100, 400, 1_000])
def test_a_short_interval_is_widened_by_no_more(planter, size):
    found = audited(planter, f"short-{size}", ALL, (START, START + size))
    assert (found.state, found.source, found.target) == ("equal", (START, START + size), (START, START + size))


@pytest.mark.parametrize(
    ("name", "target", "kind", "offset"),
    [
        ("missing first", [*ALL[:START], *ALL[START + 1 :]], "missing record", START),
        ("missing", [*ALL[:3_000], *ALL[3_001:]], "missing record", 3_000),
        ("missing last", [*ALL[: END - 1], *ALL[END:]], "missing record", END - 1),
        ("foreign first", [*ALL[:START], FOREIGN, *ALL[START:]], "foreign record", START),
        ("foreign", [*ALL[:3_000], FOREIGN, *ALL[3_000:]], "foreign record", 3_000),
        ("foreign last", [*ALL[:END], FOREIGN, *ALL[END:]], "foreign record", END),
        ("doubled", [*ALL[:3_000], *ALL[2_960:]], "doubled record", 2_960),
        ("100 doubled", [*ALL[:3_000], *ALL[2_900:]], "doubled record", 2_900),
        ("doubled first", [*ALL[: START + 15], *ALL[START - 15 :]], "doubled record", START - 15),
        ("80 doubled first", [*ALL[: START + 40], *ALL[START - 40 :]], "doubled record", START - 40),
        ("2000 doubled first", [*ALL[: START + 1_000], *ALL[START - 1_000 :]], "doubled record", START - 1_000),
        ("80 doubled last", [*ALL[: END + 40], *ALL[END - 40 :]], "doubled record", END - 40),
        ("2800 doubled last", [*ALL[: END + 1_400], *ALL[END - 1_400 :]], "doubled record", END - 1_400),
    ],
)
def test_what_is_amiss_at_its_ends_and_within_it_is_named(planter, name, target, kind, offset):
    found = audited(planter, name.replace(" ", "-"), target)
    assert found.state == "different"
    assert found.difference.kind == kind
    seen = (found.difference.source_offset, found.difference.target_offset)
    assert offset in seen, seen
