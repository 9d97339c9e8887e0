"""A flow that is backfilled: five days of records below its start, and what the witness says of their history."""

import pytest

from kafka_mirror.backfill.model import BackfillRequest, TimeInterval
from kafka_mirror.backfill.run import run_backfill
from kafka_mirror.copy.run import copy_in_process
from services.oracle import Record, Side

DAY = 86_400_000
FIRST = 1_793_491_200_000  # 2026-11-01
DAYS = 5
PARTITIONS = 2


def day(number, length=1):
    """So many days from the first, second … on."""
    return TimeInterval(FIRST + number * DAY, FIRST + (number + length) * DAY)


ALL = day(0, DAYS)


class Backfilling:
    """A flow that is backfilled, and what the witness says."""

    def __init__(self, mirroring):
        self.mirroring = mirroring
        self.oracle = mirroring.oracle

    def topic(self, name, *produce, **configs):
        """A source topic with what these put into it; `produce(topic, day)` is called for each of the days."""
        topic = self.mirroring.pair.topic(name)
        self.oracle.create_topic(self.mirroring.source, topic, PARTITIONS, configs=configs)
        for number in range(DAYS):
            for each in produce:
                each(topic, number)
        return topic

    def records(self, topic, number, count=20):
        """So many records of one day in each partition, in the order of time."""
        step = DAY // (count + 1)
        rows = [
            Record(
                b"%d" % n,
                b"%s %d/%d" % (topic.encode(), number, n),
                timestamp=FIRST + number * DAY + (n // PARTITIONS) * step,
                partition=n % PARTITIONS,
            )
            for n in range(count * PARTITIONS)
        ]
        self.oracle.produce_records(self.mirroring.source, topic, rows)

    def transaction(self, outcome):
        """Puts a transaction with this outcome into a day."""

        def produce(topic, number):
            rows = [
                Record(value=b"%s %d" % (outcome.encode(), n), timestamp=FIRST + number * DAY + DAY // 2, partition=n % 2) for n in range(6)
            ]
            self.oracle.open_transaction(self.mirroring.source, topic, f"{topic}-{outcome}", rows)
            self.oracle.end_transaction(f"{topic}-{outcome}", outcome)

        return produce

    def fill(self, times, *topics, **options):
        return run_backfill(
            self.mirroring.flow, BackfillRequest(times, topics, **options), lambda plan: copy_in_process(self.mirroring.flow, plan)
        )

    def into(self, topic):
        return f"history.{self.mirroring.pair.remote(topic)}"

    def starts(self, topic):
        """Where the copy of each partition began."""
        return {tp.partition: record.live_start for tp, record in self.mirroring.ledger().items() if tp.topic == topic}

    def side(self, topic, **source):
        return Side(self.mirroring.source, topic, **source)

    def assert_history(self, topic, into=None, start=None):
        """The history in its topic is the source's below the copy's start, record by record and in order."""
        source = self.side(topic, start=start or {}, end=self.starts(topic))
        return self.oracle.assert_mirrored(source, Side(self.mirroring.target, into or self.into(topic))).records

    def account(self, topic):
        """Nothing lost, doubled or foreign in the history; how many records it has."""
        found = self.oracle.account(self.side(topic, end=self.starts(topic)), Side(self.mirroring.target, self.into(topic)))
        assert [(each.lost, each.doubled, each.foreign) for each in found] == [(0, 0, 0)] * PARTITIONS
        return sum(each.target_records for each in found)

    def ends(self, *topics):
        return {topic: [count.end for count in self.oracle.count(self.mirroring.target, topic)] for topic in topics}


@pytest.fixture
def backfilling(make_mirroring, pair):
    """A flow that begins at the end of its topics: everything that is there when it first copies is history."""
    return Backfilling(
        make_mirroring(pair, {"source->target.mirror.start": "latest", "source->target.mirror.transaction.max.bytes": "2000"})
    )
