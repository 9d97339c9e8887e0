"""An audit of an interval in the middle of what the offset map has forgotten, on real brokers: it reads from known pair to known pair."""

import pytest

from kafka_mirror.audit.run import audit
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.oracle import Record
from tests.integration.planter import NOW, numbered

RECORDS = 6_000
ALL = numbered(RECORDS)
FOREIGN = Record(b"x", b"y", (), NOW + 3_000)
ASKED, WIDENED = (2_500, 2_600), (2_001, 4_000)


def audited(planter, name, target):
    """What the audit of the interval says of a topic whose remote topic has these records; its map knows four of them."""
    last = len(target) - 1
    known = (Run(0, 0, 1), Run(2_000, 2_000, 1, thinned=True), Run(4_000, last - 1_999, 1, thinned=True), Run(5_999, last, 1, thinned=True))
    topic = planter.plant(name, ALL, target)
    planter.vouch(topic, RECORDS, last + 1, offset_map=OffsetMap(known))
    (found,) = audit(planter.mirroring.flow, source_offsets={TopicPartition(topic, 0): ASKED}).partitions
    return found


def test_it_is_widened_to_the_known_pairs_beside_it(planter):
    found = audited(planter, "equal", ALL)
    assert (found.state, found.source, found.target, found.source_records) == ("equal", WIDENED, WIDENED, 1_999)


@pytest.mark.parametrize(
    ("name", "target", "kind", "offset"),
    [
        ("missing first", [*ALL[:2_001], *ALL[2_002:]], "missing record", 2_001),
        ("missing last", [*ALL[:3_999], *ALL[4_000:]], "missing record", 3_999),
        ("foreign", [*ALL[:2_500], FOREIGN, *ALL[2_500:]], "foreign record", 2_500),
        ("100 doubled", [*ALL[:2_600], *ALL[2_500:]], "doubled record", 2_500),
    ],
)
def test_what_is_amiss_anywhere_between_them_is_named(planter, name, target, kind, offset):
    found = audited(planter, name.replace(" ", "-"), target)
    assert (found.state, found.difference.kind) == ("different", kind)
    assert offset in (found.difference.source_offset, found.difference.target_offset)
