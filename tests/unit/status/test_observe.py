"""The age of what is not copied yet: what is read for it, and what is not read twice."""

from typing import ClassVar

import pytest

from mirror.offsets.partition import TopicPartition
from mirror.plan.ranges import SourceOffsets
from mirror.status import observe
from mirror.status.observe import oldest_records

TP, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


class MadeUpFlow:
    source, reads_committed = "east", True

    def client(self, side, role):
        return {}


@pytest.fixture
def source(monkeypatch):
    """Records that are stamped with their offset; `reads` has every range that was read, and whether committed records alone."""

    class Message:
        def __init__(self, offset):
            self.at = offset

        def timestamp(self):
            return (1, self.at)

    class Reader:
        reads: ClassVar[list] = []

        def __init__(self, alias, settings, committed):
            self.committed = committed

        def first_visible(self, ranges, seconds, errors, partial):
            Reader.reads += [(tp, start, self.committed) for tp, (start, _) in ranges.items()]
            return {tp: Message(start) for tp, (start, _) in ranges.items()}

    Reader.reads.clear()
    monkeypatch.setattr(observe, "BoundedReader", Reader)
    return Reader


def found(tp=TP, start=0, readable=100, end=100):
    return SourceOffsets(tp, "id", start, readable, end)


def look(*positions, known=None):
    return oldest_records(MadeUpFlow(), positions, {}, known)


def test_the_first_record_that_is_missing_is_read_and_of_what_is_all_there_nothing(source):
    assert look((found(), 40), (found(OTHER), 100)) == {TP: 40}
    assert source.reads == [(TP, 40, True)]


def test_behind_a_gap_it_is_the_first_that_is_left(source):
    assert look((found(start=60), 40)) == {TP: 60}


def test_what_an_open_transaction_holds_back_is_read_uncommitted(source):
    assert look((found(readable=40), 40)) == {TP: 40}
    assert source.reads == [(TP, 40, False)]


def test_a_partition_that_stands_where_it_stood_is_not_read_again(source):
    known = {}
    assert look((found(), 40), (found(OTHER), 10), known=known) == {TP: 40, OTHER: 10}
    source.reads.clear()
    assert look((found(end=200, readable=200), 40), (found(OTHER), 20), known=known) == {TP: 40, OTHER: 20}
    assert source.reads == [(OTHER, 20, True)]


def test_what_is_copied_or_gone_is_forgotten(source):
    known = {}
    look((found(), 40), (found(OTHER), 10), known=known)
    assert look((found(), 100), known=known) == {}
    assert known == {}


def test_an_open_transaction_is_looked_at_each_time_for_it_may_be_aborted(source):
    known = {}
    for _ in range(2):
        assert look((found(readable=40), 40), known=known) == {TP: 40}
    assert len(source.reads) == 2
    assert known == {}
