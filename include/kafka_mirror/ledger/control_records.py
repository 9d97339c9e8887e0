"""The records of the control topic: what people decided about a flow, each with who, when and why, and which ledger is the flow's.

The control topic is compacted and has one partition on the target. Its key is the JSON array `[word, topic, partition]` (null where a
decision concerns no topic or all partitions; for `adopt-cluster` the alias stands in the topic's place), its value a JSON object that
begins with the format's version. A decision is bound to what the person saw (a watermark, an id, an offset): once that has changed, it is
used up, and stays in the topic as history. Field names and meanings are for keeps.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka_mirror.errors import ControlUnreadable
from kafka_mirror.formats.documents import count, moment, moment_text, parse_json, string

VERSION = 1

ACCEPT_GAP, SKIP_RECORD, RESTART, ACCEPT_RECORDS = "accept-gap", "skip-record", "restart", "accept-records"
OF_A_PARTITION = (RESTART, ACCEPT_GAP, SKIP_RECORD, ACCEPT_RECORDS)
"""Decisions about the offsets of one partition, in the order in which they are acted on: a restart decides what the others are held
against."""
PAUSE, RESUME = "pause", "resume"
ADOPT_CLUSTER, TAKE_OWNERSHIP, BEGIN_LEDGER = "adopt-cluster", "take-ownership", "begin-ledger"
BEGIN_CONTROL = "begin-control"
"""Taken by a person, and written as the record of which ledger is the flow's (LEDGER): with it the control topic is whole again."""
THROTTLE = "throttle"
HANDED_BACK, TAKEN_OVER = "handed-back", "taken-over"
"""Who mirrors the flow since: MirrorMaker 2 again, or this mirror. Of a flow that was never handed back nothing stands here."""
UNLIMITED = -1
"""The rate of a flow that is not throttled."""
LEDGER = "ledger"
"""Not a decision: which ledger is the flow's, written by the plan that began it."""
CLOSED, REOPENED = "closed", "reopened"
"""Whether the flow copies anything: not since a failover away from its source, which may come back with other records, until somebody
decides."""
MOVED, RETURNED = "moved", "returned"
"""Where a topic is written since a cutover: on the flow's target, so that the flow copies it no more, or on its source again."""
WAVE, WAVE_GROUP = "wave", "wave-group"
"""Not decisions: what a cutover did so far for a wave, and where the wave's groups stood on the target before it. The name of the wave, or
of wave and group with a slash between them, stands in the topic's place."""
GROUP_OFFSETS = "group-offsets"
"""Not a decision: where a group stood on the target before runs of `group-offsets` committed for it. The group's name stands in the
topic's place."""
NOTES = (LEDGER, WAVE, WAVE_GROUP, GROUP_OFFSETS)
"""What the mirror writes for itself."""

CONFIGURATION_KEY = b'["configuration",null,null]'
"""The key of a record without value. It decides nothing: lanes that follow watch the topic's end, and end for a new plan."""

Key = tuple[str, str | None, int | None]

_OPPOSITES = {RESUME: PAUSE, TAKEN_OVER: HANDED_BACK, RETURNED: MOVED, REOPENED: CLOSED}
"""Decisions that stand under the key of what they take back."""


@dataclass(frozen=True)
class Decision:
    """What was decided, about which topic and partition, by whom, when and why; and what it is bound to, as far as it is of its kind."""

    decision: str
    who: str
    when: datetime
    why: str
    topic: str | None = None
    partition: int | None = None
    watermark: int | None = None
    """The watermark that was seen (accept-gap, restart)."""
    offset: int | None = None
    """The source offset of the record to pass over (skip-record), or at which to go on (restart)."""
    source_topic_id: str | None = None
    target_topic: str | None = None
    target_topic_id: str | None = None
    """The remote topic that was seen; of a restart None if there was none, and one was to be created."""
    target_end: int | None = None
    """The end of the remote partition: records in front of it may stay (accept-records), or nothing that can be read is left after it
    (restart after the target lost records, else None)."""
    alias: str | None = None
    cluster_id: str | None = None
    installation: str | None = None
    until: datetime | None = None
    """Records that another installation wrote until then are no obstacle (take-ownership)."""
    ledger_id: str | None = None
    """The topic id of the ledger that is the flow's (ledger), or that is gone (begin-ledger)."""
    found_id: str | None = None
    """The topic id of the ledger to begin with, None if there was none (begin-ledger)."""
    bytes_per_second: int | None = None
    """How fast the flow may copy; -1: as fast as it can, None: as the properties say (throttle)."""
    wave: str | None = None
    """The wave with which the topic moved (moved, returned)."""
    document: str | None = None
    """What is noted, as the text of a JSON object (wave, wave-group, group-offsets)."""

    @property
    def key(self) -> Key:
        """What the decision is about: a newer one with the same key replaces it."""
        word = _OPPOSITES.get(self.decision, self.decision)
        return (word, self.alias if self.topic is None else self.topic, self.partition)

    def describe_as(self, what: str) -> str:
        """What was done by it, then who decided it, when and why."""
        return f"{what} by {self.who} at {moment_text(self.when)}: {self.why}"

    def __str__(self) -> str:
        return self.describe_as(self.decision)


_Reader = Callable[[Mapping[str, Any], str], Any]


def _read_optional(reader: _Reader) -> _Reader:
    return lambda fields, name: None if fields[name] is None else reader(fields, name)


def _read_rate(fields: Mapping[str, Any], name: str) -> int:
    if type(fields[name]) is int and fields[name] == UNLIMITED:
        return UNLIMITED
    if not (rate := count(fields, name)):
        raise ValueError(f"{name} is 0")
    return rate


def _write_document(fields: Mapping[str, Any], name: str) -> str:
    if not isinstance(fields[name], dict):
        raise TypeError(f"{name} is no object")
    return _write_json(fields[name])


def _write_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


_FACTS: Mapping[str, Mapping[str, _Reader]] = {
    ACCEPT_GAP: {"watermark": count},
    SKIP_RECORD: {"offset": count},
    RESTART: {
        "watermark": count,
        "offset": count,
        "source_topic_id": string,
        "target_topic": string,
        "target_topic_id": _read_optional(string),
        "target_end": _read_optional(count),
    },
    ACCEPT_RECORDS: {"target_topic": string, "target_topic_id": string, "target_end": count},
    PAUSE: {},
    RESUME: {},
    ADOPT_CLUSTER: {"alias": string, "cluster_id": string},
    TAKE_OWNERSHIP: {"installation": string, "until": moment},
    BEGIN_LEDGER: {"ledger_id": string, "found_id": _read_optional(string)},
    HANDED_BACK: {},
    TAKEN_OVER: {},
    LEDGER: {"ledger_id": string},
    THROTTLE: {"bytes_per_second": _read_optional(_read_rate)},
    CLOSED: {},
    REOPENED: {},
    MOVED: {"wave": string},
    RETURNED: {"wave": string},
    WAVE: {"document": _write_document},
    WAVE_GROUP: {"document": _write_document},
    GROUP_OFFSETS: {"document": _write_document},
}


def encode_key(decision: Decision) -> bytes:
    """The key under which the decision stands in the control topic."""
    return _write_json(decision.key).encode()


def encode(decision: Decision) -> bytes:
    """The decision as the value of a record."""
    return _write_json(as_document(decision)).encode()


def decode(value: bytes, where: str) -> Decision:
    """The decision of a record. Raises ControlUnreadable, in whose message `where` names the record."""
    try:
        return from_document(parse_json(value))
    except (ValueError, TypeError, KeyError, AttributeError) as failure:
        raise ControlUnreadable(where, f"{type(failure).__name__}: {failure}") from failure


def as_document(decision: Decision) -> dict[str, Any]:
    """The decision as JSON takes it, with the facts of its kind."""
    facts = {name: getattr(decision, name) for name in _FACTS[decision.decision]}
    return {
        "v": VERSION,
        "decision": decision.decision,
        "topic": decision.topic,
        "partition": decision.partition,
        **{name: _read_fact(name, fact) for name, fact in facts.items()},
        "who": decision.who,
        "when": moment_text(decision.when),
        "why": decision.why,
    }


def _read_fact(name: str, fact: Any) -> Any:
    if name == "document":
        return json.loads(fact)
    return moment_text(fact) if isinstance(fact, datetime) else fact


def from_document(fields: Mapping[str, Any]) -> Decision:
    """Reads a decision from its JSON. Raises ValueError, TypeError or KeyError for any other document."""
    version = fields["v"]
    if type(version) is not int or version != VERSION:
        raise ValueError(f"its version is {version!r}, and this mirror knows version {VERSION}")
    word = string(fields, "decision")
    if word not in _FACTS:
        raise ValueError(f"there is no decision {word!r}")
    partial = word not in OF_A_PARTITION
    return Decision(
        decision=word,
        who=string(fields, "who"),
        when=moment(fields, "when"),
        why=string(fields, "why"),
        topic=(_read_optional(string) if partial else string)(fields, "topic"),
        partition=(_read_optional(count) if partial else count)(fields, "partition"),
        **{name: reader(fields, name) for name, reader in _FACTS[word].items()},
    )
