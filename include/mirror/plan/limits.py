"""The limits of a remote topic under which a record was refused: once they are others, the record is worth another try at once."""

from collections.abc import Iterable, Mapping

from mirror.errors import MirrorError
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.model import ConfigEntry
from mirror.offsets.partition import TopicPartition

_LIMITS = (
    "cleanup.policy",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
)
"""The configs by which a broker takes or refuses a single record (LogValidator)."""


def limits_text(configs: Mapping[str, ConfigEntry]) -> str:
    """The limits of a topic in one line, as the ledger notes them; empty if they are not known."""
    return " ".join(f"{name}={entry.value}" for name in _LIMITS if (entry := configs.get(name)) is not None)


def with_other_limits(
    target: Cluster, partitions: Iterable[TopicPartition], records: Mapping[TopicPartition, LedgerRecord]
) -> frozenset[TopicPartition]:
    """Those of the partitions that are stuck and whose remote topic has other limits now than when they were tried last.

    Of topics whose configs we may not read nothing is known: their records are tried again after a pause.
    """
    noted = {tp: (record.target_topic, record.blocked.limits) for tp in partitions if (record := records.get(tp)) and record.blocked}
    hidden: dict[str, MirrorError] = {}
    now = {
        name: limits_text(found) for name, found in target.configs({topic for topic, limits in noted.values() if limits}, hidden).items()
    }
    return frozenset(tp for tp, (topic, limits) in noted.items() if limits and now.get(topic, limits) != limits)
