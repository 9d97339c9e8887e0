"""Failovers by checkpoints of logs that are no more, on brokers: a topic that was created anew, and a log that lost its newest records."""

import struct

from kafka_mirror.cutover.failover.steps import survey_failover
from kafka_mirror.cutover.wave.move import open_move
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import FAILOVER
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.decide.run import decide
from kafka_mirror.groups.checkpoints import emit
from kafka_mirror.groups.context import group_context
from kafka_mirror.ledger.control_records import RESTART
from services.consumers import set_offsets
from services.oracle import Record


def produce(oracle, bootstrap, topic, first, count):
    oracle.produce_records(bootstrap, topic, [Record(b"k", b"%d" % n, partition=0) for n in range(first, first + count)])


def copied(mirroring):
    assert mirroring.copy().errors == ()


def restarted(mirroring, topic):
    assert [error.code for error in mirroring.copy().errors], "it waits for a person"
    (made,) = decide(mirroring.flow, DecisionRequest(RESTART, who="ana", why="it is another topic", topic=topic, partition=0))
    copied(mirroring)
    return made


def position_of(mirroring, topic):
    with open_move(mirroring.flow, Wave((topic,)), FAILOVER) as move:
        survey = survey_failover(move)
    (position,) = survey.positions
    return position, survey


def unread_in_front(oracle, mirroring, topic, position, unread):
    rows = oracle.dump(mirroring.target, mirroring.pair.remote(topic))
    return [int(row.value) for row in rows if int(row.value) in unread and row.offset < position.answer.target]


def test_a_topic_that_was_created_anew_sends_no_group_past_its_records(mirroring, oracle):
    topic, group = mirroring.pair.topic("parcels"), f"sorting-{mirroring.pair.mark}"
    oracle.create_topic(mirroring.source, topic, 1)
    produce(oracle, mirroring.source, topic, 0, 60)
    copied(mirroring)
    set_offsets(mirroring.source, group, {(topic, 0): 47})
    context = group_context(mirroring.flow)
    assert emit(context, [group]).written == 1
    oracle.delete_topic(mirroring.source, topic)
    oracle.create_topic(mirroring.source, topic, 1)
    produce(oracle, mirroring.source, topic, 1000, 21)
    restarted(mirroring, topic)
    assert emit(context, [group]).written == 0, "the group has committed nothing in the new topic"
    position, survey = position_of(mirroring, topic)
    assert (position.answer.kind, position.answer.target) == ("early", 47)
    assert unread_in_front(oracle, mirroring, topic, position, {*range(47, 60), *range(1000, 1021)}) == []
    assert all(missing.offsets == 0 for missing in survey.missing), "nothing of the new topic is known to be missing"


def cut_off(cluster, partition, offset):
    """The broker loses what it has of a partition from an offset on, which begins a batch, and comes back."""
    cluster.kill()
    folder = cluster._data(1) / partition
    (log,) = folder.glob("*.log")
    data, at = log.read_bytes(), 0
    while at < len(data):
        base, length = struct.unpack_from(">qi", data, at)
        if base >= offset:
            break
        at += 12 + length
    log.write_bytes(data[:at])
    gone = [*folder.glob("*.index"), *folder.glob("*.timeindex"), *folder.glob("*.txnindex"), *folder.glob("*.snapshot")]
    names = (".kafka_cleanshutdown", "recovery-point-offset-checkpoint", "replication-offset-checkpoint")
    for path in [*gone, *(cluster._data(1) / name for name in names)]:
        path.unlink(missing_ok=True)
    cluster.start()


def test_what_the_target_lost_since_the_checkpoint_is_not_taken_for_what_took_its_place(
    east, make_cluster, make_pair, make_mirroring, oracle
):
    target = make_cluster("frail")
    mirroring = make_mirroring(make_pair(east, target))
    topic, quick, slow = mirroring.pair.topic("parcels"), f"quick-{mirroring.pair.mark}", f"slow-{mirroring.pair.mark}"
    oracle.create_topic(mirroring.source, topic, 1)
    for number in range(3):
        produce(oracle, mirroring.source, topic, 40 * number, 40)
        copied(mirroring)
    set_offsets(mirroring.source, quick, {(topic, 0): 115})
    set_offsets(mirroring.source, slow, {(topic, 0): 50})
    context = group_context(mirroring.flow)
    assert emit(context, [quick, slow]).written == 2
    cut_off(target, f"{mirroring.pair.remote(topic)}-0", 82)  # behind the second transaction and its marker
    oracle.delete_topic(mirroring.source, topic)
    oracle.create_topic(mirroring.source, topic, 1)
    produce(oracle, mirroring.source, topic, 1000, 70)
    restarted(mirroring, topic)
    with open_move(mirroring.flow, Wave((topic,)), FAILOVER) as move:
        positions = {each.key[0]: each for each in survey_failover(move).positions}
    assert {group: (each.answer.kind, each.answer.target) for group, each in positions.items()} == {
        quick: ("early", 82),
        slow: ("early", 51),
    }
    assert unread_in_front(oracle, mirroring, topic, positions[quick], {*range(115, 120), *range(1000, 1070)}) == []
