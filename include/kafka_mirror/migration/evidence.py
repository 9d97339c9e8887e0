"""Collects what says how far MirrorMaker 2 came: reads the end of remote partitions and what may correspond to it on the source."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from kafka_mirror.config import Flow
from kafka_mirror.formats.batches.batch_records import ReadRecord
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import read_headers
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.migration.connect import READ_SECONDS
from kafka_mirror.migration.tail_match import (
    Ambiguous,
    Evidence,
    Mm2Partition,
    MoreSource,
    MoreTail,
    Position,
    RecordDigest,
    choose_tail_start,
    find_position,
)

_TOGETHER = 100
_FIRST_RECORDS = 1_000
_GROWTH = 8
_LOG_APPEND_TIME = 2


@dataclass(frozen=True)
class _Window:
    """How much of a partition is read: up to which source offset, how many records in front of the target's end, and whether only those."""

    source: int
    records: int = _FIRST_RECORDS
    from_known_place: bool = True


def mm2_reads_committed(flow: Flow) -> bool:
    """Returns whether MirrorMaker 2 reads committed records only; by default it copies aborted ones too."""
    isolation = flow.java_settings("source", "consumer").get("isolation.level")
    return isolation is not None and flow.references.resolve(isolation) == "read_committed"


def locate(flow: Flow, partitions: Sequence[Mm2Partition]) -> dict[TopicPartition, Position | Ambiguous]:
    """Where each of the partitions goes on, or why that is in doubt."""
    positions: dict[TopicPartition, Position | Ambiguous] = {}
    for first in range(0, len(partitions), _TOGETHER):
        positions |= _EvidenceReader(flow, partitions[first : first + _TOGETHER]).run()
    return positions


class _EvidenceReader:
    """Some partitions at once, read further and further until each is understood."""

    def __init__(self, flow: Flow, partitions: Iterable[Mm2Partition]) -> None:
        self._source = BoundedReader(flow.source, flow.client("source", "consumer"), mm2_reads_committed(flow))
        self._target = BoundedReader(flow.target, flow.client("target", "consumer"))
        self._open = {partition: _choose_window(partition) for partition in partitions}
        self._positions: dict[TopicPartition, Position | Ambiguous] = {}

    def run(self) -> dict[TopicPartition, Position | Ambiguous]:
        """Reads until all are found."""
        while self._open:
            tails = _read(
                self._target,
                {partition.remote: (_begin(partition, window), partition.target_end) for partition, window in self._open.items()},
                True,
            )
            sources = _read(
                self._source, {partition.tp: (partition.first, window.source) for partition, window in self._open.items()}, False
            )
            for partition, window in list(self._open.items()):
                self._try(partition, window, sources[partition.tp], tails[partition.remote])
        return self._positions

    def _try(self, partition: Mm2Partition, window: _Window, source: Sequence[RecordDigest], tail: Sequence[RecordDigest]) -> None:
        begin = _begin(partition, window)
        evidence = Evidence(**vars(partition), source=source, source_read=window.source, tail=tail, tail_start=begin)
        try:
            self._positions[partition.tp] = find_position(evidence)
            del self._open[partition]
        except MoreSource:
            further = partition.first + _GROWTH * max(window.source - partition.first, _FIRST_RECORDS)
            self._open[partition] = replace(window, source=min(further, partition.source_end))
        except MoreTail:
            self._open[partition] = replace(window, records=window.records * _GROWTH, from_known_place=False)


def _choose_window(partition: Mm2Partition) -> _Window:
    records = partition.target_end - _begin(partition, _Window(0))
    return _Window(min(partition.first + 2 * records + _FIRST_RECORDS, max(partition.source_end, partition.first)))


def _begin(partition: Mm2Partition, window: _Window) -> int:
    places = [*([partition.sync.downstream] if partition.sync else []), *([partition.copied.downstream] if partition.copied else [])]
    return choose_tail_start(places if window.from_known_place else [], partition.target_start, partition.target_end, window.records)


def _read(
    reader: BoundedReader, ranges: Mapping[TopicPartition, tuple[int, int]], on_target: bool
) -> dict[TopicPartition, list[RecordDigest]]:
    digests: dict[TopicPartition, list[RecordDigest]] = {tp: [] for tp in ranges}
    for message in reader.read(ranges, READ_SECONDS):
        digests[message.partition].append(_digest(message, on_target))
    return digests


def _digest(message: ReadRecord, on_target: bool) -> RecordDigest:
    """A record as it is compared. A time that the target's broker stamped is not the source's."""
    digest = blake2b(digest_size=16)
    headers = read_headers(message)
    parts = (
        [b"a header whose key the client cannot read"]
        if headers is None
        else [of for name, value in headers for of in (name.encode(), value)]
    )
    for part in (message.key, message.value, *parts):
        digest.update(b"-" if part is None else b"%d:" % len(part))
        digest.update(part or b"")
    kind, timestamp = message.timestamp
    return RecordDigest(message.offset, digest.digest(), None if kind == 0 or (on_target and kind == _LOG_APPEND_TIME) else timestamp)
