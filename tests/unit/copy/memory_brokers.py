"""Brokers in memory that keep Kafka's rules of transactions: one owner of a transactional id, open, aborted and committed records, markers.

Between any two steps of a lane something may happen: it fails, it is killed with its transaction open, or another attempt at the same lane
runs in its place. `script` says what; when it is used up, nothing happens any more.

One broker may be cut off from the others and not from us: it still answers as the leader that it was, with the logs as they stood then.
Which of two clients asks it is chance; one that begins at the second bootstrap server never does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_mirror.copy.model import (
    BatchRefused,
    PartitionAssignment,
    PartitionProgress,
    PoisonRecord,
    RefusedRecord,
    TransactionLimits,
)
from kafka_mirror.errors import BatchNotUnpacked, ClusterUnreachable, DeadlineExceeded, LedgerHidden, Overtaken, TransactionTooSlow
from kafka_mirror.formats.offsets.map import runs_of
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.codec import decode, decode_key
from kafka_mirror.ledger.record import LedgerRecord, Skipped
from kafka_mirror.ledger.topic import FencedLane
from tests.unit.copy.memory_cluster import QuietCluster

RECORD_BYTES = 1000
BATCH = 3
MARKER, HOLE, RECORD = "marker", "hole", "record"
OPEN, COMMITTED, ABORTED = "open", "committed", "aborted"
OF_COMMITS = ("slow", "committed unheard", "killed when committed")
STALE = {"stale ledger": ("ledger",), "stale remotes": ("remotes",), "stale": ("ledger", "remotes")}
"""Of which partitions the broker that is cut off is asked from now on, to the end of the run."""
LEDGER = TopicPartition("mm2-ledger.east.internal", 0)
BOTH_SERVERS, DEPOSED = "127.0.0.1:1,127.0.0.1:2", "127.0.0.1:1"


class Killed(BaseException):
    """A process that is gone: nothing of it runs any more, and its transaction stays open."""


@dataclass
class Entry:
    """One offset of a target partition: a marker, or a record with the source offset that it was read from. In the ledger, with what it
    says of a partition."""

    source: int
    kind: str
    state: str
    says: tuple[TopicPartition, LedgerRecord] | None = None


@dataclass
class Brokers:
    """Both clusters. `source` has what stands at each offset of a partition: a record, or a hole (aborted, compacted away, a marker)."""

    source: dict[TopicPartition, list[str]] = field(default_factory=dict)
    target: dict[TopicPartition, list[Entry]] = field(default_factory=dict)
    refused: set[tuple[TopicPartition, int]] = field(default_factory=set)
    """Records that the target does not take."""
    unopened: set[tuple[TopicPartition, int]] = field(default_factory=set)
    """Source offsets of records whose batches cannot be opened."""
    names_culprits: bool = False
    """Whether it says which ones of a batch they are (KIP-467)."""
    owner: int = 0
    script: list[str] = field(default_factory=list)
    other_attempt: Callable[[], Any] = lambda: None
    deposed: dict[TopicPartition, list[Entry]] = field(default_factory=dict)
    """What the broker has that was cut off."""
    stale: tuple[str, ...] = ()
    silent: bool = False
    """Whether it answers nothing in time instead."""

    def log(self, remote: TopicPartition) -> list[Entry]:
        return self.target.setdefault(remote, [])

    def answer(self, tp: TopicPartition, server: str) -> list[Entry]:
        """The partition's log as whoever answers a client has it, by the bootstrap server that the client began at."""
        if self.silent and DEPOSED in server:
            raise DeadlineExceeded(f"Cluster 'west' at {server}: nothing was answered in time.")
        kind = "ledger" if tp == LEDGER else "remotes"
        return self.deposed.get(tp, []) if kind in self.stale and DEPOSED in server else self.log(tp)

    def cut_off(self) -> None:
        self.deposed = {tp: [replace(entry) for entry in log] for tp, log in self.target.items()}

    @property
    def ledger(self) -> dict[TopicPartition, LedgerRecord]:
        """The newest committed record of each partition."""
        return ledger_records(self.log(LEDGER))

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
        if event == "cut off":
            self.cut_off()
        if event in STALE:
            self.stale = STALE[event]
        return event


def last_stable(log: Sequence[Entry]) -> int:
    return next((offset for offset, entry in enumerate(log) if entry.state == OPEN), len(log))


def visible(log: Sequence[Entry]) -> list[int]:
    """The offsets of the records that a reader of committed records sees."""
    stable = log[: last_stable(log)]
    return [offset for offset, entry in enumerate(stable) if entry.kind == RECORD and entry.state == COMMITTED]


def ledger_records(log: Sequence[Entry]) -> dict[TopicPartition, LedgerRecord]:
    said = (log[offset].says for offset in visible(log))
    return dict(each for each in said if each is not None)


class MemoryCluster(QuietCluster):
    """The part of Cluster that a lane uses."""

    brokers: Brokers

    def topics(self, names: Iterable[str], errors: dict[str, Exception] | None = None, operation: str = "DESCRIBE") -> dict[str, Topic]:
        self.brokers.happens()
        return super().topics(names, errors, operation)

    def offsets(self, partitions: Iterable[TopicPartition], at: str, committed: bool = False, errors: object = None) -> dict[object, int]:
        if at == "earliest":
            return dict.fromkeys(partitions, 0)
        if self.alias == "east":
            self.brokers.happens()
            return {tp: len(self.brokers.source[tp]) for tp in partitions}
        logs = {tp: self.brokers.answer(tp, self.server) for tp in partitions}
        return {tp: last_stable(log) if committed else len(log) for tp, log in logs.items()}


class MemoryLedger:
    """The ledger of the lane."""

    brokers: Brokers

    def __init__(self, topic: str, lanes: int, target: MemoryCluster, settings: object) -> None:
        self.server = target.server

    def read_fenced(self, number: int) -> FencedLane:
        self.brokers.happens()
        log = self.brokers.answer(LEDGER, self.server)
        if last_stable(log) < len(log):
            raise LedgerHidden(*LEDGER, last_stable(log), len(log))
        found = FencedLane(ledger_records(log), len(log))
        self.brokers.happens()
        return found


@dataclass(frozen=True)
class Found:
    """A record that a reader found."""

    offset: int


class MemoryReader:
    """Reads committed records of the target."""

    brokers: Brokers

    def __init__(self, alias: str, settings: Mapping[str, str]) -> None:
        self.server = settings["bootstrap.servers"]

    def first_visible(
        self, ranges: Mapping[TopicPartition, tuple[int, int]], seconds: float, errors: object, in_all: bool = True
    ) -> dict[TopicPartition, Found]:
        found = {}
        for remote, (start, end) in ranges.items():
            inside = list(self._inside(remote, start, end))
            found |= {remote: inside[0]} if inside else {}
        return found

    def read(self, ranges: Mapping[TopicPartition, tuple[int, int]], seconds: float) -> Iterator[Found]:
        for remote, (start, end) in ranges.items():
            yield from self._inside(remote, start, end)

    def _inside(self, remote: TopicPartition, start: int, end: int) -> Iterator[Found]:
        log = self.brokers.answer(remote, self.server)
        if last_stable(log) < end:
            raise DeadlineExceeded(f"the end of {remote}@{end} was not reached")
        yield from (Found(offset) for offset in visible(log) if start <= offset < end)


class MemoryEngine:
    """A producer with the lane's transactional id: opening it ends whatever the last one left open, and that one can do nothing more."""

    def __init__(self, brokers: Brokers) -> None:
        self.brokers = brokers
        brokers.happens()
        brokers.owner += 1
        self.me = brokers.owner
        self.killed = False
        brokers.end_transaction(ABORTED)
        self._step()

    def copy(self, work: Sequence[PartitionAssignment], limits: TransactionLimits) -> list[PartitionProgress]:
        left, done = max(limits.bytes // RECORD_BYTES, 1), []
        for each in work:
            self._step()
            moved = self._copy(each, left)
            left -= moved.records
            if moved.next_offset > each.start or moved.poison is not None:
                done.append(moved)
        return done

    def _copy(self, work: PartitionAssignment, most: int) -> PartitionProgress:
        """Records up to the end of the range or of the transaction's share, in batches, of which a refused one is refused whole."""
        wanted, most = self.brokers.source[work.source], min(most, work.max_records or most)
        unopened = self._unopened(work)
        passed = {*work.refused, *unopened} if work.skip_refused else set()
        stops = {*work.refused, *unopened} - passed
        sources: list[int] = []
        position = work.start
        while position < work.end and position not in stops and (len(sources) < most or wanted[position] == HOLE):
            sources += [position] if wanted[position] == RECORD and position not in passed else []
            position += 1
        skipped = tuple(Skipped(at, at + 1, "not taken") for at in sorted(passed) if work.start <= at < position)
        log = self.brokers.log(TopicPartition(work.remote, work.source.partition))
        targets = []
        for first in range(0, len(sources), BATCH):
            batch = sources[first : first + BATCH]
            if refused := [source for source in batch if (work.source, source) in self.brokers.refused]:
                culprits = [RefusedRecord(source, 0, True, "late") for source in refused] if self.brokers.names_culprits else []
                raise BatchRefused(work.source, work.start, batch[0], len(sources), "too large", culprits)
            for source in batch:
                targets.append(len(log))
                log.append(Entry(source, RECORD, OPEN))
        size, target_next = len(sources) * RECORD_BYTES, targets[-1] + 1 if targets else None
        poison: PoisonRecord | BatchNotUnpacked | None = None
        if position in work.refused and position in stops:
            poison = PoisonRecord(position, work.refused[position].detail)
        elif position in unopened and position in stops and position < work.end:
            poison = BatchNotUnpacked(*work.source, position, position + 1, "it is spoilt")
        return PartitionProgress(work.source, position, 0, runs_of(sources, targets), len(sources), size, target_next, poison, skipped)

    def _unopened(self, work: PartitionAssignment) -> set[int]:
        wanted = self.brokers.source[work.source]
        return {at for tp, at in self.brokers.unopened if tp == work.source and at < len(wanted) and wanted[at] == RECORD}

    def record(self, topic: str, partition: int, entries: Sequence[tuple[bytes, bytes]]) -> list[int]:
        self._step()
        log = self.brokers.log(TopicPartition(topic, partition))
        first = len(log)
        log += [Entry(-1, RECORD, OPEN, (decode_key(key, "here"), decode(value, "here"))) for key, value in entries]
        return list(range(first, len(log)))

    def commit(self) -> None:
        event = self._step(commit=True)
        if event == "slow":
            raise TransactionTooSlow(0, 60, 60)
        self.brokers.end_transaction(COMMITTED)
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
