"""Errors of a target that only a person can answer, on real brokers: the command that the error names is run as it
stands there, the next copy goes on, what is on the target is right, and the decision is used up."""

from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.oracle import Record
from tests.integration.decisions import WHY, errors_of, mirrored, recreate, used_up, values, watermark, write_ledger


def test_a_recreated_remote_topic_is_filled_again(mirroring, make_topic, decide, answer):
    topic = make_topic("orders", 2)
    mirroring.copy()
    remote = mirroring.pair.remote(topic)
    recreate(mirroring, mirroring.target, remote, 2)
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
    assert mirroring.oracle.topic_id(mirroring.target, mirroring.pair.remote(topic)) is None, "writing does not create it"
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
    recreate(mirroring, mirroring.target, remote)
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


def test_a_partition_with_accepted_records_begins_where_it_is_configured_though_others_are_copied(pair, answer, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.start": "offset:30"})
    topic, foreign = pair.topic("orders"), [Record(b"foreign", b"v", partition=1)]
    mirroring.oracle.create_topic(mirroring.source, topic, 2)
    for partition in range(2):
        mirroring.oracle.produce(mirroring.source, topic, 40, seed=partition, partition=partition)
    mirroring.refresh()
    mirroring.oracle.produce_records(mirroring.target, pair.remote(topic), foreign * 30)
    answer(errors_of(mirroring.copy(), "UnexplainedTarget")[TopicPartition(topic, 1)])
    assert mirroring.copy().records == 10
    assert mirrored(mirroring, topic, 1) == [(b"foreign", b"v")] * 30 + values(mirroring, mirroring.source, topic, 1)[30:]


def test_a_recreated_remote_topic_that_somebody_filled_needs_both_decisions(mirroring, make_topic, answer):
    topic = make_topic("orders")
    mirroring.copy()
    remote = mirroring.pair.remote(topic)
    recreate(mirroring, mirroring.target, remote)
    mirroring.oracle.produce_records(mirroring.target, remote, [Record(b"foreign", b"v")])
    mirroring.oracle.produce(mirroring.source, topic, 10, seed=17)
    answer(errors_of(mirroring.copy(), "TargetRecreated")[TopicPartition(topic, 0)])
    answer(errors_of(mirroring.copy(), "UnexplainedTarget")[TopicPartition(topic, 0)])
    assert mirroring.copy().records == 110
    assert mirrored(mirroring, topic) == [(b"foreign", b"v"), *values(mirroring, mirroring.source, topic)]


def test_records_that_the_target_lost_under_aborted_ones_are_copied_again_once_somebody_says_so(mirroring, make_topic, decide, answer):
    topic = make_topic("orders")
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, topic, 20, seed=5)
    transaction = f"over-the-hole-{mirroring.pair.mark}"
    mirroring.oracle.open_transaction(mirroring.target, mirroring.pair.remote(topic), transaction, [Record(b"k", b"v")] * 5)
    mirroring.oracle.end_transaction(transaction, "abort")
    # As if three of our records had stood where the aborted ones stand now.
    known = OffsetMap((Run(0, 0, 100), Run(100, 101, 3)))
    write_ledger(mirroring, topic, watermark=103, covered=((0, 103),), target_next=104, offset_map=known, records=103)
    for _ in range(2):
        error = errors_of(mirroring.copy(), "TargetLostRecords")[TopicPartition(topic, 0)]
        assert "lost what was committed in [100, 104)" in error.message
        assert mirrored(mirroring, topic) == values(mirroring, mirroring.source, topic)[:100]
    answer(error)
    assert mirroring.copy().records == 20
    mirroring.assert_mirrored(topic)
    used_up(decide, mirroring, "restart", "--topic", topic)


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
