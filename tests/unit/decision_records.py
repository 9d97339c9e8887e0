"""Decisions for tests: whatever does not matter in a test has a value here."""

from datetime import UTC, datetime
from typing import Any

from kafka_mirror.ledger.control_records import Decision

DECIDED_AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)

_FACTS: dict[str, dict[str, Any]] = {
    "accept-gap": {"watermark": 100},
    "skip-record": {"offset": 100},
    "restart": {
        "watermark": 100,
        "offset": 0,
        "source_topic_id": "source-topic-id",
        "target_topic": "east.orders",
        "target_topic_id": "target-topic-id",
        "target_end": None,
    },
    "accept-records": {"target_topic": "east.orders", "target_topic_id": "target-topic-id", "target_end": 120},
    "adopt-cluster": {"alias": "east", "cluster_id": "new-source-id"},
    "take-ownership": {"installation": "ours", "until": DECIDED_AT},
    "begin-ledger": {"ledger_id": "old-ledger", "found_id": None},
    "ledger": {"ledger_id": "old-ledger"},
    "throttle": {"bytes_per_second": 1_000_000},
    "moved": {"wave": "first"},
    "returned": {"wave": "first"},
    "wave": {"document": '{"began":1}'},
    "wave-group": {"document": '{"before":{}}'},
    "group-offsets": {"document": '{"runs":[]}'},
}


def decision(word: str, **facts: Any) -> Decision:
    """A decision about orders-0 (or the whole flow), bound to a healthy record of `ledger_record`; facts of other kinds are left out."""
    own = _FACTS.get(word, {})
    common = {"who": "ana@ops", "when": DECIDED_AT, "why": "seen"}
    where = {} if word in ("adopt-cluster", "take-ownership", "begin-ledger", "ledger", "throttle") else {"topic": "orders", "partition": 0}
    known = {**common, **where, **own}
    return Decision(word, **{name: facts.get(name, fact) for name, fact in known.items()})
