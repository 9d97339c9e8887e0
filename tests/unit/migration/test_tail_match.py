"""Where a partition goes on that MirrorMaker 2 left, however it ended: from the source offset behind its last record, or in doubt."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.groups.offset_sync_store import SyncPair
from kafka_mirror.migration.model import Ambiguous, Position
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
