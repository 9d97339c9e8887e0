"""What a map forgets as it grows for days: a group reads again a small part of what it lags behind, at every lag."""

import base64
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirror.formats.offset_sync import OffsetSync
from mirror.offsets.map import MAX_ENCODED_BYTES, OffsetMap, Run, decoded
from mirror.offsets.sync_pairs import pairs_to_write
from mirror.offsets.sync_store import OffsetSyncStore

seeds = st.integers(0, 2**32).map(Random)


def transaction(random, largest, of_the_source):
    """The records of one transaction of the copy, as the lengths of the source's own transactions between whose markers they stand."""
    return [random.randint(1, largest) for _ in range(random.randint(1, of_the_source))]


def runs_behind(last, lengths, marker):
    """The runs of a transaction: a marker of the source behind each (if it writes in transactions), one of the copy behind all."""
    runs, (source, target) = [], last
    for length in lengths:
        runs.append(Run(source, target, length))
        source, target = source + length + marker, target + length
    return runs, (source, target + 1)


def grown(transactions, marker):
    """The map of a life, read back from its bytes at every step, and how many source offsets the largest transaction has."""
    built, last, largest = OffsetMap(), (0, 0), 0
    for lengths in transactions:
        runs, following = runs_behind(last, lengths, marker)
        built = decoded(built.extended(runs).encoded())
        largest, last = max(largest, following[0] - last[0]), following
    return built, largest


def holes(built):
    """What a group reads again at most, and how far it lags behind, at the end of each hole."""
    for before, behind in pairwise(built.runs):
        if behind.thinned:
            yield behind.source - before.source - before.length, built.source_end - behind.source


@settings(max_examples=8, deadline=None)
@given(seeds, st.integers(1, 12), st.sampled_from([0, 1]), st.integers(1, 3))
def test_at_every_lag_a_group_reads_again_two_percent_and_a_transaction_at_most(random, largest, marker, of_the_source):
    transactions = [transaction(random, largest, of_the_source if marker else 1) for _ in range(random.randint(500, 3000))]
    built, span = grown(transactions, marker)
    assert len(built.encoded()) <= 2048
    for again, lag in holes(built):
        assert again <= 0.02 * lag + span, (again, lag, span)


def test_after_a_week_of_a_transaction_a_minute_a_group_a_day_behind_reads_a_few_hundred_records_again():
    built, _ = grown([[10]] * 7 * 1440, 0)
    a_day = [again for again, lag in holes(built) if lag <= 14_400]
    assert max(a_day) <= 300
    assert max(again / lag for again, lag in holes(built)) <= 0.025
    assert built.runs[0] == Run(0, 0, 10)


@settings(max_examples=5, deadline=None)
@given(seeds, st.sampled_from([0, 1]))
def test_a_group_never_reads_more_again_than_mirror_maker_2_lets_one_that_is_as_far_behind(random, marker):
    """Its store hits some offsets by chance, so the worst of all that lag no more is compared."""
    built, last, store = OffsetMap(), (0, 0), OffsetSyncStore(must_read_to_end=False)
    store.read_to_end()
    true = []
    for _ in range(600):
        runs, following = runs_behind(last, transaction(random, 12, 3 if marker else 1), marker)
        built, begun, last = built.extended(runs), last[0], following
        true += [(run.source + place, run.target + place) for run in runs for place in range(run.length)]
        newest = (*store.pairs("t", 0), None)[0]
        for pair in pairs_to_write(built, newest, 100, begun):
            store.sync(OffsetSync("t", 0, *pair))
    ours = theirs = 0
    for number, (source, _) in reversed(list(enumerate(true))):
        ours = max(ours, read_again(true, number, built.translate(source).target))
        theirs = max(theirs, read_again(true, number, store.translate("t", 0, source)))
        assert ours <= max(theirs, 36), source


def read_again(true, number, position):
    """How many records of smaller source offsets stand at a position of the target or behind it."""
    again = 0
    while number > again and true[number - again - 1][1] >= position:
        again += 1
    return again


@pytest.mark.parametrize("count", [3000, 60_000])
def test_a_transaction_of_many_runs_is_thinned_at_once(count):
    runs = [Run(2 * number, number, 1) for number in range(count)]
    built = OffsetMap().extended(runs)
    assert len(base64.b64decode(built.encoded())) <= MAX_ENCODED_BYTES
    assert (built.runs[0], built.runs[-1][:3]) == (runs[0], runs[-1][:3])
    assert all(known.thinned or known == runs[known.target] for known in built.runs)
    assert all(again <= 0.1 * lag + 2 * count for again, lag in holes(built))


def test_a_map_of_the_old_kind_gets_better_as_it_grows():
    old = OffsetMap((Run(0, 0, 10), *(Run(90_000 + 10 * number, 99_000 + 11 * number, 10, number == 0) for number in range(400))))
    built = decoded(old.encoded())
    for number in range(400, 40_000):
        built = built.extended([Run(90_000 + 10 * number, 99_000 + 11 * number, 10)])
    assert [again for again, lag in holes(built) if lag < 390_000 and again > 0.04 * lag] == []
