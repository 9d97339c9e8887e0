"""Groups are placed on the target and taken back: what is noted when, wherever a run is killed."""

import pytest

from kafka_mirror.cutover.steps import move_groups
from kafka_mirror.cutover.steps.move_groups import GROUPS, GroupAim, GroupPlacer
from kafka_mirror.cutover.wave.step import EMPTY_SINCE_MS, MOVE_GROUPS
from kafka_mirror.errors import AuthorizationRefused
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.groups import GroupDescription
from kafka_mirror.kafka.model import Committed, GroupMember
from tests.wave_notes import Killed, NotesInMemory

ZERO, ONE = (TopicPartition("east.orders", number) for number in range(2))
BEFORE = {ONE: Committed(2, "there", 3)}
WANTED = {ZERO: Committed(5), ONE: Committed(7, "m")}


class TargetGroups:
    """The groups of the target in memory. `calls` counts what changes them; at call `killed_at` the run ends."""

    def __init__(self):
        self.offsets = {"billing": dict(BEFORE)}
        self.calls = 0
        self.killed_at = None
        self.refusal = {}
        self.refused = {}
        """Kafka's word for partitions that it refuses."""
        self.before_end = lambda: None
        """Called before a transaction ends."""

    def read_committed(self, names, errors):
        errors |= {name: self.refusal[name] for name in names if name in self.refusal}
        return {name: dict(self.offsets.get(name, {})) for name in names if name not in self.refusal}

    def count(self):
        self.calls += 1
        if self.calls == self.killed_at:
            raise Killed


class Transaction:
    """One of these groups: nothing of it is seen before it is committed."""

    def __init__(self, groups):
        self.groups = groups
        self.wanted = {}

    def add(self, wanted, _errors):
        self.groups.count()
        refused = {name: {tp: self.groups.refused[tp] for tp in wanted[name] if tp in self.groups.refused} for name in wanted}
        self.wanted = {name: {tp: at for tp, at in positions.items() if tp not in refused[name]} for name, positions in wanted.items()}
        self.groups.before_end()
        return refused

    def commit(self):
        self.groups.count()
        for name, positions in self.wanted.items():
            there = self.groups.offsets.setdefault(name, {})
            there.update(positions)
            for tp in [tp for tp, at in positions.items() if at is None]:
                del there[tp]

    def abort(self):
        self.wanted = {}


class Target:
    alias = "west"


@pytest.fixture
def groups():
    return TargetGroups()


@pytest.fixture
def notes(groups):
    notes = NotesInMemory()
    notes.begin = lambda: Transaction(groups)
    return notes


@pytest.fixture
def members(monkeypatch):
    """The members that groups have on the target, by group."""
    there = {}
    described = lambda _cluster, names, _refused: {name: GroupDescription(there.get(name, ())) for name in names}  # noqa: E731
    monkeypatch.setattr(move_groups, "describe_groups", described)
    return there


@pytest.fixture
def placer(groups, notes, members):
    return GroupPlacer(Target(), groups, notes, "first")


def place(placer, dry_run=False, **positions):
    return placer.place({"billing": GroupAim({**WANTED, **positions}, {TopicPartition("orders", 0): 5})}, dry_run)


def codes(placement):
    return [finding.code for finding in placement.findings]


def test_a_dry_run_says_what_it_would_do_and_notes_nothing(placer, groups, notes):
    assert place(placer, dry_run=True).lines == ("billing: 2 of 2 positions would be committed, 0 stood there already.",)
    assert (groups.calls, notes.steps, notes.groups) == (0, {}, {})


def test_what_was_there_is_noted_before_anything_is_committed(placer, groups, notes):
    seen = []
    notes.before = lambda call: seen.append((call, groups.calls))
    done = place(placer)
    assert seen == [("keep", 0), ("keep_groups", 0)]
    assert (done.findings, groups.offsets["billing"]) == ((), WANTED)
    assert (done.facts[GROUPS], done.facts["positions"], done.facts["committed"]) == (["billing"], 2, 2)


def test_a_second_run_writes_nothing(placer, groups, notes):
    first = place(placer)
    notes.before = pytest.fail
    again = place(placer)
    assert (again.facts["committed"], groups.calls) == (0, 2)
    assert again.facts[EMPTY_SINCE_MS] == first.facts[EMPTY_SINCE_MS]


@pytest.mark.parametrize("point", ["keep", "keep_groups", 1, 2])
def test_a_run_that_was_killed_goes_on_and_is_taken_back(point, placer, groups, notes):
    def call(name):
        if name == point:
            raise Killed

    notes.before, groups.killed_at = call, point
    with pytest.raises(Killed):
        place(placer)
    notes.before, groups.killed_at = lambda _name: None, None
    assert (place(placer).findings, groups.offsets["billing"]) == ((), WANTED)
    groups.killed_at = groups.calls + point if isinstance(point, int) else None
    if groups.killed_at:
        with pytest.raises(Killed):
            placer.take_back(False)
        groups.killed_at = None
    assert placer.take_back(False).findings == ()
    assert groups.offsets["billing"] == BEFORE
    assert placer.take_back(False).lines == (), "it was taken back"


def test_a_group_that_others_moved_since_is_left_alone_and_its_commit_too(placer, groups, notes):
    place(placer)
    groups.offsets["billing"][ZERO] = Committed(6)
    notes.before = pytest.fail
    stopped = place(placer)
    assert (codes(stopped), stopped.facts, groups.calls) == (["GroupUsedOnTarget"], {}, 2)
    notes.before = lambda _name: None
    assert codes(placer.take_back(False)) == ["GroupUsedOnTarget"]
    assert groups.offsets["billing"] == {ZERO: Committed(6), **BEFORE}


def test_others_may_have_moved_it_to_where_it_is_to_stand(placer, groups):
    place(placer)
    groups.offsets["billing"][ZERO] = Committed(6)
    assert placer.place({"billing": GroupAim({**WANTED, ZERO: Committed(6)})}, False).findings == ()


def test_a_group_with_members_on_the_target_is_not_taken_back_and_named(placer, groups, members, notes):
    place(placer)
    members["billing"] = (GroupMember("app", "/h", "app-1"),)
    stopped = placer.take_back(False)
    assert codes(stopped) == ["GroupActive"]
    assert "app on h (member id app-1)" in stopped.findings[0].message
    assert groups.offsets["billing"] == WANTED
    members.clear()
    assert (codes(placer.take_back(False)), groups.offsets["billing"]) == ([], BEFORE)


def test_a_dry_roll_back_changes_nothing(placer, groups, notes):
    place(placer)
    assert placer.take_back(True).lines == ("billing: 1 positions would be put back, 1 would be deleted, for there was none before.",)
    assert groups.offsets["billing"] == WANTED
    assert placer.take_back(False).lines == ("billing: 1 positions were put back, 1 were deleted, for there was none before.",)


def test_positions_that_the_broker_refuses_stop_the_wave_and_the_others_stand(placer, groups):
    groups.refused = {ZERO: "UNKNOWN_TOPIC_OR_PARTITION"}
    stopped = place(placer)
    assert codes(stopped) == ["GroupNotMoved"]
    assert "east.orders-0 (UNKNOWN_TOPIC_OR_PARTITION)" in stopped.findings[0].message
    assert groups.offsets["billing"] == {ONE: WANTED[ONE]}


def come_in(groups, members):
    members["billing"] = (GroupMember("app", "/h", "app-1"),)


def move(groups, _members):
    groups.offsets["billing"][ONE] = Committed(4)


@pytest.mark.parametrize(("act", "said"), [(come_in, "it has 1 members"), (move, "moved meanwhile by somebody else: east.orders-1@4")])
def test_a_group_that_somebody_uses_meanwhile_stays_as_it_is_and_the_others_move(placer, groups, members, act, said):
    """Kafka takes positions in a transaction also for a group with members, so it is looked at before the end."""
    groups.before_end = lambda: act(groups, members)
    aims = {"billing": GroupAim(WANTED), "other": GroupAim({ZERO: Committed(1)})}
    stopped = placer.place(aims, False)
    assert codes(stopped) == ["GroupNotMoved"]
    assert said in stopped.findings[0].message
    assert (groups.offsets["other"], ZERO in groups.offsets["billing"]) == ({ZERO: Committed(1)}, False)


def test_a_group_that_could_not_be_put_back_is_tried_again(placer, groups):
    place(placer)
    groups.refused = {ZERO: "GROUP_AUTHORIZATION_FAILED"}
    assert codes(placer.take_back(False)) == ["GroupNotTakenBack"]
    groups.refused = {}
    assert (codes(placer.take_back(False)), groups.offsets["billing"]) == ([], BEFORE)


def test_a_group_of_which_the_target_does_not_tell_stops_everything(placer, groups, notes):
    groups.refusal["billing"] = AuthorizationRefused("west", "DESCRIBE", "the group billing")
    with pytest.raises(AuthorizationRefused):
        place(placer)
    assert notes.steps == {}


def test_groups_of_earlier_runs_stay_noted(placer, groups, notes):
    place(placer)
    placer.place({"other": GroupAim({ZERO: Committed(1)})}, False)
    assert notes.read_step(MOVE_GROUPS)[GROUPS] == ["billing", "other"]
    placer.take_back(False)
    assert groups.offsets == {"billing": BEFORE, "other": {}}
