"""What is kept of a group for an undo: the newest runs, as long as nobody else moved the group."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups import undo as module
from kafka_mirror.groups.group_move import plan_undo
from kafka_mirror.groups.undo import KEPT_RUNS, CommitHistory, decode_history, encode_history
from kafka_mirror.kafka.model import Committed

ZERO, ONE = (TopicPartition("east.orders", number) for number in range(2))


def commit(history, run, there, write):
    """Notes a run, and lets it commit."""
    noted = history.extend(run, dict(there), write)
    there.update(write)
    return noted


def undo(history, run, there):
    """The group's positions once the run is taken back."""
    plan = plan_undo(history.merge_since(run), there)
    kept = {tp: at for tp, at in there.items() if tp not in plan.delete}
    return {**kept, **plan.commit}


@given(
    st.dictionaries(st.sampled_from([ZERO, ONE]), st.integers(0, 9).map(Committed)),
    st.lists(
        st.dictionaries(st.sampled_from([ZERO, ONE]), st.integers(0, 9).map(lambda at: Committed(at, "m")), min_size=1),
        min_size=1,
        max_size=9,
    ),
    st.data(),
)
def test_each_kept_run_is_taken_back_to_exactly_what_stood_before_it(first, writes, data):
    there, history, before = dict(first), CommitHistory(), {}
    for number, write in enumerate(writes):
        before[f"run {number}"] = dict(there)
        history = commit(history, f"run {number}", there, write)
        history = decode_history(encode_history(history))
    assert len(history.runs) == min(len(writes), KEPT_RUNS)
    assert history.runs[0].run == "run 0", "the oldest takes in those behind it"
    run = data.draw(st.sampled_from([kept.run for kept in history.runs]))
    assert undo(history, run, there) == before[run]
    assert history.cut_before(run).merge_since(run) is None


def test_a_run_that_is_not_kept_any_more_cannot_be_taken_back():
    there, history = {}, CommitHistory()
    for number in range(KEPT_RUNS + 1):
        history = commit(history, f"run {number}", there, {ZERO: Committed(number)})
    assert history.merge_since("run 1") is None
    assert undo(history, "run 2", there) == {ZERO: Committed(1)}
    assert undo(history, "run 0", there) == {}


def test_a_position_that_somebody_else_committed_begins_the_history_anew():
    there = {}
    history = commit(CommitHistory(), "first", there, {ZERO: Committed(5)})
    there[ZERO] = Committed(50)
    history = commit(history, "second", there, {ZERO: Committed(60)})
    assert history.merge_since("first") is None
    assert undo(history, "second", there) == {ZERO: Committed(50)}


def test_a_position_of_somebody_else_stays_where_it_is():
    there = {}
    history = commit(CommitHistory(), "first", there, {ZERO: Committed(5), ONE: Committed(6)})
    there[ONE] = Committed(7)
    assert undo(history, "first", there) == {ONE: Committed(7)}


def test_a_run_that_was_killed_between_note_and_commit_keeps_its_name_and_what_was_there():
    there = {ZERO: Committed(1)}
    noted = CommitHistory().extend("first", there, {ZERO: Committed(5)})
    again = commit(noted, "first", there, {ZERO: Committed(6)})
    assert [kept.run for kept in again.runs] == ["first"]
    assert undo(again, "first", there) == {ZERO: Committed(1)}


def test_what_a_failed_run_left_behind_is_no_position_of_somebody_else():
    there = {}
    history = commit(CommitHistory(), "first", there, {ZERO: Committed(5)})
    history = history.extend("second", there, {ZERO: Committed(8)})  # its commit was refused
    history = commit(history, "third", there, {ZERO: Committed(9)})
    assert [kept.run for kept in history.runs] == ["first", "second", "third"]
    assert undo(history, "second", there) == {ZERO: Committed(5)}


def test_the_document_is_for_keeps():
    history = commit(CommitHistory(), "first", {ZERO: Committed(1, "m", 3)}, {ZERO: Committed(5, "n"), ONE: Committed(2)})
    document = {
        "v": 1,
        "runs": [
            {
                "run": "first",
                "before": {"east.orders": {"0": 1, "1": None}},
                "after": {"east.orders": {"0": 5, "1": 2}},
                "before_metadata": {"east.orders": {"0": "m"}},
                "before_epoch": {"east.orders": {"0": 3}},
                "after_metadata": {"east.orders": {"0": "n"}},
            }
        ],
    }
    assert json.loads(encode_history(history)) == document
    assert decode_history(json.dumps(document)) == history


@pytest.mark.parametrize(("most", "runs"), [(900_000, ["one", "two"]), (150, ["one"]), (50, [])])
def test_a_note_that_is_too_large_for_a_record_says_less(monkeypatch, most, runs):
    there = {}
    history = commit(commit(CommitHistory(), "one", there, {ZERO: Committed(1)}), "two", there, {ZERO: Committed(2)})
    monkeypatch.setattr(module, "MAX_BYTES", most)
    kept = decode_history(encode_history(history))
    assert [run.run for run in kept.runs] == runs
    if runs:
        assert undo(kept, "one", there) == {}


@pytest.mark.parametrize("document", ["", "[]", "{}", '{"v":2,"runs":[]}', '{"v":1,"runs":[{"run":"x"}]}'])
def test_what_is_no_history_is_refused(document):
    with pytest.raises((ValueError, TypeError, KeyError)):
        decode_history(document)
