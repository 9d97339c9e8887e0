"""Which groups a wave has, what of them moves with it, and what they say against the wave, under any name."""

import shlex
from dataclasses import replace
from types import SimpleNamespace as Answer

import pytest
from hypothesis import given

from kafka_mirror.config import load
from kafka_mirror.cutover.failover.steps import find_denials
from kafka_mirror.cutover.steps import group_survey
from kafka_mirror.cutover.steps.group_survey import (
    GroupLogs,
    WaveGroup,
    WaveGroups,
    find_active_groups,
    find_group_stops,
    find_in_groups,
    survey_groups,
)
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.selection import Wave, WaveTopics
from kafka_mirror.cutover.wave.step import INFORMATION, STOP, WARNING, stop
from kafka_mirror.errors import GroupNotTakenBack, GroupUsedOnTarget
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import GroupClusters, group_context
from kafka_mirror.groups.group_translation import GroupOffset, TranslatedGroups
from kafka_mirror.groups.translation import EARLY, EXACT, INCOMPLETE, TranslatedOffset, no_answer
from kafka_mirror.kafka.groups import Group, GroupDescription
from kafka_mirror.kafka.model import Acl, Committed, GroupMember, Partition, Topic
from tests.unit.cli.command_line import VALID
from tests.unit.errors.test_words import NAMES, controls

EXACTLY, EARLIER = TranslatedOffset(EXACT, 5, 5, 0), TranslatedOffset(EARLY, 3, 9, 600)
OFFSETS = {
    "billing": {("orders", 0): 7, ("payments", 1): 3, ("west.orders", 0): 2, ("gone", 0): 1},
    "audit-team": {("payments", 0): 1},
    "old": {("orders", 1): 1},
    "flows": {("invoices", 0): 4},
}
SOURCE_NAMES = ("orders", "payments", "invoices", "west.orders")
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
        move = Move(flow, Wave(topics, groups), context, sides, frozenset(SOURCE_NAMES), WaveTopics(topics))
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


HERE, THERE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
MEMBER = GroupMember("app-1", "/10.0.0.7", "app-1-9f")
LOGS = GroupLogs({HERE: 0}, {THERE: (0, 9)})


def group(*answers, there=None, **facts):
    positions = [
        GroupOffset("billing", HERE._replace(partition=number), Committed(12), THERE._replace(partition=number), answer, None)
        for number, answer in enumerate(answers or (EXACTLY,))
    ]
    return WaveGroup("billing", tuple(positions), there={} if there is None else {of.remote: Committed(there) for of in positions}, **facts)


def preflight(*groups, **facts):
    return list(find_in_groups(WaveGroups(groups, **facts), "east", "west"))


def stops(of, logs=LOGS):
    return list(find_group_stops(WaveGroups((of,)), logs, "east", "west"))


def kinds(findings):
    return [(finding.kind, finding.code) for finding in findings]


@pytest.mark.parametrize("answer", [EXACTLY, TranslatedOffset(EARLY, 3, 3, 0)], ids=["exact", "early, and reads nothing again"])
def test_an_exact_group_without_members_says_nothing(answer):
    assert (preflight(group(answer)), stops(group(answer))) == ([], [])


@pytest.mark.parametrize(
    ("of", "code", "said"),
    [
        (group(EXACTLY, no_answer("why not")), "GroupWithoutAnswer", "billing: 1 of 2 positions"),
        (group(no_answer("why not")), "GroupWithoutAnswer", "orders-0@12 (why not)"),
        (group(TranslatedOffset(INCOMPLETE, 0, 5, 5)), "GroupWithoutAnswer", "billing"),
        (group(EARLIER, EARLIER, EXACTLY), "GroupNotExact", "billing: it reads at most 1,200 records again, from 2 of 3 positions."),
        (group(EARLIER, TranslatedOffset(EARLY, 3)), "GroupNotExact", "an unknown number of records"),
        (group(target_members=(MEMBER,)), "GroupActiveOnTarget", "it has 1 member (app-1 on 10.0.0.7) on west, so"),
        (group(outside=("invoices", "payments")), "GroupSplit", "stay on the source: invoices, payments."),
        (group(left_out=("west.stock",)), "GroupTopicLeftOut", "west.stock"),
    ],
)
def test_what_stops_a_group_at_both(of, code, said):
    for findings in (preflight(of), stops(of, GroupLogs({HERE: 0}, {position.remote: (0, 9) for position in of.positions}))):
        assert kinds(findings) == [(STOP, code)]
        assert said in findings[0].message


@pytest.mark.parametrize(
    ("of", "at_preflight", "at_move"),
    [
        (group(replace(EXACTLY, ahead=7)), (INFORMATION, "GroupAheadOfCopy"), (STOP, "GroupAheadOfCopy")),
        (group(members=(MEMBER,)), (WARNING, "GroupActive"), None),
        (group(has_checkpoints=False), (WARNING, "GroupWithoutCheckpoints"), None),
        (group(there=4), None, None),
        (group(there=5), None, None),
        (group(there=6), (WARNING, "GroupFurtherOnTarget"), (WARNING, "GroupGoesBack")),
    ],
)
def test_what_the_preflight_and_the_step_judge_differently(of, at_preflight, at_move):
    assert kinds(preflight(of)) == [at_preflight] * (at_preflight is not None)
    assert kinds(stops(of)) == [at_move] * (at_move is not None)


def test_members_on_the_source_are_waited_for_and_named():
    (warned,) = preflight(group(members=(MEMBER, MEMBER)))
    assert warned.message == "billing: it has 2 members (app-1 on 10.0.0.7, app-1 on 10.0.0.7) on east."
    (finding,) = find_active_groups([group(members=(MEMBER,)), group()], "east")
    assert (finding.kind, finding.code) == (STOP, "GroupActive")
    assert finding.message == "billing: it has 1 member (app-1 on 10.0.0.7 (member id app-1-9f)) on east."


def test_a_member_that_outlives_its_session_is_ended_by_a_restart_of_its_broker():
    """Seen of a broker that was killed, whose consumers ended meanwhile: it told of their members for as long as it ran."""
    for finding in (*find_active_groups([group(members=(MEMBER,))], "east"), *stops(group(target_members=(MEMBER,)))):
        assert "One that does not run and stays longer" in finding.error.next
        assert "restart the broker that coordinates the group" in finding.error.next


@pytest.mark.parametrize(
    ("wave", "expected"),
    [
        ({"unmatched": ("none.*",)}, [(STOP, "PatternMatchesNothing")]),
        ({"groups": (group(),), "left_out": ("old", "older")}, [(WARNING, "GroupsLeftOut")]),
        ({"groups": (group(),), "shares": ("fair",)}, [(WARNING, "GroupOfAnotherKind")]),
        ({}, [(INFORMATION, "NoGroups")]),
    ],
)
def test_what_is_said_of_the_choice_of_groups(wave, expected):
    findings = list(find_in_groups(WaveGroups(**wave), "east", "west"))
    assert kinds(findings) == expected
    assert "left_out" not in wave or findings[0].message.endswith("which are not moved: old, older.")


@pytest.mark.parametrize(
    ("source_start", "target_start", "expected"),
    [(12, 6, [(STOP, "GroupRecordsGone")]), (13, 6, []), (12, 5, [])],
    ids=["only the target lost them", "the source lost them too", "none is lost"],
)
def test_records_that_only_the_target_lost_stop_a_group(source_start, target_start, expected):
    assert kinds(stops(group(), GroupLogs({HERE: source_start}, {THERE: (target_start, 9)}))) == expected


def test_a_partition_without_leader_on_the_target_stops_a_group():
    assert kinds(stops(group(), GroupLogs({HERE: 0}, {}))) == [(STOP, "LeaderMissing")]


def test_partitions_without_position_are_said_for_topics_that_the_group_reads():
    logs = GroupLogs({HERE: 0, TopicPartition("orders", 1): 0, TopicPartition("payments", 0): 0}, LOGS.target)
    (finding,) = stops(group(), logs)
    assert (finding.kind, finding.code) == (WARNING, "GroupWithoutPosition")
    assert finding.message == "billing: it has no position in orders-1, so none is committed there."
    assert "auto.offset.reset" in finding.error.next


ORDERS = TopicPartition("orders", 0)


def say_everything(name, client, member):
    """All that is said of a group that has everything wrong with it."""
    people = (GroupMember(client, "/10.0.0.1", member),)
    positions = (GroupOffset(name, ORDERS, Committed(5), ORDERS, no_answer("it lies in front of the log"), None),)
    group = WaveGroup(name, positions, ("payments",), people, people, has_checkpoints=False, left_out=("west.orders",))
    of_wave = WaveGroups((group,), (name,), left_out=(name,), shares=(name,))
    yield from find_in_groups(of_wave, "east", "west")
    yield from find_group_stops(of_wave, GroupLogs({ORDERS: 0}, {}), "east", "west")
    yield from find_active_groups((group,), "east")
    yield stop(GroupUsedOnTarget(name, "orders-0@3", "orders", "west"))
    yield stop(GroupNotTakenBack(name, "orders-0", "west", name))
    yield from find_denials([Acl("orders", f"User:{name}", name, "WRITE", "DENY")], ["orders"], "west")


@given(NAMES, NAMES, NAMES)
def test_every_finding_is_one_line_and_every_command_has_the_name_as_one_word(name, client, member):
    said = list(say_everything(name, client, member))
    assert len(said) > 10
    for finding in said:
        assert controls(str(finding)) == [], finding
        for command in finding.error.commands:
            words = shlex.split(command)
            for option in ("--group", "--wave", "--deny-host"):
                assert option not in words or words[words.index(option) + 1] == name, command


def test_a_group_without_a_name_is_seen():
    said = [finding.message for finding in say_everything("", "", "") if finding.group is not None]
    (split,) = {finding.error.next for finding in say_everything("", "", "") if finding.code == "GroupSplit"}
    assert "--groups '.+'" in split, "its positions cannot be deleted"
    assert len(said) > 5
    assert all("''" in message for message in said)
