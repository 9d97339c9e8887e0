"""A ledger record for tests: whatever does not matter in a test has a value here."""

from datetime import UTC, datetime
from typing import Any

from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.ledger.record import LedgerRecord, Writer

WRITTEN_AT = datetime(2026, 11, 21, 7, 59, tzinfo=UTC)


def ledger_record(**fields: Any) -> LedgerRecord:
    """A record of a healthy partition with these fields."""
    healthy = {
        "watermark": 100,
        "leader_epoch": 0,
        "source_topic_id": "source-topic-id",
        "target_topic": "east.orders",
        "target_topic_id": "target-topic-id",
        "target_next": 100,
        "source_cluster_id": "source-id",
        "target_cluster_id": "target-id",
        "lanes": 16,
        "offset_map": OffsetMap(),
        "writer": Writer("", "host", "run", WRITTEN_AT),
        "records": 100,
    }
    return LedgerRecord(**{**healthy, **fields})
