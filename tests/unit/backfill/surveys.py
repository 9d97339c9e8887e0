"""Surveys that are made up: one topic, `orders`, of which the ledger has copied [100, 200) unless a test says otherwise."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.backfill import history, live
from kafka_mirror.backfill.destination import HistoryTopics
from kafka_mirror.backfill.model import BackfillPart, BackfillRequest, OffsetInterval, Resolution, TimeInterval
from kafka_mirror.backfill.run import run_until_done
from kafka_mirror.copy.plan.model import Plan, Range
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.copy.plan.run import PlanContext
from kafka_mirror.errors import ErrorReport, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import Partition, Topic
from kafka_mirror.ledger.control_records import Decision
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import LedgerView
from tests.unit.ledger_records import ledger_record

TP, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
TIMES = TimeInterval(0, 10)
RECORD = ledger_record(watermark=200, start=100)
HISTORY = Topic("history.east.orders", "history-id", ())


def flow() -> Any:
    """A flow with the settings that matter here."""
    settings = {"mirror.run.max.seconds": 1, "refresh.topics.enabled": True, "mirror.backfill.order": "time"}
    return SimpleNamespace(
        name="east->west",
        source="east",
        value=settings.get,
        per_topic=lambda *_: "fail",
        client=lambda *_: {},
        reads_committed=True,
        request_seconds=1.0,
    )


def topic(name: str, led: Iterable[bool], topic_id: str = "source-topic-id") -> Topic:
    """A topic with a partition for each: whether it has a leader."""
    return Topic(name, topic_id, tuple(Partition(number, 1 if each else None, (1,), (1,)) for number, each in enumerate(led)))


def found(
    *partitions: TopicPartition,
    records: Mapping[TopicPartition, LedgerRecord] | None = None,
    ranges: Iterable[Range] = (),
    errors: Iterable[ErrorReport] = (),
    unreadable: Iterable[MirrorError] = (),
    decisions: Iterable[Decision] = (),
    source_topic: Topic | None = None,
    remote_partitions: int = 2,
) -> PlanContext:
    """What a survey finds: the offsets [0, 200) of these partitions, and what is given."""
    orders = source_topic or topic("orders", (True, True))
    lanes = dict(enumerate(unreadable))
    return PlanContext(
        plan=Plan("east->west", tuple(ranges), (*(each.report() for each in lanes.values()), *errors)),
        ledger=LedgerView({TP: RECORD} if records is None else records, lanes),
        topics={"orders": orders} if orders.partitions else {},
        source={tp: SourceOffsets(tp, orders.id, 0, 200, 200, leader_epoch=0) for tp in partitions},
        remotes={"orders": topic("east.orders", (True,) * remote_partitions, "target-topic-id")} if remote_partitions else {},
        decisions=Decisions(decisions),
    )


def asked(start: int, end: int, tp: TopicPartition = TP) -> Resolution:
    """An interval of one partition."""
    return Resolution("east->west", TIMES, (OffsetInterval(*tp, start, end, 0, 200),))


class Slices:
    """Slices of a backfill over surveys that are made up; nothing is ever copied."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self.count = 0

    def live(self, resolution: Resolution, survey: PlanContext, dry_run: bool = False) -> BackfillPart:
        """The live part, slice after slice."""
        self._arrange(live, survey)
        return self._until_done(lambda: live.live_slice(flow(), resolution, lambda _: [], dry_run))

    def history(self, resolution: Resolution, survey: PlanContext) -> BackfillPart:
        """The history part, slice after slice, into a topic that is there."""
        self._arrange(history, survey)
        into = HistoryTopics({"orders": HISTORY.name}, {HISTORY.name: HISTORY})
        self._patch.setattr(history, "history_topics", lambda *_: into)
        self._patch.setattr(history, "find_history_elsewhere", lambda *_: frozenset())
        return self._until_done(lambda: history.history_slice(flow(), BackfillRequest(TIMES), resolution, lambda _: []))

    def _arrange(self, module: Any, survey: PlanContext) -> None:
        self._patch.setattr(module, "survey", lambda *_, **__: survey)
        self._patch.setattr(module, "clusters", lambda _: nullcontext((None, None)))

    def _until_done(self, one: Any) -> BackfillPart:
        self.count = 0

        def counted() -> BackfillPart:
            self.count += 1
            part: BackfillPart = one()
            return part

        return run_until_done(counted, False, lambda _: None)


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> Slices:
    """Slices of a backfill."""
    return Slices(monkeypatch)
