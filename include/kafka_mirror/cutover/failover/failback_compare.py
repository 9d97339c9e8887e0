"""A source that came back after a failover, held against what was copied of it: by watermarks, log ends and leader epochs. Pure.

copied   ──────────── watermark            copied   ──────── D ── watermark
source   ──────────── watermark ───── end  source   ──────── D ═══════════ end
                      only the source has                    D: its leader epoch departs here, or the log ends:
                      these                                  copied records after D are not its own any more
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kafka_mirror.cutover.wave.findings import Finding, information, stop, warning
from kafka_mirror.errors import OnlyOnSource, SourceLostRecords, SourcePartitionGone, SourceTopicRecreated, TransactionOpen
from kafka_mirror.errors.next_step import Part
from kafka_mirror.errors.source import TRANSACTION_ENDS_LATE
from kafka_mirror.errors.wave_fence import transaction_commands
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import LedgerRecord

SAME, MORE, LESS, OTHER, NEW, GONE = "same", "more", "less", "other", "new", "gone"
"""What a returned partition is beside its copy: it ends where the copy does; it has records that were never copied; it lost copied ones
(and may have others in their place); its topic was created again; it was never copied at all; it is not there any more."""


@dataclass(frozen=True)
class ReturnedLog:
    """A partition of the returned source: its topic's id, where its log starts, how far it can be read, where it ends, and where the leader
    epoch of the last copy ends in it, if newer ones follow."""

    topic_id: str
    log_start: int
    readable_end: int
    end: int
    epoch_end: int | None = None


@dataclass(frozen=True)
class PartitionComparison:
    """One partition of the returned source. Offsets are the source's.

    `[only_start, only_end)` is what only the source has, as far as it can be read, `[lost_start, lost_end)` what was copied and is gone.
    `open_until`: from `only_end` up to here a transaction is open.
    """

    source: TopicPartition
    state: str
    watermark: int | None
    only_start: int
    only_end: int
    lost_start: int = 0
    lost_end: int = 0
    open_until: int | None = None
    topic_id: str = ""

    @property
    def only(self) -> int:
        """How many offsets only the source has: an upper bound of the records, for markers and aborted records have offsets too."""
        return self.only_end - self.only_start

    @property
    def lost(self) -> int:
        """How many copied offsets the source has no more, or holds other records at."""
        return self.lost_end - self.lost_start

    def __str__(self) -> str:
        parts = []
        if self.only:
            parts.append(f"only the source has {show_span(self.only_start, self.only_end)}")
        if self.lost:
            parts.append(f"the source has {show_span(self.lost_start, self.lost_end)} no more, which were copied")
        if self.open_until is not None:
            parts.append(f"a transaction is open from offset {self.only_end:,} on")
        return f"{self.source}: {'; '.join(parts) or 'the same'}"

    def as_document(self) -> dict[str, object]:
        """As JSON takes it."""
        return {
            "topic": self.source.topic,
            "partition": self.source.partition,
            "state": self.state,
            "watermark": self.watermark,
            "only_on_source": [self.only_start, self.only_end] if self.only else None,
            "not_on_source": [self.lost_start, self.lost_end] if self.lost else None,
            "open_until": self.open_until,
        }


def show_span(start: int, end: int) -> str:
    """Offsets for people: the first and the last one."""
    return f"offset {start:,}" if end - start == 1 else f"offsets {start:,}..{end - 1:,}"


def compare_partitions(
    records: Mapping[TopicPartition, LedgerRecord], source: Mapping[TopicPartition, ReturnedLog]
) -> tuple[PartitionComparison, ...]:
    """Every partition that the ledger or the source has, in order."""
    return tuple(_compare(tp, records.get(tp), source.get(tp)) for tp in sorted({*records, *source}))


def _compare(tp: TopicPartition, record: LedgerRecord | None, log: ReturnedLog | None) -> PartitionComparison:
    watermark = None if record is None else record.watermark
    if log is None:
        start = 0 if record is None else record.live_start
        return PartitionComparison(tp, GONE, watermark, 0, 0, start, watermark or 0)
    open_until = log.end if log.end > log.readable_end else None
    if record is None or not record.is_of(log.topic_id):
        state, lost = (NEW, 0) if record is None else (OTHER, record.watermark)
        start = 0 if record is None else record.live_start
        return _make_comparison(tp, state, watermark, log.log_start, log, (start, lost) if lost else (0, 0), open_until)
    departs = min(log.end, log.end if log.epoch_end is None or record.leader_epoch is None else log.epoch_end)
    if departs < record.watermark:
        return _make_comparison(tp, LESS, watermark, max(departs, log.log_start), log, (departs, record.watermark), open_until)
    only_start = max(record.watermark, log.log_start)
    state = MORE if log.readable_end > only_start or open_until is not None else SAME
    return _make_comparison(tp, state, watermark, only_start, log, (0, 0), open_until)


def _make_comparison(
    tp: TopicPartition, state: str, watermark: int | None, start: int, log: ReturnedLog, lost: tuple[int, int], open_until: int | None
) -> PartitionComparison:
    return PartitionComparison(tp, state, watermark, start, max(start, log.readable_end), *lost, open_until, log.topic_id)


def report_comparison(comparisons: Iterable[PartitionComparison], undescribed: Container[TopicPartition] = ()) -> Iterator[Finding]:
    """A sentence for each partition that is not the same, and one for all that are. `undescribed`: those whose leaders are too old to
    tell who writes."""
    same = 0
    for compared in comparisons:
        tp = compared.source
        same += compared.state == SAME
        if compared.state == GONE:
            yield warning(SourcePartitionGone(tp.topic, str(tp), _say_copied(compared)))
            continue
        if compared.state == OTHER:
            yield warning(SourceTopicRecreated(*tp, _say_copied(compared)))
        elif compared.lost:
            yield warning(SourceLostRecords(*tp, _say_copied(compared)))
        if compared.only:
            was = "it was never copied, so " if compared.state == NEW else ""
            yield warning(OnlyOnSource(*tp, f"{was}only the source has {show_span(compared.only_start, compared.only_end)}"))
        if compared.open_until is not None:
            error = TransactionOpen(*tp, compared.only_end, f", to {compared.open_until:,} at least")
            yield stop(error.report().with_next(*_advise_end(compared, tp not in undescribed)))
    if same:
        yield information("Same", f"{same} partitions end on the source where they were copied to.")


def _advise_end(compared: PartitionComparison, is_known: bool) -> tuple[Part, ...]:
    """How the open transaction of a partition ends.

    Brokers that were killed have been seen to end a transaction for the coordinator before they knew the partition's leader: then its
    marker is never written, not even that of a commit which the producer has an answer for.
    """
    export = "its marker was lost, and it may have been committed: export it first (--export DIR writes it to *.open.jsonl)."
    if not is_known:
        return (f"Wait: {TRANSACTION_ENDS_LATE} Of one that hangs {export} Then compare once more.",)
    wait = f"Wait until its coordinator has ended it (transaction.timeout.ms of its producer). If it stays open after that, {export} Then "
    return wait, *transaction_commands(*compared.source, compared.only_end), ". Then compare once more."


def _say_copied(compared: PartitionComparison) -> str:
    return (
        f"{show_span(compared.lost_start, compared.lost_end)} were copied and are not there"
        if compared.lost
        else "nothing of it was copied"
    )
