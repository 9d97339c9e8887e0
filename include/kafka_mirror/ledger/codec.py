"""The ledger's records as bytes.

The ledger is a compacted topic on the target with one partition a lane. Its key is the JSON array `[topic, partition]`, its value a JSON
object that begins with the format's version, so that any console consumer shows it readably. Field names and meanings are for keeps.
"""

import json
from typing import Any

from kafka_mirror.errors import LedgerDamaged, LedgerTooNew
from kafka_mirror.formats.documents import count, moment, moment_text, parse_json, string, whole
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.map import OffsetMap, decode_map
from kafka_mirror.formats.offsets.older_copies import OlderCopies
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.control_records import MOVED
from kafka_mirror.ledger.record import (
    MAX_INTERVALS,
    MAX_PLACES,
    Blocked,
    Decided,
    History,
    HistoryTopic,
    LastRecord,
    LedgerRecord,
    Skipped,
    SourceEnd,
    Writer,
    merge_skips,
)

VERSION = 1
_ERROR_SEPARATOR = ": "
"""Stands between code and message of the error at which a partition is stuck. A code is a class name, so the first one is it."""
_OLDER = ("start", "end", "restarted", "lacking")


def encode_key(partition: TopicPartition) -> bytes:
    """The ledger key of a source partition."""
    return json.dumps([partition.topic, partition.partition], separators=(",", ":"), ensure_ascii=False).encode()


def decode_key(key: bytes | None, where: str) -> TopicPartition:
    """The source partition of a ledger key. Raises LedgerDamaged; `where` names the record in its message."""
    try:
        topic, partition = parse_json(key or b"")
        if type(topic) is not str or type(partition) is not int:
            raise TypeError("the topic must be a string, the partition a whole number")
    except (ValueError, TypeError) as failure:
        raise LedgerDamaged(where, f"its key {key!r} is not a JSON array of topic and partition ({failure})") from failure
    return TopicPartition(topic, partition)


def encode(record: LedgerRecord) -> bytes:
    """The ledger value of a record."""
    runs, pairs = record.offset_map.encode()
    value: dict[str, Any] = {
        "v": VERSION,
        "watermark": record.watermark,
        "leader_epoch": record.leader_epoch,
        "source_topic_id": record.source_topic_id,
        "target_topic": record.target_topic,
        "target_topic_id": record.target_topic_id,
        "target_next": record.target_next,
        "source_cluster_id": record.source_cluster_id,
        "target_cluster_id": record.target_cluster_id,
        "lanes": record.lanes,
        "covered": record.covered[-MAX_INTERVALS:],
        # The count stands only where not all offsets between were passed over.
        "skipped": [
            [skip.start, skip.end, skip.reason, *(() if skip.count is None else (skip.count,))] for skip in merge_skips(record.skipped)
        ],
        "history": record.history[-MAX_INTERVALS:],
        "records": record.records,
        "bytes": record.bytes,
        "offset_map": runs,
        "writer": {
            "installation": record.writer.installation,
            "host": record.writer.host,
            "run": record.writer.run,
            "time": moment_text(record.writer.time),
        },
        "blocked": _write_blocked(record.blocked) if record.blocked else None,
        **_write_optional(record, pairs),
    }
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _write_optional(record: LedgerRecord, pairs: str | None) -> dict[str, Any]:
    """The fields that stand only where they say something, so that records without them have the bytes that they always had."""
    last, older, end = record.last, record.older, record.source_end
    closed = record.handed_back or record.moved  # a reader that does not know `moved` leaves alone what was handed back
    value = {
        "decided": record.decided and _write_decided(record.decided),
        "last": last and {"timestamp": last.timestamp, "read": last.read, "acknowledged": last.acknowledged},
        "start": record.start,
        "history_topics": [_write_history(history_topic) for history_topic in record.history_topics] or None,
        "thinned_behind": record.offset_map.thinned_behind or None,
        "offset_map_pairs": pairs or None,
        "older": older and _write_older(older),
        "moved": record.moved and _write_decided(record.moved),
        "handed_back": closed and _write_decided(closed),
        "earlier": {"records": record.earlier[0], "bytes": record.earlier[1]} if record.earlier != (0, 0) else None,
        "source_end": end and {"offset": end.offset, "time": moment_text(end.time)},
    }
    return {name: field for name, field in value.items() if field is not None}


def decode(value: bytes, where: str) -> LedgerRecord:
    """The record of a ledger value. Raises LedgerTooNew or LedgerDamaged; `where` names the record in their messages."""
    try:
        fields = parse_json(value)
        version = fields["v"]
    except (ValueError, TypeError, KeyError) as failure:
        raise LedgerDamaged(where, f"it is not a JSON object with a version ({failure})") from failure
    if type(version) is int and version > VERSION:
        raise LedgerTooNew(where, version, VERSION)
    try:
        return _read_record(fields)
    except (ValueError, TypeError, KeyError, AttributeError) as failure:
        raise LedgerDamaged(where, f"{type(failure).__name__}: {failure}") from failure


def _read_record(fields: dict[str, Any]) -> LedgerRecord:
    if count(fields, "v") != VERSION:
        raise ValueError(f"version {fields['v']!r} does not exist")
    writer, blocked, last, epoch = fields["writer"], fields["blocked"], fields.get("last"), fields["leader_epoch"]
    decided, moved, closed = (_read_decided(fields[name]) if name in fields else None for name in ("decided", "moved", "handed_back"))
    end = fields.get("source_end")
    return LedgerRecord(
        watermark=count(fields, "watermark"),
        leader_epoch=None if epoch is None else count(fields, "leader_epoch"),
        source_topic_id=string(fields, "source_topic_id"),
        target_topic=string(fields, "target_topic"),
        target_topic_id=string(fields, "target_topic_id"),
        target_next=count(fields, "target_next"),
        source_cluster_id=string(fields, "source_cluster_id"),
        target_cluster_id=string(fields, "target_cluster_id"),
        lanes=count(fields, "lanes"),
        offset_map=_read_map(fields),
        writer=Writer(string(writer, "installation"), string(writer, "host"), string(writer, "run"), moment(writer, "time")),
        covered=_read_intervals(fields["covered"]),
        skipped=tuple(_read_skip(*field) for field in _read_list(fields["skipped"])),
        history=_read_intervals(fields["history"]),
        records=count(fields, "records"),
        bytes=count(fields, "bytes"),
        blocked=None if blocked is None else _read_blocked(blocked),
        decided=decided,
        last=None if last is None else LastRecord(*(whole(last[name], name) for name in ("timestamp", "read", "acknowledged"))),
        start=count(fields, "start") if "start" in fields else None,
        history_topics=tuple(_read_history(field) for field in _read_list(fields.get("history_topics", []))),
        older=_read_older(fields["older"]) if "older" in fields else None,
        handed_back=None if moved and closed and closed.decision == MOVED else closed,
        earlier=(count(fields["earlier"], "records"), count(fields["earlier"], "bytes")) if "earlier" in fields else (0, 0),
        moved=moved,
        source_end=None if end is None else SourceEnd(count(end, "offset"), moment(end, "time")),
    )


def _read_map(fields: dict[str, Any]) -> OffsetMap:
    """The map of a document, with what stands beside it."""
    if fields.get("thinned_behind", True) is not True:
        raise ValueError(f"thinned_behind is {fields['thinned_behind']!r}")
    pairs = string(fields, "offset_map_pairs") if "offset_map_pairs" in fields else None
    return decode_map(string(fields, "offset_map"), pairs, "thinned_behind" in fields)


def _read_older(fields: dict[str, Any]) -> OlderCopies:
    offset_map = _read_map(fields) if "offset_map" in fields else None
    start, end, restarted, lacking = (count(fields, name) for name in _OLDER)
    return OlderCopies(start, end, restarted, lacking, offset_map)


def _write_older(older: OlderCopies) -> dict[str, Any]:
    document: dict[str, Any] = {name: getattr(older, name) for name in _OLDER}
    if older.offset_map is not None:
        document["offset_map"], pairs = older.offset_map.encode()
        if older.offset_map.thinned_behind:
            document["thinned_behind"] = True
        if pairs:
            document["offset_map_pairs"] = pairs
    return document


def _write_blocked(stuck: Blocked) -> dict[str, Any]:
    document: dict[str, Any] = {
        "offset": stuck.offset,
        "error": f"{stuck.code}{_ERROR_SEPARATOR}{stuck.message}",
        "since": moment_text(stuck.since),
        "tries": stuck.tries,
    }
    if stuck.tried is not None:
        document["tried"] = moment_text(stuck.tried)
    if stuck.limits:
        document["limits"] = stuck.limits
    if stuck.end is not None:
        document["end"] = stuck.end
    return document


def _write_decided(decided: Decided) -> dict[str, Any]:
    return {"decision": decided.decision, "who": decided.who, "when": moment_text(decided.when), "why": decided.why}


def _read_blocked(fields: dict[str, Any]) -> Blocked:
    code, separator, message = string(fields, "error").partition(_ERROR_SEPARATOR)
    if not separator:
        raise ValueError(f"error is {fields['error']!r}, and has no code")
    return Blocked(
        count(fields, "offset"),
        code,
        message,
        moment(fields, "since"),
        count(fields, "tries"),
        tried=moment(fields, "tried") if "tried" in fields else None,
        limits=string(fields, "limits") if "limits" in fields else "",
        end=count(fields, "end") if "end" in fields else None,
    )


def _read_decided(fields: dict[str, Any]) -> Decided:
    return Decided(string(fields, "decision"), string(fields, "who"), moment(fields, "when"), string(fields, "why"))


def _read_intervals(pairs: Any) -> tuple[Interval, ...]:
    return tuple((whole(start, "start"), whole(end, "end")) for start, end in _read_list(pairs))


def _read_list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise ValueError(f"{value!r} is not a list")
    return value


def _read_skip(start: Any, end: Any, reason: Any, *number: Any) -> Skipped:
    (counted,) = number or (None,)
    fields = {"reason": reason}
    return Skipped(whole(start, "start"), whole(end, "end"), string(fields, "reason"), whole(counted, "count") if number else None)


def _write_history(history_topic: HistoryTopic) -> dict[str, Any]:
    return {
        "topic": history_topic.topic,
        "topic_id": history_topic.topic_id,
        "target_next": history_topic.target_next,
        "intervals": history_topic.intervals,
        "places": [[place.start, place.end, place.target_start, place.target_end] for place in history_topic.places[-MAX_PLACES:]],
        "records": history_topic.records,
        "bytes": history_topic.bytes,
    }


def _read_history(fields: dict[str, Any]) -> HistoryTopic:
    topic = string(fields, "topic")
    return HistoryTopic(
        topic=topic,
        topic_id=string(fields, "topic_id"),
        target_next=count(fields, "target_next"),
        intervals=tuple((whole(start, "start"), whole(end, "end")) for start, end in fields["intervals"]),
        places=tuple(_read_place(topic, *field) for field in fields["places"]),
        records=count(fields, "records"),
        bytes=count(fields, "bytes"),
    )


def _read_place(topic: str, start: Any, end: Any, target_start: Any, target_end: Any) -> History:
    numbers = (whole(start, "start"), whole(end, "end"), whole(target_start, "target_start"), whole(target_end, "target_end"))
    return History(*numbers[:2], topic, *numbers[2:])
