"""Judges what applications wrote down: which records a group never got, got twice, or got in another order. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Number = tuple[str, int, int]
"""A record: the producer's name, the partition, the number."""


@dataclass(frozen=True)
class Produced:
    """What a producer wrote down: the acknowledged records, with the cluster and the time (ms), and those in doubt."""

    acked: Mapping[Number, tuple[str, int]]
    doubts: frozenset[Number]


@dataclass(frozen=True)
class Read:
    """What a group wrote down: records in the order in which it got them, each with the log that it came from; and how often a commit was
    refused."""

    records: tuple[tuple[str, Number], ...]
    uncommitted: int = 0


@dataclass(frozen=True)
class Verdict:
    """What a group did not get of what was acknowledged, got more than once, and got after a later record of the same producer and
    partition. A record that was in doubt may be missing, but may not come twice."""

    group: str
    records: int
    lost: tuple[Number, ...]
    twice: tuple[Number, ...]
    disordered: tuple[Number, ...]

    @property
    def is_good(self) -> bool:
        """Whether it got everything once, in order."""
        return not (self.lost or self.twice or self.disordered)

    def __str__(self) -> str:
        if self.is_good:
            return f"{self.group}: {self.records} records, each once and in order"
        wrong = (("lost", self.lost), ("read twice", self.twice), ("out of order", self.disordered))
        parts = [f"{len(numbers)} {word} ({list_first(numbers)})" for word, numbers in wrong if numbers]
        return f"{self.group}: {self.records} records; " + ", ".join(parts)


def read_producer(lines: Iterable[str], producer: str) -> Produced:
    """Reads the journal of one producer."""
    acked: dict[Number, tuple[str, int]] = {}
    doubts = set()
    for kind, *words in map(str.split, lines):
        if kind == "acked":
            _, partition, number, _, cluster, time = words
            acked[producer, int(partition), int(number)] = (cluster, int(time))
        elif kind == "doubt":
            _, partition, number, _ = words
            doubts.add((producer, int(partition), int(number)))
    return Produced(acked, frozenset(doubts))


def read_group(lines: Iterable[str], *, names_kept: bool = True) -> Read:
    """Reads the journal of one group. Where names are kept, a topic is one log, whichever cluster it is read from. Else a topic and its
    mirror are one, and topics of the same name on two clusters are two."""
    records, uncommitted = [], 0
    for kind, *words in map(str.split, lines):
        if kind == "read":
            topic, partition, _, producer, number, cluster = words
            log = topic if names_kept or "." in topic else f"{cluster}.{topic}"
            records.append((log, (producer, int(partition), int(number))))
        elif kind == "uncommitted":
            uncommitted += 1
    return Read(tuple(records), uncommitted)


def judge(group: str, by_producer: Iterable[Produced], of_group: Read, *, lost_is: Iterable[Number] = ()) -> Verdict:
    """What a group missed, got twice, or got late. Records of two logs come in no order, so order is judged in each of them. `lost_is`:
    records that are known to be lost, and that it need not have."""
    times = Counter(record for _, record in of_group.records)
    acked = {number for producer in by_producer for number in producer.acked}
    newest: dict[tuple[str, str, int], int] = defaultdict(lambda: -1)
    earlier: set[Number] = set()
    disordered = []
    for log, record in of_group.records:
        producer, partition, number = record
        place = (log, producer, partition)
        if record not in earlier and number < newest[place]:
            disordered.append(record)
        earlier.add(record)
        newest[place] = max(newest[place], number)
    return Verdict(
        group,
        len(times),
        tuple(sorted(acked - times.keys() - set(lost_is))),
        tuple(sorted(record for record, count in times.items() if count > 1)),
        tuple(disordered),
    )


def list_first(numbers: Iterable[Number]) -> str:
    """The first few records, for people."""
    names = [f"{producer}-{partition}#{number}" for producer, partition, number in sorted(numbers)]
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
