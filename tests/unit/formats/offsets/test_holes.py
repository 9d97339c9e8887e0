"""Counting through a hole of the offset map, against random histories of a partition in memory: never late, and exact only where it is."""

from dataclasses import dataclass, field
from hashlib import blake2b

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.holes import CONTENT_BYTES, CountedHole, Hole, Records, UncountedHole, count_hole, read_uncounted


@dataclass
class History:
    """A partition and its copy: offsets with contents, where each copy came from, and the pairs at the end of each transaction."""

    source: dict[int, int] = field(default_factory=dict)
    target: dict[int, int] = field(default_factory=dict)
    origin: dict[int, int] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)
    pairs: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    source_end: int = 0
    target_end: int = 0
    made: int = 0
    is_decided: bool = False
    """Whether a person restarted the copy, or accepted records of others."""
    tells_skipped: bool = True
    alike: bool = False

    def content(self) -> int:
        """Another one each time; where records are alike, one of two."""
        self.made += 1
        return self.made % 2 if self.alike else self.made

    def copy(self, offsets: list[int], skip: set[int] = frozenset()) -> None:
        """One transaction: these records of the source, and a marker."""
        for offset in offsets:
            if offset not in skip:
                self.target[self.target_end] = self.source[offset]
                self.origin[self.target_end] = offset
                self.target_end += 1
        self.target_end += 1
        self.skipped |= skip & set(offsets)
        self.pairs.append((self.source_end, self.target_end))

    def produce(self, count: int) -> list[int]:
        """Records on the source, and a marker."""
        begun = self.source_end
        self.source |= {begun + number: self.content() for number in range(count)}
        self.source_end += count + 1
        return list(range(begun, begun + count))

    def foreign(self) -> None:
        self.target[self.target_end] = self.content()
        self.target_end += 1


counts = st.integers(1, 6)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("copy"), counts),
        st.tuples(st.just("copy"), counts),
        st.tuples(st.just("skip"), counts, st.sets(st.integers(0, 5), max_size=2)),
        st.tuples(st.just("foreign"), st.just(1)),
        st.tuples(st.just("restart"), st.integers(1, 8)),
        st.tuples(st.just("compact source"), st.integers(0, 30)),
        st.tuples(st.just("compact target"), st.integers(0, 30)),
    ),
    min_size=1,
    max_size=10,
)


def lived(steps: list, *, tells_skipped: bool, alike: bool) -> History:
    history = History(tells_skipped=tells_skipped, alike=alike)
    for kind, count, *more in steps:
        history.is_decided |= kind in ("foreign", "restart")
        if kind == "foreign":
            history.foreign()
        elif kind == "restart":
            # The copy begins again some records in front of its end; the older copies stay.
            again = sorted(history.source)[-count:]
            if again:
                history.pairs = [pair for pair in history.pairs if pair[0] <= again[0]]
                history.copy(again)
        elif kind.startswith("compact"):
            log = history.source if kind == "compact source" else history.target
            if len(log) > 1:
                log.pop(sorted(log)[count % (len(log) - 1)])
        else:
            offsets = history.produce(count)
            history.copy(offsets, {offsets[each] for each in (more[0] if more else ()) if each < len(offsets)})
    offsets = history.produce(1)
    history.pairs.append((offsets[0], history.target_end))  # the record that the map knows behind the hole
    history.copy(offsets)
    history.pairs.pop()
    return history


def of(log: dict[int, int], start: int, end: int, left: set[int], *, is_whole: bool) -> Records:
    records = Records(is_whole)
    for offset in sorted(log):
        if start <= offset < end and offset not in left:
            records.add(offset, log[offset], blake2b(b"%d" % log[offset], digest_size=CONTENT_BYTES).digest())
    return records


def read(history: History, first: int, last: int, source_start: int = 0, target_start: int = 0) -> tuple[Hole, CountedHole | None]:
    (source, target), (source_end, target_end) = history.pairs[first], history.pairs[last]
    hole = Hole(source, target, source_end, target_end)
    left = history.skipped if history.tells_skipped else set()
    ours = of(history.source, max(source, source_start), source_end, left, is_whole=source_start <= source)
    theirs = of(history.target, max(target, target_start), target_end, set(), is_whole=target_start <= target)
    return hole, count_hole(hole, ours, theirs, only_copies=not history.is_decided)


@settings(max_examples=1500, deadline=None)
@given(steps, st.booleans(), st.integers(0, 40), st.integers(0, 40), st.data())
@example([("copy", 3), ("restart", 2), ("copy", 2)], True, 1, 0, None)
@example([("copy", 3), ("compact source", 1), ("copy", 2)], True, 1, 0, None)
@example([("copy", 1), ("skip", 3, {1}), ("foreign", 1)], False, 0, 0, None)
@example([("copy", 1), ("copy", 2), ("restart", 3)], True, 0, 3, None)
@example([("copy", 4), ("compact source", 2), ("restart", 4), ("copy", 2)], True, 0, 2, None)
@example([("copy", 4), ("compact source", 2), ("restart", 4), ("copy", 2)], True, 1, 2, None)
@example([("copy", 2), ("compact source", 0), ("compact target", 0)], True, 0, 0, None)
def test_a_counted_place_is_that_of_the_record_itself_and_never_behind_an_older_copy(steps, tells, source_start, target_start, data):
    history = lived(steps, tells_skipped=tells, alike=False)
    last = len(history.pairs) - 1
    hole, found = read(history, data.draw(st.integers(0, last)) if data else 0, last, source_start, target_start)
    event(f"counted: {found is not None}")
    # What retention took is gone for the judge as well.
    there = {place: origin for place, origin in history.origin.items() if place >= target_start and place in history.target}
    for offset in range(hole.source, hole.source_end + 1):
        position = found.target_of(offset) if found else None
        if position is None:
            continue
        unread = [place for place, origin in there.items() if origin >= offset and place >= hole.target]
        assert position <= min(unread), "the group would miss what the target holds"
        assert not any(origin < offset for place, origin in there.items() if place >= position), "it would read again"
        event("exact")
    for offset in range(hole.target, hole.target_end + 1):
        upstream = found.source_of(offset) if found else None
        if upstream is not None:
            unread = [origin for place, origin in history.origin.items() if place >= offset and origin in history.source]
            assert upstream <= min(unread), "what the source has lost is nobody's to read"


@settings(max_examples=500, deadline=None)
@given(steps, st.integers(0, 40), st.integers(0, 40))
def test_records_that_are_alike_are_never_passed_over(steps, source_start, target_start):
    """Nobody can tell them from each other: so what counts is that a group finds as many of them, in the same order."""
    history = lived(steps, tells_skipped=True, alike=True)
    last = len(history.pairs) - 1
    hole, found = read(history, 0, last, source_start, target_start)
    for offset in range(hole.source, hole.source_end + 1):
        position = found.target_of(offset) if found else None
        if position is not None:
            here = [value for each, value in sorted(history.source.items()) if each >= offset and each not in history.skipped]
            there = [value for each, value in sorted(history.target.items()) if each >= position]
            assert there == here


def test_whatever_both_sides_still_hold_is_exact():
    history = lived([("copy", 4), ("skip", 4, {0, 2}), ("copy", 3), ("copy", 5)], tells_skipped=True, alike=False)
    hole, found = read(history, 0, len(history.pairs) - 1)
    copies = {origin: place for place, origin in history.origin.items()}
    for offset in range(hole.source_end + 1):
        assert found.target_of(offset) == copies[min(each for each in copies if each >= offset)]


@pytest.mark.parametrize("side", ["source", "target"])
def test_what_retention_took_in_front_of_one_side_is_counted_from_behind(side):
    history = lived([("copy", 5), ("copy", 5), ("copy", 5)], tells_skipped=True, alike=False)
    cut = 3 if side == "source" else history.pairs[1][1] + 1
    hole, found = read(history, 0, len(history.pairs) - 1, **{f"{side}_start": cut})
    copies = {origin: place for place, origin in history.origin.items()}
    first = min(each for each in history.source if each >= cut and copies[each] >= (cut if side == "target" else 0))
    assert found.target_of(first) is None, "what stood in front of it nobody knows"
    behind = [offset for offset in sorted(history.source) if offset > first and offset <= hole.source_end]
    assert [found.target_of(offset) for offset in behind] == [copies[offset] for offset in behind]


def of_numbers(numbers, *, is_whole) -> Records:
    records = Records(is_whole)
    for place, number in enumerate(numbers):
        records.add(place, number, b"%016d" % number)
    return records


@pytest.mark.parametrize("is_whole", [True, False])
def test_nothing_is_counted_from_behind_where_older_copies_may_stand_in_the_hole(is_whole):
    """Of the copies 5, 6, 7, 8 from before the restart at 3, 6 has no newer one, for the source has lost it since."""
    source = of_numbers([3, 4, 5, 7, 8], is_whole=False)
    target = of_numbers([6, 7, 8, 3, 4, 5, 7, 8], is_whole=is_whole)
    assert count_hole(Hole(0, 0, 9, 20), source, target, only_copies=False) is None


def test_what_a_whole_source_never_had_is_no_copy_in_front_of_the_others():
    source, target = of_numbers([1, 2, 3], is_whole=True), of_numbers([9, 1, 2, 3], is_whole=False)
    assert count_hole(Hole(0, 0, 9, 20), source, target, only_copies=True) is None


def test_what_the_target_alone_has_lost_the_front_of_is_counted_from_behind_whoever_decided_what():
    source, target = of_numbers(range(8), is_whole=True), of_numbers(range(3, 8), is_whole=False)
    found = count_hole(Hole(0, 0, 8, 20), source, target, only_copies=False)
    assert [found.target_of(number) for number in range(2, 9)] == [None, None, 1, 2, 3, 4, 20]


def test_what_the_target_stamps_itself_is_compared_without_times():
    source, target = Records(), Records()
    for number in range(4):
        source.add(number, 1000 + number, b"%016d" % number)
        target.add(2 * number, 5000, b"%016d" % number)
    assert count_hole(Hole(0, 0, 4, 8), source, target, only_copies=True) is None
    target.is_stamped = True
    assert count_hole(Hole(0, 0, 4, 8), source, target, only_copies=True).target_of(2) == 4


@given(st.lists(st.integers(0, 2**62), min_size=5, max_size=5))
def test_what_a_checkpoint_notes_of_a_hole_is_read_again(numbers):
    note = UncountedHole(Hole(*numbers[:4]), numbers[4])
    assert read_uncounted(note.text) == note


@pytest.mark.parametrize(
    "text", ["", "exact", "uncounted", "uncounted 1 2 3 4", "uncounted 1 2 3 4 x", "uncounted 1 2 3 4 ²", "other 1 2 3 4 5"]
)
def test_any_other_note_says_nothing(text):
    assert read_uncounted(text) is None
