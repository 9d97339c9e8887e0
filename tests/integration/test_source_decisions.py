"""Errors of a source and of single records that only a person can answer, on real brokers: the command that the error names is run as it
stands there, the next copy goes on, what is on the target is right, and the decision is used up."""

import time

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.clusters import clusters
from services.oracle import Record, Side
from services.waiting import eventually
from tests.integration.decisions import WHY, errors_of, mirrored, recreate, used_up, values, watermark, write_ledger

# ---------------------------------------------------------------- the source


def test_a_gap_is_passed_over_once_somebody_accepts_it(mirroring, make_topic, decide, answer):
    topic, other = make_topic("orders", 2), make_topic("payments")
    mirroring.copy()
    start = watermark(mirroring, topic)
    mirroring.oracle.produce(mirroring.source, topic, 100, seed=2)
    mirroring.oracle.delete_records(mirroring.source, topic, {0: start + 10})
    error = errors_of(mirroring.copy(), "SourceGap")[TopicPartition(topic, 0)]
    assert (error.offset, f"[{start}, {start + 10})" in error.message) == (start, True)
    assert watermark(mirroring, topic, 1) == len(values(mirroring, mirroring.source, topic, 1)), "the partition's neighbour goes on"
    (decision,) = answer(error)
    assert (decision["topic"], decision["partition"], decision["watermark"], decision["why"]) == (topic, 0, start, WHY)
    answer(error)  # pressed twice
    mirroring.oracle.delete_records(mirroring.source, topic, {0: start + 15})  # the gap grows until the run acts
    assert mirroring.copy().state == "done"
    record = mirroring.ledger()[TopicPartition(topic, 0)]
    (skipped,) = record.skipped
    assert (skipped.start, skipped.end) == (start, start + 15)
    assert WHY in skipped.reason
    assert (record.decided.decision, record.decided.why) == ("accept-gap", WHY)
    assert mirrored(mirroring, topic)[-1] == values(mirroring, mirroring.source, topic)[-1]
    used_up(decide, mirroring, "accept-gap", "--topic", topic)
    mirroring.oracle.produce(mirroring.source, other, 10, seed=3)
    assert mirroring.copy().records == 10


def test_a_second_gap_needs_a_second_decision(mirroring, make_topic, answer):
    topic = make_topic("orders")
    mirroring.copy()
    for ahead in (5, 7):
        mirroring.oracle.produce(mirroring.source, topic, 20, seed=ahead)
        mirroring.oracle.delete_records(mirroring.source, topic, {0: watermark(mirroring, topic) + ahead})
        answer(errors_of(mirroring.copy(), "SourceGap")[TopicPartition(topic, 0)])
        assert mirroring.copy().records == 20 - ahead
    assert [each.end - each.start for each in mirroring.ledger()[TopicPartition(topic, 0)].skipped] == [5, 7]


def test_a_recreated_source_topic_is_copied_behind_the_old_records(mirroring, make_topic, decide, answer):
    topic = make_topic("orders", 2)
    mirroring.copy()
    old = {partition: mirrored(mirroring, topic, partition) for partition in (0, 1)}
    recreate(mirroring, mirroring.source, topic, 2)
    mirroring.oracle.produce(mirroring.source, topic, 300, seed=3)
    errors = errors_of(mirroring.copy(), "SourceRecreated")
    answer(errors[TopicPartition(topic, 0)])
    still = mirroring.copy()
    assert errors_of(still, "SourceRecreated").keys() == {TopicPartition(topic, 1)}, "a decision is about its partition alone"
    answer(errors[TopicPartition(topic, 1)])
    assert mirroring.copy().state == "done"
    remote = mirroring.pair.remote(topic)
    for partition in (0, 1):
        assert mirrored(mirroring, topic, partition) == old[partition] + values(mirroring, mirroring.source, topic, partition)
    ends = {count.partition: count.end for count in mirroring.oracle.count(mirroring.target, remote)}
    first_new = {
        p: next(r.offset for r in mirroring.oracle.dump(mirroring.target, remote) if r.partition == p and r.offset >= len(old[p]))
        for p in ends
    }
    comparison = mirroring.oracle.compare(Side(mirroring.source, topic), Side(mirroring.target, remote, start=first_new))
    assert comparison.equal, str(comparison)
    record = mirroring.ledger()[TopicPartition(topic, 0)]
    assert record.offset_map.runs[0].source == 0
    used_up(decide, mirroring, "restart", "--topic", topic)
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=4)
    assert mirroring.copy().records == 50


def test_a_recreated_source_topic_may_be_taken_up_at_its_end(mirroring, make_topic, answer):
    topic = make_topic("orders")
    mirroring.copy()
    recreate(mirroring, mirroring.source, topic)
    mirroring.oracle.produce(mirroring.source, topic, 40, seed=3)
    answer(errors_of(mirroring.copy(), "SourceRecreated")[TopicPartition(topic, 0)], "--to-latest")
    assert mirroring.copy().records == 0
    mirroring.oracle.produce(mirroring.source, topic, 7, seed=4)
    assert mirroring.copy().records == 7
    assert mirrored(mirroring, topic)[-7:] == values(mirroring, mirroring.source, topic)[-7:]


def test_a_gap_that_retention_made_is_passed_over_once_somebody_accepts_it(mirroring, make_topic, answer):
    topic = make_topic("orders")
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, topic, 60, seed=2)
    mirroring.oracle.alter_configs(mirroring.source, topic, {"retention.ms": "1"})
    tp = TopicPartition(topic, 0)
    with clusters(mirroring.flow) as (source, _):
        eventually(lambda: source.offsets([tp], "earliest")[tp] >= 160, "retention")
    # Of the future, so that retention leaves them alone.
    mirroring.oracle.produce(mirroring.source, topic, 5, seed=3, timestamp=int((time.time() + 600) * 1000))
    answer(errors_of(mirroring.copy(), "SourceGap")[TopicPartition(topic, 0)])
    assert mirroring.copy().records == 5
    assert [(each.start, each.end) for each in mirroring.ledger()[TopicPartition(topic, 0)].skipped] == [(100, 160)]


def test_a_truncated_source_is_taken_up_where_its_old_records_end(mirroring, make_topic, decide, answer):
    topic = make_topic("orders")
    mirroring.copy()
    write_ledger(mirroring, topic, watermark=130, covered=((0, 130),))
    answer(errors_of(mirroring.copy(), "SourceTruncated")[TopicPartition(topic, 0)])
    mirroring.oracle.produce(mirroring.source, topic, 20, seed=4)
    assert mirroring.copy().records == 20
    mirroring.assert_mirrored(topic)
    assert mirroring.ledger()[TopicPartition(topic, 0)].covered == ((0, 120),)
    used_up(decide, mirroring, "restart", "--topic", topic)


def test_a_source_topic_that_is_recreated_inside_a_transaction_is_not_committed(mirroring, make_topic, inside_the_transaction, answer):
    topic = make_topic("orders")
    mirroring.copy()
    before = mirrored(mirroring, topic)
    mirroring.oracle.produce(mirroring.source, topic, 30, seed=5)
    inside_the_transaction(topic, lambda: recreate(mirroring, mirroring.source, topic))
    error = errors_of(mirroring.copy(), "SourceRecreated")[TopicPartition(topic, 0)]
    assert (mirrored(mirroring, topic), watermark(mirroring, topic)) == (before, 100)
    mirroring.oracle.produce(mirroring.source, topic, 7, seed=6)
    answer(error)
    assert mirroring.copy().records == 7
    assert mirrored(mirroring, topic) == before + values(mirroring, mirroring.source, topic)


def test_a_restart_that_could_not_be_copied_is_not_done_though_the_old_watermark_stands_past_its_end(
    mirroring, make_topic, inside_the_transaction, answer
):
    topic = make_topic("orders")
    mirroring.copy()
    before, tp = mirrored(mirroring, topic), TopicPartition(topic, 0)
    recreate(mirroring, mirroring.source, topic)
    mirroring.oracle.produce(mirroring.source, topic, 7, seed=6)
    answer(errors_of(mirroring.copy(), "SourceRecreated")[tp])
    inside_the_transaction(topic, lambda: recreate(mirroring, mirroring.source, topic))
    again = errors_of(mirroring.copy(), "SourceRecreated")[tp]
    assert (mirrored(mirroring, topic), watermark(mirroring, topic)) == (before, 100)
    mirroring.oracle.produce(mirroring.source, topic, 5, seed=7)
    answer(again)
    assert mirroring.copy().records == 5
    assert mirrored(mirroring, topic) == before + values(mirroring, mirroring.source, topic)


# ---------------------------------------------------------------- single records


def test_a_record_that_the_target_refuses_is_skipped_once_somebody_says_so(mirroring, make_topic, decide, answer):
    topic = make_topic("orders", records=0)
    mirroring.refresh()
    mirroring.oracle.alter_configs(mirroring.target, mirroring.pair.remote(topic), {"cleanup.policy": "compact"})
    records = [Record(b"k1", b"v"), Record(None, b"v"), Record(b"k2", b"v")]
    mirroring.oracle.produce_records(mirroring.source, topic, records)
    error = errors_of(mirroring.copy(), "RecordRefused")[TopicPartition(topic, 0)]
    assert "no key" in error.message
    (decision,) = answer(error)
    assert decision["offset"] == 1
    assert mirroring.copy().state == "done"
    assert [key for key, _ in mirrored(mirroring, topic)] == [b"k1", b"k2"]
    record = mirroring.ledger()[TopicPartition(topic, 0)]
    assert (record.watermark, record.blocked, [(s.start, s.end) for s in record.skipped]) == (3, None, [(1, 2)])
    assert WHY in record.skipped[0].reason
    used_up(decide, mirroring, "skip-record", "--topic", topic)
