"""What an audit may read of a remote partition whose end a marker still hides."""

from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.audit.scope import LogBoundsReader
from kafka_mirror.errors import TargetHidden
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka import polling
from kafka_mirror.kafka.model import Partition, Topic
from kafka_mirror.ledger.record import Decided
from tests.unit.ledger_records import WRITTEN_AT, ledger_record

TP, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
RECORD = ledger_record()
CLOCK = SimpleNamespace(now=0.0)


class Cluster:
    """Both clusters: each log holds 100 offsets, of which the last one shows to readers after so many seconds."""

    def __init__(self, shows_after: float = 0) -> None:
        self.shows_after = shows_after

    def topics(self, names: Iterable[str], errors: Any = None) -> dict[str, Topic]:
        ids = {TP.topic: RECORD.source_topic_id, REMOTE.topic: RECORD.target_topic_id}
        return {name: Topic(name, ids[name], (Partition(0, 1, (1,), (1,)),)) for name in names}

    def configs(self, names: Iterable[str], errors: Any = None) -> dict[str, Any]:
        return {}

    def offsets(self, partitions: Iterable[TopicPartition], at: str, committed: bool = False, errors: Any = None) -> dict[Any, int]:
        hides = committed and CLOCK.now < self.shows_after
        return dict.fromkeys(partitions, 0 if at == "earliest" else 99 if hides else 100)


@pytest.fixture(autouse=True)
def passing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes by sleeping alone."""

    def sleep(seconds: float) -> None:
        CLOCK.now += seconds
        assert CLOCK.now < 60, "it waits on and on"

    CLOCK.now = 0.0
    monkeypatch.setattr(polling, "time", SimpleNamespace(monotonic=lambda: CLOCK.now, sleep=sleep))


@pytest.mark.parametrize(("shows_after", "waits"), [(0, 0), (1, 1), (60, 5)])
def test_a_marker_is_waited_for_and_no_longer_than_some_seconds(shows_after: float, waits: float) -> None:
    holdings = LogBoundsReader(Cluster(), Cluster(shows_after), {TP: RECORD}, True)  # type: ignore[arg-type]
    error = holdings.live_error(TP, RECORD)
    assert isinstance(error, TargetHidden) if shows_after == 60 else error is None
    assert pytest.approx(waits, abs=0.15) == CLOCK.now


def test_behind_a_moved_partition_stands_what_producers_write_there_now() -> None:
    record = replace(RECORD, target_next=90)
    holdings = LogBoundsReader(Cluster(), Cluster(), {TP: record}, True)  # type: ignore[arg-type]
    assert holdings.tail(TP, record) == (90, 100)
    assert holdings.tail(TP, replace(record, moved=Decided("moved", "somebody", WRITTEN_AT, "a wave"))) is None
