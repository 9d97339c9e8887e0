"""Watches the ends of a wave's partitions until they stand still, and names the producers that still write.

             log start                      last stable offset       end
source  ─────────┼──────────────────────────────┼─ open transaction ──┤
                 quiet: the last stable offset is the end, and the end stands still

Kafka tells the id and the epoch of a producer that is idempotent or transactional, and the coordinator its transactional id. It tells
no producer's address, and nothing at all about a producer without an id.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kafka_mirror.cutover.steps.source_truth import LogsLook
from kafka_mirror.cutover.steps.writers import Producers, Writers, describe_transaction, survey_writers
from kafka_mirror.cutover.wave.findings import Finding, information, stop
from kafka_mirror.cutover.wave.step import BY_ACL, StepOptions
from kafka_mirror.errors import LeaderMissing, MirrorError, StillWritten
from kafka_mirror.errors.words import count_text, first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import ActiveProducer, LogOffsets
from kafka_mirror.kafka.producers import active_producers

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


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

    def growth_after(self, moment: float) -> dict[TopicPartition, int]:
        """By how many offsets each partition grew since the first look, of those that were seen to grow after a moment."""
        return {tp: offsets for tp, offsets in self.growth.items() if self.grew_at[tp] > moment}

    def lasts(self, seconds: float, now: float) -> bool:
        """Whether no producer has written for so long, and no transaction is open."""
        return self.is_still and now - self.since >= seconds


def next_look(period: QuietPeriod, offsets: Mapping[TopicPartition, LogOffsets], now: float) -> QuietPeriod:
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
    """Which of its servers answered nothing."""

    def writing(self, tp: TopicPartition) -> list[ActiveProducer]:
        """The producers that wrote to a partition since they were first asked for."""
        return [producer for producer in self.writers.producers.get(tp, ()) if producer not in self.earlier.get(tp, ())]


def fence_findings(watch: FenceWatch, by: str) -> Iterator[Finding]:
    """What keeps the wave from being quiet. `by`: what fences it."""
    yield from watch.contradictions
    for topic in sorted({tp.topic for tp in watch.growth}):
        yield _growth(topic, watch, by)
    for tp, start in sorted(watch.period.open_from.items()):
        yield stop(describe_transaction(tp, start, watch.writers))
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


_LOOKS_A_PERIOD = 10
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 1.0
_SAY_EVERY_SECONDS = 10.0


@dataclass
class EndsWatcher:
    """One watch over all partitions of a wave: one request to each leader a look, however many partitions there are."""

    flow: "Flow"
    source: Cluster
    partitions: Sequence[TopicPartition]
    ask_all: Callable[[], LogsLook]
    """Asks every bootstrap server of the source: what one of them tells is enough to wait, and not to end."""
    refused: dict[str, MirrorError] = field(default_factory=dict)
    """Why the producers of a topic could not be asked for, by topic."""
    said: float = 0.0
    """When it was last said what the step waits for, on the monotonic clock."""

    def until_quiet(self, options: StepOptions, waits: bool) -> tuple[FenceWatch, bool]:
        """What was seen, and whether the wave was quiet for `options.quiet_seconds`.

        With `waits` it goes on until then, for `options.timeout` seconds at most; else it watches for one such period alone. Raises what
        concerns the source as a whole.
        """
        quiet = options.quiet_seconds
        pause = min(max(quiet / _LOOKS_A_PERIOD, _SHORTEST_PAUSE), _LONGEST_PAUSE)
        earlier = active_producers(self.source, self.partitions, self.refused)
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
        """The producers of now, then the ends once more, as all servers have them: what was written until the answer about the producers
        shows."""
        writers = survey_writers(self.flow, self.source, self.partitions, self.refused)
        look = self.ask_all()
        offsets = {tp: state.log for tp, state in look.logs.items() if state.log is not None and tp in period.partitions}
        period = next_look(period, offsets, time.monotonic())
        now = time.monotonic()
        growth = period.growth_after(now - recent - _LONGEST_PAUSE)
        return FenceWatch(period, growth, now - period.begun, earlier, writers, look.stops, look.warnings)

    def _look(self, period: QuietPeriod) -> QuietPeriod:
        return next_look(period, self.source.log_offsets(self.partitions, {}), time.monotonic())

    def _say(self, period: QuietPeriod, quiet: float, progress: Callable[[str], None]) -> None:
        """Says what keeps the wave from being quiet, unless that was said just now."""
        now = time.monotonic()
        if period.lasts(quiet, now) or now - self.said < _SAY_EVERY_SECONDS:
            return
        self.said = now
        moving = sorted(period.growth_after(period.since - quiet))
        reasons = [
            f"{first_few(moving)} still grew" if moving else "",
            f"transactions are open in {first_few(sorted(period.open_from))}" if period.open_from else "",
            f"no leader says where {first_few(sorted(period.silent))} ends" if period.silent else "",
        ]
        why = "; ".join(filter(None, reasons)) or "nothing moves"
        progress(f"Quiet for {now - period.since:.1f} of {quiet:g} s: {why}.")
