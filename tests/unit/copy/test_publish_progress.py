"""How far a run is, by the ledger: what it committed itself, and nothing else."""

from types import SimpleNamespace

import pytest

from kafka_mirror.config import load
from kafka_mirror.copy import publish as module
from kafka_mirror.copy.plan.model import BEHIND, HISTORY, Plan, Range
from kafka_mirror.copy.publish import count_committed, positions
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import HistoryTopic, Writer
from kafka_mirror.ledger.topic import LedgerView
from tests.unit.ledger_records import WRITTEN_AT, ledger_record

RUN, OTHER = "copy by hand / 2026-11-21T08:00:00Z", "east-to-west.copy / scheduled"
ORDERS = TopicPartition("orders", 0)


def record(watermark, run=RUN, **fields):
    return ledger_record(watermark=watermark, writer=Writer("", "host", run, WRITTEN_AT), **fields)


@pytest.mark.parametrize(
    ("known", "offsets"),
    [
        (None, 0),
        (record(40, OTHER), 0),
        (record(10), 0),
        (record(40), 30),
        (record(100), 90),
        (record(130), 90),
        (record(5), 0),
    ],
    ids=["not begun", "of another run", "at the start", "on the way", "at the end", "past the end", "in front of the start"],
)
def test_of_a_range_counts_what_lies_between_its_start_and_the_watermark(known, offsets):
    assert count_committed(Range(*ORDERS, "id", 10, 100, BEHIND), known, RUN, {}) == offsets


def test_of_history_counts_what_was_written_into_the_topic_that_it_goes_to():
    written = (HistoryTopic("history.orders", "id", 7, ((0, 20), (50, 60))), HistoryTopic("elsewhere", "id", 7, ((20, 50),)))
    planned = Range(*ORDERS, "id", 10, 55, HISTORY)
    assert count_committed(planned, record(500, history_topics=written), RUN, {"orders": "history.orders"}) == 15


def test_the_ledger_is_read_once_and_then_only_what_is_new(tmp_path, monkeypatch):
    payments, asked = TopicPartition("payments", 0), []
    views = iter(
        [
            LedgerView({ORDERS: record(40), payments: record(10, OTHER)}, ends={0: 7, 1: 3}),
            LedgerView({payments: record(15)}, ends={0: 7, 1: 5}),
            LedgerView({}, ends={0: 7, 1: 5}),
        ]
    )

    def read(since):
        asked.append(dict(since))
        return next(views)

    monkeypatch.setattr(module, "ledger_of", lambda _flow, _target: SimpleNamespace(read=read))
    (tmp_path / "mm2.properties").write_text(
        "clusters = east, west\neast.bootstrap.servers = 127.0.0.1:1\nwest.bootstrap.servers = 127.0.0.1:1\neast->west.enabled = true\n"
    )
    (flow,) = load([tmp_path / "mm2.properties"]).flows
    plan = Plan(flow.name, (Range(*ORDERS, "id", 10, 100, BEHIND), Range(*payments, "id", 0, 20, BEHIND)))
    found = positions(flow, plan, RUN)
    assert [next(found), next(found), next(found)] == [30, 45, 45]
    assert asked == [{}, {0: 7, 1: 3}, {0: 7, 1: 5}]
    found.close()
