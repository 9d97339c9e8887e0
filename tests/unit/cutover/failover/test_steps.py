"""What a failover asks of the target, and what it notes of its groups: however often it ran, a roll back gives back what stood there."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_mirror.cutover.failover.positions import COMMITTED, FailoverPosition
from kafka_mirror.cutover.failover.steps import find_aims, find_denials, find_shared_ends
from kafka_mirror.cutover.steps import move_groups
from kafka_mirror.cutover.steps.fence_acls import deny_write
from kafka_mirror.cutover.steps.move_groups import GroupPlacer
from kafka_mirror.cutover.wave.step import KNOWN_MS, REREAD, WARNING
from kafka_mirror.formats.mm2 import Checkpoint
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoint_rules import NotedCheckpoint, SeenLog, SeenLogs
from kafka_mirror.groups.group_move import AFTER, BEFORE, IS_TAKEN_BACK, facts_of_move, move_from_facts, plan_undo
from kafka_mirror.groups.translation import EARLY, EXACT, TranslatedOffset
from kafka_mirror.kafka.model import Acl, Committed, LogOffsets, PartitionLog
from tests.wave_notes import NotesInMemory

BILLS, PARCELS = TopicPartition("east.bills", 1), TopicPartition("east.parcels", 0)
LOG = LogOffsets(0, 500, 500, 7)
LOGS = {BILLS: PartitionLog("bills-id", LOG), PARCELS: PartitionLog("parcels-id", LOG)}
ENDS = {(BILLS, 4): 120, (BILLS, 5): 300, (PARCELS, 4): 400}


def stored(group, remote, position, seen):
    logs = SeenLogs(SeenLog("source-id", 0), seen) if seen else None
    return (group, remote), NotedCheckpoint(Checkpoint(group, *remote, 9, position, ""), "generation", "", 0, logs)


class EpochTarget:
    """A cluster that says where leader epochs end, and what it was asked."""

    def __init__(self):
        self.asked = []

    def find_shared_ends(self, positions, seconds):
        self.asked.append(sorted(positions))
        return {position: ENDS[position[:2]] for position in positions if position[:2] in ENDS}


@pytest.fixture
def target():
    return EpochTarget()


def test_each_position_of_an_older_leader_epoch_is_asked_about(target):
    checkpoints = dict(
        [
            stored("a", BILLS, 200, SeenLog("bills-id", 4)),
            stored("b", BILLS, 100, SeenLog("bills-id", 4)),
            stored("c", BILLS, 290, SeenLog("bills-id", 5)),
            stored("d", BILLS, 490, SeenLog("bills-id", 7)),
            stored("a", PARCELS, 350, SeenLog("parcels-id", 4)),
        ]
    )
    ends, silent = find_shared_ends(target, checkpoints, LOGS, 1.0)
    assert (ends, silent) == ({("a", BILLS): 120, ("b", BILLS): 100, ("c", BILLS): 290, ("d", BILLS): 490, ("a", PARCELS): 350}, ())
    assert target.asked == [[(BILLS, 4, 100), (BILLS, 4, 200), (BILLS, 5, 290), (PARCELS, 4, 350)]], (
        "nobody asks for the epoch that is in force"
    )


def test_what_is_of_another_topic_or_not_noted_or_not_answered_is_not_known(target):
    checkpoints = dict(
        [
            stored("a", BILLS, 200, SeenLog("the topic before", 4)),
            stored("b", BILLS, 200, SeenLog("bills-id", None)),
            stored("c", BILLS, 200, None),
            stored("d", PARCELS, 200, SeenLog("parcels-id", 3)),
            stored("e", TopicPartition("east.gone", 0), 200, SeenLog("gone-id", 4)),
        ]
    )
    ends, silent = find_shared_ends(target, checkpoints, LOGS, 1.0)
    assert (ends, silent) == ({}, (PARCELS,))
    assert target.asked == [[(PARCELS, 3, 200)]]


def test_each_denial_of_writing_to_a_topic_of_the_wave_is_named_with_the_command_that_removes_it():
    acls = [
        deny_write("orders"),
        deny_write("orders", "User:writer"),
        deny_write("payments"),
        Acl("orders", "User:writer", "*", "WRITE", "ALLOW"),
        Acl("orders", "User:reader", "*", "READ", "DENY"),
    ]
    (finding,) = find_denials(acls, ["orders"], "west")
    assert (finding.kind, finding.code, finding.topic) == (WARNING, "FenceOfEarlierWave", "orders")
    assert "DENY WRITE for User:* from *, DENY WRITE for User:writer from *" in finding.message
    remove = "kafka-acls.sh --bootstrap-server <target> --remove --force --topic orders"
    assert finding.error.commands == tuple(
        f"{remove} --deny-principal {principal} --deny-host '*' --operation WRITE" for principal in ("'User:*'", "User:writer")
    )


def test_nothing_is_said_where_nobody_is_denied_writing():
    assert list(find_denials([Acl("orders", "User:reader", "*", "READ", "DENY")], ["orders"], "west")) == []


PLACES = [TopicPartition("east.parcels", number) for number in range(3)]
AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def position(tp, target, there, reread=0):
    """The answer of a survey: a group that stands further on stays there."""
    answer, present = TranslatedOffset(EARLY if reread else EXACT, target, reread=reread), there.get(tp)
    if present is not None and present.offset > target:
        answer = replace(answer, kind=COMMITTED, target=present.offset, reread=None)
    noted = NotedCheckpoint(Checkpoint("sorting", *tp, target, target, "m"), time=int(AT.timestamp() * 1000))
    return FailoverPosition(noted, answer, committed=None if present is None else present.offset)


class Target:
    """The one group, on a target that commits at once."""

    alias = "west"

    def __init__(self, there):
        self.there = there

    def read_committed(self, names, _errors):
        return {name: dict(self.there) for name in names}

    def add(self, wanted, _errors):
        for positions in wanted.values():
            self.there |= positions
        return {name: {} for name in wanted}

    def commit(self):
        """Done already."""

    abort = commit


def note(positions, there, facts):
    """A run of the step that notes and commits; gives what is noted then."""
    notes, target = NotesInMemory(), Target(there)
    notes.groups["sorting"], notes.begin = facts, lambda: target
    with patch.object(move_groups, "describe_groups", lambda *_: {}):
        done = GroupPlacer(target, target, notes, "w").place(find_aims(positions, notes), dry_run=False, stood={"sorting": dict(there)})
    assert done.findings == ()
    return notes.groups["sorting"]


def run(there, targets, facts):
    return note([position(tp, target, there) for tp, target in targets.items()], there, facts)


def roll_back(there, facts):
    noted = move_from_facts(facts)
    undo = plan_undo(noted, there)
    back = {tp: committed for tp, committed in there.items() if tp not in undo.delete} | dict(undo.commit)
    return back, json.loads(json.dumps(facts_of_move(replace(noted, is_taken_back=True))))


def test_a_second_run_that_goes_further_is_rolled_back_whole():
    there = {}
    facts = run(there, {PLACES[0]: 14}, {})
    facts = run(there, {PLACES[0]: 38, PLACES[1]: 22}, facts)
    assert {tp: each.offset for tp, each in there.items()} == {PLACES[0]: 38, PLACES[1]: 22}
    assert roll_back(there, facts)[0] == {}


def test_it_gives_back_metadata_and_leader_epochs_too():
    before = {PLACES[0]: Committed(4, "read by hand", 2)}
    there = dict(before)
    facts = run(there, {PLACES[0]: 14}, {})
    assert roll_back(there, facts)[0] == before


def test_one_more_run_notes_nothing_new_and_keeps_how_good_its_positions_are():
    there = {}
    first = note([position(PLACES[0], 14, there, reread=3)], there, {})
    assert there == {PLACES[0]: Committed(14, "m")}
    assert note([position(PLACES[0], 14, there, reread=3)], there, first) == first
    further_on = note([position(PLACES[0], 10, there)], there, first)
    assert further_on == first, "its newest checkpoint is held back, and it stays where the first run put it"
    assert (first[BEFORE], first[AFTER]) == ({"east.parcels": {"0": None}}, {"east.parcels": {"0": 14}})
    assert (first[REREAD], first[KNOWN_MS]) == ({"east.parcels": {"0": 3}}, int(AT.timestamp() * 1000))


offsets = st.integers(0, 30).map(lambda number: 2 * number)
targets = st.dictionaries(st.sampled_from(PLACES), offsets)
own = st.dictionaries(st.sampled_from(PLACES), offsets.map(lambda number: number + 1), max_size=1)
events = st.lists(st.one_of(st.tuples(st.just("run"), targets), st.tuples(st.just("own"), own), st.tuples(st.just("back"), st.just({}))))


@example({PLACES[1]: 1}, [("run", {PLACES[1]: 2}), ("own", {PLACES[1]: 1})])
@example({PLACES[2]: 1}, [("run", {PLACES[2]: 2}), ("own", {PLACES[2]: 1}), ("run", {PLACES[2]: 2})])
@given(own, events)
def test_whatever_the_runs_before_a_roll_back_gives_back_exactly_what_stood_there(first, events):
    """`own`: the group moves by itself, to a place where no run puts it. What the mirror last found of others is what has to come back."""
    there = {tp: Committed(offset, "theirs", 5) for tp, offset in first.items()}
    expected, facts = dict(there), {}
    for event, places in [*events, ("back", {})]:
        if event == "run" and places:
            facts = run(there, places, facts)
        elif event == "own":
            moved = {tp: Committed(offset, "theirs", 6) for tp, offset in places.items()}
            there |= moved
            expected |= moved
        elif event == "back" and BEFORE in facts and not facts.get(IS_TAKEN_BACK):
            there, facts = roll_back(there, facts)
            assert there == expected
