"""Collects what says how far MirrorMaker 2 came: reads the end of remote partitions and what may correspond to it on the source."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from mirror.config import Flow
from mirror.formats.message_headers import headers_or_none
from mirror.handover.mirrormaker import READ_SECONDS
from mirror.handover.model import Doubt, Evidence, MoreSource, MoreTail, Position, Seen
from mirror.handover.tail import position, tail_begin
from mirror.kafka.reading import BoundedReader
from mirror.offsets.partition import TopicPartition
from mirror.offsets.sync_store import Pair

_TOGETHER = 100
_FIRST_RECORDS = 1_000
_GROWTH = 8
_LOG_APPEND_TIME = 2


@dataclass(frozen=True)
class Left:
    """A partition as MirrorMaker 2 left it."""

    tp: TopicPartition
    remote: TopicPartition
    stored: int | None
    source_start: int
    source_end: int
    """For a reader such as MirrorMaker 2's."""
    target_start: int
    target_end: int
    compacted: bool = False
    syncs: tuple[Pair, ...] = field(default=())
    known: Pair | None = None
    """Where our own copy ended when the flow was handed back: the next offsets of both sides."""

    @property
    def sync(self) -> Pair | None:
        """The newest offset sync."""
        return self.syncs[-1] if self.syncs else None

    @property
    def first(self) -> int:
        """The first source offset that has to be read."""
        if self.stored is None:
            return self.source_start
        places = [self.stored, *([self.sync.upstream] if self.sync else []), *([self.known.upstream] if self.known else [])]
        return max(min(places), self.source_start)


@dataclass(frozen=True)
class _Window:
    """How much of a partition is read: up to which source offset, how many records in front of the target's end, and whether only those."""

    source: int
    records: int = _FIRST_RECORDS
    from_known_place: bool = True


def reads_committed(flow: Flow) -> bool:
    """Whether MirrorMaker 2 leaves aborted records out; unless it is told so, it copies them."""
    isolation = flow.java_settings("source", "consumer").get("isolation.level")
    return isolation is not None and flow.references.resolve(isolation) == "read_committed"


def locate(flow: Flow, partitions: Sequence[Left]) -> dict[TopicPartition, Position | Doubt]:
    """Where each of the partitions goes on, or why that is in doubt."""
    found: dict[TopicPartition, Position | Doubt] = {}
    for first in range(0, len(partitions), _TOGETHER):
        found |= _Locating(flow, partitions[first : first + _TOGETHER]).run()
    return found


class _Locating:
    """Some partitions at once, read further and further until each is understood."""

    def __init__(self, flow: Flow, partitions: Iterable[Left]) -> None:
        self._source = BoundedReader(flow.source, flow.client("source", "consumer"), reads_committed(flow))
        self._target = BoundedReader(flow.target, flow.client("target", "consumer"))
        self._open = {left: _window(left) for left in partitions}
        self._found: dict[TopicPartition, Position | Doubt] = {}

    def run(self) -> dict[TopicPartition, Position | Doubt]:
        """Reads until all are found."""
        while self._open:
            tails = _read(self._target, {left.remote: (_begin(left, window), left.target_end) for left, window in self._open.items()}, True)
            sources = _read(self._source, {left.tp: (left.first, window.source) for left, window in self._open.items()}, False)
            for left, window in list(self._open.items()):
                self._try(left, window, sources[left.tp], tails[left.remote])
        return self._found

    def _try(self, left: Left, window: _Window, source: Sequence[Seen], tail: Sequence[Seen]) -> None:
        evidence = Evidence(
            stored=left.stored,
            source=source,
            source_start=left.source_start,
            source_end=left.source_end,
            source_read=window.source,
            tail=tail,
            tail_start=_begin(left, window),
            target_start=left.target_start,
            target_end=left.target_end,
            sync=left.sync,
            known=left.known,
            compacted=left.compacted,
        )
        try:
            self._found[left.tp] = position(evidence)
            del self._open[left]
        except MoreSource:
            further = left.first + _GROWTH * max(window.source - left.first, _FIRST_RECORDS)
            self._open[left] = replace(window, source=min(further, left.source_end))
        except MoreTail:
            self._open[left] = replace(window, records=window.records * _GROWTH, from_known_place=False)


def _window(left: Left) -> _Window:
    records = left.target_end - _begin(left, _Window(0))
    return _Window(min(left.first + 2 * records + _FIRST_RECORDS, max(left.source_end, left.first)))


def _begin(left: Left, window: _Window) -> int:
    known = [*([left.sync.downstream] if left.sync else []), *([left.known.downstream] if left.known else [])]
    return tail_begin(known if window.from_known_place else [], left.target_start, left.target_end, window.records)


def _read(reader: BoundedReader, ranges: Mapping[TopicPartition, tuple[int, int]], on_target: bool) -> dict[TopicPartition, list[Seen]]:
    found: dict[TopicPartition, list[Seen]] = {tp: [] for tp in ranges}
    for message in reader.read(ranges, READ_SECONDS):
        found[TopicPartition(str(message.topic()), int(message.partition() or 0))].append(_seen(message, on_target))
    return found


def _seen(message: Any, on_target: bool) -> Seen:
    """A record as it is compared. A time that the target's broker stamped is not the source's."""
    digest = blake2b(digest_size=16)
    for part in (message.key(), message.value(), *_headers(message)):
        digest.update(b"-" if part is None else b"%d:" % len(part))
        digest.update(part or b"")
    kind, timestamp = message.timestamp()
    return Seen(int(message.offset()), digest.digest(), None if kind == 0 or (on_target and kind == _LOG_APPEND_TIME) else int(timestamp))


def _headers(message: Any) -> list[bytes | None]:
    headers = headers_or_none(message)
    if headers is None:
        return [b"a header whose key the client cannot read"]
    return [part for name, value in headers for part in (name.encode(), None if value is None else bytes(value))]
