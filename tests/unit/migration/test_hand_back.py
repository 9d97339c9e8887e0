"""Where MirrorMaker 2 is told to go on, by the ledger and by what the source has now."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.errors import AuthorizationRefused, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.control_records import RESTART, Decision
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import Decided, LedgerRecord
from kafka_mirror.migration.hand_back import FROM_THE_START, ResumeOffsets, list_waiting_restarts, resume_offsets
from tests.unit.ledger_records import WRITTEN_AT, ledger_record

SAME, ANEW, GONE, HIDDEN = (TopicPartition(name, 0) for name in ("same", "anew", "gone", "hidden"))
OLD_ID = ledger_record().source_topic_id


class Source:
    """A cluster in which one topic is as it was and one was created anew; one more is hidden from us, and every other is gone."""

    def __init__(self, end: int = 100) -> None:
        self.end = end

    def topics(self, names: Iterable[str], errors: dict[str, MirrorError]) -> dict[str, Topic]:
        if HIDDEN.topic in names:
            errors[HIDDEN.topic] = AuthorizationRefused("east", "DESCRIBE", "topic hidden", topic=HIDDEN.topic)
        return {name: Topic(name, topic_id, ()) for name, topic_id in ((SAME.topic, OLD_ID), (ANEW.topic, "new-id")) if name in names}

    def offsets(self, partitions: Iterable[TopicPartition], at: str, errors: dict[str, MirrorError]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, self.end)


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., ResumeOffsets]:
    def make(records: Mapping[TopicPartition, LedgerRecord], end: int = 100, reset: str | None = None) -> ResumeOffsets:
        file, line = tmp_path / "mm2.properties", "" if reset is None else f"east.consumer.auto.offset.reset = {reset}"
        file.write_text(
            f"clusters = east, west\neast.bootstrap.servers = a:1\nwest.bootstrap.servers = b:1\neast->west.enabled = true\n{line}\n",
            encoding="utf-8",
        )
        flow: Flow = load([file], {}).flow("east->west")
        return resume_offsets(flow, Source(end), records)  # type: ignore[arg-type]

    return make


def test_only_a_topic_that_is_the_same_goes_on_behind_its_watermark(told: Callable[..., ResumeOffsets]) -> None:
    found = told(dict.fromkeys((SAME, ANEW, GONE), ledger_record(watermark=100)))
    assert found.offsets == {SAME: 99, ANEW: FROM_THE_START, GONE: FROM_THE_START}
    assert (found.anew, found.errors) == ({ANEW, GONE}, ())
    assert [notice.split(":")[0] for notice in found.notices] == ["anew", "gone"]
    assert OLD_ID in found.notices[0] and "new-id" in found.notices[0]
    assert told({SAME: ledger_record(watermark=0)}, end=0) == ResumeOffsets({SAME: FROM_THE_START})


def test_of_a_topic_that_may_not_be_looked_at_nothing_is_told(told: Callable[..., ResumeOffsets]) -> None:
    found = told(dict.fromkeys((SAME, HIDDEN), ledger_record(watermark=100)))
    assert (found.offsets, found.notices) == ({SAME: 99}, ())
    assert [(error.code, error.topic) for error in found.errors] == [("AuthorizationRefused", "hidden")]
    assert "hand-back again before MirrorMaker 2 is started" in found.errors[0].next


def test_what_auto_offset_reset_leaves_out_is_said(told: Callable[..., ResumeOffsets]) -> None:
    assert "from its start" in told({ANEW: ledger_record()}).notices[0]
    assert "auto.offset.reset=latest" in told({ANEW: ledger_record()}, reset="latest").notices[0]


def test_a_log_that_ends_in_front_of_the_watermark_is_told(told: Callable[..., ResumeOffsets]) -> None:
    found = told({SAME: ledger_record(watermark=100)}, end=80)
    assert found.offsets == {SAME: 99}
    assert "ends at 80" in found.notices[0]


@pytest.mark.parametrize(("watermark", "acted_on", "told"), [(100, False, True), (100, True, False), (120, False, False)])
def test_a_restart_that_is_not_done_is_named(watermark: int, acted_on: bool, told: bool) -> None:
    decision = Decision(RESTART, "ann", WRITTEN_AT + timedelta(1), "lost", *SAME, watermark=100, offset=20)
    record = ledger_record(watermark=watermark, decided=Decided.of(decision) if acted_on else None)
    waiting = list_waiting_restarts({SAME: record}, Decisions([decision]))
    assert [tp for tp, _ in waiting] == [SAME] * told
    assert all("restart at source offset 20 by ann" in said and "lost" in said for _, said in waiting)
