"""Errors of topics, partitions and records that only a person can answer, on real brokers: the command that the error names is run as it
stands there, the next copy goes on, what is on the target is right, and the decision is used up."""

import time

from mirror.kafka.connect import clusters
from mirror.offsets.map import OffsetMap, Run
from mirror.offsets.partition import TopicPartition
from services.oracle import Record, Side
from tests.integration.decisions import WHY, errors_of, mirrored, recreate, used_up, values, watermark, write_ledger

# ---------------------------------------------------------------- the source


def test_a_gap_is_passed_over_once_somebody_accepts_it(mirroring, make_topic, decide, answer):
    topic, other = make_topic("orders", 2), make_topic("payments")
    mirroring.copy()
    start = watermark(mirroring, topic)
    mirroring.oracle.produce(mirroring.source, topic, 100, seed=2)
    mirroring.oracle.delete_records(mirroring.source, topic, {0: start + 10})
    error = errors_of(mirroring.copy(), "SourceGap")[TopicPartition(topic, 0)]
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
    mirroring.oracle.delete_topic(mirroring.source, topic)
    mirroring.oracle.create_topic(mirroring.source, topic, 2)
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
    mirroring.oracle.delete_topic(mirroring.source, topic)
    mirroring.oracle.create_topic(mirroring.source, topic, 1)
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
    deadline, tp = time.monotonic() + 30, TopicPartition(topic, 0)
    with clusters(mirroring.flow) as (source, _):
        while source.offsets([tp], "earliest")[tp] < 160:
            assert time.monotonic() < deadline, "retention did not delete the records"
            time.sleep(0.1)
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


# ---------------------------------------------------------------- single records


def test_a_record_that_the_target_refuses_is_skipped_once_somebody_says_so(mirroring, make_topic, decide, answer):
    topic = make_topic("orders", records=0)
    mirroring.refresh()
    mirroring.oracle.alter_configs(mirroring.target, mirroring.pair.remote(topic), {"cleanup.policy": "compact"})
    records = [Record(b"k1", b"v"), Record(None, b"v"), Record(b"k2", b"v")]
    mirroring.oracle.produce_records(mirroring.source, topic, records)
    error = errors_of(mirroring.copy(), "RecordRefused")[TopicPartition(topic, 0)]
    (decision,) = answer(error)
    assert decision["offset"] == 1
    assert mirroring.copy().state == "done"
    assert [key for key, _ in mirrored(mirroring, topic)] == [b"k1", b"k2"]
    record = mirroring.ledger()[TopicPartition(topic, 0)]
    assert (record.watermark, record.blocked, [(s.start, s.end) for s in record.skipped]) == (3, None, [(1, 2)])
    assert WHY in record.skipped[0].reason
    used_up(decide, mirroring, "skip-record", "--topic", topic)


def test_a_record_that_cannot_be_carried_is_skipped_once_somebody_says_so(mirroring, make_topic, answer):
    topic = make_topic("orders", records=5)
    mirroring.oracle.produce_raw(mirroring.source, topic, [Record(b"odd", b"v", timestamp=1)], raw_header_keys=[b"\xff"])
    mirroring.oracle.produce(mirroring.source, topic, 5, seed=2)
    answer(errors_of(mirroring.copy(), "RecordNotCarried")[TopicPartition(topic, 0)])
    assert mirroring.copy().records == 5
    source = values(mirroring, mirroring.source, topic)
    assert mirrored(mirroring, topic) == source[:5] + source[6:]


# ---------------------------------------------------------------- the target


def test_a_recreated_remote_topic_is_filled_again(mirroring, make_topic, decide, answer):
    topic = make_topic("orders", 2)
    mirroring.copy()
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.delete_topic(mirroring.target, remote)
    mirroring.oracle.create_topic(mirroring.target, remote, 2)
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=12)
    for error in errors_of(mirroring.copy(), "TargetRecreated").values():
        answer(error)
    assert mirroring.copy().records == 150
    mirroring.assert_mirrored(topic)
    assert sum(record.records for record in mirroring.ledger().values()) == 250, "totals go on"
    used_up(decide, mirroring, "restart", "--topic", topic)


def test_a_deleted_remote_topic_is_decided_about_and_made_anew(mirroring, make_topic, decide, answer):
    topic = make_topic("orders")
    mirroring.copy()
    mirroring.oracle.delete_topic(mirroring.target, mirroring.pair.remote(topic))
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=13)
    error = errors_of(mirroring.copy(), "TargetMissing")[TopicPartition(topic, 0)]
    answer(error)
    errors_of(mirroring.copy(), "TargetMissing")
    mirroring.refresh()
    assert mirroring.copy().records == 150
    mirroring.assert_mirrored(topic)
    used_up(decide, mirroring, "restart", "--topic", topic)


def test_a_remote_topic_with_fewer_partitions_than_its_source_is_extended_and_decided_about(mirroring, make_topic, answer):
    topic = make_topic("orders", 3)
    mirroring.copy()
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.delete_topic(mirroring.target, remote)
    mirroring.oracle.create_topic(mirroring.target, remote, 1)
    mirroring.oracle.produce(mirroring.source, topic, 60, seed=14)
    judged = mirroring.copy()
    assert {(error.code, error.partition) for error in judged.errors} >= {("TargetMissing", 1), ("TargetMissing", 2)}
    mirroring.refresh()
    for error in errors_of(mirroring.copy(), "TargetRecreated").values():
        answer(error)
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)


def test_a_remote_topic_that_is_recreated_inside_a_transaction_is_not_committed(mirroring, make_topic, inside_the_transaction, answer):
    topic, other = make_topic("orders"), make_topic("payments")
    mirroring.copy()
    for each in (topic, other):
        mirroring.oracle.produce(mirroring.source, each, 30, seed=5)
    inside_the_transaction(topic, lambda: recreate(mirroring, mirroring.target, mirroring.pair.remote(topic)))
    error = errors_of(mirroring.copy(), "TargetRecreated")[TopicPartition(topic, 0)]
    assert (mirrored(mirroring, topic), watermark(mirroring, topic)) == ([], 100)
    mirroring.assert_mirrored(other)
    answer(error)
    assert mirroring.copy().records == 130
    mirroring.assert_mirrored(topic)


def test_what_the_target_lost_is_copied_again(mirroring, make_topic, decide, answer):
    topic = make_topic("orders")
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, topic, 55, seed=5)
    offsets = OffsetMap((Run(0, 0, 100), Run(100, 101, 50)))
    write_ledger(mirroring, topic, watermark=150, covered=((0, 150),), target_next=151, offset_map=offsets, records=150)
    answer(errors_of(mirroring.copy(), "TargetLostRecords")[TopicPartition(topic, 0)])
    assert mirroring.copy().records == 55
    mirroring.assert_mirrored(topic)
    assert mirroring.ledger()[TopicPartition(topic, 0)].offset_map.runs == (Run(0, 0, 100), Run(100, 101, 55))
    used_up(decide, mirroring, "restart", "--topic", topic)


def test_another_policy_is_followed_once_somebody_says_so(mirroring, make_topic, make_mirroring, answer):
    topic = make_topic("orders")
    mirroring.copy()
    other = make_mirroring(
        mirroring.pair, {"replication.policy.separator": "-", "replication.policy.internal.topic.separator.enabled": "false"}
    )
    mirroring.oracle.produce(mirroring.source, topic, 20, seed=15)
    other.refresh()
    answer(errors_of(other.copy(), "TargetRecreated")[TopicPartition(topic, 0)])
    assert other.copy().records == 120
    other.assert_mirrored(topic, f"{mirroring.pair.source}-{topic}")


def test_records_of_somebody_else_stay_in_front_of_the_copy_once_that_is_accepted(mirroring, make_topic, decide, answer):
    known, fresh = make_topic("orders"), make_topic("payments", records=0)
    mirroring.copy()
    foreign = Record(b"foreign", b"v")
    new = mirroring.pair.topic("shipments")
    mirroring.oracle.create_topic(mirroring.source, new, 1)
    mirroring.oracle.create_topic(mirroring.target, mirroring.pair.remote(new), 1)
    for topic in (known, fresh, new):
        mirroring.oracle.produce_records(mirroring.target, mirroring.pair.remote(topic), [foreign] * 3)
        mirroring.oracle.produce(mirroring.source, topic, 20, seed=16)
    errors = errors_of(mirroring.copy(), "UnexplainedTarget")
    assert {tp.topic for tp in errors} == {known, fresh, new}
    for error in errors.values():
        answer(error)
    mirroring.oracle.produce_records(mirroring.target, mirroring.pair.remote(known), [foreign])
    late = errors_of(mirroring.copy(), "UnexplainedTarget")
    assert {tp.topic for tp in late} == {known}, "what came after the decision is not accepted"
    answer(late[TopicPartition(known, 0)])
    assert mirroring.copy().state == "done"
    for topic, copied, strangers in ((known, 100, 4), (fresh, 0, 3), (new, 0, 3)):
        source = values(mirroring, mirroring.source, topic)
        assert mirrored(mirroring, topic) == source[:copied] + [(b"foreign", b"v")] * strangers + source[copied:]
    used_up(decide, mirroring, "accept-records", "--topic", known)


def test_a_recreated_remote_topic_that_somebody_filled_needs_both_decisions(mirroring, make_topic, answer):
    topic = make_topic("orders")
    mirroring.copy()
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.delete_topic(mirroring.target, remote)
    mirroring.oracle.create_topic(mirroring.target, remote, 1)
    mirroring.oracle.produce_records(mirroring.target, remote, [Record(b"foreign", b"v")])
    mirroring.oracle.produce(mirroring.source, topic, 10, seed=17)
    answer(errors_of(mirroring.copy(), "TargetRecreated")[TopicPartition(topic, 0)])
    answer(errors_of(mirroring.copy(), "UnexplainedTarget")[TopicPartition(topic, 0)])
    assert mirroring.copy().records == 110
    assert mirrored(mirroring, topic) == [(b"foreign", b"v"), *values(mirroring, mirroring.source, topic)]


def test_records_that_the_ledger_forgot_are_not_copied_twice_once_somebody_says_where_the_source_goes_on(
    mirroring, make_topic, decide, answer
):
    topic = make_topic("orders")
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, topic, 20, seed=5)
    write_ledger(mirroring, topic, watermark=60, covered=((0, 60),), target_next=60, offset_map=OffsetMap((Run(0, 0, 60),)), records=60)
    error = errors_of(mirroring.copy(), "UnexplainedTarget")[TopicPartition(topic, 0)]
    where = ("--flow", mirroring.pair.flow, "--topic", topic, "--partition", "0")
    assert decide("restart", *where, "--to-offset", "100", "--reason", WHY)[0] == 0
    errors_of(mirroring.copy(), "UnexplainedTarget")
    answer(error)
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)
