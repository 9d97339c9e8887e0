"""Asks the target up to where its logs are still those of the groups' checkpoints.

A broker that took over without the newest records goes on with others under a newer leader epoch. A position that was made for the older
log holds up to where the two part (`Cluster.epoch_ends`).
"""

from collections.abc import Mapping
from typing import NamedTuple

from mirror.cutover.failover_positions import TargetLog
from mirror.kafka.cluster import Cluster
from mirror.kafka.epoch_ends import ask_epoch_ends
from mirror.offsets.partition import TopicPartition
from mirror.translation.group_rules import StoredCheckpoints


class SharedEnds(NamedTuple):
    """Up to where each checkpoint's log is still the one, by group and partition, and the partitions whose leaders did not answer."""

    ends: dict[tuple[str, TopicPartition], int]
    silent: tuple[TopicPartition, ...] = ()


def find_shared_ends(
    target: Cluster, checkpoints: StoredCheckpoints, logs: Mapping[TopicPartition, TargetLog], seconds: float
) -> SharedEnds:
    """Looks no further than the checkpoint's position. One that does not note its leader epoch has no answer, nor has one of another topic.
    Each question may take so many `seconds`."""
    positions: dict[tuple[str, TopicPartition], tuple[int, int]] = {}
    for key, stored in checkpoints.items():
        log, note = logs.get(key[1]), stored.logs and stored.logs.target
        if log is not None and note and note.topic_id == log.topic_id and note.leader_epoch is not None:
            positions[key] = (note.leader_epoch, stored.checkpoint.downstream)
    older = {(tp, epoch) for (_, tp), (epoch, _) in positions.items() if epoch != logs[tp].leader_epoch}
    ends = ask_epoch_ends(target, older, seconds)
    silent = {tp for tp, _ in older - ends.keys()}
    ends_by_key = {
        key: min(position, ends.get((key[1], epoch), position)) for key, (epoch, position) in positions.items() if key[1] not in silent
    }
    return SharedEnds(ends_by_key, tuple(sorted(silent)))
