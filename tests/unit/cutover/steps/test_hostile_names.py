"""Groups, members and clients of a wave under any name: each finding is one line, and each command has the name as one word."""

import shlex

from hypothesis import given

from kafka_mirror.cutover.failover.steps import find_denials
from kafka_mirror.cutover.steps.group_survey import (
    GroupLogs,
    WaveGroup,
    WaveGroups,
    find_active_groups,
    find_group_stops,
    find_in_groups,
)
from kafka_mirror.cutover.wave.step import stop
from kafka_mirror.errors import GroupNotTakenBack, GroupUsedOnTarget
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_translation import GroupOffset
from kafka_mirror.groups.translation import no_answer
from kafka_mirror.kafka.model import Acl, Committed, GroupMember
from tests.unit.errors.test_words import NAMES, controls

ORDERS = TopicPartition("orders", 0)


def findings(name, client, member):
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
    said = list(findings(name, client, member))
    assert len(said) > 10
    for finding in said:
        assert controls(str(finding)) == [], finding
        for command in finding.error.commands:
            words = shlex.split(command)
            for option in ("--group", "--wave", "--deny-host"):
                assert option not in words or words[words.index(option) + 1] == name, command


def test_a_group_without_a_name_is_seen():
    said = [finding.message for finding in findings("", "", "") if finding.group is not None]
    (split,) = {finding.error.next for finding in findings("", "", "") if finding.code == "GroupSplit"}
    assert "--groups '.+'" in split, "its positions cannot be deleted"
    assert len(said) > 5
    assert all("''" in message for message in said)
