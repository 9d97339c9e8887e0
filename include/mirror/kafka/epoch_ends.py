"""Asks where several leader epochs of one partition end; a request takes one of each."""

from collections.abc import Iterable

from mirror.kafka.cluster import Cluster
from mirror.offsets.partition import TopicPartition

OfEpoch = tuple[TopicPartition, int]


def ask_epoch_ends(cluster: Cluster, wanted: Iterable[OfEpoch], seconds: float) -> dict[OfEpoch, int]:
    """As `Cluster.epoch_ends`, by partition and leader epoch. A partition whose leader gave no answer to one question, which may take that
    many `seconds`, is asked no more."""
    waiting: dict[TopicPartition, list[int]] = {}
    for tp, epoch in sorted(set(wanted)):
        waiting.setdefault(tp, []).append(epoch)
    ends: dict[OfEpoch, int] = {}
    while waiting:
        epochs = {tp: of_partition[0] for tp, of_partition in waiting.items()}
        answers = cluster.epoch_ends(epochs, seconds)
        ends |= {(tp, epochs[tp]): end for tp, end in answers.items()}
        waiting = {tp: of_partition[1:] for tp, of_partition in waiting.items() if tp in answers and len(of_partition) > 1}
    return ends
