"""What is noted of a group that moves, what is committed of it, and what a roll back puts back."""

import json

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_move import GroupMove, facts_of_move, is_same, move_from_facts, plan_move, plan_undo
from kafka_mirror.kafka.model import Committed

ZERO, ONE, TWO = (TopicPartition("east.orders", number) for number in range(3))
HERE = {TopicPartition("orders", 0): 12}


def at(offset, **facts):
    return Committed(offset, **facts)


def test_what_stood_there_is_noted_also_that_nothing_did():
    noted = plan_move(None, {ZERO: at(3, metadata="m", leader_epoch=4)}, {ZERO: at(7), ONE: at(8)}, HERE)
    assert noted.before == {ZERO: at(3, metadata="m", leader_epoch=4), ONE: None}
    assert noted.find_due({ZERO: at(3)}) == {ZERO: at(7), ONE: at(8)}
    assert noted.find_due({ZERO: at(7), ONE: at(8)}) == {}
    assert noted.source == HERE


def test_a_second_note_keeps_what_stood_there_before_the_first_and_knows_what_that_committed():
    first = plan_move(None, {ZERO: at(3)}, {ZERO: at(7)}, HERE)
    second = plan_move(first, {ZERO: at(7)}, {ZERO: at(9), ONE: at(1)}, HERE)
    assert second.before == {ZERO: at(3), ONE: None}
    assert second.find_foreign({ZERO: at(7)}) == {}, "killed before it committed anything"
    assert second.find_foreign({ZERO: at(9)}) == {}
    assert second.find_foreign({ZERO: at(3)}) == {}
    assert second.find_foreign({}) == {}, "positions expire"
    assert second.find_foreign({ZERO: at(8)}) == {ZERO: 8}


def test_a_partition_that_left_the_wave_is_still_taken_back():
    first = plan_move(None, {}, {ZERO: at(7), ONE: at(5)}, HERE)
    second = plan_move(first, {ZERO: at(7), ONE: at(5)}, {ZERO: at(7)}, HERE)
    assert plan_undo(second, {ZERO: at(7), ONE: at(5)}).delete == (ZERO, ONE)


def test_what_was_taken_back_is_noted_anew():
    back = GroupMove({ZERO: at(3)}, {ZERO: at(7)}, is_taken_back=True)
    assert plan_move(back, {ZERO: at(4)}, {ZERO: at(7)}, HERE).before == {ZERO: at(4)}
    assert plan_undo(back, {ZERO: at(7)}).is_nothing


def test_a_roll_back_puts_back_deletes_and_leaves_what_others_committed():
    noted = plan_move(None, {ZERO: at(3, metadata="m", leader_epoch=2)}, {ZERO: at(7), ONE: at(8), TWO: at(9)}, HERE)
    undo = plan_undo(noted, {ZERO: at(7), ONE: at(8), TWO: at(10)})
    assert undo.commit == {ZERO: at(3, metadata="m", leader_epoch=2)}
    assert undo.delete == (ONE,)
    assert undo.foreign == {TWO: 10}


def test_metadata_counts_and_a_leader_epoch_does_not():
    assert is_same(at(3, leader_epoch=1), at(3))
    assert not is_same(at(3, metadata="m"), at(3))
    assert not is_same(None, at(0))
    assert is_same(None, None)


def test_of_a_group_without_a_note_there_is_no_move():
    assert move_from_facts({}) is None


# ------------------------------------------------------------ properties

partitions = st.sampled_from([ZERO, ONE, TWO, TopicPartition("west.payments", 10)])
commits = st.builds(Committed, st.integers(0, 5), st.sampled_from(["", "ä"]), st.none() | st.integers(0, 3))
wanted_commits = st.builds(Committed, st.integers(0, 5), st.sampled_from(["", "ä"]))
positions = st.dictionaries(partitions, commits, max_size=4)
runs = st.lists(st.tuples(st.dictionaries(partitions, wanted_commits, max_size=4), st.sets(partitions)), min_size=1, max_size=4)
"""What each run wants to commit, and the partitions that it commits before it is killed."""


def killed_runs(before, attempts):
    """The newest note and the target's state after runs of which each commits a part."""
    noted, there = None, dict(before)
    for wanted, committed in attempts:
        noted = plan_move(noted, there, wanted, {})
        there |= {tp: after for tp, after in noted.find_due(there).items() if tp in committed}
    return noted, there


def after(undo, there):
    return {tp: offset for tp, offset in {**there, **undo.commit}.items() if tp not in undo.delete}


@given(positions, runs)
def test_a_roll_back_restores_exactly_what_stood_there_wherever_runs_were_killed(before, attempts):
    noted, there = killed_runs(before, attempts)
    undo = plan_undo(noted, there)
    assert undo.foreign == {}
    assert after(undo, there) == before


@given(positions, runs, positions)
def test_a_roll_back_touches_nothing_that_others_committed(before, attempts, theirs):
    noted, there = killed_runs(before, attempts)
    ours = {tp: noted.list_ours(tp) for tp in noted.before}
    theirs = {tp: offset for tp, offset in theirs.items() if offset.offset not in ours.get(tp, ()) and offset != before.get(tp)}
    theirs = {tp: offset for tp, offset in theirs.items() if before.get(tp) is None or before[tp].offset != offset.offset}
    there |= theirs
    restored = after(plan_undo(noted, there), there)
    assert {tp: restored.get(tp) for tp in theirs} == theirs


@given(positions, runs, st.sets(partitions))
def test_a_roll_back_that_is_killed_goes_on(before, attempts, done):
    noted, there = killed_runs(before, attempts)
    undo = plan_undo(noted, there)
    there |= {tp: offset for tp, offset in undo.commit.items() if tp in done}
    there = {tp: offset for tp, offset in there.items() if tp not in undo.delete or tp not in done}
    assert after(plan_undo(noted, there), there) == before
    assert plan_undo(noted, before).is_nothing


@given(positions, runs)
def test_a_note_comes_back_from_the_control_topic_as_it_was(before, attempts):
    noted, _ = killed_runs(before, attempts)
    assert move_from_facts(json.loads(json.dumps(facts_of_move(noted)))) == noted
