"""Which topic holds which history, as people are told."""

from kafka_mirror.groups.translation import INCOMPLETE, SourceState, translate
from kafka_mirror.ledger.history import HistoryTopic
from kafka_mirror.ledger.record import history_text
from tests.unit.ledger_records import ledger_record

NEWER = HistoryTopic("history.east.orders", "new-id", 24, ((48, 72),))
OLDER = HistoryTopic("history.east.orders-older", "old-id", 48, ((0, 48),))
RECORD = ledger_record(watermark=100, start=72, covered=((72, 100),), history_topics=(NEWER, OLDER))


def test_every_topic_is_named_with_its_offsets_in_the_order_of_the_source() -> None:
    assert history_text(RECORD) == "[0, 48) in history.east.orders-older, [48, 72) in history.east.orders"
    assert history_text(RECORD, 50) == "[50, 72) in history.east.orders"
    assert history_text(ledger_record()) == ""


def test_many_pieces_are_counted() -> None:
    scattered = HistoryTopic("history.east.orders", "new-id", 24, tuple((start, start + 1) for start in range(0, 10, 2)))
    assert history_text(ledger_record(start=72, history_topics=(scattered,))) == "[0, 1) [2, 3) [4, 5) and 2 more in history.east.orders"


def test_group_in_front_of_the_copy_is_told_where_backfills_wrote_what_it_has_not_read() -> None:
    source = SourceState(RECORD.source_topic_id, 100)
    answer = translate(10, RECORD, source, RECORD.target_topic_id)
    assert answer.kind == INCOMPLETE
    assert answer.reason.endswith("backfills wrote the offsets [10, 48) in history.east.orders-older, [48, 72) in history.east.orders")
    without = translate(10, ledger_record(watermark=100, start=72, covered=((72, 100),)), source, RECORD.target_topic_id)
    assert (without.kind, "backfill" in without.reason) == (INCOMPLETE, False)
