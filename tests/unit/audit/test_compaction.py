"""Compacted topics: whatever each side has dropped by Kafka's rules is no difference, and what it must still have is missed."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.audit.compaction import CompactedComparison
from kafka_mirror.audit.compare import FoundDifference
from kafka_mirror.audit.copied_ranges import AuditRange
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import Record
from tests.unit.audit.memory import MemorySide, record

TP, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)


def log(values: Sequence[tuple[int, int | None]]) -> list[Record]:
    """Records of keys with values; None is a tombstone."""
    return [
        record(offset, None if value is None else b"%d" % value, b"key %d" % key, timestamp=offset)
        for offset, (key, value) in enumerate(values)
    ]


def cleaned(records: Sequence[Record], until: int, tombstones: bool) -> list[Record]:
    """A log that was cleaned up to an offset; with or without old tombstones."""
    newest = {each.key: each.offset for each in records if each.offset < until}
    return [
        each for each in records if each.offset >= until or (newest[each.key] == each.offset and (tombstones or each.value is not None))
    ]


def copied(records: Sequence[Record]) -> list[Record]:
    return [each._replace(offset=each.offset + 100) for each in records]


def look(
    source: Sequence[Record],
    target: Sequence[Record],
    end: int,
    runs: tuple[Run, ...] = (),
    most_keys: int = 100,
    watermark: int | None = None,
    log_end: int | None = None,
    now: tuple[int, int] = (0, 0),
) -> tuple[FoundDifference | None, int]:
    """The first difference, and how many are unpaired. `now`: where the logs end while they are compared."""
    watermark = end if watermark is None else watermark
    log_end = watermark if log_end is None else log_end
    stretch = AuditRange(TP, REMOTE, 0, end, 100, end + 100, log_end, watermark + 100, runs=runs, compacted=True, watermark=watermark)
    sides = MemorySide("east", {TP: source}, {TP: now[0]}), MemorySide("west", {REMOTE: target}, {REMOTE: now[1]})
    comparison = CompactedComparison(stretch, *sides, most_keys=most_keys)  # type: ignore[arg-type]
    return comparison.find_first_difference(), comparison.unpaired


VALUES = st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 3)), min_size=1, max_size=40)


@given(VALUES, st.data())
def test_what_either_side_has_dropped_by_the_rules_is_no_difference(values: list[tuple[int, int | None]], data: st.DataObject) -> None:
    records = log(values)
    end = data.draw(st.integers(0, len(records)))
    watermark = data.draw(st.integers(end, len(records)))
    offsets = st.integers(0, len(records))
    source = cleaned(records, data.draw(offsets), data.draw(st.booleans()))
    target = copied(cleaned(records[:watermark], min(data.draw(offsets), watermark), data.draw(st.booleans())))
    runs = data.draw(st.sampled_from(((), (Run(0, 100, len(records)),))))
    for most_keys in (100, 1):
        assert look(source, target, end, runs, most_keys, watermark, len(records))[0] is None


@given(VALUES, st.data())
def test_a_newest_record_that_was_changed_or_lost_is_found(values: list[tuple[int, int | None]], data: st.DataObject) -> None:
    records = log(values)
    source = cleaned(records, data.draw(st.integers(0, len(records))), True)
    target = copied(cleaned(records, data.draw(st.integers(0, len(records))), True))
    newest = {each.key: each for each in target if each.value is not None}
    victims = [each for each in newest.values() if max(e.offset for e in target if e.key == each.key) == each.offset]
    if not victims:
        return
    victim = data.draw(st.sampled_from(victims))
    for most_keys in (100, 1):
        spoilt = [each._replace(value=b"spoilt") if each == victim else each for each in target]
        found = look(source, spoilt, len(records), most_keys=most_keys)[0]
        assert found is not None
        assert (found.kind, found.source.offset + 100 if found.source else None) == ("changed value", victim.offset)
        without = [each for each in target if each.key != victim.key]
        found = look(source, without, len(records), most_keys=most_keys)[0]
        assert found is not None
        assert (found.kind, found.source.key if found.source else None) == ("missing record", victim.key)
        added = [*target, record(victim.offset, b"x", b"nobody's")]
        found = look(source, sorted(added), len(records), most_keys=most_keys)[0]
        assert found is not None
        assert found.kind == "foreign record"


def test_an_older_record_that_the_map_ties_to_its_source_is_compared_too() -> None:
    records = log([(1, 1), (1, 2)])
    spoilt = copied([records[0]._replace(value=b"x"), records[1]])
    assert look(records, spoilt, 2)[0] is None, "nobody knows which record it was"
    found = look(records, spoilt, 2, (Run(0, 100, 2),))[0]
    assert found is not None
    assert (found.kind, found.source.offset if found.source else None) == ("changed value", 0)


@pytest.mark.parametrize("most_keys", [1, 100])
def test_absences_that_are_excused_are_counted(most_keys: int) -> None:
    source, target = log([(1, 1), (2, 1), (3, None), (1, 2)]), copied(log([(1, 1), (2, 1)]))
    assert look(source[1:], target, 3, most_keys=most_keys, log_end=4) == (None, 2)


def test_a_tombstone_that_was_copied_and_is_gone_on_one_side_excuses_the_absence_there() -> None:
    records = log([(1, 1), (1, None)])
    assert look(records, [], 1, watermark=2)[0] is None, "the target dropped both, and the source still shows why"
    assert look([], copied(records), 1, watermark=2)[0] is None, "the same the other way round"
    assert look([], copied(records[:1]), 1, watermark=1, log_end=2)[0] is None, "the source may have, and nobody can tell"
    found = look([], copied(records[:1]), 1, watermark=1)[0]
    assert found is not None
    assert found.kind == "foreign record"
    found = look(records[:1], [], 1, watermark=1)[0]
    assert found is not None
    assert found.kind == "missing record"


def test_records_that_came_while_the_audit_ran_excuse_what_was_dropped_for_them() -> None:
    records = log([(1, 1), (2, 1), (1, 2)])
    target, newer = copied(records[:2]), copied(records)
    found = look(records[:2], newer[1:], 2, watermark=2)[0]
    assert found is not None, "behind the end nobody has looked yet"
    assert look(records[:2], newer[1:], 2, watermark=2, now=(2, 103))[0] is None, "the target dropped it for a newer one"
    assert look(records[1:], target, 2, watermark=2, now=(3, 102))[0] is None, "so did the source"
