"""The offset map of a partition that was taken over: whatever syncs there are, a translation is early and never late."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.copy.engine import PartitionProgress
from kafka_mirror.copy.ledger_updates import after
from kafka_mirror.formats.offsets.map import OffsetMap, Run, Translation, decoded, runs_of
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.offset_sync_store import SyncPair
from kafka_mirror.groups.translation import SourceState, translate
from kafka_mirror.ledger.record import Decided
from kafka_mirror.migration.model import Position
from kafka_mirror.migration.tail_match import taken_map
from tests.unit.ledger_records import WRITTEN_AT, ledger_record
from tests.unit.migration.mirror_maker import WORLDS, found


def test_what_lies_in_front_of_all_syncs_begins_at_the_beginning():
    made = taken_map(OffsetMap(), [SyncPair(100, 90)], [SyncPair(150, 140), SyncPair(151, 141)], SyncPair(152, 142))
    assert made.translate(20) == Translation(0, False)
    assert made.translate(100) == Translation(90, True)
    assert made.translate(120) == Translation(91, False)
    assert made.translate(151) == Translation(141, True)
    assert made.translate(152) == Translation(142, True)
    assert made.source_of(10) == 0


def test_a_range_that_was_mirrored_twice_is_known_by_its_newest_copy():
    made = taken_map(
        OffsetMap(), [SyncPair(0, 0), SyncPair(50, 50), SyncPair(90, 90), SyncPair(41, 91)], [SyncPair(60, 110)], SyncPair(61, 111)
    )
    assert made.runs == (Run(0, 0, 1, True), Run(41, 91, 1, True), Run(60, 110, 1, True))


def test_our_own_part_stays_exact():
    ours = OffsetMap((Run(0, 0, 100), Run(110, 101, 40)))
    made = taken_map(ours, [SyncPair(99, 99), SyncPair(149, 140), SyncPair(160, 150)], [SyncPair(170, 160)], SyncPair(171, 161))
    assert made.runs == (*ours.runs, Run(160, 150, 1, True), Run(170, 160, 1, True))


def test_without_anything_known_the_map_is_empty_and_says_that_records_stand_there():
    assert taken_map(OffsetMap(), [], [], SyncPair(5, 7)) == OffsetMap((), thinned_behind=True)
    assert taken_map(OffsetMap(), [], [], SyncPair(5, 0)) == OffsetMap()


@given(WORLDS, st.booleans())
def test_a_translation_is_never_late(world, at_stored):
    position = found(world)
    if at_stored and world.stored is not None:
        position = Position(world.stored + 1)
    syncs = [sync for sync in world.syncs if sync.upstream < position.watermark]
    record = ledger_record(
        watermark=position.watermark,
        target_next=world.target_end,
        offset_map=taken_map(OffsetMap(), syncs, position.pairs, SyncPair(position.watermark, world.target_end)),
        records=0,
        decided=Decided("skip-record", "a test", WRITTEN_AT, "another decision came before the first copy"),
    )
    never_late(world, record, world.pairs)
    # What the copy then does: the next record of the source goes right behind the end.
    following = [each.offset for each in world.source if each.offset >= position.watermark]
    behind = [SyncPair(offset, world.target_end + number) for number, offset in enumerate(following)]
    if not behind:
        return
    runs = runs_of([pair.upstream for pair in behind], [pair.downstream for pair in behind])
    end = world.target_end + len(behind)
    copied = after(record, PartitionProgress(TopicPartition("t", 0), world.source_end, 0, runs, len(behind), 1, end), 0)
    assert not copied.offset_map.thinned_behind
    never_late(world, replace(copied, offset_map=decoded(*copied.offset_map.encoded())), [*world.pairs, *behind])


def never_late(world, record, pairs):
    """Of what a group has not read, nothing stands in front of where it goes on and nowhere else."""
    source = SourceState(record.source_topic_id, world.source_end)
    for group in range(world.source_end + 1):
        target = translate(group, record, source, record.target_topic_id).target
        # What an earlier life of the worker mirrored behind the watermark is copied again.
        needed = {pair.upstream for pair in pairs if group <= pair.upstream < record.watermark}
        seen = {pair.upstream for pair in pairs if target is not None and pair.downstream >= target}
        assert needed <= seen, (group, target, record.offset_map)
        known = record.offset_map.translate(group)
        if known is not None and group < record.watermark and not record.offset_map.thinned_behind:
            assert needed <= {pair.upstream for pair in pairs if pair.downstream >= known.target}
