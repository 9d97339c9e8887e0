"""MirrorMaker 2's OffsetSyncStore: the golden tables of the specification (§4.3), and the invariants of its slots."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_mirror.formats.mm2 import OffsetSync
from kafka_mirror.groups.offset_sync_store import SLOTS, TOO_OLD, OffsetSyncStore, SyncPair

LARGEST = 2**63 - 1
USUAL = 2**61
"""Up to here no sum wraps around; beyond, the class promises nothing about how far back it remembers."""


def feed(store, syncs):
    """Offsets, or pairs of offsets, of one partition."""
    for each in syncs:
        upstream, downstream = each if isinstance(each, tuple) else (each, each)
        store.sync(OffsetSync("orders", 0, upstream, downstream))


def loaded(syncs=()):
    store = OffsetSyncStore()
    feed(store, syncs)
    return store


def shown(store):
    """The slots in which another pair begins, such as `0@10 1@9`; with the target offset where it differs."""
    pairs = store.pairs("orders", 0)
    firsts = [slot for slot, pair in enumerate(pairs) if not slot or pair is not pairs[slot - 1]]
    return " ".join(
        f"{slot}@{p.upstream}{f':{p.downstream}' if p.downstream != p.upstream else ''}" for slot in firsts for p in [pairs[slot]]
    )


def translated(store, *offsets):
    return [store.translate("orders", 0, offset) for offset in offsets]


GOLDEN = [
    ("0@10 1@9 2@8 3@4 4@0", range(11)),
    ("0@1000 5@990 6@960 7@900 8@840 9@720 10@480 11@0", range(0, 1001, 10)),
    ("0@10000 5@9990 6@9970 7@9940 8@9880 9@9640 10@9160 11@8680 12@6760 13@4840 14@1000", range(1000, 10001, 10)),
    (
        "0@10000 5@9990 6@9960 7@9900 8@9840 9@9600 10@9120 11@8640 12@7680 13@3840 14@0",
        (*range(0, 1001, 10), *range(1000, 10001, 10)),
    ),
    ("0@300 8@200 9@100", (100, 200, 300)),
    ("0@475 8@375 9@175", (175, 275, 375, 475)),
    (
        "0@99990 8@99889 9@99788 10@99384 11@98576 12@96960 13@93728 14@90496 15@77568 16@51712 17@0",
        (0, *range(101, 99991, 101)),
    ),
    ("0@17:10 1@16:9 2@15:8 3@11:4", ((11, 4), (12, 5), (13, 6), (14, 7), (15, 8), (16, 9), (17, 10))),
]


@pytest.mark.parametrize(("slots", "syncs"), GOLDEN)
def test_the_slots_hold_what_mirror_maker_2s_hold(slots, syncs):
    assert shown(loaded(syncs)) == slots


def test_there_is_no_translation_without_a_sync():
    store = loaded([(100, 200)])
    assert translated(store, 0, 100, 200) == [TOO_OLD, 200, 201]
    assert (store.translate("orders", 1, 100), store.translate("others", 0, 100)) == (None, None)


def test_a_group_is_translated_to_the_pair_before_it_and_never_further_than_one_behind_that():
    assert translated(loaded([100, 200, 300]), 250) == [201]
    assert translated(loaded([175, 275, 375, 475]), 250, 370, 400) == [176, 176, 376]
    store = loaded()
    for syncs, answers in [
        ([(100, 200)], {150: 201}),
        ([(150, 251)], {150: 251, 5: TOO_OLD}),
        ([(200, 10)], {200: 10}),
        ([(20, 20)], {20: 20, 19: TOO_OLD, 200: 21}),
    ]:
        feed(store, syncs)
        assert {offset: store.translate("orders", 0, offset) for offset in answers} == answers


def test_a_translation_gets_coarser_as_newer_pairs_come():
    store = loaded()
    feed(store, [(11, 4), (12, 5)])
    assert translated(store, 13) == [6]
    feed(store, [(offset, offset - 7) for offset in range(13, 18)])
    assert translated(store, 13, 12) == [5, 5]


def test_an_upstream_rewind_clears_the_store():
    store = loaded(range(0, 5000, 10))
    feed(store, [(1500, 11000)])
    assert translated(store, 1499, 1500, 2000) == [TOO_OLD, 11000, 11001]


def test_the_partitions_of_a_topic_do_not_mix():
    store = loaded()
    store.sync(OffsetSync("orders", 0, 10, 100))
    store.sync(OffsetSync("orders", 1, 10, 200))
    store.sync(OffsetSync("payments", 0, 10, 300))
    assert [store.translate(topic, partition, 10) for topic, partition in (("orders", 0), ("orders", 1), ("payments", 0))] == [
        100,
        200,
        300,
    ]


# ------------------------------------------------------------ invariants


def assert_invariants(pairs, first, newest):
    assert pairs[0] is not None
    assert pairs[0] == newest
    assert pairs[-1] == first
    for low in range(SLOTS):
        for high in range(low + 1, SLOTS):
            newer, older = pairs[low], pairs[high]
            assert newer is older or newer.upstream <= older.upstream + 2**high - 2**low
            assert newer is older or newer.upstream >= older.upstream + 2 ** max(low - 2, 0)


def spaced(spacings):
    total, offsets = 0, [0]
    for spacing in spacings:
        total += spacing
        offsets.append(total)
    return offsets


@settings(max_examples=40)
@given(st.lists(st.integers(1, 2**20) | st.integers(1, 3) | st.integers(1, 2**58), max_size=25).map(spaced))
@example(spaced([100, 200, 100, 100, 200]))
def test_the_slots_keep_their_distances_after_every_pair(offsets):
    store = loaded(offsets[:1])
    for newest in offsets[1:]:
        feed(store, [newest])
        if newest < USUAL:
            assert_invariants(store.pairs("orders", 0), SyncPair(0, 0), SyncPair(newest, newest))


@pytest.mark.parametrize(
    ("spacing", "dropped"),
    [
        *((lambda _, width=2**exponent: width, 1) for exponent in (0, 1, 7, 30, 50)),
        (lambda random: random.choice([100, 200]), 2),
        *((lambda random, width=2**exponent: random.randint(1, width - 1), exponent + 2) for exponent in (2, 8, 16)),
    ],
)
def test_one_more_pair_drops_few_of_those_that_are_kept(spacing, dropped):
    random, store, newest = Random(7), loaded([0]), 0
    for _ in range(600):
        before = len(set(store.pairs("orders", 0)))
        newest += spacing(random)
        feed(store, [newest])
        assert len(set(store.pairs("orders", 0))) >= before + 1 - dropped


offsets = st.integers(0, USUAL)
rising_pairs = st.lists(st.tuples(offsets, offsets), min_size=1, max_size=20, unique_by=(lambda pair: pair[0], lambda pair: pair[1])).map(
    lambda pairs: list(zip(*map(sorted, zip(*pairs, strict=True)), strict=True))
)


@given(rising_pairs, st.lists(offsets, min_size=1, max_size=10))
def test_no_translation_is_behind_the_pair_that_follows_the_group(pairs, groups):
    store = loaded(pairs)
    for group in groups:
        answer = store.translate("orders", 0, group)
        following = [downstream for upstream, downstream in pairs if upstream > group]
        assert all(answer <= downstream + 1 for downstream in following)
        reached = [downstream for upstream, downstream in pairs if upstream <= group]
        assert answer <= max(reached, default=-1) + 1
        assert (answer == TOO_OLD) == (group < pairs[0][0])


@given(rising_pairs, st.lists(offsets, min_size=2).map(sorted))
def test_a_group_that_is_further_is_never_translated_to_less(pairs, groups):
    store = loaded(pairs)
    assert all(before <= after for before, after in pairwise(translated(store, *groups)))


@pytest.mark.parametrize("offset", [2**62 - 1, 2**62, LARGEST - 1, LARGEST])
def test_offsets_at_the_end_of_what_a_long_can_say_are_taken(offset):
    store = loaded([0, offset - 1, offset])
    assert translated(store, offset, offset - 1) == [offset, offset - 1]
    assert translated(store, 0) == [0 if offset <= 2**62 else TOO_OLD]
