"""What is asked of the target's logs before a checkpoint's position counts, and which of its ACLs would refuse producers."""

import pytest

from kafka_mirror.cutover.failover.steps import find_denials, find_shared_ends
from kafka_mirror.cutover.steps.fence_acls import deny_write
from kafka_mirror.cutover.wave.step import WARNING
from kafka_mirror.formats.mm2 import Checkpoint
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoint_rules import NotedCheckpoint, SeenLog, SeenLogs
from kafka_mirror.kafka.model import Acl, LogOffsets, PartitionLog

BILLS, PARCELS = TopicPartition("east.bills", 1), TopicPartition("east.parcels", 0)
LOG = LogOffsets(0, 500, 500, 7)
LOGS = {BILLS: PartitionLog("bills-id", LOG), PARCELS: PartitionLog("parcels-id", LOG)}
ENDS = {(BILLS, 4): 120, (BILLS, 5): 300, (PARCELS, 4): 400}


def stored(group, remote, position, seen):
    logs = SeenLogs(SeenLog("source-id", 0), seen) if seen else None
    return (group, remote), NotedCheckpoint(Checkpoint(group, *remote, 9, position, ""), "generation", "", 0, logs)


class Target:
    """A cluster that says where leader epochs end, and what it was asked."""

    def __init__(self):
        self.asked = []

    def shared_ends(self, positions, seconds):
        self.asked.append(sorted(positions))
        return {position: ENDS[position[:2]] for position in positions if position[:2] in ENDS}


@pytest.fixture
def target():
    return Target()


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
