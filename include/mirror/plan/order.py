"""Who comes first: the order of a plan's ranges, so that a budget that ends early leaves out another lane each time."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from mirror.formats.ledger import LedgerRecord
from mirror.offsets.lanes import lane_of
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import BLOCKED, Range


def in_order(ranges: Iterable[Range], records: Mapping[TopicPartition, LedgerRecord], lanes: int, now: datetime) -> tuple[Range, ...]:
    """Lane by lane: the least recently served lane first, then the one with most to do; a budget may not reach the last ones.

    A time of service that is still to come is of a host whose clock is ahead: nobody knows how long ago it was, so the lane comes first and
    gets another time. In a lane the partitions that are stuck come last, the least recently tried first; `records` has those of a lane in
    the order in which they were written, which no clock can confuse.
    """
    served: dict[int, datetime] = {}
    for tp, record in records.items():
        lane = lane_of(*tp, lanes)
        served[lane] = max(served.get(lane, record.writer.time), record.writer.time)
    by_lane: dict[int, list[Range]] = {}
    for planned in ranges:
        by_lane.setdefault(lane_of(planned.topic, planned.partition, lanes), []).append(planned)
    never = datetime.min.replace(tzinfo=UTC)
    written = {tp: number for number, tp in enumerate(records)}

    def of_lane(lane: int) -> tuple[bool, datetime, int]:
        time = served.get(lane, never)
        return time <= now, time, -sum(planned.offsets for planned in by_lane[lane])

    def in_lane(planned: Range) -> tuple[bool, int, TopicPartition]:
        tp, is_stuck = planned.topic_partition, planned.reason == BLOCKED
        return is_stuck, written.get(tp, -1) if is_stuck else 0, tp

    return tuple(planned for lane in sorted(by_lane, key=of_lane) for planned in sorted(by_lane[lane], key=in_lane))
