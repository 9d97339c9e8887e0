"""Asks the target up to where its logs are still those of the groups' checkpoints.

A broker that took over without the newest records goes on with others under a newer leader epoch. A position that was made for the older
log holds up to where the two part (`Cluster.epoch_ends`).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mirror.cutover.failover_positions import TargetLog
from mirror.kafka.cluster import Cluster
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
    older: dict[TopicPartition, list[int]] = {}
    for tp, epoch in sorted({(tp, epoch) for (_, tp), (epoch, _) in positions.items() if epoch != logs[tp].leader_epoch}):
        older.setdefault(tp, []).append(epoch)
    ends: dict[tuple[TopicPartition, int], int] = {}
    silent: set[TopicPartition] = set()
    for epochs in _rounds(older):
        answers = target.epoch_ends(epochs, seconds)
        ends |= {(tp, epochs[tp]): end for tp, end in answers.items()}
        silent |= epochs.keys() - answers.keys()
    ends_by_key = {
        key: min(position, ends.get((key[1], epoch), position)) for key, (epoch, position) in positions.items() if key[1] not in silent
    }
    return SharedEnds(ends_by_key, tuple(sorted(silent)))


def _rounds(older: Mapping[TopicPartition, list[int]]) -> Iterator[dict[TopicPartition, int]]:
    """One leader epoch of each partition at a time, as the request takes them."""
    for number in range(max(map(len, older.values()), default=0)):
        yield {tp: epochs[number] for tp, epochs in older.items() if number < len(epochs)}
