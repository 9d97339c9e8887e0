"""Asks the target up to where its logs are still those of the groups' checkpoints.

A broker that took over without the newest records goes on with others under a newer leader epoch. A position that was made for the older
log holds up to where the two part (`Cluster.shared_ends`).
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_mirror.cutover.failover.positions import TargetLog
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_rules import StoredCheckpoints
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import LogPosition


class SharedEnds(NamedTuple):
    """Up to where each checkpoint's log is still the one, by group and partition, and the partitions whose leaders did not answer."""

    ends: dict[tuple[str, TopicPartition], int]
    silent: tuple[TopicPartition, ...] = ()


def find_shared_ends(
    target: Cluster, checkpoints: StoredCheckpoints, logs: Mapping[TopicPartition, TargetLog], seconds: float
) -> SharedEnds:
    """Looks no further than the checkpoint's position. One that does not note its leader epoch has no answer, nor has one of another topic.
    Each question may take so many `seconds`."""
    positions: dict[tuple[str, TopicPartition], LogPosition] = {}
    for key, stored in checkpoints.items():
        log, note = logs.get(key[1]), stored.logs and stored.logs.target
        if log is not None and note and note.topic_id == log.topic_id and note.leader_epoch is not None:
            positions[key] = LogPosition(key[1], note.leader_epoch, stored.checkpoint.downstream)
    older = {position for position in positions.values() if position.leader_epoch != logs[position.partition].leader_epoch}
    ends = target.shared_ends(older, seconds)
    silent = {position.partition for position in older - ends.keys()}
    ends_by_key = {
        key: min(position.offset, ends.get(position, position.offset)) for key, position in positions.items() if key[1] not in silent
    }
    return SharedEnds(ends_by_key, tuple(sorted(silent)))
