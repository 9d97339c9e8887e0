"""Who writes although the wave is fenced, or is about to be: what is said of it. Pure.

Kafka tells the id and the epoch of a producer that is idempotent or transactional, and the coordinator its transactional id. It tells
nobody's address, and of a producer without an id nothing at all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kafka_mirror.cutover.steps.quiet_period import QuietPeriod
from kafka_mirror.cutover.steps.writers import Writers
from kafka_mirror.cutover.wave.findings import Finding, information, stop
from kafka_mirror.cutover.wave.step import BY_ACL
from kafka_mirror.errors import LeaderMissing, StillWritten, TransactionOpen
from kafka_mirror.errors.words import count_text, first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import ActiveProducer

Producers = Mapping[TopicPartition, tuple[ActiveProducer, ...]]


@dataclass(frozen=True)
class FenceWatch:
    """What a write fence is judged by: the ends, by how much those grew that still move and in how many seconds, whom leaders remember
    from before (`earlier`), and whom they show now."""

    period: QuietPeriod
    growth: Mapping[TopicPartition, int]
    seconds: float
    earlier: Producers
    writers: Writers
    contradictions: tuple[Finding, ...] = ()
    """What keeps the source's answers from being believed."""
    unasked: tuple[Finding, ...] = ()
    """Which of its servers told nothing."""

    def writing(self, tp: TopicPartition) -> list[ActiveProducer]:
        """The producers that wrote to a partition since they were first asked for."""
        return [producer for producer in self.writers.producers.get(tp, ()) if producer not in self.earlier.get(tp, ())]


def fence_findings(watch: FenceWatch, by: str) -> Iterator[Finding]:
    """What keeps the wave from being quiet. `by`: what fences it."""
    yield from watch.contradictions
    for topic in sorted({tp.topic for tp in watch.growth}):
        yield _growth(topic, watch, by)
    for tp, start in sorted(watch.period.open_from.items()):
        yield _transaction(tp, start, watch.writers)
    if silent := sorted(watch.period.silent):
        yield stop(LeaderMissing(first_few(silent), "the source"))


def silent_producers(writers: Writers) -> Iterator[Finding]:
    """Producers that their leaders remember and that write no more."""
    ids = sorted({producer.producer_id for producers in writers.producers.values() for producer in producers})
    if ids:
        said = f"Leaders remember {count_text(len(ids), 'producer id')} that wrote before, and write no more: {first_few(ids)}."
        yield information("QuietProducers", said)


def newest_record(producers: Producers) -> int | None:
    """The timestamp of the newest record that leaders remember of a producer, in Unix milliseconds, by the producer's own clock."""
    stamps = [producer.last_timestamp for of_partition in producers.values() for producer in of_partition]
    return max((stamp for stamp in stamps if stamp is not None), default=None)


def _growth(topic: str, watch: FenceWatch, by: str) -> Finding:
    grown = {tp: offsets for tp, offsets in sorted(watch.growth.items()) if tp.topic == topic}
    ids = sorted({producer[:2] for tp in grown for producer in watch.writing(tp)})
    names = [f"producer id {producer_id} with epoch {epoch}" for producer_id, epoch in ids]
    if any(not watch.writing(tp) and tp not in watch.writers.untold for tp in grown):
        names.append("a producer that is not idempotent, so Kafka knows no id of it")
    if not watch.writers.untold.keys().isdisjoint(grown):
        names.append("somebody whom brokers older than Kafka 2.8 do not name")
    where = first_few([tp.partition for tp in grown])
    return stop(StillWritten(topic, sum(grown.values()), watch.seconds, where, first_few(names), by == BY_ACL))


def _transaction(tp: TopicPartition, start: int, writers: Writers) -> Finding:
    owner = writers.owners.get(tp)
    producers = [producer for producer in writers.producers.get(tp, ()) if producer.transaction_start == start]
    names = first_few([f"producer id {producer.producer_id} with epoch {producer.epoch}" for producer in producers])
    who = owner.text if owner is not None and owner.text else names
    age = f", for {owner.seconds:,.0f} s" if owner is not None and owner.seconds is not None else ""
    return stop(TransactionOpen(*tp, start, f"{age}{f': {who}' if who else ''}", tp not in writers.untold))
