"""A flow that is handed back to MirrorMaker 2: where it goes on, that it is left alone meanwhile, and that it can be taken over again."""

import pytest

from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.errors import CopyUnderWay, HandedBack, NothingToHandBack
from kafka_mirror.formats.mm2 import SOURCE_CONNECTOR, SourcePartition, encode_offset, partition_of
from kafka_mirror.groups.mm2_topics import newest_offset_syncs
from kafka_mirror.groups.offset_syncs import find_syncs_topic
from kafka_mirror.ledger.clusters import clusters
from kafka_mirror.migration.hand_back import HandBackRequest as HandBack
from kafka_mirror.migration.hand_back import hand_back
from kafka_mirror.status.snapshot_groups import group_position
from services.consumers import set_offsets
from services.oracle import Record, Side
from tests.integration.decisions import WHY, write_ledger
from tests.integration.left_behind import refusal, taken
from tests.integration.taking_turns import arrived, exact, make_maker

__all__ = ["make_maker"]


@pytest.fixture
def mirroring(pair, make_mirroring):
    return make_mirroring(pair, {"offset.storage.replication.factor": "1"})


def test_a_flow_that_was_handed_back_is_left_alone_also_by_a_plan_that_is_old(mirroring, left, make_topic):
    assert refusal(NothingToHandBack, lambda: hand_back(mirroring.flow, HandBack("a test")))
    # The source ends in aborted records, so the offset in front of the watermark is that of no record.
    topic, empty = make_topic("orders", 2, 100), make_topic("empty", 1, 0)
    mirroring.oracle.produce(mirroring.source, topic, 40, seed=2, transactions=10, abort_percent=60)
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, topic, 20, seed=3)
    old = plan(mirroring.flow)
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.open_transaction(mirroring.target, remote, f"open-{mirroring.pair.mark}", [Record(b"k", b"v")])
    error = refusal(CopyUnderWay, lambda: hand_back(mirroring.flow, HandBack("a test")))
    assert (error.topic, error.partition) == (remote, 0)
    mirroring.oracle.end_transaction(f"open-{mirroring.pair.mark}", "abort")

    before = mirroring.ledger()
    for _ in range(2):  # twice is harmless
        done = hand_back(mirroring.flow, HandBack("a test"))
    written = {(row.partition, row.key): row.value for row in mirroring.oracle.dump(mirroring.target, left.offsets_topic)}
    keys = {tp: SourcePartition(SOURCE_CONNECTOR, mirroring.pair.source, *tp).key for tp in before if tp.topic == topic}
    assert written == {(partition_of(key), key): encode_offset(before[tp].watermark - 1) for tp, key in keys.items()}
    with clusters(mirroring.flow) as (source, _):
        side, syncs = find_syncs_topic(mirroring.flow)
        newest = newest_offset_syncs(source, mirroring.flow.client(side, "consumer"), syncs, keys).pairs
    ends = {tp: before[tp].offset_map.runs[-1] for tp in keys}
    assert newest == {tp: (end.source + end.length - 1, end.target + end.length - 1) for tp, end in ends.items()}
    assert (empty, 0) in list(zip(done.result["topic"], done.result["watermark"], strict=True))
    assert all(record.watermark == before[tp].watermark for tp, record in mirroring.ledger().items())

    group = f"readers-{mirroring.pair.mark}"
    set_offsets(mirroring.source, group, {(topic, 0): 10})
    (translated,) = group_position(mirroring.flow, group).offsets
    assert (translated.translated.target, translated.translated.kind) == (None, "none")
    assert "handed back" in translated.translated.reason

    results = copy_in_process(mirroring.flow, old)
    assert {error.code for result in results for error in result.errors} == {"HandedBack"}
    assert sum(result.transactions for result in results) == 0
    refusal(HandedBack, mirroring.copy)
    refusal(HandedBack, mirroring.plan)

    done, _ = taken(mirroring)
    assert done.errors == ()
    assert len(done.result["topic"]) == 3
    for figure in ("watermark", "totals"):
        kept = {tp: getattr(record, figure) for tp, record in mirroring.ledger().items()}
        assert kept == {tp: getattr(each, figure) for tp, each in before.items()}
    assert group_position(mirroring.flow, group).offsets[0].translated.target == 10
    assert mirroring.copy().records == 20
    mirroring.assert_mirrored(topic)


def test_a_partition_of_an_old_plan_that_the_ledger_does_not_have_is_left_alone_until_it_is_taken_over(mirroring, left, make_topic):
    make_topic("orders", 2, 100)
    mirroring.copy()
    new = make_topic("first-sight", 3, 30)
    mirroring.refresh()
    old = plan(mirroring.flow)
    assert {planned.topic for planned in old.ranges} == {new}
    assert hand_back(mirroring.flow, HandBack("a test")).errors == ()
    known = mirroring.ledger()

    results = copy_in_process(mirroring.flow, old)

    assert {(error.code, error.topic) for result in results for error in result.errors} == {("HandedBack", new)}
    assert mirroring.oracle.dump(mirroring.target, mirroring.pair.remote(new)) == []
    assert mirroring.ledger() == known, "the notes of lanes are no partitions"
    assert {note.is_handed_back for note in mirroring.ledger_view().notes.values()} == {True}
    assert len(mirroring.ledger_view().notes) == mirroring.flow.value("mirror.lanes")

    done, _ = taken(mirroring)
    assert done.errors == ()
    assert {note.is_handed_back for note in mirroring.ledger_view().notes.values()} == {False}
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(new)


def test_a_topic_that_was_created_anew_is_mirrored_from_its_start(mirroring, left, make_topic, make_maker, decide):
    oracle, pair = mirroring.oracle, mirroring.pair
    anew, gone, same = make_topic("anew", 1, 100), make_topic("gone", 1, 20), make_topic("same", 1, 30)
    mirroring.copy()
    left.stored({anew: 40, gone: 10})  # of old: MirrorMaker 2 mirrored these topics once
    for name in (anew, gone):
        oracle.delete_topic(mirroring.source, name)
    oracle.create_topic(mirroring.source, anew, 1)
    oracle.produce(mirroring.source, anew, 500, seed=9)
    assert {error.code for error in mirroring.copy().errors} >= {"SourceRecreated"}
    where = ("--flow", pair.flow, "--topic", same, "--partition", "0")
    code, _, errors = decide("restart", *where, "--to-offset", "10", "--reason", "again")
    assert code == 0, errors

    dry = hand_back(mirroring.flow, HandBack("a test"), dry_run=True)
    (decided,) = [line for line in dry.lines if "restart" in line]
    assert f"{same}-0" in decided and "offset 10" in decided and "again" in decided
    told = [line for line in dry.lines if "auto.offset.reset" in line and f"{same}-0" not in line]
    assert [name for name in (anew, gone) for line in told if line.startswith(f"{name}: ")] == [anew, gone]
    done = hand_back(mirroring.flow, HandBack("a test"))
    assert (done.errors, set(told) | {decided} <= set(done.lines)) == ((), True)
    rows = dict(zip(done.result["topic"], done.result["offset"], strict=True))
    assert rows == {anew: -1, gone: -1, same: 29}
    written = {(row.partition, row.key): row.value for row in oracle.dump(mirroring.target, left.offsets_topic)}
    keys = {name: SourcePartition(SOURCE_CONNECTOR, pair.source, name, 0).key for name in rows}
    assert written == {(partition_of(keys[name]), keys[name]): encode_offset(offset) for name, offset in rows.items()}

    oracle.produce(mirroring.source, same, 5, seed=10)
    maker = make_maker()
    maker.start()
    arrived(mirroring, anew, 600)
    arrived(mirroring, same, 35)
    exact(mirroring, same)
    oracle.assert_mirrored(Side(mirroring.source, anew), Side(mirroring.target, pair.remote(anew), start={0: 101}))


def test_a_restart_that_was_decided_before_a_take_over_is_used_up_and_named(mirroring, left, make_topic, decide):
    topic = make_topic("orders")
    mirroring.copy()
    hand_back(mirroring.flow, HandBack("a test"))
    where = ("--flow", mirroring.pair.flow, "--topic", topic, "--partition", "0")
    assert decide("restart", *where, "--to-offset", "10", "--reason", WHY)[0] == 0
    for dry_run in (True, False):
        done, watermarks = taken(mirroring, dry_run=dry_run)
        (said,) = [line for line in done.lines if "restart" in line]
        assert f"{topic}-0: not done" in said and "source offset 10" in said and WHY in said
        assert watermarks == {topic: 100}
    assert mirroring.copy().state == "nothing to do"
    mirroring.assert_mirrored(topic)


def test_a_flow_whose_cluster_was_adopted_is_handed_back_and_taken_over_again(mirroring, left, make_topic, decide):
    topic = make_topic("orders")
    mirroring.copy()
    write_ledger(mirroring, topic, source_cluster_id="of-the-old-cluster")  # an idle partition keeps it after the adoption
    adopted = decide("adopt-cluster", "--flow", mirroring.pair.flow, "--alias", mirroring.pair.source, "--reason", WHY)
    assert adopted[0] == 0
    assert mirroring.copy().state == "nothing to do"

    done = hand_back(mirroring.flow, HandBack("a test"))

    assert (done.errors, done.result["offset"]) == ((), [99])
    again, _ = taken(mirroring)
    assert (again.errors, again.result["topic"]) == ((), [topic])
