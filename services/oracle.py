"""The independent witness: Kafka's own Java clients in one long-lived process, asked over JSON lines.

It produces awkward records, does what the Python clients cannot, and compares a topic with its mirror record by record. It uses none of
the mirror's code.
"""

import contextlib
import hashlib
import json
import queue
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from services.comparison import Account, Comparison
from services.java import LIBS, ROOT, java_command

SOURCES = Path(__file__).with_name("oracle")
CLASSES = ROOT / ".run" / "oracle"
UNTIL_FLUSHED_MS = 30_000
"""`linger.ms` where all is flushed at the end: so a slow machine does not split batches."""


class OracleError(RuntimeError):
    """Raised when a request failed; the message is what Kafka's client said."""


@dataclass(frozen=True)
class Record:
    """One record as Kafka's client reads or writes it. With a timestamp of None the client's clock is used; `offset` only when read."""

    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    partition: int = 0
    offset: int = -1
    timestamp_type: str = "CreateTime"


@dataclass(frozen=True)
class PartitionCount:
    """How many records a reader sees in [start, end)."""

    partition: int
    start: int
    end: int
    records: int


@dataclass(frozen=True)
class PartitionState:
    """A partition's leader (None: it has none), where its replicas are, and which of them are in sync."""

    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True)
class TopicState:
    """How many partitions a topic has, and what was set for the topic itself."""

    partitions: int
    configs: Mapping[str, str]


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a topic, how it is read, and where to begin and end in a partition (else all of it)."""

    bootstrap: str
    topic: str
    isolation: str = "read_committed"
    start: Mapping[int, int] = field(default_factory=dict)
    end: Mapping[int, int] = field(default_factory=dict)


class Oracle:
    """The Java process; a context manager. One request at a time, each with a limit of seconds after which it is an error."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._lock = threading.Lock()
        self._answers: queue.Queue[str] = queue.Queue()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Compiles its sources if they changed, and starts it; it ends by itself when this process does."""
        command = java_command("Oracle", heap="1g", options=("-XX:TieredStopAtLevel=1",), class_path=(compiled_classes(),))
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
        threading.Thread(target=self._read, args=(self._process,), daemon=True).start()
        self.call("ping")

    def stop(self) -> None:
        """Ends the process; transactions that are still open are left to their timeout."""
        if self._process and self._process.stdin:
            self._process.stdin.close()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    # ------------------------------------------------------------ reading

    def compare(self, source: Side, target: Side, *, seconds: float = 120) -> Comparison:
        """Reads both topics to their end, and compares partition p with partition p, in order."""
        return Comparison.of(self.call("compare", seconds, source=asdict(source), target=asdict(target)), source.topic, target.topic)

    def assert_mirrored(self, source: Side, target: Side, *, seconds: float = 120) -> Comparison:
        """Compares; raises AssertionError, which shows both sides at the first difference."""
        comparison = self.compare(source, target, seconds=seconds)
        assert comparison.equal, str(comparison)
        return comparison

    def account(self, source: Side, target: Side, *, seconds: float = 120) -> list[Account]:
        """Reads both topics to their end, and counts what is wrong with the target, partition by partition (Accountant.java)."""
        return [Account(**row) for row in self.call("account", seconds, source=asdict(source), target=asdict(target))]

    def digests(self, side: Side, *, seconds: float = 120) -> dict[int, list[tuple[int, int]]]:
        """Offset and digest (of all that a copy must have in common) of every record that a reader sees, by partition."""
        rows = self.call("digests", seconds, **asdict(side))
        return {int(partition): list(zip(row["offsets"], row["digests"], strict=True)) for partition, row in rows.items()}

    def count(self, bootstrap: str, topic: str, isolation: str = "read_committed", *, seconds: float = 120) -> list[PartitionCount]:
        """Start, end and visible records of each partition."""
        return [PartitionCount(**row) for row in self.call("count", seconds, bootstrap=bootstrap, topic=topic, isolation=isolation)]

    def dump(self, bootstrap: str, topic: str, isolation: str = "read_committed", *, seconds: float = 120) -> list[Record]:
        """Every record of a small topic, by partition and offset."""
        rows = self.call("dump", seconds, bootstrap=bootstrap, topic=topic, isolation=isolation)
        return sorted((_record(row) for row in rows), key=lambda record: (record.partition, record.offset))

    # ------------------------------------------------------------ writing

    def produce(self, bootstrap: str, topic: str, records: int, *, seconds: float = 120, **options: Any) -> dict[str, int]:
        """Produces generated records, equal for an equal `seed`; gives {"committed", "aborted"}.

        Options (Generator.java): seed, codec, min_size, max_size, null_keys, null_values, key_count, headers, timestamp (of the first),
        partition (else by chance), batch_size, linger_ms, producers, transactions (records per transaction; 0: none), abort_percent,
        transactional_id, text_size (of the text that values are cut out of: the larger, the less they compress).
        """
        answer: dict[str, int] = self.call("produce", seconds, bootstrap=bootstrap, topic=topic, records=records, **options)
        return answer

    def produce_records(self, bootstrap: str, topic: str, records: Iterable[Record], *, codec: str = "none", **client: str) -> list[int]:
        """Produces exactly these records; gives their offsets. `client`: further settings of the Java producer.

        The records of one partition become one batch, if it is not larger than 64 KB.
        """
        rows = self.call(
            "produce-records",
            bootstrap=bootstrap,
            topic=topic,
            codec=codec,
            client=client,
            linger_ms=UNTIL_FLUSHED_MS,
            records=_rows(records),
        )
        return [row["offset"] for row in rows]

    def produce_raw(
        self, bootstrap: str, topic: str, records: Iterable[Record], raw_header_keys: Iterable[bytes] = (), partition: int = 0
    ) -> int:
        """Produces one batch that no client makes, such as one with a timestamp of -1; each record gets these header keys. Gives the first
        offset."""
        rows = _rows(records)
        for row in rows:
            row["headers"] = [[name.encode().hex(), value] for name, value in row["headers"]] + [[key.hex(), ""] for key in raw_header_keys]
        offset: int = self.call("produce-raw", bootstrap=bootstrap, topic=topic, partition=partition, records=rows)["offset"]
        return offset

    def open_transaction(
        self, bootstrap: str, topic: str, transactional_id: str, records: Iterable[Record], *, timeout_ms: int = 60_000
    ) -> list[int]:
        """Begins or continues a transaction that stays open until `end_transaction`; gives the offsets of its records in the log."""
        rows = self.call(
            "open-transaction",
            bootstrap=bootstrap,
            topic=topic,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            linger_ms=UNTIL_FLUSHED_MS,
            records=_rows(records),
        )
        return [row["offset"] for row in rows]

    def end_transaction(self, transactional_id: str, outcome: str) -> None:
        """`outcome`: commit, abort, or abandon (its producer is gone, the broker's transaction timeout ends it)."""
        self.call("end-transaction", transactional_id=transactional_id, outcome=outcome)

    # ------------------------------------------------------------ administration

    def create_topic(
        self,
        bootstrap: str,
        topic: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replicas: Mapping[int, Sequence[int]] | None = None,
    ) -> str:
        """Creates it, waits until every partition has a leader, and gives its topic id. `replicas`: on which brokers each partition is,
        the preferred leader first, instead of a number of partitions."""
        described = self.call(
            "create-topic",
            bootstrap=bootstrap,
            topic=topic,
            partitions=partitions,
            configs=dict(configs or {}),
            replication=1,
            replicas=dict(replicas or {}),
        )
        return str(described["id"])

    def delete_topic(self, bootstrap: str, topic: str) -> None:
        """Deletes it and waits until metadata no longer shows it."""
        self.call("delete-topic", bootstrap=bootstrap, topic=topic)

    def topic_id(self, bootstrap: str, topic: str) -> str | None:
        """The topic's id; None if there is no such topic."""
        described = self.call("describe-topic", bootstrap=bootstrap, topic=topic)
        return str(described["id"]) if described["exists"] else None

    def partitions(self, bootstrap: str, topic: str) -> list[PartitionState]:
        """Leader and replicas of each partition, as metadata has them now."""
        described = self.call("describe-topic", bootstrap=bootstrap, topic=topic)
        rows = zip(described["leaders"], described["replicas"], described["in_sync"], strict=True)
        return [PartitionState(leader if leader >= 0 else None, tuple(replicas), tuple(in_sync)) for leader, replicas, in_sync in rows]

    def move_replicas(self, bootstrap: str, topic: str, replicas: Mapping[int, Sequence[int]]) -> None:
        """Gives partitions these replicas, the preferred leader first; whether they are in sync is another question."""
        self.call("move-replicas", bootstrap=bootstrap, topic=topic, replicas=dict(replicas))

    def elect_leaders(self, bootstrap: str, topic: str, partitions: Iterable[int], *, unclean: bool = False) -> None:
        """Elects the preferred leaders, as far as they are in sync, or with `unclean` any replica that is alive, whatever records it lacks;
        waits until all partitions have leaders."""
        election = "UNCLEAN" if unclean else "PREFERRED"
        self.call("elect-leaders", bootstrap=bootstrap, topic=topic, partitions=list(partitions), election=election)

    def transaction_coordinator(self, bootstrap: str, transactional_id: str) -> int:
        """The broker that decides the transactions of a transactional id."""
        broker: int = self.call("transaction-coordinator", bootstrap=bootstrap, transactional_id=transactional_id)["broker"]
        return broker

    def create_partitions(self, bootstrap: str, topic: str, partitions: int) -> None:
        """Adds partitions to the topic, up to this number in all."""
        self.call("create-partitions", bootstrap=bootstrap, topic=topic, partitions=partitions)

    def delete_records(self, bootstrap: str, topic: str, before: Mapping[int, int]) -> dict[int, int]:
        """Deletes the records before these offsets (-1: all); gives the new log start of each partition."""
        starts = self.call("delete-records", bootstrap=bootstrap, topic=topic, before=dict(before))
        return {int(partition): offset for partition, offset in starts.items()}

    def alter_configs(self, bootstrap: str, resource: str, configs: Mapping[str, str | None], type: str = "TOPIC") -> None:
        """Sets dynamic configs of a topic (or of a broker, `type="BROKER"`); None goes back to the default."""
        self.call("alter-configs", bootstrap=bootstrap, resource=resource, type=type, configs=dict(configs))

    def alter_quotas(self, bootstrap: str, client_id: str, quotas: Mapping[str, float | None]) -> None:
        """Sets quotas of one client id (producer_byte_rate, consumer_byte_rate, request_percentage); None takes one away."""
        self.call("alter-quotas", bootstrap=bootstrap, client_id=client_id, quotas=dict(quotas))

    def create_acls(self, bootstrap: str, acls: Iterable[Mapping[str, str]]) -> None:
        """Creates ACLs, each {"principal": "User:x", "type": "TOPIC", "name", "operation": "READ"}; optional: "pattern", "permission"."""
        self.call("create-acls", bootstrap=bootstrap, acls=[dict(acl) for acl in acls])

    def delete_acls(self, bootstrap: str, acls: Iterable[Mapping[str, str]]) -> None:
        """Deletes ACLs, given in the form of `create_acls`."""
        self.call("delete-acls", bootstrap=bootstrap, acls=[dict(acl) for acl in acls])

    def topics(self, bootstrap: str, topics: Iterable[str] = ()) -> dict[str, TopicState]:
        """The states of these topics (or of all that are not the brokers' own) by name."""
        rows = self.call("describe-topics", bootstrap=bootstrap, topics=list(topics))
        return {name: TopicState(**row) for name, row in rows.items()}

    def acls(self, bootstrap: str) -> list[dict[str, str]]:
        """Every ACL, in the form of create_acls with `pattern`, `permission` and `host`."""
        rows: list[dict[str, str]] = self.call("describe-acls", bootstrap=bootstrap)
        return rows

    # ------------------------------------------------------------ the wire

    def call(self, command: str, seconds: float = 60, **arguments: Any) -> Any:
        """Sends a request, and gives its answer; raises OracleError."""
        with self._lock:
            if self._process is None or self._process.stdin is None:
                raise OracleError("The oracle is not running.")
            self._process.stdin.write(json.dumps({"command": command, "seconds": seconds, **arguments}) + "\n")
            self._process.stdin.flush()
            try:
                line = self._answers.get(timeout=seconds + 10)
            except queue.Empty:
                self._process.kill()  # a late answer must not be taken for the next request's
                raise OracleError(f"{command} took longer than {seconds:g} s, so the oracle was ended; see {self.log}") from None
        if not line:
            raise OracleError(f"The oracle ended during {command}; see {self.log}")
        answer = json.loads(line)
        if "error" in answer:
            raise OracleError(f"{command}: {answer['error']}")
        return answer["answer"]

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._answers.put(line)
        self._answers.put("")


def compiled_classes(folder: Path = SOURCES) -> Path:
    """The directory of a folder's compiled Java sources, named by what they contain; compiles them if it does not exist yet."""
    sources = sorted(folder.glob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    classes = CLASSES / digest[:16]
    if not classes.exists():
        CLASSES.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CLASSES) as fresh:
            output = Path(fresh) / "classes"
            command = ["javac", "-Xlint:all", "-Werror", "-d", str(output), "-cp", str(LIBS / "*"), *map(str, sources)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise OracleError(f"The Java sources in {folder} do not compile:\n{done.stdout}{done.stderr}")
            with contextlib.suppress(OSError):  # another process was faster, with an equal result
                output.rename(classes)
    return classes


def _rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    return [
        {
            "partition": record.partition,
            "timestamp": record.timestamp,
            "key": None if record.key is None else record.key.hex(),
            "value": None if record.value is None else record.value.hex(),
            "headers": [[name, None if value is None else value.hex()] for name, value in record.headers],
        }
        for record in records
    ]


def _record(row: dict[str, Any]) -> Record:
    return Record(
        key=_bytes(row["key"]),
        value=_bytes(row["value"]),
        headers=tuple((name, _bytes(value)) for name, value in row["headers"]),
        timestamp=row["timestamp"],
        partition=row["partition"],
        offset=row["offset"],
        timestamp_type=row["timestamp_type"],
    )


def _bytes(hexadecimal: str | None) -> bytes | None:
    return None if hexadecimal is None else bytes.fromhex(hexadecimal)
