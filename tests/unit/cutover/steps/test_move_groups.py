"""`move-groups` looks once more where groups stand: as every bootstrap server tells it, whatever transactions commit, and before `open`."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.cutover.steps import group_survey, move_groups
from kafka_mirror.cutover.steps.group_survey import WaveGroup, WaveGroups
from kafka_mirror.cutover.steps.move_groups import GROUPS
from kafka_mirror.cutover.wave.selection import Wave, WaveTopics
from kafka_mirror.cutover.wave.step import DONE, MOVE_GROUPS, STOPPED, WAITING, StepOutcome
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_move import GroupMove, facts_of_move
from kafka_mirror.groups.group_translation import GroupOffset, TranslatedGroups
from kafka_mirror.groups.translation import EXACT, TranslatedOffset
from kafka_mirror.kafka.groups import Group, GroupDescription
from kafka_mirror.kafka.model import Committed, GroupMember, LogOffsets, Partition, Topic
from tests.wave_notes import NotesInMemory, step_options

PLACE = TopicPartition("stock", 0)
EXACTLY = TranslatedOffset(EXACT, 10, 10, 0)
READERS = WaveGroup("readers", (GroupOffset("readers", PLACE, Committed(10), TopicPartition("east.stock", 0), EXACTLY, None),))


def step(**by_server):
    """The step once `readers` is moved from 10, and each server tells where it stands now."""
    cluster = SimpleNamespace(
        alias="east",
        ask_each_server=lambda _ask: ({server: {"readers": {PLACE: Committed(at)}} for server, at in by_server.items()}, {}),
        topics=lambda _names: {},
        offsets=lambda partitions, at, errors: dict.fromkeys(partitions, 0 if at == "earliest" else 50),
    )
    sides = SimpleNamespace(
        source=cluster, target=cluster, source_groups=SimpleNamespace(find_unstable=lambda *_: {}), target_groups=SimpleNamespace()
    )
    move = SimpleNamespace(
        flow=SimpleNamespace(name="east->west", source="east", target="west"),
        context=None,
        wave=None,
        names=frozenset(),
        topics=WaveTopics(("stock",)),
        sides=sides,
        list_partitions=lambda: [PLACE],
    )
    placer = SimpleNamespace(place=lambda *_: StepOutcome(MOVE_GROUPS, DONE, facts={"committed": 1}))
    survey = WaveGroups((READERS,))
    with patch.multiple(move_groups, survey_groups=lambda *_: survey, GroupPlacer=lambda *_: placer):
        return move_groups.step(move, NotesInMemory(), step_options())


@pytest.mark.parametrize(
    ("by_server", "codes"),
    [
        ({"a": 10, "b": 10}, []),
        ({"a": 30, "b": 30}, ["GroupReadOn"]),
        ({"a": 10, "b": 30}, ["ClusterContradictsItself"]),
        ({"a": 30, "b": 40}, ["ClusterContradictsItself"]),
    ],
)
def test_a_group_of_which_a_server_tells_another_place_than_it_was_moved_from_stops_the_wave(by_server, codes):
    outcome = step(**by_server)
    assert (outcome.state, [finding.code for finding in outcome.findings]) == (STOPPED if codes else DONE, codes)


def test_each_server_is_named_with_what_it_tells():
    (finding,) = step(a=10, b=30).findings
    assert "contradict each other about where readers is: a: where it was moved from; b: stock-0@30" in finding.message


@pytest.mark.parametrize(
    ("here", "there", "members", "codes"),
    [
        ({PLACE: 10}, 10, 0, []),
        ({PLACE: 10}, 17, 0, []),
        ({}, None, 0, []),
        ({PLACE: 10}, None, 0, ["GroupNotMoved"]),
        ({PLACE: 10}, 3, 0, ["GroupNotMoved"]),
        ({PLACE: 30}, 10, 0, ["GroupReadOn"]),
        ({PLACE: 10}, 10, 1, ["GroupActive"]),
    ],
    ids=["as moved", "used on the target", "gone from the source", "deleted", "put back", "read on", "joined on the source"],
)
def test_what_was_moved_holds_until_the_group_is_used_on_the_source_or_lost_a_position(here, there, members, codes):
    remote, notes, coordinator = TopicPartition("east.stock", 0), NotesInMemory(), Coordinator({"a": here}, {})
    noted = GroupMove({remote: Committed(3)}, {remote: Committed(10)}, {PLACE: 10})
    notes.steps, notes.groups = {MOVE_GROUPS: {GROUPS: ["a"]}}, {"a": facts_of_move(noted)}
    target = SimpleNamespace(read_committed=lambda *_: {"a": {} if there is None else {remote: Committed(there)}})
    move = SimpleNamespace(
        flow=SimpleNamespace(source="east", target="west"),
        sides=SimpleNamespace(source=coordinator, source_groups=coordinator, target_groups=target),
        list_partitions=lambda: [PLACE],
    )
    described = {"a": GroupDescription((GroupMember("shop", "/10.0.0.1", "shop-1"),) * members)}
    with patch.multiple(move_groups, describe_groups=lambda *_: described):
        findings = move_groups.find_changes(move, notes, step_options())
    assert [finding.code for finding in findings] == codes


PLACES = [TopicPartition("stock", number) for number in range(2)]
OFFSETS_TOPIC = "__consumer_offsets"
NEVER = 99


@dataclass
class Coordinator:
    """The groups of the source, and transactions that commit offsets of theirs and end at some call of a client."""

    standing: dict
    pending: dict
    ends: dict = field(default_factory=dict)
    is_described: bool = True
    calls: int = 0

    alias = "east"

    def call(self):
        self.calls += 1
        for group, (how, at) in self.ends.items():
            if at <= self.calls and group in self.pending:
                offsets = self.pending.pop(group)
                self.standing[group] = {**self.standing[group], **(offsets if how == "commit" else {})}

    def list_groups(self):
        self.call()
        return {name: Group(name, "classic", "", "Empty") for name in self.standing}

    def read_committed(self, names, _errors):
        self.call()
        return {name: {tp: Committed(at) for tp, at in self.standing[name].items()} for name in names}

    def tells_unstable(self):
        return True

    def find_unstable(self, partitions, _errors):
        self.call()
        unstable = {name: tuple(sorted(self.pending.get(name, {}).keys() & set(wanted))) for name, wanted in partitions.items()}
        return {name: places for name, places in unstable.items() if places}

    def topics(self, names, _errors=None):
        self.call()
        described = [name for name in names if name != OFFSETS_TOPIC or self.is_described]
        return {name: Topic(name, "id", tuple(Partition(number, 1, (1,), (1,)) for number in range(2))) for name in described}

    def log_offsets(self, partitions, _errors=None):
        self.call()
        held = {ord(group) % 2 for group in self.pending}  # String.hashCode() of one character is its code
        return {tp: LogOffsets(0, 5 if tp.partition in held else 9, 9, 0) for tp in partitions}

    def offsets(self, partitions, at, errors=None):
        return dict.fromkeys(partitions, 0 if at == "earliest" else 50)

    def ask_each_server(self, _ask):
        self.call()
        return {"a:9092": {name: {tp: Committed(at) for tp, at in stands.items()} for name, stands in self.standing.items()}}, {}


some_offsets = st.dictionaries(st.sampled_from(PLACES), st.integers(1, 40))
transactions = st.tuples(
    st.dictionaries(st.sampled_from(PLACES), st.integers(1, 40), min_size=1),
    st.sampled_from(["commit", "abort"]),
    st.one_of(st.integers(1, 12), st.just(NEVER)),
)


@given(
    st.dictionaries(st.sampled_from("abc"), st.tuples(some_offsets, st.none() | transactions), min_size=1),
    st.booleans(),
)
def test_what_is_moved_is_what_each_group_has_once_no_transaction_of_it_is_open(groups, is_described):
    coordinator = Coordinator(
        {name: dict(stands) for name, (stands, _) in groups.items()},
        {name: dict(begun[0]) for name, (_, begun) in groups.items() if begun},
        {name: begun[1:] for name, (_, begun) in groups.items() if begun},
        is_described,
    )
    placed = {}
    for _ in range(8):
        outcome = move_all(coordinator, placed)
        if outcome.state == DONE:
            break
        assert {finding.code for finding in outcome.findings if finding.kind == "stop"} <= {"GroupUnstable", "GroupReadOn"}
    held = {name for name, (_, at) in coordinator.ends.items() if at == NEVER}
    assert held == coordinator.pending.keys()
    assert (outcome.state == WAITING) == bool(held)
    assert held <= {name for finding in outcome.findings for name in held if f"{name}: a transaction" in finding.message}
    if not held:
        assert placed == {name: stands for name, stands in coordinator.standing.items() if stands}


def move_all(coordinator, placed):
    """One run of the step; what it commits on the target is in `placed`."""
    target = SimpleNamespace(alias="west", offsets=coordinator.offsets)
    nothing = SimpleNamespace(read_committed=lambda *_: {})
    move = SimpleNamespace(
        flow=SimpleNamespace(name="east->west", source="east", target="west"),
        context=SimpleNamespace(selection=SimpleNamespace(from_target=lambda _: None, topic_filter=SimpleNamespace(should_replicate=bool))),
        wave=Wave(("stock",), ()),
        names=frozenset(("stock",)),
        topics=WaveTopics(("stock",)),
        sides=SimpleNamespace(source=coordinator, target=target, source_groups=coordinator, target_groups=nothing),
        list_partitions=lambda: PLACES,
    )

    def place(aims, _dry_run):
        placed.update({name: {tp._replace(topic="stock"): at.offset for tp, at in aim.positions.items()} for name, aim in aims.items()})
        return StepOutcome(MOVE_GROUPS, DONE, facts={"committed": len(aims)})

    def translated(_context, offsets, *_):
        rows = [
            GroupOffset(name, tp, at, tp._replace(topic="east.stock"), TranslatedOffset(EXACT, at.offset, at.offset, 0), None)
            for name, positions in offsets.items()
            for tp, at in positions.items()
        ]
        return TranslatedGroups(tuple(rows))

    asked = {
        "translate_groups": translated,
        "describe_groups": lambda *_: {},
        "group_filter": lambda _: SimpleNamespace(should_replicate=bool),
    }
    with (
        patch.multiple(move_groups, GroupPlacer=lambda *_: SimpleNamespace(place=place)),
        patch.multiple(group_survey, **asked),
    ):
        return move_groups.step(move, NotesInMemory(), step_options())
