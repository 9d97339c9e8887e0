"""Groups whose positions a transaction still commits: a wave waits for its end, and commits what the group has by then."""

import threading

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ClientTopicPartition

from kafka_mirror.cutover.steps import move_groups
from kafka_mirror.cutover.wave.move import open_move
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import DONE, STOPPED, WAITING
from kafka_mirror.kafka.groups import GroupTransaction
from services.consumers import read_offsets, set_offsets
from services.waiting import PATIENCE
from tests.wave_notes import NotesInMemory, step_options


class Application:
    """Reads exactly once with its group: its transactions write elsewhere, and commit its offsets."""

    def __init__(self, pair, group):
        settings = {"bootstrap.servers": pair.source_bootstrap}
        self._pair, self._elsewhere = pair, f"results-{pair.mark}x"
        self._consumer = Consumer({**settings, "group.id": group})
        self._producer = Producer({**settings, "transactional.id": group})
        self._producer.init_transactions(PATIENCE)

    def begin(self, topic, offsets):
        """A transaction that commits these offsets by partition, and is not over."""
        self._producer.begin_transaction()
        self._producer.produce(self._elsewhere, b"a result")
        places = [ClientTopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
        self._producer.send_offsets_to_transaction(places, self._consumer.consumer_group_metadata(), PATIENCE)

    def end(self, how):
        getattr(self._producer, f"{how}_transaction")(PATIENCE)

    def close(self):
        self._consumer.close()


@pytest.fixture
def group(pair):
    return f"billing-{pair.mark}"


@pytest.fixture
def application(mirroring, pair, oracle, topic, group):
    """It has committed nothing yet; the topic is copied."""
    oracle.create_topic(pair.source_bootstrap, f"results-{pair.mark}x", 1)
    mirroring.refresh()
    assert not mirroring.copy().errors
    made = Application(pair, group)
    yield made
    made.close()


@pytest.fixture
def step(mirroring, pair, topic):
    notes = NotesInMemory()

    def run(**options):
        with open_move(mirroring.flow, Wave((topic,), (f"billing-{pair.mark}",))) as move:
            notes.target = move.sides.target
            return move_groups.step(move, notes, step_options(**options))

    return run


def stops(outcome):
    return {finding.code: finding.message for finding in outcome.findings if finding.kind == "stop"}


def by_partition(bootstrap, group):
    return {tp.partition: offset for tp, offset in read_offsets(bootstrap, group).items()}


@pytest.mark.parametrize(("stands", "how", "then"), [({}, "commit", {0: 12, 1: 8}), ({0: 5}, "abort", {0: 5})])
def test_a_group_moves_once_its_transaction_is_over_to_where_it_stands_by_then(stands, how, then, application, step, pair, topic, group):
    if stands:
        set_offsets(pair.source_bootstrap, group, {(topic, partition): offset for partition, offset in stands.items()})
    application.begin(topic, {0: 12, 1: 8})
    assert by_partition(pair.source_bootstrap, group) == stands
    waits = step()
    assert (waits.state, list(stops(waits))) == (WAITING, ["GroupUnstable"])
    assert f"commits offsets for it in {topic}-0, {topic}-1." in stops(waits)["GroupUnstable"]
    assert by_partition(pair.target_bootstrap, group) == {}
    said = []
    ending = threading.Timer(1.0, application.end, (how,))
    ending.start()
    done = step(timeout=PATIENCE, progress=said.append)
    ending.join()
    assert (done.state, stops(done)) == (DONE, {})
    assert f"Waiting for transactions to end that commit offsets of {group}." in said
    assert by_partition(pair.source_bootstrap, group) == by_partition(pair.target_bootstrap, group) == then


def test_a_transaction_that_begins_while_the_group_is_moved_stops_the_wave(application, step, pair, topic, group, monkeypatch):
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 5})
    add = GroupTransaction.add

    def late(*arguments):
        application.begin(topic, {0: 9})
        return add(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(GroupTransaction, "add", late)
        outcome = step()
    assert outcome.state == STOPPED
    assert list(stops(outcome)) == ["GroupUnstable"]
    application.end("abort")
    assert step().state == DONE
