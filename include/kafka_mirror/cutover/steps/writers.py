"""Who still writes to a wave's topics: producers that their leaders remember, open transactions, ends that move.

`survey_writers` asks the source. No finding about writers stops a wave before its write fence: it names whom the fence must hold off.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kafka_mirror.cutover.wave.findings import Finding, information, warning
from kafka_mirror.errors import ActiveProducers, MirrorError, TopicGrows, TransactionOpen, WritersUntold
from kafka_mirror.errors.words import count_text, first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import ActiveProducer
from kafka_mirror.kafka.producers import active_producers, holders

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

RECENT_SECONDS = 600
"""A producer whose newest record is older than this is taken for gone, unless it has an open transaction."""


@dataclass(frozen=True)
class TransactionOwner:
    """What Kafka says of an open transaction: for how many seconds it has been open, None if it does not tell, and whose it is."""

    seconds: float | None
    text: str


@dataclass(frozen=True)
class Writers:
    """What the source shows of those who write to a wave. `growth` counts the offsets that each partition grew by within `seconds`."""

    time: datetime
    producers: Mapping[TopicPartition, tuple[ActiveProducer, ...]] = field(default_factory=dict)
    owners: Mapping[TopicPartition, TransactionOwner] = field(default_factory=dict)
    """Of the oldest open transaction of a partition."""
    growth: Mapping[TopicPartition, int] = field(default_factory=dict)
    seconds: float = 0.0
    untold: Mapping[TopicPartition, int | None] = field(default_factory=dict)
    """The partitions whose leaders are too old to tell who writes, with the last stable offset where an open transaction holds it back."""

    def is_recent(self, producer: ActiveProducer) -> bool:
        """Whether the producer may still be there."""
        stamp = producer.last_timestamp
        return producer.transaction_start is not None or (stamp is not None and stamp / 1000 >= self.time.timestamp() - RECENT_SECONDS)


def writer_findings(writers: Writers) -> Iterator[Finding]:
    """What is said of those who write."""
    for topic in sorted({tp.topic for tp in (*writers.producers, *writers.growth)}):
        yield from _transactions(topic, writers)
        yield from _producers(topic, writers)
        yield from _growth(topic, writers)
    quiet = {producer.producer_id for producers in writers.producers.values() for producer in producers if not writers.is_recent(producer)}
    if quiet:
        said = f"{len(quiet)} more producer ids have written nothing newer than {RECENT_SECONDS // 60} minutes: {first_few(sorted(quiet))}."
        yield information("QuietProducers", said)
    for tp, start in sorted(writers.untold.items()):
        if start is not None:
            yield warning(TransactionOpen(*tp, start, is_told=False))
    yield from untold_writers(writers)


def untold_writers(writers: Writers) -> Iterator[Finding]:
    """That no broker says who writes to partitions of old brokers, and what the write fence cannot see there."""
    if writers.untold:
        yield warning(WritersUntold(first_few(sorted(writers.untold))))


def _transactions(topic: str, writers: Writers) -> Iterator[Finding]:
    for tp, producers in sorted(writers.producers.items()):
        for producer in producers if tp.topic == topic else ():
            if producer.transaction_start is not None:
                yield warning(TransactionOpen(*tp, producer.transaction_start, _owner(tp, producer, writers)))


def _owner(tp: TopicPartition, producer: ActiveProducer, writers: Writers) -> str:
    """For how long, and whose it is: its coordinator's word for the oldest one of the partition, else the id alone."""
    oldest = min(other.transaction_start for other in writers.producers[tp] if other.transaction_start is not None)
    owner = writers.owners.get(tp) if producer.transaction_start == oldest else None
    text = owner.text if owner is not None and owner.text else f"producer id {producer.producer_id} with epoch {producer.epoch}"
    seconds = f", for {owner.seconds:,.0f} s" if owner is not None and owner.seconds is not None else ""
    return f"{seconds}: {text}"


def _producers(topic: str, writers: Writers) -> Iterator[Finding]:
    recent: dict[tuple[int, int], list[tuple[int, int | None]]] = {}
    for tp, producers in sorted(writers.producers.items()):
        for producer in producers if tp.topic == topic else ():
            if writers.is_recent(producer):
                recent.setdefault((producer.producer_id, producer.epoch), []).append((tp.partition, producer.last_timestamp))
    if recent:
        names = first_few([_producer(*key, places) for key, places in recent.items()])
        count = count_text(len(recent), "producer writes", "producers write")
        yield warning(ActiveProducers(topic, f"{count} to it, or did so in the last {RECENT_SECONDS // 60} minutes: {names}"))


def _producer(producer_id: int, epoch: int, places: Iterable[tuple[int, int | None]]) -> str:
    places = list(places)
    stamps = [stamp for _, stamp in places if stamp is not None]
    newest = f", last at {datetime.fromtimestamp(max(stamps) / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC" if stamps else ""
    return f"id {producer_id} with epoch {epoch} (partitions {first_few([partition for partition, _ in places])}{newest})"


def _growth(topic: str, writers: Writers) -> Iterator[Finding]:
    grown = {tp.partition: offsets for tp, offsets in sorted(writers.growth.items()) if tp.topic == topic and offsets > 0}
    if grown:
        places = f"{first_few([*grown])}{_anonymous(topic, grown, writers)}"
        yield warning(TopicGrows(topic, sum(grown.values()), writers.seconds, places))


def _anonymous(topic: str, partitions: Collection[int], writers: Writers) -> str:
    """What is said where no producer is known that could have written."""
    listed = [tp for number in partitions if (tp := TopicPartition(topic, number)) not in writers.untold]
    nobody = [tp for tp in listed if not any(map(writers.is_recent, writers.producers.get(tp, ())))]
    return "; of some of it Kafka knows no producer, so it is not idempotent and has no id" if nobody else ""


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
