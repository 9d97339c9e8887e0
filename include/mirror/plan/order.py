"""Who comes first: the order of a plan's ranges, so that a budget that ends early leaves out another lane each time."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from mirror.formats.ledger import LedgerRecord
from mirror.offsets.lanes import lane_of
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import Range


def in_order(ranges: Iterable[Range], records: Mapping[TopicPartition, LedgerRecord], lanes: int) -> tuple[Range, ...]:
    """Lane by lane: the least recently served lane first, then the one with most to do; a budget may not reach the last ones."""
    served: dict[int, datetime] = {}
    for tp, record in records.items():
        lane = lane_of(*tp, lanes)
        served[lane] = max(served.get(lane, record.writer.time), record.writer.time)
    by_lane: dict[int, list[Range]] = {}
    for planned in ranges:
        by_lane.setdefault(lane_of(planned.topic, planned.partition, lanes), []).append(planned)
    never = datetime.min.replace(tzinfo=UTC)
    order = sorted(by_lane, key=lambda lane: (served.get(lane, never), -sum(planned.offsets for planned in by_lane[lane])))
    return tuple(planned for lane in order for planned in sorted(by_lane[lane], key=lambda each: each.topic_partition))
