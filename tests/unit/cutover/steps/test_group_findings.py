"""What consumer groups say against a wave: at its preflight, and at the step that moves them."""

from dataclasses import replace

import pytest

from kafka_mirror.cutover.steps.group_survey import (
    GroupLogs,
    WaveGroup,
    WaveGroups,
    find_active_groups,
    find_group_stops,
    find_in_groups,
)
from kafka_mirror.cutover.wave.step import INFORMATION, STOP, WARNING
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_translation import GroupOffset
from kafka_mirror.groups.translation import EARLY, EXACT, INCOMPLETE, TranslatedOffset, no_answer
from kafka_mirror.kafka.model import Committed, GroupMember

HERE, THERE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
EXACTLY, EARLIER = TranslatedOffset(EXACT, 5, 5, 0), TranslatedOffset(EARLY, 3, 9, 600)
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
