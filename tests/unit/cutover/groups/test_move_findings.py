"""What keeps a wave's groups from moving, and what their applications should know."""

from dataclasses import replace

import pytest

from kafka_mirror.cutover.groups.model import WaveGroup, WaveGroups, WavePosition
from kafka_mirror.cutover.groups.move_findings import GroupLogs, active_groups, stops_of_groups
from kafka_mirror.cutover.wave.findings import STOP, WARNING
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.translation import EARLY, EXACT, TranslatedOffset, no_answer
from kafka_mirror.kafka.model import GroupMember

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
        (group(TranslatedOffset(EARLY, 3, 9, 6)), "GroupNotExact"),
        (group(no_answer("why not")), "GroupWithoutAnswer"),
        (group(target_members=(MEMBER,)), "GroupActiveOnTarget"),
        (group(outside=("payments",)), "GroupSplit"),
        (group(left_out=("west.stock",)), "GroupTopicLeftOut"),
        (group(replace(EXACTLY, ahead=3)), "GroupAheadOfCopy"),
    ],
)
def test_what_stops_a_group(of, code):
    assert findings(of) == [(STOP, code)]


def test_members_on_the_source_are_waited_for_and_named():
    assert findings(group(members=(MEMBER,))) == []
    (finding,) = active_groups([group(members=(MEMBER,)), group()], "east")
    assert (finding.kind, finding.code) == (STOP, "GroupActive")
    assert finding.message == "billing: it has 1 member (app-1 on 10.0.0.7 (member id app-1-9f)) on east."


def test_a_member_that_outlives_its_session_is_ended_by_a_restart_of_its_broker():
    """Seen of a broker that was killed, whose consumers ended meanwhile: it told of their members for as long as it ran."""
    on_source = active_groups([group(members=(MEMBER,))], "east")
    on_target = stops_of_groups(WaveGroups((group(target_members=(MEMBER,)),)), LOGS, "east", "west")
    for finding in (*on_source, *on_target):
        assert "One that nobody runs and that stays longer" in finding.error.next
        assert "restart the broker that coordinates the group" in finding.error.next


def test_a_group_that_stood_further_on_goes_back_with_a_warning():
    assert findings(group(there=7)) == [(WARNING, "GroupGoesBack")]
    assert findings(group(there=5)) == []


def test_records_that_only_the_target_lost_stop_a_group():
    assert findings(group(), GroupLogs({HERE: 12}, {THERE: (6, 9)})) == [(STOP, "GroupRecordsGone")]
    assert findings(group(), GroupLogs({HERE: 13}, {THERE: (6, 9)})) == [], "the source lost them too"
    assert findings(group(), GroupLogs({HERE: 12}, {THERE: (5, 9)})) == []


def test_a_partition_without_leader_on_the_target_stops_a_group():
    assert findings(group(), GroupLogs({HERE: 0}, {})) == [(STOP, "LeaderMissing")]


def test_partitions_without_position_are_said_for_topics_that_the_group_reads():
    logs = GroupLogs({HERE: 0, TopicPartition("orders", 1): 0, TopicPartition("payments", 0): 0}, LOGS.target)
    (finding,) = stops_of_groups(WaveGroups((group(),)), logs, "east", "west")
    assert (finding.kind, finding.code) == (WARNING, "GroupWithoutPosition")
    assert finding.message == "billing: it has no position in orders-1, so none is committed there."
    assert "auto.offset.reset" in finding.error.next
