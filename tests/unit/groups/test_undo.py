"""The undo of group-offsets: what is noted of runs, and that each can be taken back to exactly what stood before it."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.errors import ControlUnreadable, GroupRunUnknown, KafkaFailure
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups import undo as module
from kafka_mirror.groups.group_move import plan_undo
from kafka_mirror.groups.undo import KEPT_RUNS, CommitHistory, CommitNotes, Undo, decode_history, encode_history
from kafka_mirror.kafka.groups import Group
from kafka_mirror.kafka.model import Committed
from kafka_mirror.ledger.control_records import GROUP_OFFSETS, Decision
from kafka_mirror.ledger.decisions import Decisions

ZERO, ONE = (TopicPartition("east.orders", number) for number in range(2))


def commit_run(history, run, there, write):
    """Notes a run, and lets it commit."""
    noted = history.extend(run, dict(there), write)
    there.update(write)
    return noted


def undo_run(history, run, there):
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
        history = commit_run(history, f"run {number}", there, write)
        history = decode_history(encode_history(history))
    assert len(history.runs) == min(len(writes), KEPT_RUNS)
    assert history.runs[0].run == "run 0", "the oldest takes in those behind it"
    run = data.draw(st.sampled_from([kept.run for kept in history.runs]))
    assert undo_run(history, run, there) == before[run]
    assert history.cut_before(run).merge_since(run) is None


def test_a_run_that_is_not_kept_any_more_cannot_be_taken_back():
    there, history = {}, CommitHistory()
    for number in range(KEPT_RUNS + 1):
        history = commit_run(history, f"run {number}", there, {ZERO: Committed(number)})
    assert history.merge_since("run 1") is None
    assert undo_run(history, "run 2", there) == {ZERO: Committed(1)}
    assert undo_run(history, "run 0", there) == {}


def test_a_position_that_somebody_else_committed_begins_the_history_anew():
    there = {}
    history = commit_run(CommitHistory(), "first", there, {ZERO: Committed(5)})
    there[ZERO] = Committed(50)
    history = commit_run(history, "second", there, {ZERO: Committed(60)})
    assert history.merge_since("first") is None
    assert undo_run(history, "second", there) == {ZERO: Committed(50)}


def test_a_position_of_somebody_else_stays_where_it_is():
    there = {}
    history = commit_run(CommitHistory(), "first", there, {ZERO: Committed(5), ONE: Committed(6)})
    there[ONE] = Committed(7)
    assert undo_run(history, "first", there) == {ONE: Committed(7)}


def test_a_run_that_was_killed_between_note_and_commit_keeps_its_name_and_what_was_there():
    there = {ZERO: Committed(1)}
    noted = CommitHistory().extend("first", there, {ZERO: Committed(5)})
    again = commit_run(noted, "first", there, {ZERO: Committed(6)})
    assert [kept.run for kept in again.runs] == ["first"]
    assert undo_run(again, "first", there) == {ZERO: Committed(1)}


def test_what_a_failed_run_left_behind_is_no_position_of_somebody_else():
    there = {}
    history = commit_run(CommitHistory(), "first", there, {ZERO: Committed(5)})
    history = history.extend("second", there, {ZERO: Committed(8)})  # its commit was refused
    history = commit_run(history, "third", there, {ZERO: Committed(9)})
    assert [kept.run for kept in history.runs] == ["first", "second", "third"]
    assert undo_run(history, "second", there) == {ZERO: Committed(5)}


def test_the_document_is_for_keeps():
    history = commit_run(CommitHistory(), "first", {ZERO: Committed(1, "m", 3)}, {ZERO: Committed(5, "n"), ONE: Committed(2)})
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
    history = commit_run(commit_run(CommitHistory(), "one", there, {ZERO: Committed(1)}), "two", there, {ZERO: Committed(2)})
    monkeypatch.setattr(module, "MAX_BYTES", most)
    kept = decode_history(encode_history(history))
    assert [run.run for run in kept.runs] == runs
    if runs:
        assert undo_run(kept, "one", there) == {}


@pytest.mark.parametrize("document", ["", "[]", "{}", '{"v":2,"runs":[]}', '{"v":1,"runs":[{"run":"x"}]}'])
def test_what_is_no_history_is_refused(document):
    with pytest.raises((ValueError, TypeError, KeyError)):
        decode_history(document)


ZERO, PAID = TopicPartition("east.orders", 0), TopicPartition("east.payments", 0)
RUN = "group-offsets by hand / 2026-11-24T05:00:00Z"


class ControlInMemory:
    """A control topic that keeps the newest note of each key."""

    topic = "mm2-control.east.internal"

    def __init__(self):
        self.notes = {}
        self.created = None

    def exists(self):
        return self.created is not None

    def create(self, replication_factor):
        self.created = replication_factor

    def note(self, notes):
        assert self.exists()
        self.notes |= {note.key: note for note in notes}

    @property
    def decisions(self):
        return Decisions(self.notes.values())


class TargetGroups:
    """The groups of the target."""

    def __init__(self):
        self.offsets = {}
        self.active = set()
        self.refusal = ""

    def list_groups(self):
        return {name: Group(name, "classic", "consumer", "Stable" if name in self.active else "Empty") for name in self.offsets}

    def read_committed(self, names, _errors):
        return {name: dict(self.offsets.get(name, {})) for name in names}

    def commit(self, offsets, _errors):
        refused = {name: dict.fromkeys(positions, self.refusal) if self.refusal else {} for name, positions in offsets.items()}
        for name, positions in offsets.items():
            if not self.refusal:
                self.offsets[name].update(positions)
        return refused

    def delete(self, partitions, _errors):
        for name, tps in partitions.items():
            for tp in tps:
                del self.offsets[name][tp]
        return {name: {} for name in partitions}


@pytest.fixture
def control():
    return ControlInMemory()


@pytest.fixture
def groups():
    return TargetGroups()


@pytest.fixture
def commit(control, groups):
    """One run that commits for a group."""

    def one(group, write, run=RUN):
        there = groups.offsets.setdefault(group, {})
        CommitNotes(control, control.decisions, 3).keep_commits(run, {group: dict(there)}, {group: write})
        there.update(write)

    return one


@pytest.fixture
def undo(control, groups):
    """Takes back a run; the answer."""

    def one(run=RUN, dry_run=False, moved=None):
        return Undo(groups, CommitNotes(control, control.decisions, 3), moved or {}).run(run, "west", dry_run)

    return one


def test_the_first_note_creates_the_control_topic_with_its_replicas(control, commit):
    commit("shop", {ZERO: Committed(5)})
    assert control.created == 3


def test_every_group_of_the_run_gets_back_what_it_had(groups, commit, undo):
    groups.offsets["shop"] = {ZERO: Committed(2, "there")}
    commit("shop", {ZERO: Committed(5), PAID: Committed(7)})
    commit("billing", {PAID: Committed(1)})
    commit("other", {PAID: Committed(1)}, "another run")
    looked = undo(dry_run=True)
    assert groups.offsets["shop"][ZERO].offset == 5, "a dry run writes nothing"
    done = undo()
    assert groups.offsets == {"shop": {ZERO: Committed(2, "there")}, "billing": {}, "other": {PAID: Committed(1)}}
    assert done.result == looked.result
    assert done.totals == {"groups": 2, "states": {"undone": 2}}
    assert (done.result["restored"], done.result["deleted"]) == ([0, 1], [1, 1])
    assert "pause" in done.lines[-1]
    with pytest.raises(GroupRunUnknown, match="another run") as raised:
        undo()
    assert raised.value.runs == ("another run",)


def test_later_runs_of_the_mirror_go_with_it(groups, commit, undo):
    commit("shop", {ZERO: Committed(5)})
    commit("shop", {ZERO: Committed(9)}, "later")
    undo("later")
    assert groups.offsets["shop"] == {ZERO: Committed(5)}
    commit("shop", {ZERO: Committed(9)}, "later")
    undo()
    assert groups.offsets["shop"] == {}


def test_who_moved_since_stays_and_is_named(groups, commit, undo):
    commit("shop", {ZERO: Committed(5)})
    groups.offsets["shop"][ZERO] = Committed(6)
    done = undo()
    assert (groups.offsets["shop"], done.result["state"]) == ({ZERO: Committed(6)}, ["left alone"])
    assert "east.orders-0@6" in done.result["reason"][0]


def test_a_group_with_members_stays_and_can_be_taken_back_later(groups, commit, undo):
    commit("shop", {ZERO: Committed(5)})
    groups.active.add("shop")
    assert undo().result["state"] == ["left alone"]
    groups.active.clear()
    assert undo().result["state"] == ["undone"]


def test_what_a_cutover_moved_stays(groups, commit, undo):
    commit("shop", {ZERO: Committed(5)})
    done = undo(moved={"east.orders": "wave-1"})
    assert (groups.offsets["shop"], done.result["reason"]) == ({ZERO: Committed(5)}, ["the wave wave-1 moved east.orders"])


def test_what_the_target_refuses_is_an_error_and_stays_noted(groups, commit, undo):
    groups.offsets["shop"] = {ZERO: Committed(2)}
    commit("shop", {ZERO: Committed(5)})
    groups.refusal = "OFFSET_METADATA_TOO_LARGE"
    done = undo()
    assert [error.code for error in done.errors] == ["GroupUndoFailed"]
    assert "OFFSET_METADATA_TOO_LARGE" in done.errors[0].message
    groups.refusal = ""
    assert undo().result["state"] == ["undone"]


def test_a_killed_undo_is_finished_by_the_same_command(control, groups, commit, undo, monkeypatch):
    commit("shop", {ZERO: Committed(5)})
    with monkeypatch.context() as killed:
        killed.setattr(ControlInMemory, "note", lambda *_: (_ for _ in ()).throw(KafkaFailure("gone")))
        with pytest.raises(KafkaFailure):
            undo()
    assert groups.offsets["shop"] == {}
    assert undo().result["state"] == ["as before"]


def test_a_note_that_cannot_be_read_names_its_place(control):
    note = Decision(GROUP_OFFSETS, "somebody", datetime(2026, 1, 1, tzinfo=UTC), RUN, "shop", document="{}")
    with pytest.raises(ControlUnreadable, match=r"mm2-control.east.internal, the note of the group shop"):
        CommitNotes(control, Decisions([note]), 3).read_history("shop")
