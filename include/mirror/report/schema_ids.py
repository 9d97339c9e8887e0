"""Which topics carry a schema registry's ids: the newest record of a few partitions a topic is looked at, now and then.

It is read from the target, where the copy stands, so that the source is left in peace. A few topics each time, so that it stays cheap.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mirror.errors import MirrorError
from mirror.formats.message_headers import headers_or_none
from mirror.formats.schema_registry import has_id_in_header, schema_id
from mirror.kafka.reading import BoundedReader
from mirror.offsets.partition import TopicPartition
from mirror.report.oldest import SMALL_FETCHES
from mirror.report.snapshot import SchemaIds

if TYPE_CHECKING:
    from mirror.config import Flow

TOPICS_AT_ONCE = 20
PARTITIONS_OF_A_TOPIC = 3
AGAIN_AFTER_SECONDS = 1800.0
_READ_SECONDS = 3.0

Positions = Mapping[str, Sequence[tuple[TopicPartition, int]]]
"""By topic of the source: partitions of the remote topic with the offset of our last record there."""


@dataclass
class SchemaSampling:
    """What was found so far of one flow, by topic of the source; None: no id."""

    found: dict[str, SchemaIds | None] = field(default_factory=dict)
    _looked: dict[str, float] = field(default_factory=dict)

    def due(self, topics: Positions, now: float) -> list[str]:
        """The topics to look at now, those first that were looked at longest ago."""
        waiting = [each for each in topics if topics[each] and now - self._looked.get(each, -AGAIN_AFTER_SECONDS) >= AGAIN_AFTER_SECONDS]
        return sorted(waiting, key=lambda each: (self._looked.get(each, -AGAIN_AFTER_SECONDS), each))[:TOPICS_AT_ONCE]

    def look(self, flow: "Flow", topics: Positions) -> None:
        """Looks at the topics that are due. One whose records do not come in time, or may not be read, is looked at again much later."""
        now = time.monotonic()
        due = self.due(topics, now)
        chosen = {remote: (offset, offset + 1) for topic in due for remote, offset in topics[topic][:PARTITIONS_OF_A_TOPIC]}
        if not chosen:
            return
        self._looked.update(dict.fromkeys(due, now))
        reader = BoundedReader(flow.target, {**flow.client("target", "consumer"), **SMALL_FETCHES})
        refused: dict[str, MirrorError] = {}
        messages = reader.first_visible(chosen, _READ_SECONDS, refused, partial=True)
        for topic in due:
            records = [messages[remote] for remote, _ in topics[topic][:PARTITIONS_OF_A_TOPIC] if remote in messages]
            if records:
                self.found[topic] = ids_of([(each.value(), headers_or_none(each) or ()) for each in records])


def ids_of(records: Sequence[tuple[Any, Any]]) -> SchemaIds | None:
    """What values and headers of some records of a topic say. One value without an id is enough to say that the topic carries none, but
    for tombstones."""
    values = [(value, headers) for value, headers in records if value is not None]
    if not values:
        return None
    ids = [schema_id(bytes(value)) for value, _ in values]
    if all(found is not None for found in ids):
        return SchemaIds(tuple(sorted({found for found in ids if found is not None})))
    if all(has_id_in_header(headers) for _, headers in values):
        return SchemaIds((), in_headers=True)
    return None
