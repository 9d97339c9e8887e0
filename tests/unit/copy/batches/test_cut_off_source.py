"""A source log that was cut off below what is copied, and has grown again with other records: whenever that was, and with every engine that
reads over connections of our own, it is said, and nothing of the other records is committed."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchRequest
from kafka.record.default_records import DefaultRecordBatch

from kafka_mirror.copy import lane_protocol
from kafka_mirror.copy.batches.engine import BatchEngine
from kafka_mirror.copy.lane import LaneCopy
from kafka_mirror.copy.model import LaneResult, LaneTask
from kafka_mirror.copy.plan.model import BEHIND, Range
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.ledger.codec import decode
from kafka_mirror.ledger.record import LedgerRecord, Writer
from tests.unit.copy.batches.batch_logs import values
from tests.unit.copy.batches.conftest import LEDGER, ORDERS, REMOTE, batch_of
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.batches.wire_protocol import KAFKA_2_1, KAFKA_2_4, KAFKA_2_8, KAFKA_4_3
from tests.unit.copy.conftest import World

BEFORE_PLAN, BEFORE_LANE, BETWEEN_FETCHES = "before the plan", "before the lane", "between two fetches"
PORTION = 400
"""A fetch brings few batches."""


@dataclass(frozen=True)
class Cut:
    """How many batches were copied and how many more there are, how many of the copied ones are kept, and how many others come."""

    copied: int
    more: int
    kept: int
    others: int
    epochs: int
    moment: str
    fetches: int
    """Of `BETWEEN_FETCHES`, behind how many."""
    release: Mapping[type, int]
    """The versions that the source speaks."""


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    copied = draw(st.integers(1, 8))
    more = draw(st.integers(1, 6))
    return Cut(
        copied=copied,
        more=more,
        kept=draw(st.integers(0, copied - 1)),
        others=copied + more + draw(st.integers(1, 4)),
        epochs=draw(st.integers(1, 3)),
        moment=draw(st.sampled_from([BEFORE_PLAN, BEFORE_LANE, BETWEEN_FETCHES])),
        fetches=draw(st.integers(1, 4)),
        release=draw(st.sampled_from([KAFKA_4_3, KAFKA_2_8, KAFKA_2_4, KAFKA_2_1])),
    )


class Sources:
    """A lane of one partition between two brokers on the loopback, whose source is cut off at the moment of a trial."""

    def __init__(self, cut: Cut, task: LaneTask, east: WireBroker, west: WireBroker, world: World) -> None:
        self.cut, self.task, self.east, self.west, self.world = cut, task, east, west, world
        self.log = east.log(*ORDERS)
        east.versions.update(cut.release)
        self.is_cut = False
        for number in range(cut.copied + cut.more):
            self.log.append(batch_of([b"ours %d" % number] * 3))
        self.watermark = cut.copied * 3
        for tp in (REMOTE, LEDGER):
            west.log(*tp)
        copied = Run(0, 0, self.watermark)
        for each in self.log.batches[: cut.copied]:
            west.log(*REMOTE).append(each)
        self.record = LedgerRecord(
            *(self.watermark, 0, "id-orders", REMOTE.topic, f"id-{REMOTE.topic}", self.watermark, "E", "W", 1),
            *(OffsetMap().with_runs((copied,)), Writer("", "elsewhere", "", datetime.now(UTC)), ((0, self.watermark),)),
            records=self.watermark,
        )
        self._look_at_ends()
        if cut.moment == BETWEEN_FETCHES:
            answer = east._answers[FetchRequest]
            east._answers = {**east._answers, FetchRequest: self._cutting(answer)}

    def elect(self) -> None:
        """The source goes on without the end of what is copied, and has others in its place."""
        if self.is_cut:
            return
        self.is_cut = True
        self.log.elect(self.cut.kept * 3, self.cut.epochs)
        for number in range(self.cut.others - self.cut.kept):
            self.log.append(batch_of([b"another %d" % number] * 3))

    def copy(self) -> LaneResult:
        """A plan that did not hear where the old epoch ends, and its lane."""
        if self.cut.moment == BEFORE_PLAN:
            self.elect()
        planned = Range(*ORDERS, "id-orders", self.record.watermark, self.log.end, BEHIND, leader_epoch=self.log.epoch)
        if self.cut.moment == BEFORE_LANE:
            self.elect()
        return LaneCopy(replace(self.task, ranges=(planned,))).run()

    def end_run(self) -> None:
        """What was committed is what the next run finds."""
        for batch in self.west.log(*LEDGER).batches:
            for record in DefaultRecordBatch(batch):
                self.record = decode(record.value, "here")
        self._look_at_ends()

    def _look_at_ends(self) -> None:
        self.world.ledger = {ORDERS: self.record}
        self.world.ends = {REMOTE: self.west.log(*REMOTE).end}
        self.world.ledger_end = self.west.log(*LEDGER).end
        self.world.starts = {REMOTE: self.west.log(*REMOTE).end}

    def _cutting(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        left = [self.cut.fetches]

        def fetched(broker: WireBroker, request: FetchRequest) -> Any:
            left[0] -= 1
            if left[0] < 0:
                self.elect()
            return answer(broker, request)

        return fetched


@pytest.fixture
def trial(lane_task: LaneTask, world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Cut], Sources]]:
    for seconds in ("_MARKER_SECONDS", "_LEDGER_MARKER_SECONDS"):  # the world's ends do not move
        monkeypatch.setattr(lane_protocol, seconds, 0.0)
    monkeypatch.setattr(lane_protocol, "BatchEngine", BatchEngine)  # in the place of the world's
    monkeypatch.setattr(time, "sleep", lambda seconds: threading.Event().wait(min(seconds, 0.002)))
    with ExitStack() as stack:

        def made(cut: Cut) -> Sources:
            stack.close()
            east, west = WireBroker(), WireBroker()
            stack.callback(east.close)
            stack.callback(west.close)
            ours = lane_task.clients
            clients = replace(
                ours,
                source_admin=east.settings,
                source_consumer={**east.settings, "fetch.wait.max.ms": 1, "max.partition.fetch.bytes": PORTION},
                target_admin=west.settings,
                target_consumer=west.settings,
                target_producer=west.settings,
            )
            return Sources(cut, replace(lane_task, clients=clients), east, west, world)

        yield made


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=cuts())
def test_a_log_that_was_cut_below_the_watermark_is_said_and_nothing_more_is_committed(trial: Callable[[Cut], Sources], cut: Cut) -> None:
    sources = trial(cut)
    result = sources.copy()
    if not result.errors:  # all of it had been read before
        assert len(sources.west.committed) == 1
        sources.end_run()
        sources.elect()
        result = sources.copy()
    else:
        assert sources.west.committed == []
    (error,) = result.errors
    assert (error.code, error.topic, error.partition, error.offset) == ("SourceTruncated", *ORDERS, sources.record.watermark)
    assert len(sources.west.committed) <= 1
    assert [value for value in values(sources.west.log(*REMOTE)) if value.startswith(b"another")] == []
