"""What keeps a wave's groups from moving, and what their applications should know."""

from dataclasses import replace

import pytest

from kafka_mirror.cutover.findings import STOP, WARNING
from kafka_mirror.cutover.group_move_findings import (
    GroupLogs,
    active_groups,
    not_committed,
    not_taken_back,
    read_on_source,
    stays_where_it_is,
    stops_of_groups,
    used_on_target,
)
from kafka_mirror.cutover.groups import WaveGroup, WaveGroups, WavePosition
from kafka_mirror.kafka.model import GroupMember
from kafka_mirror.offsets.partition import TopicPartition
from kafka_mirror.translation.translate import EARLY, EXACT, TranslatedOffset, no_answer

HERE, THERE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
EXACTLY = TranslatedOffset(EXACT, 5, 5, 0)
MEMBER = GroupMember("app-1", "/10.0.0.7", "app-1-9f")
LOGS = GroupLogs({HERE: 0}, {THERE: (0, 9)})


def group(answer=EXACTLY, there=None, **facts):
    return WaveGroup("billing", (WavePosition("orders", 0, 12, answer, there, "east.orders"),), **facts)


def findings(of, logs=LOGS):
    return [(finding.kind, finding.code) for finding in stops_of_groups(WaveGroups((of,)), logs, "east", "west")]


def test_an_exact_group_moves_without_a_word():
    assert findings(group()) == []


@pytest.mark.parametrize(
    ("of", "code"),
    [
        (group(TranslatedOffset(EARLY, 3, 9, 6)), "group-not-exact"),
        (group(no_answer("why not")), "group-without-answer"),
        (group(target_members=(MEMBER,)), "group-active-on-target"),
        (group(outside=("payments",)), "group-split"),
        (group(left_out=("west.stock",)), "group-topic-left-out"),
        (group(replace(EXACTLY, ahead=3)), "group-ahead-of-copy"),
    ],
)
def test_what_stops_a_group(of, code):
    assert findings(of) == [(STOP, code)]


def test_members_on_the_source_are_waited_for_and_named():
    assert findings(group(members=(MEMBER,))) == []
    (finding,) = active_groups([group(members=(MEMBER,)), group()], "east")
    assert (finding.kind, finding.code) == (STOP, "group-active")
    assert finding.message == "billing: it still has 1 member on east: app-1 on 10.0.0.7 (member id app-1-9f)."


def test_a_member_that_outlives_its_session_is_ended_by_a_restart_of_its_broker():
    """Seen of a broker that was killed, whose consumers ended meanwhile: it told of their members for as long as it ran."""
    on_source = active_groups([group(members=(MEMBER,))], "east")
    on_target = stops_of_groups(WaveGroups((group(target_members=(MEMBER,)),)), LOGS, "east", "west")
    for finding in (*on_source, *on_target):
        assert "One that nobody runs and that stays longer" in str(finding.step)
        assert "restart the broker that coordinates the group" in str(finding.step)


def test_a_group_that_stood_further_on_goes_back_with_a_warning():
    assert findings(group(there=7)) == [(WARNING, "group-goes-back")]
    assert findings(group(there=5)) == []


def test_records_that_only_the_target_lost_stop_a_group():
    assert findings(group(), GroupLogs({HERE: 12}, {THERE: (6, 9)})) == [(STOP, "group-behind-retention")]
    assert findings(group(), GroupLogs({HERE: 13}, {THERE: (6, 9)})) == [], "the source lost them too"
    assert findings(group(), GroupLogs({HERE: 12}, {THERE: (5, 9)})) == []


def test_a_partition_without_leader_on_the_target_stops_a_group():
    assert findings(group(), GroupLogs({HERE: 0}, {})) == [(STOP, "no-leader")]


def test_partitions_without_position_are_said_for_topics_that_the_group_reads():
    logs = GroupLogs({HERE: 0, TopicPartition("orders", 1): 0, TopicPartition("payments", 0): 0}, LOGS.target)
    (finding,) = stops_of_groups(WaveGroups((group(),)), logs, "east", "west")
    assert (finding.kind, finding.code) == (WARNING, "group-without-position")
    assert finding.message == "billing: it has no position in orders-1, so none is committed there."
    assert "auto.offset.reset" in finding.step.text


def test_each_way_to_fail_names_the_place_and_what_to_do():
    foreign = {THERE: 7}
    for finding, place in (
        (used_on_target("billing", foreign, "west"), "east.orders-0@7"),
        (stays_where_it_is("billing", foreign, "west"), "east.orders-0@7"),
        (read_on_source("billing", ["orders-0@13"], "east"), "orders-0@13"),
        (not_committed("billing", ["east.orders-0 (X)"], "west"), "east.orders-0 (X)"),
        (not_taken_back("billing", ["east.orders-0 (X)"], "west", "first"), "east.orders-0 (X)"),
    ):
        assert place in finding.message
        assert finding.step
    assert "--wave first" in not_taken_back("billing", [""], "west", "first").step.text
