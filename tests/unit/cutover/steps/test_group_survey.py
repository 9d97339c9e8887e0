"""Which groups a wave has, what of them moves with it, and what is asked about them."""

from types import SimpleNamespace as Answer

import pytest

from kafka_mirror.config import load
from kafka_mirror.cutover.steps import group_survey
from kafka_mirror.cutover.steps.group_survey import find_in_groups, survey_groups
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.selection import Wave, WaveTopics
from kafka_mirror.cutover.wave.step import STOP
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import GroupClusters, group_context
from kafka_mirror.groups.group_translation import GroupOffset, TranslatedGroups
from kafka_mirror.groups.translation import EXACT, TranslatedOffset
from kafka_mirror.kafka.groups import Committed, Group, GroupDescription
from kafka_mirror.kafka.model import GroupMember, Partition, Topic
from tests.unit.cli.command_line import VALID

EXACTLY = TranslatedOffset(EXACT, 5, 5, 0)
OFFSETS = {
    "billing": {("orders", 0): 7, ("payments", 1): 3, ("west.orders", 0): 2, ("gone", 0): 1},
    "audit-team": {("payments", 0): 1},
    "old": {("orders", 1): 1},
    "flows": {("invoices", 0): 4},
}
NAMES = ("orders", "payments", "invoices", "west.orders")
TOPICS = {"orders": 2, "payments": 2, "invoices": 1}


class SourceGroups:
    """The groups of the source: OFFSETS, of which `old` is idle and `flows` is of Kafka Streams, and one share group."""

    def __init__(self):
        self.unstable_of = {}
        self.tells = True

    def list_groups(self):
        groups = {name: Group(name, "classic", "consumer", "Empty" if name == "old" else "Stable") for name in OFFSETS}
        flows = Group("flows", "Streams", "streams", "Stable")
        return {**groups, "fair": Group("fair", "share", "share", "Stable"), "flows": flows}

    def read_committed(self, names, _errors):
        assert "fair" not in names
        return {name: {TopicPartition(*tp): Committed(offset) for tp, offset in OFFSETS[name].items()} for name in names}

    def tells_unstable(self):
        return self.tells

    def find_unstable(self, partitions, _errors):
        self.asked_for = partitions
        return {name: self.unstable_of[name] for name in partitions if name in self.unstable_of}


class TargetGroups:
    def read_committed(self, names, _errors):
        return {name: {TopicPartition("east.orders", 0): Committed(9)} for name in names}


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """`survey(topics, groups=…)`: the survey of a wave of these topics, with what was asked of each side."""
    file = tmp_path / "mm2.properties"
    file.write_text(VALID + "east->west.groups.exclude = old\n")
    flow = load([file]).flow("east->west")
    context = group_context(flow)
    described = {"east": [], "west": []}

    def translate(_context, offsets, _source, _target):
        rows = [
            GroupOffset(group, tp, committed, tp._replace(topic=f"east.{tp.topic}"), EXACTLY, None)
            for group, positions in offsets.items()
            for tp, committed in positions.items()
        ]
        return TranslatedGroups(tuple(rows))

    def describe(cluster, names, _refused):
        described[cluster.alias] = sorted(names)
        member = GroupMember("app", f"/{cluster.alias}")
        return {name: GroupDescription((member,), *[(name, cluster.alias) != ("billing", "west")] * 2) for name in names}

    monkeypatch.setattr(group_survey, "translate_groups", translate)
    monkeypatch.setattr(group_survey, "describe_groups", describe)

    here = SourceGroups()

    def topic(name):
        return Topic(name, "id", tuple(Partition(number, 1, (1,), (1,)) for number in range(TOPICS[name])))

    def call(*topics, groups=(), unstable=(), tells=True):
        here.unstable_of, here.tells = dict(unstable), tells
        east = Answer(alias="east", topics=lambda names, _=None: {name: topic(name) for name in names if name in TOPICS})
        sides = GroupClusters(east, Answer(alias="west"), here, TargetGroups())
        move = Move(flow, Wave(topics, groups), context, sides, frozenset(NAMES), WaveTopics(topics))
        found = survey_groups(move)
        return found, described

    call.source_groups = here
    return call


def test_all_groups_with_a_position_in_the_waves_topics_move_and_share_groups_are_named(survey):
    found, described = survey("orders")
    assert [group.name for group in found.groups] == ["billing", "old"]
    assert (found.unmatched, found.left_out, found.shares) == ((), (), ("fair",))
    assert described == {"east": ["billing"], "west": ["billing", "old"]}, "who is idle has no members"


def test_a_group_moves_with_its_positions_in_the_wave_and_in_what_came_from_the_target(survey):
    billing, old = survey("orders")[0].groups
    assert {(*each.source, each.committed.offset) for each in billing.positions} == {("orders", 0, 7), ("west.orders", 0, 2)}
    assert billing.outside == ("payments",), "a topic that is gone holds nobody back"
    assert {each.source.topic: billing.get_place(each) for each in billing.positions} == {"orders": 9, "west.orders": None}
    assert (billing.has_checkpoints, old.has_checkpoints) == (True, False)
    assert survey("orders", "payments")[0].groups[1].outside == ()


def test_members_of_both_sides_are_told_apart_and_a_right_to_commit_that_is_lacking_is_named(survey):
    found, _ = survey("orders")
    billing, _ = found.groups
    assert (billing.members[0].host, billing.target_members[0].host) == ("/east", "/west")
    (lacking,) = found.stops
    assert (lacking.kind, lacking.code) == (STOP, "RightMissing")
    assert "Cluster 'west' does not let the mirror READ the group billing" in lacking.message


def test_patterns_choose_groups_and_what_they_leave_out_and_match_for_nothing_is_known(survey):
    found, _ = survey("orders", groups=("bill.*", "fair", "audit-team"))
    assert [group.name for group in found.groups] == ["billing"]
    assert found.left_out == ("old",)
    assert found.unmatched == ("audit-team",), "it has no position in a topic of the wave"
    assert found.shares == ("fair",)


def test_a_streams_group_moves_as_any_other_and_its_state_says_whether_it_has_members(survey, monkeypatch):
    monkeypatch.setattr(group_survey, "describe_groups", lambda *_: {})  # brokers describe it by another request
    (flows,) = survey("invoices")[0].groups
    assert (flows.name, flows.is_streams, flows.has_checkpoints) == ("flows", True, False)
    assert [(each.source.topic, each.committed.offset) for each in flows.positions] == [("invoices", 4)]
    assert len(flows.members) == 1


def test_where_a_transaction_commits_offsets_is_asked_for_the_whole_wave_and_told_of_each_group(survey):
    places = (TopicPartition("orders", 1),)
    billing, old = survey("orders", unstable={"billing": places})[0].groups
    assert (billing.unstable, old.unstable) == (places, ())
    of_wave = {TopicPartition("orders", 0), TopicPartition("orders", 1)}
    assert survey.source_groups.asked_for["old"] == of_wave, "of a first commit nothing else tells"
    assert survey.source_groups.asked_for["billing"] > of_wave


@pytest.mark.parametrize(("tells", "doubtful"), [(False, ("billing", "old")), (True, ())])
def test_groups_for_which_a_transaction_may_commit_that_an_old_source_does_not_tell_of_are_named(survey, tells, doubtful):
    found = survey("orders", tells=tells)[0]
    assert found.doubtful == doubtful
    said = {each.code: each.message for each in find_in_groups(found, "east", "west")}
    assert ("GroupStabilityUntold" in said) == bool(doubtful)
