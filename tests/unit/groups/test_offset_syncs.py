"""Which pairs of an offset map are written as offset syncs: as far apart as MirrorMaker 2's, and never one that makes a reader late."""

from bisect import bisect_left
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_mirror.formats.mm2 import OffsetSync
from kafka_mirror.formats.offsets.map import OffsetMap, Run, runs_of
from kafka_mirror.groups.offset_sync_store import OffsetSyncStore, SyncPair
from kafka_mirror.groups.offset_syncs import MOST, choose_pairs, is_harmless

FAR = 2**62


def of(*runs):
    return OffsetMap().with_runs(Run(*run) for run in runs)


def written(offset_map, newest=None, lag_max=100, copied_from=FAR):
    return [tuple(pair) for pair in choose_pairs(offset_map, newest and SyncPair(*newest), lag_max, copied_from)]


# ------------------------------------------------------------ which pairs


def test_a_new_map_gives_its_first_record_one_every_lag_and_one_offsets_and_its_end():
    assert written(of((10, 5, 391))) == [(10, 5), (111, 106), (212, 207), (313, 308), (400, 395)]


def test_a_map_of_one_record_gives_that_and_an_empty_one_nothing():
    assert written(of((10, 5, 1))) == [(10, 5)]
    assert written(OffsetMap()) == []


def test_the_next_run_goes_on_from_the_newest_pair_of_the_topic():
    assert written(of((10, 5, 391)), (313, 308)) == [(400, 395)]
    assert written(of((10, 5, 600)), (400, 395)) == [(501, 496), (602, 597), (609, 604)]
    assert written(of((10, 5, 391)), (400, 395)) == []


def test_the_record_behind_a_gap_of_the_source_gives_a_pair_and_one_behind_a_marker_of_the_target_does_not():
    assert written(of((0, 0, 10), (12, 10, 10))) == [(0, 0), (12, 10), (21, 19)]
    assert written(of((0, 0, 10), (10, 11, 10))) == [(0, 0), (19, 20)]


def test_offset_lag_max_counts_target_offsets_markers_included():
    assert written(of((0, 0, 50), (50, 60, 50)), lag_max=80) == [(0, 0), (71, 81), (99, 109)]


def test_without_a_lag_every_record_gives_a_pair_up_to_the_most_that_are_written_at_once():
    assert written(of((0, 0, 50)), lag_max=0) == [(offset, offset) for offset in range(50)]
    many = written(of((0, 0, 100_000)), lag_max=0)
    assert len(many) == MOST
    assert many[0] == (0, 0)
    assert many[-32:] == [(offset, offset) for offset in range(99_968, 100_000)]
    distances = [99_999 - upstream for upstream, _ in many]
    assert all(further <= 1.5 * nearer + 2 for further, nearer in pairwise(distances) if nearer), (
        "the older, the coarser, and without a hole"
    )


@given(st.integers(0, 2**50), st.sampled_from([0, 1, 50, 100, 10**6]))
def test_however_long_a_map_is_at_most_that_many_pairs_are_written_in_order_with_first_and_end(length, lag_max):
    pairs = written(of((3, 7, length + 1)), lag_max=lag_max)
    assert len(pairs) <= MOST
    assert (pairs[0], pairs[-1]) == ((3, 7), (length + 3, length + 7))
    assert all(before[0] < after[0] for before, after in pairwise(pairs))


def partition_state(records, lag_max):
    """MirrorMaker 2's PartitionState over records in order: which of them emit at once (§3.8 of the specification)."""
    emitted, synced, before = [], None, None
    for upstream, downstream in records:
        behind_gap = before is not None and (upstream - before[0] != 1 or downstream < before[1])
        if synced is None or downstream - (synced + 1) >= lag_max or behind_gap:
            synced = downstream
            emitted.append((upstream, downstream))
        before = upstream, downstream
    return emitted


gaps = st.tuples(st.sampled_from([1, 1, 1, 2, 7]), st.sampled_from([1, 1, 2, 4]), st.integers(1, 40))


def records_of(gaps, upstream=0, downstream=0):
    """Pairs of consecutive records in runs, given by the gaps in front of them and their lengths."""
    records = []
    for source_gap, target_gap, length in gaps:
        upstream, downstream = upstream + source_gap, downstream + target_gap
        records += [(upstream + place, downstream + place) for place in range(length)]
        upstream, downstream = records[-1]
    return records


def mapped(records, before=None):
    return (before or OffsetMap()).with_runs(runs_of(*zip(*records, strict=True)) if records else ())


def test_partition_state_is_that_of_the_golden_sequence():
    sequence = [(0, 100), (2, 102), (3, 152), (4, 153), (5, 154), (6, 203), (7, 204), (2, 206), (3, 207), (4, 3), (5, 4), (7, 6)]
    assert partition_state(sequence, 50) == [(0, 100), (2, 102), (4, 153), (7, 204), (2, 206), (4, 3), (7, 6)]


@given(st.lists(gaps, min_size=1, max_size=10), st.sampled_from([0, 1, 7, 30, 100]))
def test_a_map_gives_the_pairs_that_mirror_maker_2_emits_and_the_end(gaps, lag_max):
    records = records_of(gaps)
    emitted = partition_state(records, lag_max)
    expected = emitted if emitted[-1] == records[-1] else [*emitted, records[-1]]
    pairs = written(mapped(records), lag_max=lag_max)
    assert pairs == expected if len(expected) <= MOST else set(pairs) < set(expected)


# ------------------------------------------------------------ another life


@pytest.mark.parametrize(
    ("newest", "agreeing"),
    [
        ((15, 9), True),  # of the map
        ((15, 8), False),
        ((9, 3), True),  # from before it: of MirrorMaker 2, before the mirror took over
        ((9, 2), True),
        ((9, 4), False),
        ((2, 9), False),  # leads behind the first record: of a target topic that is gone
        ((25, 30), False),  # in a gap of the source
        ((90, 50), False),  # behind the end: of a source topic that is gone
    ],
)
def test_a_pair_of_the_topic_agrees_with_the_map_or_is_of_another_life(newest, agreeing):
    assert is_harmless(of((10, 4, 10), (30, 24, 10)), SyncPair(*newest)) is agreeing


def test_a_pair_that_may_be_that_of_a_lost_copy_has_to_stand_in_the_map():
    thinned = OffsetMap((Run(0, 0, 10), Run(100, 90, 10, thinned=True)))
    assert [is_harmless(thinned, SyncPair(*each), may_be_lost=True) for each in ((9, 9), (50, 50), (105, 95))] == [True, False, True]
    behind_others = OffsetMap((Run(100, 90, 10, thinned=True),))
    assert [is_harmless(behind_others, SyncPair(50, downstream), may_be_lost=True) for downstream in (-1, 0, 50)] == [True, False, False]
    assert choose_pairs(behind_others, SyncPair(50, 50), 100, 100, may_be_lost=True)[0] == SyncPair(49, -1), (
        "nobody knows what stands in front"
    )


def test_where_the_map_knows_nothing_any_more_readers_begin_anew():
    assert choose_pairs(OffsetMap((), True), SyncPair(31, 4), 100, 31) == (SyncPair(-1, -1),)
    assert choose_pairs(OffsetMap((), True), SyncPair(-1, -1), 100, 31) == choose_pairs(OffsetMap(), None, 100, 0) == ()


def test_a_pair_where_the_map_was_thinned_agrees_if_it_lies_between():
    thinned = OffsetMap((Run(0, 0, 10), Run(100, 90, 10, thinned=True)))
    assert [is_harmless(thinned, SyncPair(50, downstream)) for downstream in (9, 10, 89, 90)] == [False, True, True, False]


def test_a_source_topic_that_was_created_anew_is_a_step_back_by_itself():
    assert written(of((0, 500, 20)), newest=(300, 300)) == [(0, 500), (19, 519)]


def test_a_target_topic_that_was_created_anew_is_a_step_back_though_the_source_goes_on():
    assert written(of((400, 0, 20)), newest=(300, 300)) == [(299, -1), (400, 0), (419, 19)]
    assert written(of((0, 1, 20)), newest=(0, 7)) == [(-1, 0), (0, 1), (19, 20)]


def test_a_pair_of_what_was_only_copied_in_this_run_is_of_another_life_even_if_it_meets_the_map():
    assert written(of((0, 0, 200)), newest=(199, 199), copied_from=0) == [(0, 0), (101, 101), (199, 199)]


def test_the_pair_before_the_first_number_cannot_be_stepped_back_from():
    assert written(of((0, 0, 1)), newest=(-(2**63), 5)) == [(-(2**63), -1), (0, 0)]


# ------------------------------------------------------------ early or exact, never late


class Reader:
    """A reader of the syncs topic that runs all the time, and those that begin later: with all of the topic, or what compaction left."""

    def __init__(self):
        self._topic, self._stores = [], []
        self._live = OffsetSyncStore()

    def take(self, pairs):
        for pair in pairs:
            self._topic.append(OffsetSync("orders", 0, *pair))
            self._live.sync(self._topic[-1])
        self._stores = list(self._all())

    @property
    def newest(self):
        return SyncPair(*self._topic[-1][2:]) if self._topic else None

    def _all(self):
        yield self._live
        for syncs in (self._topic, self._topic[-1:]):
            store = OffsetSyncStore()
            for each in syncs:
                store.sync(each)
            yield store

    def assert_never_late(self, records):
        sources = [upstream for upstream, _ in records]
        end = records[-1][1] + 1
        chosen = sources if len(sources) < 300 else Random(1).sample(sources, 300)
        for group in {place for upstream in chosen for place in (upstream - 1, upstream, upstream + 1)} | {0, sources[-1] + 50}:
            index = bisect_left(sources, group)
            exact = records[index][1] if index < len(records) else end
            for store in self._stores:
                answer = store.translate("orders", 0, group)
                assert answer is None or answer <= exact, (group, exact, store.pairs("orders", 0))

    def assert_end_is_exact(self, records):
        for store in self._stores:
            assert store.translate("orders", 0, records[-1][0] + 1) == records[-1][1] + 1


lives = st.lists(
    st.tuples(
        st.sampled_from(["goes on", "goes on", "goes on", "source created anew", "target created anew", "restart"]),
        st.lists(gaps, min_size=1, max_size=6),
        st.booleans(),
        st.integers(0, 300),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=150)
@given(lives, st.sampled_from([0, 1, 7, 100]))
def test_a_reader_is_early_or_exact_whatever_becomes_of_the_topics(lives, lag_max):
    reader, records, offset_map, target_end = Reader(), [], OffsetMap(), 0
    for what, gaps, fails, place in lives:
        # If the very first pairs of a new life could not be written, it shows only where its offsets differ from the old ones'.
        fails = fails and what == "goes on"
        upstream = records[-1][0] if records else 0
        if what == "source created anew":
            records, offset_map, upstream = [], OffsetMap(), place - 1
        elif what == "target created anew":
            records, offset_map, upstream, target_end = [], OffsetMap(), place - 1, 0
        elif what == "restart":
            records = [pair for pair in records if pair[0] < place]
            offset_map, upstream = offset_map.cut_before(place), place - 1
        copied = records_of(gaps, upstream, target_end - 1)
        records, offset_map, target_end = records + copied, mapped(copied, offset_map), copied[-1][1] + 2
        if not fails:
            reader.take(choose_pairs(offset_map, reader.newest, lag_max, upstream + 1))
            reader.assert_never_late(records)
            reader.assert_end_is_exact(records)


@settings(max_examples=15)
@given(st.integers(0, 2**32).map(Random), st.sampled_from([0, 7, 100]))
def test_a_reader_is_early_or_exact_where_the_map_itself_was_thinned(random, lag_max):
    reader, records, offset_map = Reader(), [], OffsetMap()
    for _ in range(4):
        gaps = [(random.randint(1, 9), random.randint(1, 3), random.randint(1, 4)) for _ in range(random.randint(1, 700))]
        upstream, downstream = records[-1] if records else (-1, -1)
        copied = records_of(gaps, upstream, downstream)
        records, offset_map = records + copied, mapped(copied, offset_map)
        if random.random() < 0.7:
            reader.take(choose_pairs(offset_map, reader.newest, lag_max, upstream + 1))
            reader.assert_never_late(records)
