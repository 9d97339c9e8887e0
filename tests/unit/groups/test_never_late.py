"""Translation against the target's log itself, whatever happened to the partition: never late in either direction, and exact only where it
is the very record.

The tests ask: if nothing more ever came from the source, would the group read every record that the target holds and that it has not
read? They count every copy, those that a restart made again included.
"""

from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_mirror.copy.ledger_updates import advance_record
from kafka_mirror.copy.model import PartitionProgress
from kafka_mirror.formats.offsets import map as offset_map
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.groups.offset_sync_store import SyncPair
from kafka_mirror.groups.offset_syncs import due_pairs
from kafka_mirror.groups.translation import EARLY, EXACT, NONE, SourceState, TranslatedOffset, translate, translate_back
from kafka_mirror.ledger.apply_decisions import PartitionFacts, act_on_decisions
from kafka_mirror.ledger.record import Decided
from tests.unit.decision_records import DECIDED_AT, decision
from tests.unit.groups.mirror_life import SOURCE_ID, TARGET_ID, TP, MirrorLife
from tests.unit.ledger_records import ledger_record

LATER = DECIDED_AT + timedelta(hours=1)

small = st.integers(0, 12)
events = st.one_of(
    st.tuples(st.just("produce"), st.integers(1, 20), st.integers(0, 2)),
    st.tuples(st.just("copy"), st.integers(1, 15), st.sampled_from([0, 0, 1, 3])),
    st.tuples(st.just("copy"), st.integers(1, 15), st.sampled_from([0, 0, 1, 3])),
    st.tuples(st.just("restart"), st.integers(0, 150)),
    st.tuples(st.just("refuse")),
    st.tuples(st.just("abort"), st.integers(1, 3)),
    st.tuples(st.just("expire_source"), small),
    st.tuples(st.just("skip_record")),
    st.tuples(st.just("accept_records"), st.integers(1, 4)),
    st.tuples(st.just("lose"), st.integers(1, 30), st.integers(0, 3), st.sampled_from([0, 0, 0, 4, 40])),
    st.tuples(st.just("expire_target"), small),
    st.tuples(st.just("backfill"), small, small),
    st.tuples(st.just("cut_source"), st.integers(0, 150)),
    st.tuples(st.just("create_source_anew"), small),
    st.tuples(st.just("create_remote_anew"), st.integers(0, 150)),
    st.tuples(st.just("elect")),
)
lives = st.lists(events, min_size=5, max_size=60)

LOST_TWICE = [
    *[("backfill", 0, 1), ("produce", 1, 0), ("copy", 1, 0), ("lose", 1, 0, 0), ("produce", 1, 0), ("copy", 2, 1)],
    *[("lose", 1, 0, 1), ("lose", 1, 0, 0), ("copy", 1, 0)],
]
"""At last the map knows nothing any more, and the topic of the offset syncs has the pair of a lost copy."""
LOST_BEHIND_A_RESTART = [
    *[("produce", 3, 0), ("copy", 2, 0), ("restart", 0), ("copy", 6, 1), ("copy", 9, 3), ("restart", 32)],
    *[("lose", 5, 0, 0), ("lose", 20, 0, 0), ("copy", 2, 0)],
]
"""The map does not know what stands in front of its first record, and neither may readers of the offset syncs."""
RESTARTED_TWICE = [
    *[("produce", 1, 0), ("copy", 1, 0), ("restart", 0), ("copy", 2, 0), ("restart", 1)],
    *[("refuse",), ("refuse",), ("refuse",), ("copy", 1, 0)],
]
"""Of the copies between the two restarts neither map knows anything, and the newest copy passes over the source's records of them."""


@contextmanager
def at_most(encoded_bytes):
    """The offset map keeps so few bytes that it is thinned all the time."""
    with patch.object(offset_map, "MAX_ENCODED_BYTES", encoded_bytes):
        yield


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([0, 0, 30]), st.sampled_from([12, 24, 60, 120, 1536]), lives)
@example(30, 1536, LOST_TWICE)
@example(30, 12, LOST_BEHIND_A_RESTART)
@example(30, 24, RESTARTED_TWICE)
@example(0, 12, [("produce", 2, 1), ("copy", 2, 0)] * 10)
@example(0, 60, [("produce", 3, 1), ("copy", 3, 0)] * 40)
def test_whatever_happened_a_translation_is_never_late(start, size, events):
    with at_most(size):
        life = MirrorLife(start)
        for name, *numbers in events:
            getattr(life, name)(*numbers)
            assert_never_late(life)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(events, st.tuples(st.just("commit"), st.integers(0, 150))), min_size=5, max_size=60))
@example(
    [("produce", 10, 0), ("copy", 10, 0), ("commit", 10), ("cut_source", 5), ("produce", 8, 0), ("restart", 5), ("copy", 15, 0)],
)
def test_what_was_committed_of_a_lost_branch_of_the_source_is_never_late(events):
    life = MirrorLife(0)
    for name, *numbers in events:
        getattr(life, name)(*numbers)
        if not life.waits:
            for commit in life.commits:
                assert_reads_what_it_has_not_read(life, commit)


def assert_reads_what_it_has_not_read(life, commit):
    """Whatever branch of the source's log the group committed of."""
    if commit.source_id != life.source_id:
        return
    shared = life.source_epochs.end_of(commit.leader_epoch, life.source_end)
    source = SourceState(life.source_id, life.source_end, life.source_epochs.newest, shared)
    found = translate(commit.offset, life.record, source, life.target_id, leader_epoch=commit.leader_epoch)
    newest = {number: position for position, number in sorted(life.numbered) if position >= life.head}
    late = [number for number, at in newest.items() if (number >= commit.born or number in commit.unread) and at < (found.target or 0)]
    assert not late, f"a group that committed {commit} is told {found} and misses the records {late}"


def assert_never_late(life):
    """Of every offset of the source, and of every position of the target."""
    if life.waits:
        return
    held, ever = life.held(), life.ever()
    newest = {source: max(positions) for source, positions in held.items()}
    live = {source for position, source in life.copies if position not in life.history}
    only_history = ever.keys() - live
    for group in range(life.source_end + 1):
        found = translate(group, life.record, SourceState(life.source_id, life.source_end), life.target_id)
        assert found.kind != NONE
        unread = [source for source in newest if source >= group]
        late = [source for source in unread if newest[source] < found.target]
        assert not late, f"a group at {group} is told {found.target} and misses the records {late}"
        again = {source for position, source in life.copies if position >= found.target and source < group and source in live}
        again -= {source for position, source in life.copies if position in life.history}
        if found.reread is not None:
            assert len(again) <= found.reread, (group, found)
        synced = life.syncs.translate(*TP, group) if life.synced else None
        passed = [source for source in unread if synced is not None and newest[source] < synced and source not in only_history]
        assert not passed, f"MirrorMaker 2 tells a group at {group} {synced} by offset syncs, and it misses {passed}"
        again_now = life.old_end is not None and group < life.reach
        in_order = life.record.older is None or (life.record.older.offset_map is None and group >= life.record.older.lacking)
        if found.at_most is not None and in_order:
            best = min((max(positions) for source, positions in ever.items() if source >= group), default=0)
            assert found.at_most >= best, (group, found)
        if found.kind == EXACT and found.target >= life.head:
            first = min(unread, default=None)
            assert first is None or found.target in held[first], (group, found, first)
        if again_now and unread:
            older = [position for position in held[min(unread)] if position < life.old_end]
            assert not older or found.target <= max(older), (group, found, "passes over the older copies")
    assert_never_late_backwards(life)


def assert_never_late_backwards(life):
    places = {}
    for position, source in life.copies:
        if position not in life.history:
            places.setdefault(source, []).append(position)
    never_copied = [source for source in life.sources if source >= life.record.watermark and source not in places]
    for position in range(life.head, life.record.target_next + 1):
        found = translate_back(position, life.record, SourceState(life.target_id, life.end), life.source_id)
        if found.kind == NONE:
            continue
        unread = [source for source, positions in places.items() if min(positions) >= position] + never_copied
        assert found.target <= min(unread, default=found.target), f"a reader of the mirror at {position} is told {found.target}"
        if found.kind == EXACT and life.record.older is None:
            again = [source for source, positions in places.items() if source >= found.target and min(positions) < position]
            assert not again, f"a reader of the mirror at {position} reads {again} again upstream"


def test_a_restart_inside_a_thinned_hole_leaves_it_early():
    known = OffsetMap((Run(0, 0, 10), Run(500, 550, 10, True)))
    record = ledger_record(watermark=510, target_next=560, offset_map=known, covered=((0, 510),))
    changed, _ = act_on_decisions(
        record, [decision("restart", watermark=510, offset=300)], PartitionFacts(SOURCE_ID, 0, "east.orders", TARGET_ID, 0)
    )
    copied = advance_record(changed, PartitionProgress(TP, 520, 0, (Run(300, 561, 220),), 220, 1, 781), 0)
    source = SourceState(SOURCE_ID, 520)
    assert translate(100, copied, source, TARGET_ID) == TranslatedOffset(EARLY, 10, 561, 90), "its record stands between 10 and 550"
    assert translate(310, copied, source, TARGET_ID) == TranslatedOffset(EXACT, 571, 571, 0)
    assert translate_back(100, copied, SourceState(TARGET_ID, 782), SOURCE_ID).target == 10


def test_after_a_decision_readers_forget_a_pair_that_may_be_that_of_a_lost_copy():
    record = ledger_record(watermark=110, target_next=100, offset_map=OffsetMap((Run(0, 0, 10), Run(100, 90, 10, True))))
    in_hole = SyncPair(50, 60)
    assert [pair.upstream for pair in due_pairs(record, in_hole, 100, 100)] == [100, 109], "nobody restarted anything"
    restarted = replace(record, decided=Decided("restart", "somebody", LATER, "because"))
    assert due_pairs(restarted, in_hole, 100, 100)[0] == SyncPair(0, 0), "smaller than the newest, so they forget it"


def test_while_a_restart_copies_again_the_older_copies_answer():
    record = ledger_record(watermark=1000, target_next=1000, offset_map=OffsetMap((Run(0, 0, 1000),)), covered=((0, 1000),))
    changed, _ = act_on_decisions(
        record, [decision("restart", watermark=1000, offset=300)], PartitionFacts(SOURCE_ID, 0, "east.orders", TARGET_ID, 0)
    )
    half = advance_record(changed, PartitionProgress(TP, 420, 0, (Run(300, 1001, 120),), 120, 1, 1121), 0)
    source = SourceState(SOURCE_ID, 2000)
    assert translate(200, half, source, TARGET_ID).target == 200
    assert translate(350, half, source, TARGET_ID) == TranslatedOffset(EARLY, 350, 350, 50)
    assert translate(800, half, source, TARGET_ID) == TranslatedOffset(EARLY, 800, 800, 500, ahead=380)
    assert translate(1000, half, source, TARGET_ID) == TranslatedOffset(EXACT, 1121, 1121, 0, ahead=580)
    whole = advance_record(half, PartitionProgress(TP, 1000, 0, (Run(420, 1122, 580),), 580, 1, 1702), 0)
    assert translate(350, whole, source, TARGET_ID) == TranslatedOffset(EXACT, 1051, 1051, 0)
    gap, _ = act_on_decisions(
        half, [decision("accept-gap", when=LATER, watermark=420)], PartitionFacts(SOURCE_ID, 600, "east.orders", TARGET_ID, 0)
    )
    behind = advance_record(gap, PartitionProgress(TP, 1100, 0, (Run(600, 1122, 500),), 500, 1, 1622), 0)
    assert translate(500, behind, source, TARGET_ID) == TranslatedOffset(EARLY, 500, 500, 200)
    assert translate(700, behind, source, TARGET_ID) == TranslatedOffset(EXACT, 1222, 1222, 0)
