"""What of the ledger is compared and what is not, with both sides' holdings made up."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from mirror.audit import prepare as module
from mirror.audit.model import EQUAL, UNPROVEN
from mirror.audit.prepare import Prepared
from mirror.audit.scope import Scope
from mirror.audit.stretch import Held
from mirror.audit.summary import partition_audits
from mirror.config import Flow
from mirror.errors import AuthorizationRefused, MirrorError
from mirror.formats.history import History, HistoryTopic
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.ledger import LedgerView
from mirror.offsets.map import OffsetMap, Run
from mirror.offsets.partition import TopicPartition
from mirror.plan.decisions import NO_DECISIONS
from tests.unit.ledger_records import ledger_record

TP = TopicPartition("orders", 0)
RECORD = ledger_record(
    watermark=100, target_topic="east.orders", target_next=100, covered=((0, 100),), offset_map=OffsetMap((Run(0, 0, 100),)), start=0
)


class Holdings:
    """Logs from 0 to 100 on both sides; `refused` is what the target says of its topic."""

    refused: MirrorError | None = None

    def __init__(self, *_: Any) -> None:
        self.partitions = {"orders": 1}

    def source_error(self, *_: Any) -> None:
        return None

    def live_error(self, *_: Any) -> MirrorError | None:
        return self.refused

    def target_error(self, *_: Any) -> MirrorError | None:
        return self.refused

    def held(self, *_: Any) -> Held:
        return Held(0, 100, 0, 101)

    def tail(self, *_: Any) -> None:
        return None

    def is_compacted(self, *_: Any) -> bool:
        return False


@pytest.fixture
def prepared(make_flow: Callable[..., Flow], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Prepared]:
    def make(record: LedgerRecord = RECORD, refused: MirrorError | None = None, **properties: str) -> Prepared:
        monkeypatch.setattr(module, "Holdings", type("These", (Holdings,), {"refused": refused}))
        view, nobody = LedgerView({TP: record}, {}), type("Nobody", (), {"names": list})()
        flow = make_flow({f"east->west.{name.replace('_', '.')}": value for name, value in properties.items()})
        looking = module._Looking(flow, nobody, nobody, Scope(), NO_DECISIONS, view)
        looking.run()
        left_out = {tp: tuple(left) for tp, left in looking.left_out.items()}
        now = datetime(2026, 11, 21, tzinfo=UTC)
        return Prepared(now, looking.records, tuple(looking.stretches), left_out, tuple(looking.errors))

    return make


def test_a_partition_whose_remote_topic_may_not_be_read_is_not_equal(prepared: Callable[..., Prepared]) -> None:
    found = prepared(refused=AuthorizationRefused("west", "DESCRIBE", "topic east.orders", topic="east.orders"))
    assert [(error.code, error.topic) for error in found.errors] == [("AuthorizationRefused", "orders")]
    assert [each.state for each in partition_audits(found, [])] == [UNPROVEN]
    assert [each.state for each in partition_audits(prepared(ledger_record(watermark=0, target_topic="east.orders")), [])] == [EQUAL]


def test_history_in_the_remote_topic_whose_place_is_forgotten_may_stand_there(prepared: Callable[..., Prepared]) -> None:
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


def test_where_others_may_write_history_may_have_their_records_in_it(prepared: Callable[..., Prepared]) -> None:
    places = [History(0, 40, name, 60, 80) for name in ("east.orders", "history.orders")]
    topics = tuple(HistoryTopic(each.topic, "id", 80, ((0, 40),), (each,)) for each in places)
    found = prepared(ledger_record(**{**vars(RECORD), "history_topics": topics}), mirror_on_unexplained_target="append").stretches
    assert {each.remote.topic: each.lenient for each in found[1:]} == {"east.orders": True, "history.orders": False}
