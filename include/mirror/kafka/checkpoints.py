"""The checkpoints topic: MirrorMaker 2's records, and beside each of ours, as headers, the generation that it was made in and what is known
of its place.

Key and value are MirrorMaker 2's byte for byte; its readers do not look at headers.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from mirror.errors import InternalRecordDamaged, MirrorError
from mirror.formats import checkpoint
from mirror.formats.message_headers import headers_or_none
from mirror.kafka.cluster import Cluster
from mirror.kafka.mm2_topics import READ_SECONDS, end_of
from mirror.kafka.reading import BoundedReader
from mirror.kafka.writing import Outgoing, RecordWriter
from mirror.offsets.checkpoint_rules import Candidate, Stored, key_of
from mirror.offsets.partition import TopicPartition

GENERATION = "mirror.generation"
PLACE = "mirror.place"


def read_stored(
    target: Cluster, settings: Mapping[str, Any], topic: str
) -> tuple[dict[tuple[str, TopicPartition], Stored], list[MirrorError]]:
    """The newest checkpoint of each group and remote partition, and the records that are none; nothing if there is no such topic."""
    end = end_of(target, topic)
    found: dict[tuple[str, TopicPartition], Stored] = {}
    damaged: list[MirrorError] = []
    for message in BoundedReader(target.alias, settings, committed=False).read({TopicPartition(topic, 0): (0, end or 0)}, READ_SECONDS):
        try:
            read = checkpoint.decode(message.key(), message.value())
        except ValueError as failure:
            damaged.append(InternalRecordDamaged(topic, int(message.offset() or 0), str(failure)))
            continue
        headers = headers_or_none(message)
        found[key_of(read)] = Stored(read, _header(headers, GENERATION), _header(headers, PLACE) or "")
    return found, damaged


def write_checkpoints(alias: str, settings: Mapping[str, Any], topic: str, due: Iterable[Candidate], time_ms: int, seconds: float) -> None:
    """Writes them, stamped with the time at which the groups were looked at; all of them are acknowledged, or it raises."""
    RecordWriter(alias, settings, seconds).write((_outgoing(topic, each, time_ms) for each in due), "checkpoints")


def _outgoing(topic: str, candidate: Candidate, time_ms: int) -> Outgoing:
    told = {GENERATION: candidate.generation, PLACE: candidate.place}
    headers = [(name, text.encode()) for name, text in told.items() if text and candidate.generation]
    return Outgoing(topic, candidate.checkpoint.key, candidate.checkpoint.value, time_ms, headers=tuple(headers))


def _header(headers: Any, wanted: str) -> str | None:
    found = [value for name, value in headers or () if name == wanted]
    return bytes(found[-1]).decode("ascii", "replace") if found and found[-1] is not None else None
