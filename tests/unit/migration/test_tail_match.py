"""How far MirrorMaker 2 came, by the tail of the remote partition, and the offset map of it: early, never late."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.copy.ledger_updates import advance_record
from kafka_mirror.copy.model import PartitionProgress
from kafka_mirror.formats.offsets.map import OffsetMap, Run, Translation, decode_map, runs_of
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.offset_sync_store import SyncPair
from kafka_mirror.groups.translation import SourceState, translate
from kafka_mirror.ledger.record import Decided
from kafka_mirror.migration.tail_match import Ambiguous, Position, make_taken_map
from tests.unit.ledger_records import WRITTEN_AT, ledger_record
from tests.unit.migration.mirror_maker import WORLDS, World, found


@pytest.fixture
def world():
    made = World()
    made.produce(Random(1), 40)
    return made


def test_a_clean_stop_is_behind_the_offset_that_was_kept(world):
    world.copy(30)
    world.flush()
    world.sync()
    assert found(world) == Position(world.watermark, (world.pairs[-1],))
    assert world.watermark == world.stored + 1


def test_records_behind_the_offset_that_was_kept_are_found_by_the_newest_sync(world):
    world.copy(10)
    world.flush()
    world.sync()
    world.copy(15)
    assert found(world) == Position(world.watermark, tuple(world.pairs[9:]))
    assert world.watermark > world.stored + 1


def test_without_a_sync_they_are_found_by_the_record_whose_offset_was_kept(world):
    world.copy(10)
    world.flush()
    world.copy(15)
    assert found(world).watermark == world.watermark


def test_a_sync_may_be_ahead_of_the_offset_that_was_kept(world):
    world.copy(10)
    world.flush()
    world.copy(15)
    world.sync()
    world.copy(3)
    assert found(world) == Position(world.watermark, tuple(world.pairs[24:]))


def test_a_worker_that_started_again_is_followed_to_its_last_record(world):
    world.copy(10)
    world.flush()
    world.sync()
    world.copy(15)
    for again in (7, 3):
        world.start_again()
        world.copy(again)
    assert found(world) == Position(world.watermark, tuple(world.pairs[-3:]))
    assert world.watermark == world.source[12].offset + 1


def test_a_flow_that_was_killed_before_its_first_flush_is_followed_from_its_beginning(world):
    world.copy(15)
    world.start_again()
    world.copy(4)
    assert world.stored is None
    assert found(world).watermark == world.watermark


def test_the_records_of_a_reader_behind_the_end_of_what_was_kept_may_be_none(world):
    world.copy(10)
    world.flush()
    world.target_start = world.target_end  # retention has emptied the remote partition
    world.target.clear()
    assert found(world) == Position(world.stored + 1)


def test_a_source_that_ends_at_the_offset_that_was_kept_leaves_no_doubt(world):
    world.copy(40)
    world.flush()
    world.source_start = world.source_end
    assert found(world) == Position(world.stored + 1)


@pytest.mark.parametrize("synced", [True, False])
def test_a_foreign_record_behind_the_last_one_is_refused(world, synced):
    world.copy(20)
    world.flush()
    if synced:
        world.sync()
    world.foreign()
    doubt = found(world)
    assert isinstance(doubt, Ambiguous)
    assert doubt.target == 20


@pytest.mark.parametrize("synced", [True, False])
def test_a_foreign_record_among_those_behind_the_offset_that_was_kept_is_refused(world, synced):
    world.copy(20)
    world.flush()
    if synced:
        world.sync()
    world.copy(5)
    world.foreign()
    world.copy(5)
    assert found(world).target == 25


def test_a_source_that_was_created_anew_is_refused(world):
    world.copy(20)
    world.flush()
    world.source = [each._replace(content=b"new" + each.content) for each in world.source]
    assert isinstance(found(world), Ambiguous)


def test_a_sync_whose_record_is_another_one_is_refused(world):
    world.copy(20)
    world.flush()
    world.syncs = [SyncPair(world.source[18].offset, 19)]
    assert "newest offset sync" in found(world).why


def test_a_tail_that_ends_in_front_of_the_offset_that_was_kept_is_refused(world):
    world.copy(10)
    world.sync()
    world.stored = world.source[20].offset
    assert isinstance(found(world), Ambiguous)


def test_alike_records_are_refused_where_two_readings_are_possible():
    world = World()
    world.produce(Random(1), 40, alike=True, gaps=False)
    world.copy(10)
    world.flush()
    world.sync()
    world.copy(8)
    doubt = found(world)
    assert isinstance(doubt, Ambiguous)
    assert "alike" in doubt.why


def test_alike_records_are_no_trouble_after_a_clean_stop():
    world = World()
    world.produce(Random(1), 40, alike=True)
    world.copy(30)
    world.flush()
    world.sync()
    assert found(world).watermark == world.watermark


def test_another_timestamp_is_another_record_unless_one_of_them_has_none(world):
    world.copy(20)
    world.flush()
    world.sync()
    world.copy(1)
    world.target[-1] = world.target[-1]._replace(timestamp=7)
    assert isinstance(found(world), Ambiguous)
    world.target[-1] = world.target[-1]._replace(timestamp=None)
    assert found(world).watermark == world.watermark


def test_what_we_copied_before_the_flow_was_handed_back_is_a_known_place(world):
    world.copy(20)
    # The last offsets of our own part are no records: Connect's offset is that of the watermark all the same.
    world.stored = world.source[19].offset
    world.known = SyncPair(world.stored + 1, world.target_end)
    world.syncs = [world.pairs[10]]
    assert found(world) == Position(world.stored + 1)
    world.copy(5)
    assert found(world) == Position(world.watermark, tuple(world.pairs[-5:]))
    world.foreign()
    assert isinstance(found(world), Ambiguous)


def test_of_a_compacted_partition_the_last_record_tells(world):
    world.compacted = True
    world.copy(20)
    world.flush()
    world.copy(5)
    del world.source[15:23]
    assert found(world).watermark == world.pairs[-1].upstream + 1
    world.foreign()
    assert isinstance(found(world), Ambiguous)


def test_of_a_compacted_partition_the_newest_sync_tells_if_it_is_of_the_last_record(world):
    world.compacted = True
    world.copy(20)
    world.flush()
    world.sync()
    del world.source[10:20]
    assert found(world).watermark == world.stored + 1


@given(WORLDS, st.integers(1, 9))
def test_whatever_happened_the_last_record_is_found_and_foreign_ones_are_seen(world, window):
    where = found(world, window)
    if not world.target:
        assert where == Position(0)
        return
    assert isinstance(where, Position), where
    assert where.watermark == world.watermark
    truth = set(world.pairs)
    assert set(where.pairs) <= truth
    world.foreign()
    assert isinstance(found(world, window), Ambiguous)


@pytest.mark.parametrize("told", [None, 5])
def test_what_we_copied_is_not_copied_again_where_retention_emptied_the_remote_partition(world, told):
    """Hand-back ended before it told Kafka Connect where it stood: Connect has no offset, or one of long ago."""
    world.copy(20)
    world.known = SyncPair(world.watermark, world.target_end)
    world.stored = told
    world.target_start = world.target_end
    world.target.clear()
    assert found(world) == Position(world.known.upstream)


def test_of_an_emptied_remote_partition_what_kafka_connect_was_told_later_counts(world):
    world.copy(20)
    world.known = SyncPair(world.watermark, world.target_end)
    world.copy(5)
    world.flush()
    world.target_start = world.target_end
    world.target.clear()
    assert found(world) == Position(world.stored + 1)


def test_what_lies_in_front_of_all_syncs_begins_at_the_beginning():
    made = make_taken_map(OffsetMap(), [SyncPair(100, 90)], [SyncPair(150, 140), SyncPair(151, 141)], SyncPair(152, 142))
    assert made.translate(20) == Translation(0, False)
    assert made.translate(100) == Translation(90, True)
    assert made.translate(120) == Translation(91, False)
    assert made.translate(151) == Translation(141, True)
    assert made.translate(152) == Translation(142, True)
    assert made.source_of(10) == 0


def test_a_range_that_was_mirrored_twice_is_known_by_its_newest_copy():
    made = make_taken_map(
        OffsetMap(), [SyncPair(0, 0), SyncPair(50, 50), SyncPair(90, 90), SyncPair(41, 91)], [SyncPair(60, 110)], SyncPair(61, 111)
    )
    assert made.runs == (Run(0, 0, 1, True), Run(41, 91, 1, True), Run(60, 110, 1, True))


def test_our_own_part_stays_exact():
    ours = OffsetMap((Run(0, 0, 100), Run(110, 101, 40)))
    made = make_taken_map(ours, [SyncPair(99, 99), SyncPair(149, 140), SyncPair(160, 150)], [SyncPair(170, 160)], SyncPair(171, 161))
    assert made.runs == (*ours.runs, Run(160, 150, 1, True), Run(170, 160, 1, True))


def test_without_anything_known_the_map_is_empty_and_says_that_records_stand_there():
    assert make_taken_map(OffsetMap(), [], [], SyncPair(5, 7)) == OffsetMap((), thinned_behind=True)
    assert make_taken_map(OffsetMap(), [], [], SyncPair(5, 0)) == OffsetMap()


@given(WORLDS, st.booleans())
def test_a_translation_is_never_late(world, at_stored):
    position = found(world)
    if at_stored and world.stored is not None:
        position = Position(world.stored + 1)
    syncs = [sync for sync in world.syncs if sync.upstream < position.watermark]
    record = ledger_record(
        watermark=position.watermark,
        target_next=world.target_end,
        offset_map=make_taken_map(OffsetMap(), syncs, position.pairs, SyncPair(position.watermark, world.target_end)),
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
    copied = advance_record(record, PartitionProgress(TopicPartition("t", 0), world.source_end, 0, runs, len(behind), 1, end), 0)
    assert not copied.offset_map.thinned_behind
    never_late(world, replace(copied, offset_map=decode_map(*copied.offset_map.encode())), [*world.pairs, *behind])


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
