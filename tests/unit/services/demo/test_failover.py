"""What the demo says of a group that failed over: nothing lost and nothing read twice, or how much."""

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_translation import GroupOffset
from kafka_mirror.groups.translation import EARLY, EXACT, TranslatedOffset
from kafka_mirror.kafka.groups import Committed
from services.demo.failover import GROUP, FailedOver, Record, compare_reads, find_unsynced
from tests.unit.ledger_records import ledger_record

WHOLE: list[Record] = [(number % 2, 1000 + number, b"key", b"%d" % number) for number in range(10)]


def test_a_group_that_goes_on_where_it_stopped_misses_nothing_and_reads_nothing_twice() -> None:
    assert compare_reads(WHOLE[:4], WHOLE[4:], WHOLE) == FailedOver(before=4, after=6, lost=0, twice=0)


def test_what_was_left_out_in_the_middle_is_lost() -> None:
    assert compare_reads(WHOLE[:4], WHOLE[6:], WHOLE) == FailedOver(4, 4, lost=2, twice=0)


def test_what_was_read_on_both_sides_is_read_twice() -> None:
    assert compare_reads(WHOLE[:4], WHOLE[1:], WHOLE) == FailedOver(4, 9, lost=0, twice=3)


def test_what_was_copied_after_the_group_stopped_reading_is_not_lost() -> None:
    assert compare_reads(WHOLE[:2], WHOLE[2:6], WHOLE) == FailedOver(2, 4, lost=0, twice=0)


def test_a_group_has_failed_over_when_it_is_where_it_belongs_and_the_copy_has_passed_it() -> None:
    tp, remote = TopicPartition("payments", 0), TopicPartition("east.payments", 0)

    def waits(offset: int, kind: str = EXACT, synced: int = 7) -> bool:
        position = GroupOffset(GROUP, tp, Committed(offset), remote, TranslatedOffset(kind, 7), None)
        return bool(find_unsynced([position], {tp: ledger_record(watermark=10)}, {remote: Committed(synced)}))

    assert not waits(10)
    assert waits(11), "it would read the eleventh again, which the mirror does not have yet"
    assert waits(10, EARLY)
    assert waits(10, synced=6)
