"""How far a run of the copy is, by what its lanes have committed to the ledger: it costs them nothing, wherever they run."""

import sys
from collections.abc import Generator, Mapping
from dataclasses import replace

from kafka_mirror.config import Flow
from kafka_mirror.copy.plan.model import Plan, Range
from kafka_mirror.formats.offsets.intervals import within
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.clusters import ledger_of
from kafka_mirror.ledger.record import LedgerRecord


def positions(flow: Flow, plan: Plan, run: str) -> Generator[int, None, None]:
    """Gives, each time it is asked, how many of the plan's offsets the run of this name has committed, and what it followed beyond them.
    Raises what the target answers.

    What was read of the ledger once is not read again.
    """
    ranges = [replace(planned, end=sys.maxsize) for planned in plan.ranges] if plan.follow_for else plan.ranges
    records: dict[TopicPartition, LedgerRecord] = {}
    ends: dict[int, int] = {}
    with Cluster(flow.target, flow.client("target", "admin"), flow.request_seconds) as target:
        ledger = ledger_of(flow, target)
        while True:
            view = ledger.read(since=ends)
            records.update(view.records)
            ends.update(view.ends)
            yield sum(committed(planned, records.get(planned.topic_partition), run, plan.into) for planned in ranges)


def committed(planned: Range, record: LedgerRecord | None, run: str, into: Mapping[str, str]) -> int:
    """How many offsets of a range the run has committed: none while the ledger's record is another run's. `into` as in `Plan`."""
    if record is None or record.writer.run != run:
        return 0
    if planned.topic not in into:
        return max(0, min(record.watermark, planned.end) - planned.start)
    written = (topic for topic in record.history_topics if topic.topic == into[planned.topic])
    return sum(end - start for topic in written for start, end in within(topic.intervals, planned.start, planned.end))
