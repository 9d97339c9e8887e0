"""What stands behind the copy: whose it is, and what is said when nobody could look."""

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.audit import run as module
from kafka_mirror.audit.copied_ranges import AuditRange, Outcome
from kafka_mirror.audit.prepare import PreparedAudit
from kafka_mirror.audit.reader import AuditContext
from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.errors import AuthorizationRefused, DeadlineExceeded
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.topic import FencedLane
from tests.unit.audit.memory import MemoryMessage, record
from tests.unit.ledger_records import ledger_record

TP, OTHER = TopicPartition("orders", 0), TopicPartition("returns", 0)
REMOTE = TopicPartition("east.orders", 0)
CONTEXT = AuditContext("east", "west", 16, ClientSettings({}, {}, {}, {}))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Outcome]]:
    """The outcomes of two partitions that are equal, of which the first one has a record behind its copy; `ends` does what the reader
    does after it found that."""

    def tell(ends: Callable[[dict[str, Any]], None], watched: int | None = 100) -> list[Outcome]:
        class Reader:
            def __init__(self, *_: Any) -> None:
                pass

            def first_visible(self, _ranges: Any, _seconds: float, errors: dict[str, Any], accept: Callable[[Any], bool]) -> None:
                accept(MemoryMessage(record(100), REMOTE))
                ends(errors)

        monkeypatch.setattr(module, "BoundedReader", Reader)
        records = {TP: ledger_record(), OTHER: ledger_record(target_topic="east.returns")}
        current = {} if watched is None else {TP: ledger_record(target_next=watched)}
        prepared = PreparedAudit(datetime(2026, 11, 21, tzinfo=UTC), records, tails=dict.fromkeys(records, (100, 120)))
        outcomes = [Outcome(AuditRange(tp, TopicPartition(records[tp].target_topic, 0), 0, 100, 0, 100, 100, 120)) for tp in records]
        ledger: Any = SimpleNamespace(lanes=16, read_fenced=lambda _lane: FencedLane(current, 0))
        return module.find_foreign_tails(ledger, CONTEXT, prepared, outcomes)

    return tell


def test_a_record_behind_the_copy_is_foreign_unless_a_run_wrote_it_meanwhile(told: Callable[..., list[Outcome]]) -> None:
    orders, returns = told(lambda _errors: None)
    assert orders.difference is not None
    assert (orders.difference.kind, orders.difference.target_offset, returns.difference) == ("foreign record", 100, None)
    assert [each.difference for each in told(lambda _errors: None, watched=120)] == [None, None]
    assert told(lambda _errors: None, watched=None)[0].notes == (module.OPEN,)


def test_what_was_not_seen_in_time_is_said(told: Callable[..., list[Outcome]]) -> None:
    def late(_errors: dict[str, Any]) -> None:
        raise DeadlineExceeded("nothing came")

    orders, returns = told(late)
    assert orders.difference is not None, "it was found before"
    assert (returns.difference, returns.notes) == (None, (module.UNREAD,))


def test_a_topic_that_may_not_be_read_is_not_equal(told: Callable[..., list[Outcome]]) -> None:
    def refused(errors: dict[str, Any]) -> None:
        errors["east.returns"] = AuthorizationRefused("west", "READ", "topic east.returns", topic="east.returns")

    orders, returns = told(refused)
    assert orders.error is None
    assert returns.error is not None
    assert (returns.error.code, returns.error.topic) == ("AuthorizationRefused", "returns")
