"""A record as a line of JSON, bytes intact, and where an export stands by the lines that a file has. Pure.

Key, value, and the names and values of headers are base64, for bytes need not be text. The line of a record is always the same bytes.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.policy.topic_names import unusable

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

    def line(self) -> bytes:
        """The record as a line of a file."""
        document = {
            "topic": self.source.topic,
            "partition": self.source.partition,
            "offset": self.offset,
            "timestamp": self.timestamp,
            TIMESTAMP_TYPE: self.timestamp_type,
            "leader_epoch": self.leader_epoch,
            "key": _text(self.key),
            "value": _text(self.value),
            HEADERS: [[_text(name), _text(value)] for name, value in self.headers],
        }
        return json.dumps(document, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def of(cls, line: bytes) -> "ExportedRecord":
        """The opposite of `line`. Raises ValueError or KeyError for a line that is none."""
        fields: Mapping[str, Any] = json.loads(line)
        headers = tuple((_bytes(name) or b"", _bytes(value)) for name, value in fields[HEADERS])
        return cls(
            TopicPartition(fields["topic"], fields["partition"]),
            fields["offset"],
            fields["timestamp"],
            fields[TIMESTAMP_TYPE],
            fields["leader_epoch"],
            _bytes(fields["key"]),
            _bytes(fields["value"]),
            headers,
        )


LINES, OPEN_LINES = ".jsonl", ".open.jsonl"
"""How the files of an export end: that of what can be read, and that of what stands behind an open transaction."""


def file_name(tp: TopicPartition, ending: str = LINES) -> str:
    """The file of a partition. Raises ValueError for what is no topic's name, and might lead out of the directory."""
    if why := unusable(tp.topic):
        raise ValueError(f"{tp.topic!r} is no topic: it {why}")
    return f"{tp}{ending}"


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
