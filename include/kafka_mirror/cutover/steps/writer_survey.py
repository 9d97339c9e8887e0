"""Asks the source who writes to a wave's topics."""

import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kafka_mirror.cutover.steps.writers import TransactionOwner, Writers
from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import ActiveProducer
from kafka_mirror.kafka.open_transactions import holders
from kafka_mirror.kafka.producers import active_producers

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

Producers = Mapping[TopicPartition, tuple[ActiveProducer, ...]]


class EndWatch:
    """The ends of a wave's partitions at one moment, to see later whether they moved."""

    def __init__(self, source: Cluster, partitions: Collection[TopicPartition]) -> None:
        self._source = source
        self._began = time.monotonic()
        self._ends = source.offsets(partitions, "latest", errors={})

    def growth(self) -> tuple[dict[TopicPartition, int], float]:
        """By how many offsets each partition grew since then, and how many seconds that is."""
        ends = self._source.offsets(self._ends, "latest", errors={})
        return {tp: ends[tp] - end for tp, end in self._ends.items() if tp in ends}, time.monotonic() - self._began


def survey_writers(
    flow: "Flow", source: Cluster, partitions: Collection[TopicPartition], watch: EndWatch, refused: dict[str, MirrorError]
) -> Writers:
    """Who writes now. A topic that the source refuses to tell of is in `refused`; what it is too old to tell is in `untold`."""
    producers = active_producers(source, partitions, refused)
    starts = _oldest_transactions(producers)
    longest = int(flow.value("mirror.open.transaction.max.seconds"))
    transactions = holders(source, starts, longest) if starts else {}
    untold = [tp for tp in partitions if tp not in producers and tp.topic not in refused]
    logs = source.log_offsets(untold, refused) if untold else {}
    growth, seconds = watch.growth()
    return Writers(
        datetime.now(UTC),
        producers,
        {tp: TransactionOwner(transaction.seconds, str(transaction)) for tp, transaction in transactions.items()},
        growth,
        seconds,
        {tp: log.stable if 0 <= log.stable < log.end else None for tp, log in logs.items()},
    )


def _oldest_transactions(producers: Producers) -> dict[TopicPartition, int]:
    """Where the oldest open transaction of each partition begins that has one."""
    starts = {
        tp: [producer.transaction_start for producer in of_partition if producer.transaction_start is not None]
        for tp, of_partition in producers.items()
    }
    return {tp: min(of_partition) for tp, of_partition in starts.items() if of_partition}
