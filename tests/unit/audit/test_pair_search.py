"""Where an interval begins and ends that lies where the offset map has forgotten details: as little is read as was asked for, and what is
amiss is found as if all were read."""

from bisect import bisect_left
from dataclasses import replace
from functools import lru_cache
from itertools import islice, pairwise
from operator import attrgetter
from random import Random

import pytest

from mirror.audit.copied_ranges import OffsetPair, live_ranges
from mirror.audit.pair_search import _is_forward, found_pairs, searches
from mirror.audit.range import LogBounds
from mirror.formats.record import take
from mirror.formats.skips import Skipped
from mirror.offsets.holes import Records
from mirror.offsets.map import OffsetMap, Run
from mirror.offsets.partition import TopicPartition
from tests.unit.audit.memory import MemoryMessage, record
from tests.unit.ledger_records import ledger_record

TP, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
COUNT, PER_TRANSACTION = 20_000, 10
DAY = (12_005, 14_885)
OFFSET = attrgetter("offset")


class Reading:
    """A cluster in memory; `read` is how many records were read."""

    def __init__(self, logs):
        self.logs, self.read = {tp: sorted(log, key=OFFSET) for tp, log in logs.items()}, 0

    def _within(self, tp, start, end, left):
        log = self.logs[tp]
        found = islice(log, bisect_left(log, start, key=OFFSET), bisect_left(log, end, key=OFFSET))
        return (each for each in found if not any(first <= each.offset < last for first, last in left))

    def first(self, ranges, left):
        found = {tp: next(self._within(tp, start, end, left[tp]), None) for tp, (start, end) in ranges.items()}
        messages = {tp: MemoryMessage(each) for tp, each in found.items() if each is not None}
        self.read += len(messages)
        return messages

    def records(self, parts):
        found = {}
        for tp, part in parts.items():
            found[tp] = Records()
            take(found[tp], [MemoryMessage(each) for each in self._within(tp, part.start, part.end, part.excluded)])
            self.read += len(found[tp])
        return found


def in_order(number):
    """A record each second."""
    return 1_000 * number


@lru_cache(2)
def records_of(stamps):
    """The records of the source."""
    return [record(number + number // PER_TRANSACTION, b"value %d" % number, timestamp=stamps(number)) for number in range(COUNT)]


@lru_cache(2)
def copies_of(stamps):
    """Their copies."""
    return [each._replace(offset=number + number // 100) for number, each in enumerate(records_of(stamps))]


class Mirrored:
    """A week on both sides: a marker behind ten records of the source, and one behind every hundred on the target."""

    def __init__(self, stamps=in_order):
        self.source, self.target = list(records_of(stamps)), list(copies_of(stamps))
        self.end, self.target_end = self.source[-1].offset + 2, self.target[-1].offset + 2

    @property
    def ledger(self):
        runs = Run(0, 0, 10), Run(self.source[-1].offset, self.target[-1].offset, 1, thinned=True)
        return ledger_record(
            watermark=self.end,
            target_topic="east.orders",
            target_next=self.target_end - 1,
            covered=((0, self.end),),
            offset_map=OffsetMap(runs),
        )

    @property
    def held(self):
        return LogBounds(0, self.end, 0, self.target_end)

    def pairs(self, wanted=DAY, ledger=None):
        self.reading = Reading({TP: self.source}), Reading({REMOTE: self.target})
        found = {}
        for each in searches(TP, ledger or self.ledger, wanted, self.held):
            if each is not None:
                found |= found_pairs([each], *self.reading).get(TP, {})
        return found

    def stretch(self, wanted=DAY):
        (stretch,), left = live_ranges(TP, self.ledger, wanted, self.held, self.pairs(wanted))
        assert not left
        return stretch

    def differs(self, stretch):
        """Whether source and target of the stretch are not the same, in their order."""
        source = [each.carries() for each in self.source if stretch.start <= each.offset < stretch.end]
        return source != [each.carries() for each in self.target if stretch.target_start <= each.offset < stretch.target_end]

    def copy_of(self, offset):
        value = next(each for each in self.source if each.offset >= offset).value
        return next(each for each in self.target if each.value == value)


def offsets_read(stretch):
    return stretch.end - stretch.start


def test_an_audit_of_a_day_reads_at_most_a_twentieth_more_than_the_day():
    mirrored = Mirrored()
    widened = live_ranges(TP, mirrored.ledger, DAY, mirrored.held)[0][0]
    assert offsets_read(widened) > 7 * (DAY[1] - DAY[0]), "what the map alone knows"
    stretch = mirrored.stretch()
    assert (stretch.start, stretch.end) == DAY
    assert (stretch.target_start, stretch.target_end) == tuple(mirrored.copy_of(offset).offset for offset in DAY)
    assert not mirrored.differs(stretch)
    day = sum(DAY[0] <= each.offset < DAY[1] for each in mirrored.source)
    assert all(side.read <= day // 20 + 400 for side in mirrored.reading), [side.read for side in mirrored.reading]


SIZES_ASKED_FOR = [100, 150, 250, 400, 700, 1_000, 2_500, 5_000, 10_000, 14_000, 20_000]
HOLES = [1, 5, 60, 249, 251, 800, COUNT]
AN_END_IS_SOUGHT_IN = 2 * 64 + 4 * 64 + 100
"""How many records of both sides, probes included, are read to find one end of an interval of up to 12,800 offsets."""


def bursts(number):
    """Forty records each forty seconds."""
    return 40_000 * (number // 40)


def batches(number):
    """Records with the time of their batch, as a broker stamps them."""
    return 700_000 * (number // 700)


def coarse(mirrored, *known):
    """A map that knows the first and the last record, and those at these source offsets."""
    copies = dict(zip((each.offset for each in mirrored.source), (each.offset for each in mirrored.target), strict=True))
    offsets = sorted(copies)
    kept = sorted({offsets[0], *(offsets[bisect_left(offsets, each)] for each in known), offsets[-1]})
    return OffsetMap(tuple(Run(each, copies[each], 1, thinned=each > offsets[0]) for each in kept))


@pytest.mark.parametrize("stamps", [in_order, bursts])
@pytest.mark.parametrize("size", SIZES_ASKED_FOR)
def test_an_interval_of_any_size_is_widened_by_at_most_a_twentieth(size, stamps):
    """However far the pairs that the map knows stand from its ends: near by, or at the ends of the log."""
    mirrored, random = Mirrored(stamps), Random(size)
    for near in HOLES:
        far, first = random.choice(HOLES), random.randrange(20, mirrored.end - size - 20)
        wanted = first, first + size
        known = max(first - near, 0), min(first + size + far, mirrored.end - 2)
        ledger = replace(mirrored.ledger, offset_map=coarse(mirrored, *known))
        (stretch,), _ = live_ranges(TP, ledger, wanted, mirrored.held, mirrored.pairs(wanted, ledger))
        assert stretch.start <= first < first + size <= stretch.end
        assert offsets_read(stretch) <= 1.05 * size, (near, far, first)
        assert not mirrored.differs(stretch)
        read = sum(side.read for side in mirrored.reading)
        assert read <= 2 * max(AN_END_IS_SOUGHT_IN, size // 20), (near, far, first)


def test_more_is_read_around_an_offset_where_hundreds_of_records_share_their_time():
    mirrored = Mirrored(batches)
    stretch = mirrored.stretch()
    assert (stretch.start, stretch.end) == DAY
    assert sum(side.read for side in mirrored.reading) < (mirrored.end - (DAY[1] - DAY[0])) // 2, "else nothing is saved"


def test_days_touch_so_nothing_stands_between_two_audits():
    mirrored, cuts = Mirrored(), [3_000, 7_777, 12_005, 14_885, 20_001]
    stretches = [mirrored.stretch((start, end)) for start, end in pairwise(cuts)]
    for before, after in pairwise(stretches):
        assert (before.end, before.target_end) == (after.start, after.target_start)


@pytest.mark.parametrize("seed", range(6))
def test_timestamps_out_of_order_cost_more_reading_and_nothing_else(seed):
    random = Random(seed)
    jitter = [random.randint(0, 40_000) for _ in range(COUNT)]
    jitter[random.randrange(COUNT)] = 10**12  # a clock that was far ahead
    mirrored = Mirrored(lambda number: 1_000 * number + jitter[number])
    stretch = mirrored.stretch()
    assert stretch.start <= DAY[0] <= DAY[1] <= stretch.end
    assert not mirrored.differs(stretch)


def planted(mirrored, kind, at, size=1):
    """Plants a difference on the target at the copy of the source record with this number."""
    target = mirrored.target
    if kind == "missing":
        del target[at : at + size]
    elif kind == "changed":
        target[at] = target[at]._replace(value=b"another")
    else:
        again = target[at : at + size] if kind == "doubled" else [record(0, b"foreign", timestamp=target[at].timestamp)]
        behind = [each._replace(offset=each.offset + len(again)) for each in target[at:]]
        begun = target[at].offset
        target[at:] = [each._replace(offset=begun + number) for number, each in enumerate(again)] + behind
        mirrored.target_end += len(again)


NUMBERS = [sum(each < cut for each in [n + n // PER_TRANSACTION for n in range(COUNT)]) for cut in DAY]


@pytest.mark.parametrize("kind", ["missing", "changed", "foreign", "doubled"])
@pytest.mark.parametrize("size", [1, 5, 40])
@pytest.mark.parametrize("place", ["first", "second", "within", "last but one", "last"])
def test_whatever_is_amiss_in_the_day_is_in_what_is_compared(kind, size, place):
    first, end = NUMBERS
    at = {"first": first, "second": first + 1, "within": (first + end) // 2, "last but one": end - size - 1, "last": end - size}[place]
    mirrored = Mirrored()
    planted(mirrored, kind, at, size)
    assert mirrored.differs(mirrored.stretch())


AROUND = [(10, 5), (40, 5), (40, 20), (40, 40), (150, 150), (150, 100), (1_500, 1_500), (2_000, 1_200), (2_500, 2_500)]


@pytest.mark.parametrize("place", range(2))
@pytest.mark.parametrize(("in_front", "behind"), AROUND)
def test_copies_that_stand_a_second_time_across_an_end_are_in_what_is_compared(place, in_front, behind):
    if place:
        in_front, behind = behind, in_front
    mirrored = Mirrored()
    planted(mirrored, "doubled", NUMBERS[place] - in_front, in_front + behind)
    assert mirrored.differs(mirrored.stretch())


@pytest.mark.parametrize("kind", ["missing", "changed", "foreign", "doubled"])
@pytest.mark.parametrize("far", [-3_000, 3_000])
def test_what_is_amiss_elsewhere_is_left_to_the_audit_of_that_day(kind, far):
    mirrored = Mirrored()
    planted(mirrored, kind, NUMBERS[0 if far < 0 else 1] + far)
    stretch = mirrored.stretch()
    assert ((stretch.start, stretch.end), mirrored.differs(stretch)) == (DAY, False)


SIZES = [1, 7, 40, 150, 700, 3_000]


def played(mirrored, random, cuts):
    """Plants something anywhere on the target, often around a cut."""
    size = random.choice(SIZES)
    number = bisect_left(mirrored.source, random.choice(cuts), key=lambda each: each.offset)
    at = random.choice([number, number - size, number - random.randint(0, size), random.randrange(COUNT)])
    at = min(max(at, 20), COUNT - size - 20)
    kind = random.choice(["missing", "changed", "foreign", "doubled", "doubled elsewhere", "swapped"])
    target = mirrored.target
    if kind in ("doubled elsewhere", "swapped"):
        to = min(max(random.choice([random.randrange(COUNT), at + 2 * size]), 20), COUNT - size - 20)
        again = target[at : at + size]
        if kind == "swapped":
            del target[at : at + size]
        target[to:to] = again
        mirrored.target = [each._replace(offset=n + n // 100) for n, each in enumerate(target)]
        mirrored.target_end = mirrored.target[-1].offset + 2
    else:
        planted(mirrored, kind, at, size)
    return kind, at, size


@pytest.mark.parametrize("seed", range(80))
def test_intervals_that_touch_prove_together_what_the_audit_of_the_whole_proves(seed):
    """However long what was planted is, and wherever: also where it fills intervals, lies across their ends or between two copies."""
    random = Random(seed)
    jitter = random.choice([0, 0, 3_000, 40_000])
    late = [random.randint(0, jitter) for _ in range(COUNT)]
    mirrored = Mirrored(lambda number: 1_000 * number + late[number])
    cuts = [0, *sorted(random.sample(range(500, mirrored.end - 500), random.randint(1, 5))), mirrored.end]
    what = played(mirrored, random, cuts) if seed % 8 else None
    whole = mirrored.stretch((0, mirrored.end))
    stretches = [mirrored.stretch(each) for each in pairwise(cuts)]
    assert mirrored.differs(whole) == any(map(mirrored.differs, stretches)), (what, cuts)
    for before, after in pairwise(stretches):
        assert (before.end, before.target_end) >= (after.start, after.target_start), "nothing lies between them"
        assert before.target_end >= after.target_start or mirrored.differs(before) or mirrored.differs(after)


@pytest.mark.parametrize(("in_front", "behind"), [*AROUND, (2_500, 300), (300, 2_500), (900, 700)])
def test_copies_that_stand_twice_give_an_offset_one_place_at_most(in_front, behind):
    """Whatever the interval is, and however much the map has forgotten: else copies between two places would be in none of two intervals
    that touch."""
    places = set()
    for seed in range(12):
        random, mirrored = Random(seed), Mirrored()
        known = mirrored.source[random.randrange(NUMBERS[0] - 4_000)], mirrored.source[random.randrange(NUMBERS[0] + 3_000, COUNT)]
        first, last = (mirrored.copy_of(each.offset).value for each in known)
        planted(mirrored, "doubled", NUMBERS[0] - in_front, in_front + behind)
        at = {each.value: each.offset for each in mirrored.target}
        runs = Run(known[0].offset, at[first], 1), Run(known[1].offset, at[last], 1, thinned=True)
        for end in (known[1].offset, DAY[0] + random.randint(1, 2_000)):
            found = mirrored.pairs((DAY[0], end), replace(mirrored.ledger, offset_map=OffsetMap(runs)))
            places |= {found[DAY[0]]} if DAY[0] in found else set()
    assert len(places) <= 1


def test_places_that_do_not_follow_each_other_are_none():
    assert _is_forward({5: OffsetPair(5, 50), 9: OffsetPair(9, 60)})
    assert not _is_forward({5: OffsetPair(5, 60), 9: OffsetPair(9, 50)})


def test_records_that_are_alike_tell_no_place():
    mirrored = Mirrored()
    mirrored.source = [each._replace(value=b"same", timestamp=7) for each in mirrored.source]
    mirrored.target = [each._replace(value=b"same", timestamp=7) for each in mirrored.target]
    assert mirrored.pairs() == {}


def test_what_the_target_stamps_itself_tells_no_place():
    mirrored = Mirrored()
    mirrored.target = [each._replace(timestamp_type=2) for each in mirrored.target]
    assert mirrored.pairs() == {}


def test_nothing_is_looked_for_where_the_map_knows_enough_or_too_little_is_certain():
    mirrored = Mirrored()
    known = replace(mirrored.ledger, offset_map=OffsetMap((Run(0, 0, 12_000), Run(12_100, 12_100, 9_000, thinned=True))))
    assert searches(TP, known, DAY, mirrored.held) == (None, None), "a hundred offsets more are read"
    unsure = replace(mirrored.ledger, skipped=(Skipped(5, 500, "several reasons", 3),))
    assert searches(TP, unsure, DAY, mirrored.held) == (None, None)
    first, last = searches(TP, mirrored.ledger, (400, DAY[1]), mirrored.held)
    assert first is not None
    assert last is not None
    assert searches(TP, mirrored.ledger, (200, DAY[1]), mirrored.held)[0] is None


def test_an_end_behind_which_nothing_stands_in_the_hole_is_the_pair_behind_it():
    mirrored = Mirrored()
    mirrored.source = [each for each in mirrored.source if each.offset < 15_000 or each.offset >= mirrored.source[-1].offset]
    last = mirrored.ledger.offset_map.runs[-1]
    assert mirrored.pairs((12_005, 15_500))[15_500] == OffsetPair(last.source, last.target)
