"""MirrorMaker 2's internal records, its store of offset syncs, and which records of a copy it syncs."""

from bisect import bisect_left
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats import mm2
from kafka_mirror.formats.mm2 import Checkpoint, Heartbeat, OffsetSync
from kafka_mirror.formats.offsets.map import OffsetMap, runs_of
from kafka_mirror.groups.offset_sync_store import OffsetSyncStore, SyncPair
from kafka_mirror.groups.offset_syncs import MOST, choose_pairs
from tests.compat.peer import Peer, Refused, compared

KINDS = {"offset_sync": mm2.decode_offset_sync, "checkpoint": mm2.decode_checkpoint, "heartbeat": mm2.decode_heartbeat}
LONGS = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
partitions = st.integers(-(2**31), 2**31 - 1)
records = (
    st.tuples(st.just("offset_sync"), st.builds(OffsetSync, texts, partitions, LONGS, LONGS))
    | st.tuples(st.just("checkpoint"), st.builds(Checkpoint, texts, texts, partitions, LONGS, LONGS, texts))
    | st.tuples(st.just("heartbeat"), st.builds(Heartbeat, texts, texts, LONGS))
)


@compared(400)
@given(records, st.binary(max_size=3))
def test_a_record_is_read_by_java_and_java_makes_the_same_bytes_of_it(peer: Peer, record: tuple[str, OffsetSync], more: bytes) -> None:
    kind, ours = record
    peer.cases["internal records"] += 1
    theirs = peer.ask("internal_record", kind=kind, key=(ours.key + more).hex(), value=(ours.value + more).hex())
    assert tuple(theirs["fields"]) == ours
    assert (theirs["key"], theirs["value"]) == (ours.key.hex(), ours.value.hex())
    assert KINDS[kind](bytes.fromhex(theirs["key"]), bytes.fromhex(theirs["value"])) == ours
    assert all(str(field) in theirs["shown"] for field in ours), "as the formatter of the console consumer shows it"


@compared(400)
@given(st.sampled_from(sorted(KINDS)), st.binary(max_size=40), st.binary(max_size=40))
def test_any_bytes_are_the_record_that_java_reads_or_are_refused_by_both(peer: Peer, kind: str, key: bytes, value: bytes) -> None:
    peer.cases["internal records"] += 1
    try:
        ours = KINDS[kind](key, value)
    except UnicodeDecodeError:
        return  # Java reads a text that is not UTF-8 with replacement characters
    except ValueError:
        ours = None
    try:
        theirs = tuple(peer.ask("internal_record", kind=kind, key=key.hex(), value=value.hex())["fields"])
    except Refused:
        theirs = None
    assert ours == theirs


# ------------------------------------------------------------ the store

rising = st.lists(st.integers(0, 300) | st.integers(0, 2**20) | st.integers(0, 2**61), max_size=40).map(sorted)
offsets = st.integers(0, 40) | st.integers(0, 2**20) | st.integers(0, 2**63 - 1)
streams = st.lists(st.tuples(offsets, offsets), max_size=40) | rising.map(lambda found: [(offset, offset) for offset in found])


def our_store(loaded: Sequence[tuple[int, int]], live: Sequence[tuple[int, int]], must_read_to_end: bool) -> OffsetSyncStore:
    """As MirrorMaker 2 has it: one that must read to the end begins with the newest pair that it loaded."""
    store = OffsetSyncStore()
    for pair in (*(loaded[-1:] if must_read_to_end else loaded), *live):
        store.sync(OffsetSync("orders", 0, *pair))
    return store


@compared(600)
@given(streams, streams, st.booleans(), st.lists(offsets, max_size=10))
def test_a_store_that_is_given_the_same_pairs_holds_and_answers_the_same(
    peer: Peer, loaded: list[tuple[int, int]], live: list[tuple[int, int]], must_read_to_end: bool, groups: list[int]
) -> None:
    if not loaded and not live:
        loaded = [(0, 0)]
    near = {upstream + step for upstream, _ in (*loaded, *live) for step in (-1, 0, 1)}
    groups = [*groups, *(group for group in near if 0 <= group < 2**63)]
    peer.cases["translations"] += len(groups)
    theirs = peer.ask("sync_store", loaded=loaded, live=live, must_read_to_end=must_read_to_end, groups=groups)
    ours = our_store(loaded, live, must_read_to_end)
    assert [list(pair) for pair in ours.pairs("orders", 0)] == theirs["slots"]
    assert [ours.translate("orders", 0, group) for group in groups] == theirs["translated"]


# ------------------------------------------------------------ which pairs are written

gaps = st.tuples(st.sampled_from([1, 1, 1, 2, 7]), st.sampled_from([1, 1, 2, 4]), st.integers(1, 60))
lags = st.sampled_from([0, 1, 7, 30, 100])
WIDEST = 7
"""The widest gap."""


def records_of(gaps: Sequence[tuple[int, int, int]], last: tuple[int, int] = (-1, -1)) -> list[tuple[int, int]]:
    """Pairs of offsets of consecutive records, given by the gaps in front of stretches without one and their lengths."""
    found: list[tuple[int, int]] = []
    for source_gap, target_gap, length in gaps:
        upstream, downstream = last[0] + source_gap, last[1] + target_gap
        found += [(upstream + place, downstream + place) for place in range(length)]
        last = found[-1]
    return found


@compared(300)
@given(st.lists(gaps, min_size=1, max_size=8), lags)
def test_the_records_that_java_syncs_are_those_that_are_written_and_the_end(peer: Peer, gaps: list[tuple[int, int, int]], lag: int) -> None:
    copied = records_of(gaps)
    peer.cases["records that may be worth an offset sync"] += len(copied)
    emitted = [tuple(pair) for pair in peer.ask("emitted_syncs", records=copied, lag_max=lag)]
    expected = emitted if emitted[-1] == copied[-1] else [*emitted, copied[-1]]
    ours = choose_pairs(OffsetMap(runs_of(*zip(*copied, strict=True))), None, lag, 0)
    assert list(ours) == expected if len(expected) <= MOST else set(ours) < set(expected)


@compared(200)
@given(st.lists(st.lists(gaps, min_size=1, max_size=5), min_size=1, max_size=5), lags, st.booleans())
def test_java_never_translates_late_by_what_runs_wrote_and_the_nearer_the_end_the_less_early(
    peer: Peer, runs: list[list[tuple[int, int, int]]], lag: int, live: bool
) -> None:
    copied, written, built = [(-1, -1)], list[SyncPair](), OffsetMap()
    for gaps in runs:
        new = records_of(gaps, copied[-1])
        built = built.with_runs(runs_of(*zip(*new, strict=True)))
        written += choose_pairs(built, written[-1] if written else None, lag, new[0][0])
        copied += new
    sources, targets = zip(*copied[1:], strict=True)
    end = targets[-1] + 1
    groups = list(range(sources[-1] + 3))
    peer.cases["translations"] += len(groups)
    loaded_or_live = {"loaded": [], "live": written} if live else {"loaded": written, "live": []}
    answers = peer.ask("sync_store", must_read_to_end=False, groups=groups, **loaded_or_live)["translated"]
    for group, answer in zip(groups, answers, strict=True):
        place = bisect_left(sources, group)
        exact = targets[place] if place < len(targets) else end
        assert answer <= exact
        if exact == end:
            assert answer == exact
        elif answer >= 0:
            # The further pairs are from the newest one, the more of them are left out, here and by the store itself.
            assert exact - answer <= 2 * (lag + WIDEST) + 4 * (sources[-1] - group)
