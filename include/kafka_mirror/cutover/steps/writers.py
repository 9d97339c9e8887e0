"""Who still writes to a wave's topics: producers that their leaders remember, open transactions, ends that move.

`survey_writers` asks the source. No finding about writers stops a wave before its write fence: it names whom the fence must hold off.
"""

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
from kafka_mirror.kafka.producers import OpenTransaction, active_producers, holders

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

RECENT_SECONDS = 600
"""A producer whose newest record is older than this is taken for gone, unless it has an open transaction."""


@dataclass(frozen=True)
class Writers:
    """What the source shows of those who write to a wave. `growth` counts the offsets that each partition grew by within `seconds`."""

    time: datetime
    producers: Mapping[TopicPartition, tuple[ActiveProducer, ...]] = field(default_factory=dict)
    owners: Mapping[TopicPartition, OpenTransaction] = field(default_factory=dict)
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
            yield warning(describe_transaction(tp, start, writers))
    yield from untold_writers(writers)


def untold_writers(writers: Writers) -> Iterator[Finding]:
    """That no broker says who writes to partitions of old brokers, and what the write fence cannot see there."""
    if writers.untold:
        yield warning(WritersUntold(first_few(sorted(writers.untold))))


def _transactions(topic: str, writers: Writers) -> Iterator[Finding]:
    for tp, producers in sorted(writers.producers.items()):
        for producer in producers if tp.topic == topic else ():
            if producer.transaction_start is not None:
                yield warning(describe_transaction(tp, producer.transaction_start, writers))


def describe_transaction(tp: TopicPartition, start: int, writers: Writers) -> TransactionOpen:
    """The error of a transaction that is open from `start` on: for how long, and whose it is. Of a partition's oldest one its
    coordinator tells that, and of all the leader tells the producer's id."""
    transactions = [producer for producer in writers.producers.get(tp, ()) if producer.transaction_start is not None]
    is_oldest = all(producer.transaction_start is None or producer.transaction_start >= start for producer in transactions)
    owner = writers.owners.get(tp) if is_oldest else None
    ids = first_few([f"producer id {of.producer_id} with epoch {of.epoch}" for of in transactions if of.transaction_start == start])
    who = str(owner or "") or ids
    age = f", for {owner.seconds:,.0f} s" if owner is not None and owner.seconds is not None else ""
    return TransactionOpen(*tp, start, f"{age}{f': {who}' if who else ''}", tp not in writers.untold)


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


def survey_writers(flow: "Flow", source: Cluster, partitions: Collection[TopicPartition], refused: dict[str, MirrorError]) -> Writers:
    """Who writes now. A topic that the source refuses to tell of is in `refused`; what it is too old to tell is in `untold`."""
    producers = active_producers(source, partitions, refused)
    began = {
        tp: [producer.transaction_start for producer in of_partition if producer.transaction_start is not None]
        for tp, of_partition in producers.items()
    }
    oldest = {tp: min(starts) for tp, starts in began.items() if starts}
    owners = holders(source, oldest, int(flow.value("mirror.open.transaction.max.seconds"))) if oldest else {}
    untold = [tp for tp in partitions if tp not in producers and tp.topic not in refused]
    logs = source.log_offsets(untold, refused) if untold else {}
    held_back = {tp: log.stable if 0 <= log.stable < log.end else None for tp, log in logs.items()}
    return Writers(datetime.now(UTC), producers, owners, untold=held_back)
