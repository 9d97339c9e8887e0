"""What an audit is asked for, against a ledger and a source in memory; and what it may read where a marker still hides an end."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.audit.scope import LogBoundsReader, Scope, list_not_begun, note_not_begun
from kafka_mirror.config import Flow
from kafka_mirror.errors import TargetHidden
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka import polling
from kafka_mirror.kafka.model import Partition, Topic
from kafka_mirror.ledger.record import Decided
from tests.unit.ledger_records import WRITTEN_AT, ledger_record

TP, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
FIRST, LAST = datetime(2026, 11, 20, 0, 0, 0, 123_000, UTC), datetime(2026, 11, 21, 0, 0, 0, 457_000, UTC)
RECORD = ledger_record(watermark=100, covered=((10, 100),))


class Source:
    """A cluster that answers times, and has topics."""

    def __init__(self, answers: Mapping[int, dict[TopicPartition, int | None]] | None = None, names: tuple[str, ...] = ()) -> None:
        self._answers = answers or {}
        self._names = names

    def offsets_for_time(self, _partitions: Any, timestamp_ms: int, errors: Any) -> dict[TopicPartition, int | None]:
        """Like a cluster that refuses one topic: into `errors` with it."""
        if "refunds" not in errors:
            errors["refunds"] = "the source does not say"
        return self._answers[timestamp_ms]

    def names(self) -> list[str]:
        return list(self._names)


def wanted(first: dict[TopicPartition, int | None], last: dict[TopicPartition, int | None], **scope: Any) -> Any:
    """What is asked for of two partitions whose logs have the offsets from 50 to 100."""
    source: Any = Source({1_795_132_800_123: first, 1_795_219_200_457: last})
    holdings: Any = SimpleNamespace(starts={TP: 50, OTHER: 50}, ends={TP: 100, OTHER: 100}, refused={})
    found = Scope(times=(FIRST, LAST), **scope).select_offsets(source, {TP: RECORD, OTHER: RECORD}, holdings)
    assert holdings.refused == {"refunds": "the source does not say"}, "of one topic alone, and no end of the audit"
    return found


def test_times_come_to_offsets_by_the_millisecond_and_given_offsets_narrow_them() -> None:
    assert wanted({TP: 60, OTHER: 70}, {TP: 80, OTHER: None}) == {TP: (60, 80), OTHER: (70, 100)}
    assert wanted({TP: 60}, {TP: 80}, source_offsets={TP: (70, 90)}) == {TP: (70, 80)}
    assert wanted({TP: 60}, {TP: 80}, source_offsets={TP: (0, 10)}) == {TP: (60, 60)}


def test_times_in_front_of_what_the_log_still_has_ask_for_what_was_copied_there() -> None:
    assert wanted({TP: 50}, {TP: 50}) == {TP: (10, 50)}, "retention took it, and nothing is equal that nobody can see"
    assert wanted({TP: 50}, {TP: 70}) == {TP: (10, 70)}
    assert wanted({TP: 51}, {TP: 70}) == {TP: (51, 70)}


def test_starts_ask_for_what_was_copied_from_there_on_and_for_what_stands_behind_it() -> None:
    source: Any = Source()
    holdings: Any = SimpleNamespace()
    scope = Scope(starts={TP: 60, TopicPartition("gone", 0): 1})
    assert scope.select_offsets(source, {TP: RECORD, OTHER: RECORD}, holdings) == {TP: (60, 100)}
    assert Scope(starts={TP: 110}).select_offsets(source, {TP: RECORD}, holdings) == {TP: (100, 100)}
    assert (scope.reaches_the_end, scope.is_whole_topics) == (True, False)
    assert not Scope(source_offsets={TP: (0, 5)}).reaches_the_end


def test_partition_whose_offsets_no_leader_tells_is_not_an_empty_interval() -> None:
    assert wanted({TP: 60, OTHER: 60}, {TP: 80}) == {TP: (60, 80)}


def test_only_topics_of_the_flow_or_those_that_are_named(make_flow: Callable[..., Flow]) -> None:
    flow, gone = make_flow({"east->west.topics": "orders"}), TopicPartition("returns", 0)
    records = {TP: RECORD, OTHER: RECORD, gone: RECORD}
    assert set(Scope().select_partitions(flow, records)) == {TP, OTHER}
    assert set(Scope(topics=("returns",)).select_partitions(flow, records)) == {gone}
    assert set(Scope(source_offsets={OTHER: (0, 9)}).select_partitions(flow, records)) == {OTHER}
    assert [each.split(":")[0] for each in Scope(("nope", "orders")).list_unknown(records)] == ["nope"]


def test_what_the_flow_mirrors_and_has_not_begun_is_said(make_flow: Callable[..., Flow]) -> None:
    source: Any = Source(names=("orders", "returns", "east.more", "other"))
    flow = make_flow({"east->west.topics": "orders,returns"})
    names = list_not_begun(flow, source, Scope(), {TP: RECORD}, {"orders": 3})
    assert names == ("returns", "2 partitions of orders")
    (said,) = note_not_begun(names)
    assert "Not copied yet, so not compared: returns, 2 partitions of orders." in said
    assert list_not_begun(flow, source, Scope(("orders",)), {TP: RECORD}, {"orders": 3}) == ("2 partitions of orders",)
    both = {TP: RECORD, TopicPartition("returns", 0): RECORD}
    assert list_not_begun(flow, source, Scope(), both, {"orders": 1, "returns": 1}) == ()
    assert list_not_begun(make_flow({"refresh.topics.enabled": "false"}), source, Scope(), {TP: RECORD}, {"orders": 3}) == ()
    assert list(note_not_begun(())) == []


REMOTE = TopicPartition("east.orders", 0)
WHOLE = ledger_record()
CLOCK = SimpleNamespace(now=0.0)


class Cluster:
    """Both clusters: each log holds 100 offsets, of which the last one shows to readers after so many seconds."""

    def __init__(self, shows_after: float = 0) -> None:
        self.shows_after = shows_after

    def topics(self, names: Iterable[str], errors: Any = None) -> dict[str, Topic]:
        ids = {TP.topic: WHOLE.source_topic_id, REMOTE.topic: WHOLE.target_topic_id}
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
    holdings = LogBoundsReader(Cluster(), Cluster(shows_after), {TP: WHOLE}, True)  # type: ignore[arg-type]
    error = holdings.find_live_error(TP, WHOLE)
    assert isinstance(error, TargetHidden) if shows_after == 60 else error is None
    assert pytest.approx(waits, abs=0.15) == CLOCK.now


def test_behind_a_moved_partition_stands_what_producers_write_there_now() -> None:
    record = replace(WHOLE, target_next=90)
    holdings = LogBoundsReader(Cluster(), Cluster(), {TP: record}, True)  # type: ignore[arg-type]
    assert holdings.find_tail(TP, record) == (90, 100)
    assert holdings.find_tail(TP, replace(record, moved=Decided("moved", "somebody", WRITTEN_AT, "a wave"))) is None
