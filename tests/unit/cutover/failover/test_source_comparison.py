"""A source that came back, beside what was copied of it: same, more, less, another, none."""

from dataclasses import replace

import pytest

from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.cutover.failover.source_comparison import (
    GONE,
    LESS,
    MORE,
    NEW,
    OTHER,
    SAME,
    compare_partitions,
    report_comparison,
)
from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.unit.ledger_records import ledger_record

ORDERS = TopicPartition("orders", 0)
RECORD = ledger_record(watermark=100, leader_epoch=4, covered=((0, 100),))
LOG = SourceOffsets(ORDERS, "source-topic-id", 0, 100, 100)


def compared(record=RECORD, log=LOG):
    (partition,) = compare_partitions({ORDERS: record} if record else {}, {ORDERS: log} if log else {})
    return partition


@pytest.mark.parametrize(
    ("log", "state", "only", "lost"),
    [
        ({}, SAME, (100, 100), (0, 0)),
        ({"readable_end": 120, "end": 120}, MORE, (100, 120), (0, 0)),
        ({"readable_end": 90, "end": 90}, LESS, (90, 90), (90, 100)),
        ({"readable_end": 120, "end": 120, "epoch_end": 80}, LESS, (80, 120), (80, 100)),
        ({"readable_end": 120, "end": 120, "epoch_end": 100}, MORE, (100, 120), (0, 0)),
        ({"readable_end": 130, "end": 130, "log_start": 110}, MORE, (110, 130), (0, 0)),
        ({"topic_id": "another", "readable_end": 7, "end": 7}, OTHER, (0, 7), (0, 100)),
    ],
    ids=["Same", "more", "truncated", "truncated and grown", "elected cleanly", "retention", "created anew"],
)
def test_what_only_one_side_has_is_told_by_ends_and_epochs(log, state, only, lost):
    found = compared(log=replace(LOG, **log))
    assert (found.state, (found.only_start, found.only_end), (found.lost_start, found.lost_end)) == (state, only, lost)


def test_a_record_without_an_epoch_goes_by_the_end_alone():
    assert compared(replace(RECORD, leader_epoch=None), replace(LOG, epoch_end=80)).state == SAME


def test_an_open_transaction_behind_what_can_be_read_stops():
    found = compared(log=replace(LOG, readable_end=110, end=115))
    assert (found.only, found.open_until) == (10, 115)
    assert [(each.kind, each.code) for each in report_comparison([found])] == [
        ("warning", "OnlyOnSource"),
        ("stop", "TransactionOpen"),
    ]


def test_an_open_transaction_that_nobody_ends_is_named_with_the_command_that_aborts_it():
    *_, finding = report_comparison([compared(log=replace(LOG, readable_end=110, end=115))])
    place = f"--topic {finding.topic} --partition"
    assert f"abort {place} " in str(finding)
    assert "--start-offset 110" in str(finding)


def test_of_a_source_that_does_not_tell_who_writes_no_command_is_named_that_it_does_not_know():
    found = compared(log=replace(LOG, readable_end=110, end=115))
    *_, finding = report_comparison([found], undescribed={found.source})
    assert finding.error.commands == ()
    assert "--export DIR" in finding.error.next
    assert "find-hanging" not in finding.error.next
    assert "--producer-id" in finding.error.next


def test_what_was_never_copied_is_the_sources_alone_and_what_is_gone_is_named():
    new = compared(record=None, log=replace(LOG, log_start=5))
    assert (new.state, new.only_start, new.only_end) == (NEW, 5, 100)
    gone = compared(log=None)
    assert (gone.state, gone.lost_start, gone.lost_end) == (GONE, 0, 100)
    assert [each.code for each in report_comparison([new, gone])] == ["OnlyOnSource", "SourcePartitionGone"]


def test_findings_name_offsets_and_count_what_is_the_same():
    less = compared(log=replace(LOG, readable_end=120, end=120, epoch_end=80))
    findings = list(report_comparison([compared(), less, compared()]))
    assert [each.code for each in findings] == ["SourceLostRecords", "OnlyOnSource", "Same"]
    assert findings[0].message.startswith("orders-0: offsets 80..99 were copied and are not there")
    assert findings[1].message == "orders-0: only the source has offsets 80..119."
    assert findings[2].message == "2 partitions end on the source where they were copied to."
