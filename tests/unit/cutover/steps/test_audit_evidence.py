"""Up to where a wave was audited, and for which ends that counts."""

import json
from dataclasses import replace

import pytest

from kafka_mirror.cutover.steps.audit_gate import (
    AUDITED,
    AuditedPartition,
    PartitionEnds,
    find_audit_starts,
    is_current,
    make_evidence,
    read_evidence,
    write_evidence,
)
from kafka_mirror.formats.offsets.partition import TopicPartition

ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)
END = PartitionEnds(0, 10, 10, 12, "g")
AUDIT = AuditedPartition(0, 10, 12, "g")


def test_an_audit_counts_as_long_as_nothing_came_on_either_side():
    assert is_current({ZERO: AUDIT}, {ZERO: END}, whole=True)
    assert not is_current({}, {ZERO: END}, whole=False)
    assert not is_current({ZERO: AUDIT}, {ZERO: END, ONE: END}, whole=False), "of one partition nothing is known"


@pytest.mark.parametrize("change", [{"source_end": 11}, {"watermark": 9}, {"target_end": 13}, {"generation": "h"}])
def test_each_end_and_both_topics_count(change):
    assert not is_current({ZERO: AUDIT}, {ZERO: replace(END, **change)}, whole=False)


def test_an_audit_from_some_offset_on_is_no_whole_one():
    assert is_current({ZERO: replace(AUDIT, start=3)}, {ZERO: END}, whole=False)
    assert not is_current({ZERO: replace(AUDIT, start=3)}, {ZERO: END}, whole=True)


def test_a_partition_in_which_nothing_ever_stood_needs_no_audit():
    assert is_current({}, {ZERO: PartitionEnds(0, 0)}, whole=True)
    assert not is_current({}, {ZERO: PartitionEnds(0, 1)}, whole=False)


def test_the_next_audit_begins_where_the_last_good_one_ended():
    assert find_audit_starts({ZERO: AUDIT}, {ZERO: replace(END, source_end=20, watermark=20, target_end=25), ONE: END}) == {ZERO: 10}


@pytest.mark.parametrize("change", [{"source_end": 9}, {"target_end": 11}, {"target_end": None}, {"generation": "h"}])
def test_a_log_that_lost_its_end_or_is_another_one_is_audited_whole(change):
    assert find_audit_starts({ZERO: AUDIT}, {ZERO: replace(END, **change)}) == {}


def test_evidence_grows_from_its_beginning_and_begins_anew_where_the_whole_was_read():
    later = replace(END, source_end=20, watermark=20, target_end=25)
    grown = make_evidence({ZERO: replace(AUDIT, start=3), ONE: replace(AUDIT, start=3)}, {ZERO: 10}, {ZERO: later, ONE: later})
    assert grown == {ZERO: AuditedPartition(3, 20, 25, "g"), ONE: AuditedPartition(0, 20, 25, "g")}


def test_evidence_comes_back_from_the_control_topic_as_it_was():
    evidence = {ZERO: AUDIT, ONE: replace(AUDIT, start=3)}
    assert read_evidence(json.loads(json.dumps({AUDITED: write_evidence(evidence)}))) == evidence
    assert read_evidence({}) == {}
