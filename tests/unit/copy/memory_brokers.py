"""Brokers in memory that keep Kafka's rules of transactions: one owner of a transactional id, open, aborted and committed records, markers.

Between any two steps of a lane something may happen: it fails, it is killed with its transaction open, or another attempt at the same lane
runs in its place. `script` says what; when it is used up, nothing happens any more.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mirror.copy.engine import BatchRefused, PoisonRecord, Progress, RefusedRecord, TransactionLimits, Work
from mirror.errors import ClusterUnreachable, Overtaken, TransactionTooSlow
from mirror.formats.ledger import LedgerRecord
from mirror.formats.ledger_bytes import decode, decode_key
from mirror.kafka.model import Topic
from mirror.offsets.map import runs_of
from mirror.offsets.partition import TopicPartition
from tests.unit.copy.memory_cluster import QuietCluster

RECORD_BYTES = 1000
BATCH = 3
MARKER, HOLE, RECORD = "marker", "hole", "record"
OPEN, COMMITTED, ABORTED = "open", "committed", "aborted"
OF_COMMITS = ("slow", "committed unheard", "killed when committed")


class Killed(BaseException):
    """A process that is gone: nothing of it runs any more, and its transaction stays open."""


@dataclass
class Entry:
    """One offset of a target partition: a marker, or a record with the source offset that it was read from."""

    source: int
    kind: str
    state: str


@dataclass
class Brokers:
    """Both clusters. `source` has what stands at each offset of a partition: a record, or a hole (aborted, compacted away, a marker)."""

    source: dict[TopicPartition, list[str]] = field(default_factory=dict)
    target: dict[TopicPartition, list[Entry]] = field(default_factory=dict)
    ledger: dict[TopicPartition, LedgerRecord] = field(default_factory=dict)
    refused: set[tuple[TopicPartition, int]] = field(default_factory=set)
    """Records that the target does not take."""
    names_culprits: bool = False
    """Whether it says which ones of a batch they are (KIP-467)."""
    owner: int = 0
    script: list[str] = field(default_factory=list)
    other_attempt: Callable[[], Any] = lambda: None

    def log(self, remote: TopicPartition) -> list[Entry]:
        return self.target.setdefault(remote, [])

    def visible(self, remote: TopicPartition) -> list[tuple[int, int]]:
        """Source and target offsets of the records that a reader of committed records sees."""
        stable = self.last_stable(remote)
        return [
            (entry.source, offset)
            for offset, entry in enumerate(self.log(remote)[:stable])
            if entry.kind == RECORD and entry.state == COMMITTED
        ]

    def last_stable(self, remote: TopicPartition) -> int:
        log = self.log(remote)
        return next((offset for offset, entry in enumerate(log) if entry.state == OPEN), len(log))

    def end_transaction(self, outcome: str) -> None:
        for log in self.target.values():
            pending = [entry for entry in log if entry.state == OPEN]
            for entry in pending:
                entry.state = outcome
            if pending:
                log.append(Entry(-1, MARKER, outcome))

    def happens(self, commit: bool = False) -> str:
        """What happens before the next step; raises if that is the end of whoever takes it. Some things wait for a commit."""
        event = self.script[0] if self.script else "nothing"
        if event in OF_COMMITS and not commit:
            return "nothing"
        self.script[:1] = []
        if event == "failure":
            raise ClusterUnreachable("west", "127.0.0.1:1", 1.0)
        if event == "kill":
            raise Killed
        if event == "other":
            self.other_attempt()
        return event


class MemoryCluster(QuietCluster):
    """The part of Cluster that a lane uses."""

    brokers: Brokers

    def topics(self, names: Iterable[str], errors: dict[str, Exception] | None = None, operation: str = "DESCRIBE") -> dict[str, Topic]:
        self.brokers.happens()
        return super().topics(names, errors, operation)

    def offsets(self, partitions: Iterable[TopicPartition], at: str, committed: bool = False, errors: object = None) -> dict[object, int]:
        if at == "earliest":
            return dict.fromkeys(partitions, 0)
        return {tp: self.brokers.last_stable(tp) if committed else len(self.brokers.log(tp)) for tp in partitions}


class MemoryLedger:
    """The ledger of the lane."""

    brokers: Brokers

    def __init__(self, *arguments: object) -> None:
        pass

    def read_lane(self, number: int) -> dict[TopicPartition, LedgerRecord]:
        self.brokers.happens()
        found = dict(self.brokers.ledger)
        self.brokers.happens()
        return found


@dataclass(frozen=True)
class Found:
    """A record that a reader found."""

    at: int

    def offset(self) -> int:
        return self.at


class MemoryReader:
    """Reads committed records of the target."""

    brokers: Brokers

    def __init__(self, *arguments: object) -> None:
        pass

    def first_visible(
        self, ranges: Mapping[TopicPartition, tuple[int, int]], seconds: float, errors: object, in_all: bool = True
    ) -> dict[TopicPartition, Found]:
        found = {}
        for remote, (start, end) in ranges.items():
            inside = [offset for _, offset in self.brokers.visible(remote) if start <= offset < end]
            found |= {remote: Found(inside[0])} if inside else {}
        return found

    def read(self, ranges: Mapping[TopicPartition, tuple[int, int]], seconds: float) -> Iterator[Found]:
        for remote, (start, end) in ranges.items():
            yield from (Found(offset) for _, offset in self.brokers.visible(remote) if start <= offset < end)


class MemoryEngine:
    """A producer with the lane's transactional id: opening it ends whatever the last one left open, and that one can do nothing more."""

    def __init__(self, brokers: Brokers) -> None:
        self.brokers = brokers
        brokers.happens()
        brokers.owner += 1
        self.me = brokers.owner
        self.records: dict[TopicPartition, LedgerRecord] = {}
        self.killed = False
        brokers.end_transaction(ABORTED)
        self._step()

    def copy(self, work: Sequence[Work], limits: TransactionLimits) -> list[Progress]:
        left, done = max(limits.bytes // RECORD_BYTES, 1), []
        for each in work:
            self._step()
            moved = self._copy(each, left)
            left -= moved.records
            if moved.next_offset > each.start or moved.poison is not None:
                done.append(moved)
        return done

    def _copy(self, work: Work, most: int) -> Progress:
        """Records up to the end of the range or of the transaction's share, in batches, of which a refused one is refused whole."""
        wanted, most = self.brokers.source[work.source], min(most, work.max_records or most)
        sources: list[int] = []
        position = work.start
        while position < work.end and position not in work.refused and (len(sources) < most or wanted[position] == HOLE):
            sources += [position] if wanted[position] == RECORD else []
            position += 1
        log = self.brokers.log(TopicPartition(work.remote, work.source.partition))
        targets = []
        for first in range(0, len(sources), BATCH):
            batch = sources[first : first + BATCH]
            if refused := [source for source in batch if (work.source, source) in self.brokers.refused]:
                culprits = [RefusedRecord(source, 0, True, "late", True) for source in refused] if self.brokers.names_culprits else []
                names = len(culprits) in range(1, len(batch))
                raise BatchRefused(work.source, work.start, batch[0], len(sources), "too large", culprits, names)
            for source in batch:
                targets.append(len(log))
                log.append(Entry(source, RECORD, OPEN))
        size, target_next = len(sources) * RECORD_BYTES, targets[-1] + 1 if targets else None
        poison = PoisonRecord(position, work.refused[position].detail) if position in work.refused else None
        return Progress(work.source, position, 0, runs_of(sources, targets), len(sources), size, target_next, poison)

    def record(self, topic: str, partition: int, entries: Sequence[tuple[bytes, bytes]]) -> None:
        self._step()
        self.records |= {decode_key(key, "here"): decode(value, "here") for key, value in entries}

    def commit(self) -> None:
        event = self._step(commit=True)
        if event == "slow":
            raise TransactionTooSlow(0, 60, 60)
        self.brokers.end_transaction(COMMITTED)
        self.brokers.ledger |= self.records
        if event == "committed unheard":
            raise ClusterUnreachable("west", "127.0.0.1:1", 1.0)
        if event == "killed when committed":
            self.killed = True
            raise Killed

    def close(self) -> None:
        if not self.killed and self.brokers.owner == self.me:
            self.brokers.end_transaction(ABORTED)

    def _step(self, commit: bool = False) -> str:
        try:
            event = self.brokers.happens(commit)
        except Killed:
            self.killed = True
            raise
        if self.brokers.owner != self.me:
            raise Overtaken(0)
        return event
