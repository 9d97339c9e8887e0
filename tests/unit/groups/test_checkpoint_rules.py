"""Which checkpoints are written over others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.mm2 import Checkpoint
from kafka_mirror.formats.offsets.holes import EXACT_PLACE, UNPLACED, Hole, UncountedHole
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoint_rules import NotedCheckpoint, due, is_due, key_of

offsets = st.integers(0, 5)


def at(upstream, downstream, metadata=""):
    return Checkpoint("group", "east.orders", 0, upstream, downstream, metadata)


@given(offsets, offsets, offsets, offsets)
def test_within_a_generation_it_is_written_if_the_group_went_back_or_its_position_moved_on(upstream, downstream, before, there):
    for generations in (("one", "one"), (None, "one"), ("one", None), (None, None)):
        written = is_due(NotedCheckpoint(at(upstream, downstream), generations[0]), NotedCheckpoint(at(before, there), generations[1]))
        assert written == (upstream < before or downstream > there)


@given(offsets, offsets, offsets, offsets)
def test_in_another_generation_it_is_always_written(upstream, downstream, before, there):
    assert is_due(NotedCheckpoint(at(upstream, downstream), "two"), NotedCheckpoint(at(before, there), "one"))


def test_one_that_is_late_for_sure_is_written_over_whoever_wrote_it():
    assert is_due(NotedCheckpoint(at(10, 20), "one", at_most=25), NotedCheckpoint(at(10, 26), None))
    assert not is_due(NotedCheckpoint(at(10, 20), "one", at_most=25), NotedCheckpoint(at(10, 25), None)), "it may be the exact one"
    assert not is_due(NotedCheckpoint(at(10, 20), "one"), NotedCheckpoint(at(10, 26), "one"))


def test_metadata_alone_is_no_reason():
    assert not is_due(NotedCheckpoint(at(10, 20, "new"), "one"), NotedCheckpoint(at(10, 20, "old"), "one"))


def test_each_remote_partition_of_each_group_is_looked_at_by_itself():
    known, moved, new = at(10, 20), at(11, 21)._replace(partition=1), at(1, 1)._replace(group="other")
    stored = {key_of(each): NotedCheckpoint(each._replace(downstream=20), None) for each in (known, moved)}
    assert [each.checkpoint for each in due(map(NotedCheckpoint, (known, moved, new)), stored)] == [moved, new]
    assert key_of(new) == ("other", TopicPartition("east.orders", 0))


EXACTLY, IN_VAIN = EXACT_PLACE, UncountedHole(Hole(0, 0, 50, 60)).text


@pytest.mark.parametrize(
    ("candidate", "stored", "written"),
    [
        (NotedCheckpoint(at(10, 20), "one", EXACTLY, at_most=20), NotedCheckpoint(at(10, 20), "one"), 20),
        (NotedCheckpoint(at(10, 20), "one", EXACTLY, at_most=20), NotedCheckpoint(at(10, 20), "one", EXACTLY), None),
        (NotedCheckpoint(at(11, 20), "one", EXACTLY, at_most=20), NotedCheckpoint(at(10, 20), "one", EXACTLY), 20),
        (NotedCheckpoint(at(10, 20), "one", EXACTLY, at_most=20), NotedCheckpoint(at(10, 20), None), 20),
        (NotedCheckpoint(at(10, 20), "one", IN_VAIN, at_most=60), NotedCheckpoint(at(10, 20), "one"), 20),
        (NotedCheckpoint(at(10, 20), "one", IN_VAIN, at_most=60), NotedCheckpoint(at(10, 30), "one"), 30),
        (NotedCheckpoint(at(10, 20), "one", IN_VAIN, at_most=60), NotedCheckpoint(at(10, 30), "one", IN_VAIN), None),
        (NotedCheckpoint(at(10, 20), "one", IN_VAIN, at_most=60), NotedCheckpoint(at(10, 30), None), None),
        (NotedCheckpoint(at(10, 20), "one", UNPLACED, at_most=60), NotedCheckpoint(at(10, 30), "one"), 30),
        (NotedCheckpoint(at(11, 20), "one", UNPLACED, at_most=60), NotedCheckpoint(at(10, 30), "one", UNPLACED), 30),
        (NotedCheckpoint(at(10, 20), "one", UNPLACED, at_most=60), NotedCheckpoint(at(10, 30), "one", UNPLACED), None),
        (NotedCheckpoint(at(10, 20), None, EXACTLY, at_most=20), NotedCheckpoint(at(10, 20), None), None),
        (NotedCheckpoint(at(10, 20), "one"), NotedCheckpoint(at(10, 20), "one", EXACTLY), None),
    ],
)
def test_a_note_of_the_place_is_written_once_and_moves_no_position_back(candidate, stored, written):
    found = due([candidate], {key_of(candidate.checkpoint): stored})
    assert [each.checkpoint.downstream for each in found] == ([] if written is None else [written])
    assert all(each.place == candidate.place for each in found)
