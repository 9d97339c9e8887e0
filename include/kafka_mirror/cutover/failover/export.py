"""The files of an export: one of JSON lines for each partition, and a description that says of which records they are.

A record is one line, always of the same bytes. Key, value, and the names and values of headers are base64, for bytes need not be text.

A file only grows. A repeated export cuts off a line that was not written whole, and continues after the last one. So the same records are
the same bytes however often it was interrupted.

What comes after the begin of an open transaction has files and a description of its own: it is unknown which of it is committed.
"""

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from kafka_mirror.errors import ExportDiffers, ExportFailed
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.policy.selection import unusable

DESCRIPTION, OPEN_DESCRIPTION = "export.json", "export.open.json"
VERSION = 1
_BLOCK = 1 << 20
_OWNER_ENTERS, _OWNER_READS = 0o700, 0o600
"""Records are for the user who exports them: of the directory, where the export makes it, and of the files."""
_IDENTITY = ("topic_id", "start")
LINES, OPEN_LINES = ".jsonl", ".open.jsonl"
"""How the files of an export end: that of what can be read, and that of what follows the begin of an open transaction."""
HEADERS, TIMESTAMP_TYPE = "headers", "timestamp_type"
TIMESTAMP_TYPES = {0: "none", 1: "create", 2: "log-append"}
"""By the client's number: no timestamp, the producer's, the broker's."""


class ExportedRecord(NamedTuple):
    """A record of the source. `timestamp` is in Unix milliseconds; `timestamp_type` one of TIMESTAMP_TYPES; `leader_epoch` of its batch."""

    source: TopicPartition
    offset: int
    timestamp: int
    timestamp_type: str
    leader_epoch: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()

    def to_line(self) -> bytes:
        """The record as a line of a file."""
        document = {
            "topic": self.source.topic,
            "partition": self.source.partition,
            "offset": self.offset,
            "timestamp": self.timestamp,
            TIMESTAMP_TYPE: self.timestamp_type,
            "leader_epoch": self.leader_epoch,
            "key": _encode(self.key),
            "value": _encode(self.value),
            HEADERS: [[_encode(name), _encode(value)] for name, value in self.headers],
        }
        return json.dumps(document, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "ExportedRecord":
        """The record that a line of a file holds. Raises ValueError or KeyError for a line that is none."""
        fields: Mapping[str, Any] = json.loads(line)
        headers = tuple((_decode(name) or b"", _decode(value)) for name, value in fields[HEADERS])
        return cls(
            TopicPartition(fields["topic"], fields["partition"]),
            fields["offset"],
            fields["timestamp"],
            fields[TIMESTAMP_TYPE],
            fields["leader_epoch"],
            _decode(fields["key"]),
            _decode(fields["value"]),
            headers,
        )


class ExportFiles:
    """The directory of one export. Its methods raise ExportFailed for what the file system says."""

    def __init__(self, directory: Path, flow_name: str, cluster_id: str, is_open: bool = False) -> None:
        """`is_open`: the files are those of what follows the begin of open transactions."""
        self._directory = directory
        self._ending, self._described = (OPEN_LINES, OPEN_DESCRIPTION) if is_open else (LINES, DESCRIPTION)
        self._identity = {"v": VERSION, "flow": flow_name, "source_cluster_id": cluster_id}

    def begin(self, partitions: Mapping[TopicPartition, Mapping[str, Any]]) -> None:
        """Writes the description of what is to come; `partitions` has `topic_id` of each, and `start` where it is fixed. Raises
        ExportDiffers if the directory has another export: of partitions that are not among these it keeps what it says."""
        try:
            self._directory.mkdir(_OWNER_ENTERS, parents=True, exist_ok=True)
            noted = self._read_description()
            ours = [path for path in self._directory.glob(f"*{LINES}") if path.name.endswith(OPEN_LINES) == (self._ending == OPEN_LINES)]
            if noted is None and ours:
                raise ExportDiffers(str(self._directory), f"it has files without {self._described}")
            for tp, fields in partitions.items():
                self._check(tp, fields, noted or {})
            of_before = (noted or {}).get("partitions", {})
            self._write({**of_before, **{str(tp): {**of_before.get(str(tp), {}), **fields} for tp, fields in partitions.items()}})
        except OSError as failure:
            raise ExportFailed(str(self._directory), str(failure)) from failure

    def find_next_offset(self, tp: TopicPartition, start: int) -> int:
        """Cuts off an incomplete last line and gives the offset with which a partition's file continues; `start` for a new file."""
        path = self._directory / file_name(tp, self._ending)
        try:
            if not path.exists():
                return start
            with _open(path, os.O_RDWR) as file:
                last = _cut_to_last_line(file)
                os.fsync(file.fileno())
            return start if last is None else ExportedRecord.from_line(last).offset + 1
        except (OSError, ValueError, KeyError) as failure:
            raise ExportFailed(str(path), f"it cannot be continued: {failure}") from failure

    def append(self, tp: TopicPartition, records: Iterable[ExportedRecord]) -> None:
        """Writes records after those that are there."""
        path = self._directory / file_name(tp, self._ending)
        try:
            with _open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file:
                file.writelines(record.to_line() for record in records)
        except OSError as failure:
            raise ExportFailed(str(path), str(failure)) from failure

    def finish(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Makes all files durable, writes into the description how far each goes, with its digest, and gives how many records each has."""
        try:
            partitions = dict((self._read_description() or {}).get("partitions", {}))
            counts = {}
            for tp, end in ends.items():
                path = self._directory / file_name(tp, self._ending)
                _open(path, os.O_WRONLY | os.O_CREAT).close()
                counts[tp], digest = _count_lines(path)
                entry = {"end": end, "file": path.name, "records": counts[tp], "sha256": digest}
                partitions[str(tp)] = {**partitions.get(str(tp), {}), **entry}
            self._write(partitions)
            return counts
        except OSError as failure:
            raise ExportFailed(str(self._directory), str(failure)) from failure

    def _check(self, tp: TopicPartition, fields: Mapping[str, Any], noted: Mapping[str, Any]) -> None:
        before = noted.get("partitions", {}).get(str(tp))
        for name, value in (*self._identity.items(), *(((n, fields[n]) for n in _IDENTITY if n in fields) if before is not None else ())):
            there = (before if name in _IDENTITY else noted).get(name, value) if noted else value
            if there != value:
                raise ExportDiffers(
                    str(self._directory), f"its {name} is {there!r}{f' for {tp}' if name in _IDENTITY else ''}, not {value!r}"
                )

    def _read_description(self) -> dict[str, Any] | None:
        path = self._directory / self._described
        try:
            description = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as failure:
            raise ExportDiffers(str(self._directory), f"{self._described} is not ours: {failure}") from failure
        if not isinstance(description, dict):
            raise ExportDiffers(str(self._directory), f"{self._described} is not ours")
        return description

    def _write(self, partitions: Mapping[str, Any]) -> None:
        """Replaces the description as a whole, durably."""
        text = json.dumps({**self._identity, "partitions": {name: partitions[name] for name in sorted(partitions)}}, indent=2)
        path, new = self._directory / self._described, self._directory / f".{self._described}.new"
        with _open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            file.write(f"{text}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        with suppress(OSError):  # not every file system lets a directory be synchronised
            folder = os.open(self._directory, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _open(path: Path, flags: int) -> BinaryIO:
    """Opens a file that only its owner reads, whatever the umask. Raises OSError for a symbolic link, which would lead elsewhere."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW, _OWNER_READS)
    try:
        os.fchmod(descriptor, _OWNER_READS)
        mode = "rb" if flags & os.O_ACCMODE == os.O_RDONLY else "r+b" if flags & os.O_RDWR else "wb"
        return cast(BinaryIO, os.fdopen(descriptor, mode))
    except BaseException:
        os.close(descriptor)
        raise


def _cut_to_last_line(file: BinaryIO) -> bytes | None:
    """The last whole line of a file, which is cut off after it; None if it has none."""
    end = file.seek(0, os.SEEK_END)
    tail, at = b"", end
    while at > 0 and tail.count(b"\n") < 2:
        step = min(_BLOCK, at)
        at = file.seek(at - step)
        tail = file.read(step) + tail
    whole = tail[: tail.rfind(b"\n") + 1]
    file.truncate(at + len(whole))
    lines = whole.splitlines()
    return lines[-1] if lines else None


def _count_lines(path: Path) -> tuple[int, str]:
    """How many lines a file has, and its SHA-256; it is durable then."""
    digest, lines = hashlib.sha256(), 0
    with _open(path, os.O_RDONLY) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            lines += block.count(b"\n")
        os.fsync(file.fileno())
    return lines, digest.hexdigest()


def file_name(tp: TopicPartition, ending: str = LINES) -> str:
    """The file of a partition. Raises ValueError for what is no topic's name, and might lead out of the directory."""
    if why := unusable(tp.topic):
        raise ValueError(f"{tp.topic!r} is no topic: it {why}")
    return f"{tp}{ending}"


def _encode(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _decode(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
