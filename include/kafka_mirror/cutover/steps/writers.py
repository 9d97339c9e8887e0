"""Who writes to a wave's topics, and since when none does: producers that leaders know, open transactions, ends that move.

             log start                      last stable offset       end
source  ─────────┼──────────────────────────────┼─ open transaction ──┤
                 quiet: the last stable offset is the end, and the end stands still

Before its write fence no finding about writers stops a wave: it names whom the fence must hold off. `EndsWatcher` then watches the ends
until they stand still.

Kafka tells the id and the epoch of a producer that is idempotent or transactional, and the coordinator its transactional id. It tells
no producer's address, and nothing at all about a producer without an id.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kafka_mirror.cutover.steps.wave_ends import look_at_source
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.step import BY_ACL, Finding, StepOptions, information, stop, warning
from kafka_mirror.errors import ActiveProducers, LeaderMissing, MirrorError, StillWritten, TopicGrows, TransactionOpen, WritersUntold
from kafka_mirror.errors.words import count_text, first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import ActiveProducer, LogOffsets
from kafka_mirror.kafka.producers import OpenTransaction, active_producers, holders

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


Producers = Mapping[TopicPartition, tuple[ActiveProducer, ...]]

RECENT_SECONDS = 600
"""A producer whose newest record is older than this is taken for gone, unless it has an open transaction."""


@dataclass(frozen=True)
class Writers:
    """What the source shows of those who write to a wave. `growth` counts the offsets that each partition grew by within `seconds`."""

    time: datetime
    producers: Producers = field(default_factory=dict)
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


def report_writers(writers: Writers) -> Iterator[Finding]:
    """What is said of those who write."""
    for topic in sorted({tp.topic for tp in (*writers.producers, *writers.growth)}):
        yield from _report_producers(topic, writers)
        yield from _report_topic_growth(topic, writers)
    quiet = {producer.producer_id for producers in writers.producers.values() for producer in producers if not writers.is_recent(producer)}
    if quiet:
        said = f"{len(quiet)} more producer ids have written nothing newer than {RECENT_SECONDS // 60} minutes: {first_few(sorted(quiet))}."
        yield information("QuietProducers", said)
    for tp, start in sorted(writers.untold.items()):
        if start is not None:
            yield warning(describe_transaction(tp, start, writers))
    yield from report_untold_writers(writers)


def report_untold_writers(writers: Writers) -> Iterator[Finding]:
    """That no broker says who writes to partitions of old brokers, and what the write fence cannot see there."""
    if writers.untold:
        yield warning(WritersUntold(first_few(sorted(writers.untold))))


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


def _report_producers(topic: str, writers: Writers) -> Iterator[Finding]:
    """The open transactions of a topic, and all whose newest record is recent."""
    recent: dict[tuple[int, int], list[tuple[int, int | None]]] = {}
    for tp, producer in [(tp, of) for tp, producers in sorted(writers.producers.items()) if tp.topic == topic for of in producers]:
        if producer.transaction_start is not None:
            yield warning(describe_transaction(tp, producer.transaction_start, writers))
        if writers.is_recent(producer):
            recent.setdefault((producer.producer_id, producer.epoch), []).append((tp.partition, producer.last_timestamp))
    names = []
    for (producer_id, epoch), places in recent.items():
        stamps = [stamp for _, stamp in places if stamp is not None]
        newest = f", last at {datetime.fromtimestamp(max(stamps) / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC" if stamps else ""
        names.append(f"id {producer_id} with epoch {epoch} (partitions {first_few([partition for partition, _ in places])}{newest})")
    if names:
        count = count_text(len(names), "producer writes", "producers write")
        yield warning(ActiveProducers(topic, f"{count} to it, or did so in the last {RECENT_SECONDS // 60} minutes: {first_few(names)}"))


def _report_topic_growth(topic: str, writers: Writers) -> Iterator[Finding]:
    grown = {tp: offsets for tp, offsets in sorted(writers.growth.items()) if tp.topic == topic and offsets > 0}
    if grown:
        places = first_few([tp.partition for tp in grown])
        if any(tp not in writers.untold and not any(map(writers.is_recent, writers.producers.get(tp, ()))) for tp in grown):
            places += "; of some of it Kafka knows no producer, so it is not idempotent and has no id"
        yield warning(TopicGrows(topic, sum(grown.values()), writers.seconds, places))


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


@dataclass(frozen=True)
class QuietPeriod:
    """What looks at the ends of a wave's partitions saw so far. Times are seconds of one clock.

    `since`: when the newest look was that saw something move, hold back, not answer or get a new leader; else the first look. `growth`
    counts the offsets by which each partition grew since the first look, if it did, and `grew_at` when it was last seen to. `silent` are
    partitions whose leader did not answer the last look.
    """

    partitions: frozenset[TopicPartition]
    begun: float
    since: float
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    growth: Mapping[TopicPartition, int] = field(default_factory=dict)
    grew_at: Mapping[TopicPartition, float] = field(default_factory=dict)
    open_from: Mapping[TopicPartition, int] = field(default_factory=dict)
    """The last stable offset of each partition that an open transaction holds back."""
    silent: frozenset[TopicPartition] = frozenset()
    epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    """The leader epoch of each partition in the last look that showed one: in another epoch other records may stand at the same offsets."""

    @property
    def is_still(self) -> bool:
        """Whether the last look saw every partition, and nothing open."""
        return not self.open_from and not self.silent

    @property
    def last_growth(self) -> float | None:
        """When a partition was last seen to grow; None if none ever was."""
        return max(self.grew_at.values(), default=None)

    def measure_growth_after(self, moment: float) -> dict[TopicPartition, int]:
        """By how many offsets each partition grew since the first look, of those that were seen to grow after a moment."""
        return {tp: offsets for tp, offsets in self.growth.items() if self.grew_at[tp] > moment}

    def lasts(self, seconds: float, now: float) -> bool:
        """Whether no producer has written for so long, and no transaction is open."""
        return self.is_still and now - self.since >= seconds


def add_look(period: QuietPeriod, offsets: Mapping[TopicPartition, LogOffsets], now: float) -> QuietPeriod:
    """The period with one more look. `now`: when the look was over, so that what it saw to move moved before."""
    answers = {tp: log for tp, log in offsets.items() if log.end >= 0 and log.stable >= 0}
    moved = {tp: log.end - period.ends[tp] for tp, log in answers.items() if tp in period.ends and log.end != period.ends[tp]}
    open_from = {tp: log.stable for tp, log in answers.items() if log.stable < log.end}
    silent = period.partitions - answers.keys()
    epochs = {tp: log.leader_epoch for tp, log in answers.items() if log.leader_epoch is not None}
    is_led_anew = any(period.epochs.get(tp, epoch) != epoch for tp, epoch in epochs.items())
    growth = {**period.growth, **{tp: period.growth.get(tp, 0) + offsets for tp, offsets in moved.items()}}
    return replace(
        period,
        since=now if moved or open_from or silent or is_led_anew else period.since,
        ends={**period.ends, **{tp: log.end for tp, log in answers.items()}},
        growth=growth,
        grew_at={**period.grew_at, **dict.fromkeys(moved, now)},
        open_from=open_from,
        silent=silent,
        epochs={**period.epochs, **epochs},
    )


@dataclass(frozen=True)
class FenceWatch:
    """What a write fence is judged by: the ends, whom leaders remember from before (`earlier`), and whom they show now, with the growth of
    the ends that still move."""

    period: QuietPeriod
    earlier: Producers
    writers: Writers
    contradictions: tuple[Finding, ...] = ()
    """What keeps the source's answers from being believed."""
    unasked: tuple[Finding, ...] = ()
    """Which of its servers answered nothing."""

    def list_writing(self, tp: TopicPartition) -> list[ActiveProducer]:
        """The producers that wrote to a partition since they were first asked for."""
        return [producer for producer in self.writers.producers.get(tp, ()) if producer not in self.earlier.get(tp, ())]


def report_fence(watch: FenceWatch, by: str) -> Iterator[Finding]:
    """What keeps the wave from being quiet. `by`: what fences it."""
    yield from watch.contradictions
    for topic in sorted({tp.topic for tp in watch.writers.growth}):
        yield _report_growth(topic, watch, by)
    for tp, start in sorted(watch.period.open_from.items()):
        yield stop(describe_transaction(tp, start, watch.writers))
    if silent := sorted(watch.period.silent):
        yield stop(LeaderMissing(first_few(silent), "the source"))


def report_silent_producers(writers: Writers) -> Iterator[Finding]:
    """Producers that their leaders remember and that write no more."""
    ids = sorted({producer.producer_id for producers in writers.producers.values() for producer in producers})
    if ids:
        said = f"Leaders remember {count_text(len(ids), 'producer id')} that wrote before, and write no more: {first_few(ids)}."
        yield information("QuietProducers", said)


def find_newest_record(producers: Producers) -> int | None:
    """The timestamp of the newest record that leaders remember of a producer, in Unix milliseconds, by the producer's own clock."""
    stamps = [producer.last_timestamp for of_partition in producers.values() for producer in of_partition]
    return max((stamp for stamp in stamps if stamp is not None), default=None)


def _report_growth(topic: str, watch: FenceWatch, by: str) -> Finding:
    grown = {tp: offsets for tp, offsets in sorted(watch.writers.growth.items()) if tp.topic == topic}
    ids = sorted({producer[:2] for tp in grown for producer in watch.list_writing(tp)})
    names = [f"producer id {producer_id} with epoch {epoch}" for producer_id, epoch in ids]
    if any(not watch.list_writing(tp) and tp not in watch.writers.untold for tp in grown):
        names.append("a producer that is not idempotent, so Kafka knows no id of it")
    if not watch.writers.untold.keys().isdisjoint(grown):
        names.append("somebody whom brokers older than Kafka 2.8 do not name")
    where = first_few([tp.partition for tp in grown])
    return stop(StillWritten(topic, sum(grown.values()), watch.writers.seconds, where, first_few(names), by == BY_ACL))


_LOOKS_A_PERIOD = 10
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 1.0
_SAY_EVERY_SECONDS = 10.0


@dataclass
class EndsWatcher:
    """One watch over all partitions of a wave: one request to each leader a look, however many partitions there are."""

    move: Move
    partitions: Sequence[TopicPartition]
    refused: dict[str, MirrorError] = field(default_factory=dict)
    """Why the producers of a topic could not be asked for, by topic."""
    said: float = 0.0
    """When it was last said what the step waits for, on the monotonic clock."""

    def wait_until_quiet(self, options: StepOptions, waits: bool) -> tuple[FenceWatch, bool]:
        """What was seen, and whether the wave was quiet for `options.quiet_seconds`.

        With `waits` it goes on until then, for `options.timeout` seconds at most; else it watches for one such period alone. Raises what
        concerns the source as a whole.
        """
        quiet = options.quiet_seconds
        pause = min(max(quiet / _LOOKS_A_PERIOD, _SHORTEST_PAUSE), _LONGEST_PAUSE)
        earlier = active_producers(self.move.sides.source, self.partitions, self.refused)
        begun = time.monotonic()
        period = self._look(QuietPeriod(frozenset(self.partitions), begun, begun))
        deadline = period.begun + (max(options.timeout, quiet) if waits else quiet)
        while True:
            if period.lasts(quiet, time.monotonic()):
                watch = self._survey(period, earlier)
                if watch.period.lasts(quiet, time.monotonic()) and not watch.contradictions:
                    return watch, True
                period = watch.period
            if time.monotonic() >= deadline:
                return self._survey(period, earlier, quiet), False
            time.sleep(pause)
            period = self._look(period)
            self._say(period, quiet, options.progress)

    def _survey(self, period: QuietPeriod, earlier: Producers, recent: float = 0.0) -> FenceWatch:
        """The producers of now, then the ends once more: what was written until the answer about the producers shows. What one bootstrap
        server tells of them is enough to wait, and not to end, so all are asked."""
        writers = survey_writers(self.move.flow, self.move.sides.source, self.partitions, self.refused)
        look = look_at_source(self.move)
        offsets = {tp: state.log for tp, state in look.logs.items() if state.log is not None and tp in period.partitions}
        period = add_look(period, offsets, time.monotonic())
        now = time.monotonic()
        writers = replace(writers, growth=period.measure_growth_after(now - recent - _LONGEST_PAUSE), seconds=now - period.begun)
        return FenceWatch(period, earlier, writers, look.stops, look.warnings)

    def _look(self, period: QuietPeriod) -> QuietPeriod:
        return add_look(period, self.move.sides.source.log_offsets(self.partitions, {}), time.monotonic())

    def _say(self, period: QuietPeriod, quiet: float, progress: Callable[[str], None]) -> None:
        """Says what keeps the wave from being quiet, unless that was said just now."""
        now = time.monotonic()
        if period.lasts(quiet, now) or now - self.said < _SAY_EVERY_SECONDS:
            return
        self.said = now
        moving = sorted(period.measure_growth_after(period.since - quiet))
        reasons = [
            f"{first_few(moving)} still grew" if moving else "",
            f"transactions are open in {first_few(sorted(period.open_from))}" if period.open_from else "",
            f"no leader says where {first_few(sorted(period.silent))} ends" if period.silent else "",
        ]
        why = "; ".join(filter(None, reasons)) or "nothing moves"
        progress(f"Quiet for {now - period.since:.1f} of {quiet:g} s: {why}.")
