"""What of the ledger is compared and what is not, with both sides' holdings made up."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_mirror.audit import prepare as module
from kafka_mirror.audit.copied_ranges import LogBounds
from kafka_mirror.audit.model import EQUAL, UNPROVEN, Backlog
from kafka_mirror.audit.prepare import PreparedAudit
from kafka_mirror.audit.report import partition_audits
from kafka_mirror.audit.scope import Scope
from kafka_mirror.config import Flow
from kafka_mirror.errors import AuthorizationRefused, MirrorError, TargetMissing, TargetRecreated, TargetUnavailable, WrittenOnSource
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.older_copies import OlderCopies
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.decisions import NO_DECISIONS
from kafka_mirror.ledger.record import Blocked, Decided, History, HistoryTopic, LedgerRecord
from kafka_mirror.ledger.topic import LedgerView
from tests.unit.ledger_records import WRITTEN_AT, ledger_record

TP = TopicPartition("orders", 0)
RECORD = ledger_record(
    watermark=100, target_topic="east.orders", target_next=100, covered=((0, 100),), offset_map=OffsetMap((Run(0, 0, 100),)), start=0
)


class FakeLogBounds:
    """Logs from 0 to 100 on both sides; `refused` is what the target says of its topics, `amiss` what it says of some."""

    refused: MirrorError | None = None
    amiss: Mapping[str, MirrorError] = {}

    ends: Mapping[TopicPartition, int] = {TP: 100}

    def __init__(self, *_: Any) -> None:
        self.partitions = {"orders": 1}

    def find_source_error(self, *_: Any) -> None:
        return None

    def find_live_error(self, *_: Any) -> MirrorError | None:
        return self.refused

    def find_target_error(self, tp: TopicPartition, name: str, topic_id: str) -> MirrorError | None:
        return self.amiss.get(name, self.refused)

    def find_bounds(self, *_: Any) -> LogBounds:
        return LogBounds(0, 100, 0, 101)

    def find_tail(self, *_: Any) -> None:
        return None

    def is_compacted(self, *_: Any) -> bool:
        return False


@pytest.fixture
def prepared(make_flow: Callable[..., Flow], monkeypatch: pytest.MonkeyPatch) -> Callable[..., PreparedAudit]:
    def make(
        record: LedgerRecord = RECORD,
        refused: MirrorError | None = None,
        amiss: Mapping[str, MirrorError] | None = None,
        offsets: Interval | None = None,
        written: Sequence[WrittenOnSource] = (),
        **properties: str,
    ) -> PreparedAudit:
        monkeypatch.setattr(module, "LogBoundsReader", type("These", (FakeLogBounds,), {"refused": refused, "amiss": amiss or {}}))
        monkeypatch.setattr(
            module, "find_written_since_move", lambda *asked: [error.report() for error in written if error.topic in asked[-1]]
        )
        view, nobody = LedgerView({TP: record}, {}), type("Nobody", (), {"names": list})()
        flow = make_flow({f"east->west.{name.replace('_', '.')}": value for name, value in properties.items()})
        scope = Scope(source_offsets={TP: offsets} if offsets else None)
        looking = module._LedgerPass(flow, nobody, nobody, scope, NO_DECISIONS, view)
        looking.run(datetime(2026, 1, 1, tzinfo=UTC))
        left_out = {tp: tuple(left) for tp, left in looking.left_out.items()}
        now = datetime(2026, 11, 21, tzinfo=UTC)
        found = PreparedAudit(now, looking.records, tuple(looking.stretches), left_out, tuple(looking.errors))
        return replace(found, backlog=tuple(looking.backlog), left_on_source=tuple(looking.left_on_source))

    return make


def test_a_partition_whose_remote_topic_may_not_be_read_is_not_equal(prepared: Callable[..., PreparedAudit]) -> None:
    found = prepared(refused=AuthorizationRefused("west", "DESCRIBE", "topic east.orders", topic="east.orders"))
    assert [(error.code, error.topic) for error in found.errors] == [("AuthorizationRefused", "orders")]
    assert [each.state for each in partition_audits(found, [])] == [UNPROVEN]
    assert [each.state for each in partition_audits(prepared(ledger_record(watermark=0, target_topic="east.orders")), [])] == [EQUAL]


def test_what_is_asked_for_and_not_copied_yet_is_counted(prepared: Callable[..., PreparedAudit]) -> None:
    stuck = ledger_record(
        watermark=70, target_topic="east.orders", covered=((0, 70),), blocked=Blocked(70, "SourceGap", "gone", WRITTEN_AT, 1)
    )
    assert prepared().backlog == ()
    assert prepared(stuck).backlog == (Backlog("orders", 0, 30, "SourceGap"),)
    assert prepared(stuck, offsets=(60, 90)).backlog == (Backlog("orders", 0, 20, "SourceGap"),)
    assert prepared(stuck, offsets=(10, 70)).backlog == (), "it is copied"
    moved = replace(stuck, blocked=None, moved=Decided("moved", "ana", WRITTEN_AT, "first"))
    assert prepared(moved).backlog == (), "the flow is not to copy it"


def test_what_was_written_on_the_source_since_the_topic_moved_is_named_as_far_as_it_is_asked_for(
    prepared: Callable[..., PreparedAudit],
) -> None:
    late = WrittenOnSource("orders", 0, 100, 103)
    moved = replace(RECORD, moved=Decided("moved", "anna", WRITTEN_AT, ""))
    assert prepared(written=[late]).left_on_source == (), "the topic did not move, so these are waiting for the copy"
    assert prepared(moved, written=[late]).left_on_source == (late.report(),)
    assert prepared(moved, written=[late], offsets=(90, 101)).left_on_source == (late.report(),)
    assert prepared(moved, written=[late], offsets=(90, 100)).left_on_source == ()


def test_history_in_the_remote_topic_whose_place_is_forgotten_may_stand_there(prepared: Callable[..., PreparedAudit]) -> None:
    place = History(20, 40, "east.orders", 60, 80)
    known = HistoryTopic("east.orders", RECORD.target_topic_id, 80, ((20, 40),), (place,))
    live, history = prepared(ledger_record(**{**vars(RECORD), "history_topics": (known,)})).stretches
    assert (live.lenient, live.target_left, history.lenient) == (False, ((60, 80),), False)
    forgotten = HistoryTopic("east.orders", RECORD.target_topic_id, 80, ((0, 10), (20, 40)), (place,))
    live, history = prepared(ledger_record(**{**vars(RECORD), "history_topics": (forgotten,)})).stretches
    assert (live.lenient, history.lenient) == (True, False)
    elsewhere = HistoryTopic("history.orders", "id", 80, ((0, 10),), ())
    (live,) = prepared(ledger_record(**{**vars(RECORD), "history_topics": (elsewhere,)})).stretches
    assert not live.lenient


def test_older_copies_may_stand_there_whatever_was_decided_since(prepared: Callable[..., PreparedAudit]) -> None:
    (live,) = prepared(ledger_record(**{**vars(RECORD), "older": OlderCopies(20, 80, 20, 60)})).stretches
    assert live.lenient


def test_where_others_may_write_history_may_have_their_records_in_it(prepared: Callable[..., PreparedAudit]) -> None:
    places = [History(0, 40, name, 60, 80) for name in ("east.orders", "history.orders")]
    topics = tuple(HistoryTopic(each.topic, "id", 80, ((0, 40),), (each,)) for each in places)
    found = prepared(ledger_record(**{**vars(RECORD), "history_topics": topics}), mirror_on_unexplained_target="append").stretches
    assert {each.remote.topic: each.lenient for each in found[1:]} == {"east.orders": True, "history.orders": False}


HISTORY = "history.orders"
WITH_HISTORY = ledger_record(
    **{
        **vars(RECORD),
        "covered": ((50, 100),),
        "start": 50,
        "target_next": 50,
        "offset_map": OffsetMap((Run(50, 0, 50),)),
        "history": ((0, 50),),
        "history_topics": (HistoryTopic(HISTORY, "id", 40, ((10, 50),), (History(20, 50, HISTORY, 10, 40),)),),
    }
)


def left_out(found: PreparedAudit) -> dict[tuple[int, int], str]:
    return {(left.start, left.end): left.reason for left in found.left_out[TP]}


@pytest.mark.parametrize("error", [TargetMissing(*TP, HISTORY), TargetRecreated(*TP, HISTORY, "id", "other")], ids=["gone", "anew"])
def test_history_whose_topic_is_gone_is_left_out(prepared: Callable[..., PreparedAudit], error: MirrorError) -> None:
    found = prepared(WITH_HISTORY, amiss={HISTORY: error})
    assert (found.errors, [each.remote.topic for each in found.stretches]) == ((), ["east.orders"])
    assert all(HISTORY in reason for interval, reason in left_out(found).items() if interval == (10, 50))
    assert set(left_out(found)) == {(0, 10), (10, 50)}
    asked = prepared(WITH_HISTORY, amiss={HISTORY: error}, offsets=(30, 70))
    assert [interval for interval, reason in left_out(asked).items() if HISTORY in reason] == [(30, 50)]
    only = prepared(WITH_HISTORY, amiss={HISTORY: error}, offsets=(20, 40))
    assert [(each.state, len(each.left_out)) for each in partition_audits(only, [])] == [(UNPROVEN, 1)]
    assert left_out(prepared(WITH_HISTORY, amiss={HISTORY: error}, offsets=(60, 100))) == {}


def test_history_that_no_known_topic_holds_any_more_is_left_out(prepared: Callable[..., PreparedAudit]) -> None:
    assert "no topic" in left_out(prepared(WITH_HISTORY))[(0, 10)]


def test_history_that_is_unreadable_or_in_the_remote_topic_is_still_an_error(prepared: Callable[..., PreparedAudit]) -> None:
    hidden = prepared(WITH_HISTORY, amiss={HISTORY: TargetUnavailable(*TP, HISTORY, "it has no leader")})
    assert [error.code for error in hidden.errors] == ["TargetUnavailable"]
    inside = HistoryTopic("east.orders", RECORD.target_topic_id, 80, ((0, 50),), (History(0, 50, "east.orders", 50, 100),))
    record = ledger_record(**{**vars(WITH_HISTORY), "history_topics": (inside,)})
    assert [error.code for error in prepared(record, amiss={"east.orders": TargetMissing(*TP, "east.orders")}).errors] == ["TargetMissing"]
