"""Which translated offsets are committed on the target for a group that is idle there. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from mirror.offsets.partition import TopicPartition

Positions = Mapping[TopicPartition, int]


@dataclass(frozen=True)
class ToCommit:
    """What is committed, and the partitions for which nothing is: where the group stands already, stands further on, or whose remote
    partition is not there."""

    write: Positions
    there: tuple[TopicPartition, ...] = ()
    ahead: tuple[TopicPartition, ...] = ()
    missing: tuple[TopicPartition, ...] = ()


def to_commit(translated: Positions, committed: Positions, logs: Mapping[TopicPartition, tuple[int, int]]) -> ToCommit:
    """Compares what was translated with what the group has on the target; `logs` are log start and end there.

    A group is never moved back (KIP-545), and never to a position that its partition does not have.
    """
    write: dict[TopicPartition, int] = {}
    there: list[TopicPartition] = []
    ahead: list[TopicPartition] = []
    missing: list[TopicPartition] = []
    for tp, offset in translated.items():
        if tp not in logs:
            missing.append(tp)
            continue
        start, end = logs[tp]
        wanted, found = min(max(offset, start), end), committed.get(tp)
        if found is None or found < wanted:
            write[tp] = wanted
        else:
            (there if found == wanted else ahead).append(tp)
    return ToCommit(write, tuple(there), tuple(ahead), tuple(missing))
