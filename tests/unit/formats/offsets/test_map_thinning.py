"""What a map forgets as it grows for months: a group reads again a small part of what it lags behind, at every lag and scale."""

from bisect import bisect_left
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_mirror.formats.mm2 import OffsetSync
from kafka_mirror.formats.offsets.map import OffsetMap, Run, Translation
from kafka_mirror.groups.offset_sync_store import OffsetSyncStore
from kafka_mirror.groups.offset_syncs import choose_pairs
from tests.unit.formats.offsets.flows import Flow, holes, reread, text_length, too_wide

WEEK, MONTH = 7 * 1440, 30 * 1440
seeds = st.integers(0, 2**32).map(Random)
flows = st.builds(
    Flow,
    seeds,
    st.sampled_from([1, 2, 5, 12, 60, 300, 5000, 100_000]),
    st.sampled_from([1, 1, 3, 8, 40]),
    st.sampled_from([0, 1]),
    st.booleans(),
)


@settings(max_examples=15, deadline=None)
@given(flows, st.integers(1000, 30_000), st.sampled_from([1, 7, 50, 400]))
def test_at_every_lag_a_group_reads_again_two_percent_and_a_transaction_at_most(flow, records, at_once):
    transactions = max(records // flow.of_the_source, 100)
    for step, built in enumerate(flow.grown(transactions, at_once)):
        if step % max(transactions // at_once // 20, 1) == 0:
            assert text_length(built) <= 2048
            assert too_wide(built, flow) == []
    assert too_wide(built, flow) == []


@pytest.mark.parametrize("transactions", [WEEK, MONTH])
@pytest.mark.parametrize(
    ("largest", "of_the_source", "marker", "even"),
    [
        pytest.param(10, 1, 0, True, id="10 records a minute"),
        pytest.param(60, 1, 0, False, id="1 to 60 records"),
        pytest.param(1, 8, 1, True, id="8 transactions of the source of 1 record"),
        pytest.param(10, 8, 1, True, id="8 transactions of the source of 10 records"),
        pytest.param(5000, 1, 0, True, id="5,000 records a minute"),
        pytest.param(10_000, 1, 0, False, id="1 to 10,000 records"),
        pytest.param(12, 3, 1, False, id="1 to 3 transactions of the source of 1 to 12 records"),
    ],
)
def test_after_a_week_and_after_a_month_it_is_so_with_any_flow(largest, of_the_source, marker, even, transactions):
    flow = Flow(Random(7), largest, of_the_source, marker, even)
    *_, built = flow.grown(transactions, 60)
    assert text_length(built) <= 2048
    assert too_wide(built, flow) == []


def test_after_a_week_of_a_transaction_a_minute_a_group_a_day_behind_reads_a_few_hundred_records_again():
    *_, built = Flow(Random(7), 10, even=True).grown(WEEK, 4)
    assert max(again for again, lag in holes(built) if lag <= 14_400) <= 225
    assert max(again / lag for again, lag in holes(built)) <= 0.0160
    assert built.runs[0] == Run(0, 0, 10)


@settings(max_examples=10, deadline=None)
@given(seeds, st.sampled_from([1, 2, 12, 40]), st.sampled_from([1, 3, 8]), st.sampled_from([0, 1]), st.sampled_from([1, 5]))
@example(Random(1), 1, 1, 0, 1)
def test_a_group_never_reads_more_again_than_mirror_maker_2_lets_one_that_is_as_far_behind(random, largest, of_the_source, marker, at_once):
    """Its store hits some offsets by chance, so the worst of all that lag no more is compared."""
    flow, built, store = Flow(random, largest, of_the_source, marker), OffsetMap(), OffsetSyncStore()
    true = []
    for _ in range(600):
        begun, runs = flow.source, flow.transactions(at_once)
        built = built.with_runs(runs)
        true += [(run.source + place, run.target + place) for run in runs for place in range(run.length)]
        newest = (*store.pairs("t", 0), None)[0]
        for pair in choose_pairs(built, newest, 100, begun):
            store.sync(OffsetSync("t", 0, *pair))
        if len(true) > 8000:
            break
    ours, theirs, positions = 0, 0, [target for _, target in true]
    for number, (source, _) in reversed(list(enumerate(true))):
        ours = max(ours, read_again(positions, number, built.translate(source).target))
        theirs = max(theirs, read_again(positions, number, store.translate("t", 0, source)))
        assert ours <= theirs, source


def read_again(positions, number, position):
    """How many of the first records, by their positions on the target, stand at a position or behind it."""
    return number - bisect_left(positions, position, 0, number)


@settings(max_examples=5, deadline=None)
@given(flows, st.integers(500, 3000), st.integers(0, 100))
def test_what_is_left_of_a_map_that_is_cut_is_no_longer_than_it_may_be_and_the_same_when_it_is_read_back(flow, records, percent):
    *_, built = flow.grown(max(records // flow.of_the_source, 100), 50)
    source, target = built.source_end * percent // 100, built.target_end * percent // 100
    for cut in (built.cut_before(source), built.cut_before_target(target), built.cut_since(source), built.with_unknown_front()):
        assert text_length(cut) <= 2048
        assert reread(cut) == cut
        assert all(found.target <= built.translate(found.source).target for found in cut.runs)


@pytest.mark.parametrize("count", [3000, 60_000])
def test_a_transaction_of_many_runs_is_thinned_at_once(count):
    runs = [Run(2 * number, number, 1) for number in range(count)]
    built = OffsetMap().with_runs(runs)
    assert text_length(built) <= 2048
    assert (built.runs[0], built.runs[-1][:3]) == (runs[0], runs[-1][:3])
    assert all(known.thinned or known == runs[known.target] for known in built.runs)
    assert all(again <= 0.02 * lag + 1 for again, lag in holes(built))


def test_where_the_bytes_do_not_do_for_all_cells_the_holes_get_wider_evenly():
    random, built, source, target = Random(7), OffsetMap(), 0, 0
    for _ in range(200):
        runs = []
        for _ in range(100):
            runs.append(Run(source, target, random.randint(1, 9)))
            source += runs[-1].length + random.randint(1, 200)
            target += runs[-1].length + random.randint(0, 200)
        built = built.with_runs(runs)
    assert text_length(built) <= 2048
    assert len(built.runs) >= 350
    assert [(again, lag) for again, lag in holes(built) if again > 0.04 * lag + 200] == []


def test_a_run_that_is_long_for_its_lag_stays_whole():
    flow = Flow(Random(7), 3, even=True, source=10_000_020, target=10_000_015)
    built = OffsetMap((Run(0, 0, 10),)).with_runs([Run(20, 12, 10_000_000), *flow.transactions(5000)])
    assert any(run[:3] == (20, 12, 10_000_000) for run in built.runs)
    built = built.with_runs(flow.transactions(400_000))
    assert any(run[:3] == (20, 12, 10_000_000) for run in built.runs)


def test_a_map_that_was_thinned_again_and_again_knows_all_that_one_knows_that_is_thinned_once():
    *_, often = Flow(Random(7), 60, 3, 1).grown(2000, 1)
    once = OffsetMap().with_runs(Flow(Random(7), 60, 3, 1).transactions(2000))
    assert [run for run in once.runs if often.translate(run.source) != Translation(run.target, True)] == []
