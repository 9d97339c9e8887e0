"""Groups of a wave on real brokers: they go on on the target exactly where they stopped, and a roll back leaves no trace."""

import threading
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from confluent_kafka.admin import AdminClient

from kafka_mirror.cutover.steps import move_groups
from kafka_mirror.cutover.wave.move import open_move
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import DONE, EMPTY_SINCE_MS, MOVE_GROUPS, STOPPED, WAITING
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import group_context
from kafka_mirror.groups.group_move import AFTER, BEFORE, move_from_facts
from kafka_mirror.groups.group_offsets import synchronise
from kafka_mirror.kafka.groups import GroupTransaction
from kafka_mirror.kafka.model import Committed
from kafka_mirror.ledger.clusters import clusters, control_of
from kafka_mirror.ledger.control_records import MOVED, RETURNED, Decision
from services.consumers import groups_of, member, read, read_offsets, set_offsets
from tests.wave_notes import Killed, NotesInMemory, step_options


@pytest.fixture
def copied(mirroring, topic):
    """The flow with its topic copied to the end."""
    mirroring.refresh()
    assert not mirroring.copy().errors
    return mirroring


@pytest.fixture
def notes():
    return NotesInMemory()


@pytest.fixture
def wave(copied, topic, notes):
    """`wave.step()` and `wave.rollback()` on a wave of the topic and the groups of this test."""
    return WaveSteps(copied.flow, Wave((topic,), (f".*-{copied.pair.mark}",)), notes)


class WaveSteps:
    def __init__(self, flow, wave, notes):
        self.flow, self.wave, self.notes = flow, wave, notes

    def step(self, **options):
        with open_move(self.flow, self.wave) as move:
            self.notes.target = move.sides.target
            return move_groups.step(move, self.notes, step_options(**options))

    def rollback(self, **options):
        with open_move(self.flow, self.wave) as move:
            self.notes.target = move.sides.target
            return move_groups.rollback(move, self.notes, step_options(**options))


def codes(outcome, kind="stop"):
    return {finding.code: finding for finding in outcome.findings if finding.kind == kind}


def everything(bootstrap, group):
    """All that a group committed, with metadata and leader epochs."""
    with groups_of(bootstrap) as groups:
        errors = {}
        there = groups.read_committed([group], errors)[group]
    assert not errors
    return there


def commit(bootstrap, group, offsets):
    with groups_of(bootstrap) as groups:
        errors = {}
        assert (groups.commit({group: offsets}, errors), errors) == ({group: {}}, {})


def values(oracle, bootstrap, places):
    """Partition and value of what stands at these places."""
    records = {}
    for topic in {place[0] for place in places}:
        records |= {(topic, each.partition, each.offset): each.value for each in oracle.dump(bootstrap, topic)}
    return [(place[1], records[place]) for place in places]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_consumer_goes_on_on_the_target_exactly_where_it_stopped(protocol, copied, wave, oracle, pair, topic, notes):
    group, remote = f"shop-{pair.mark}", pair.remote(topic)
    with member(pair.source_bootstrap, group, topic, protocol) as consumer:
        first = read(consumer, 25)
    dry = wave.step(dry_run=True)
    assert (dry.state, read_offsets(pair.target_bootstrap, group), notes.steps) == (DONE, {}, {})
    assert "would be committed" in dry.lines[0]
    done = wave.step()
    assert (done.state, codes(done)) == (DONE, {}), done.findings
    assert done.facts["groups"] == [group]
    assert done.facts[EMPTY_SINCE_MS] > 0
    assert done.facts["positions"] == done.facts["committed"] == len(read_offsets(pair.source_bootstrap, group))
    with member(pair.target_bootstrap, group, remote, protocol) as consumer:
        rest = read(consumer, 60 - len(first))
    before, after = (values(oracle, *side) for side in ((pair.source_bootstrap, first), (pair.target_bootstrap, rest)))
    everywhere = Counter((each.partition, each.value) for each in oracle.dump(pair.source_bootstrap, topic))
    assert Counter([*before, *after]) == everywhere, "nothing lost, nothing twice"


def test_the_notes_have_the_positions_of_before_and_after_and_metadata_moves_without_the_sources_leader_epoch(wave, pair, topic, notes):
    group, remote = f"simple-{pair.mark}", pair.remote(topic)
    commit(pair.source_bootstrap, group, {TopicPartition(topic, 0): Committed(5, "ä", 0), TopicPartition(topic, 1): Committed(7)})
    commit(pair.target_bootstrap, group, {TopicPartition(remote, 1): Committed(2, "there", 0)})
    assert wave.step().state == DONE
    assert everything(pair.target_bootstrap, group) == {
        TopicPartition(remote, 0): Committed(5, "ä"),
        TopicPartition(remote, 1): Committed(7),
    }
    facts = notes.read_group(group)
    assert (facts[BEFORE], facts[AFTER]) == ({remote: {"0": None, "1": 2}}, {remote: {"0": 5, "1": 7}})
    assert move_from_facts(facts).before[TopicPartition(remote, 1)] == Committed(2, "there", 0)


def test_a_second_run_does_nothing_and_a_roll_back_puts_back_exactly_what_was_there(wave, pair, topic, notes, monkeypatch):
    group, remote = f"simple-{pair.mark}", pair.remote(topic)
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 5, (topic, 1): 7})
    before = {TopicPartition(remote, 1): Committed(2, "there", 0)}
    commit(pair.target_bootstrap, group, before)
    first = wave.step()
    with monkeypatch.context() as patch:
        patch.setattr(GroupTransaction, "add", pytest.fail)
        notes.before = pytest.fail
        again = wave.step()
    notes.before = lambda _call: None
    assert (again.state, again.facts["committed"], again.facts["positions"]) == (DONE, 0, 2)
    assert again.facts[EMPTY_SINCE_MS] == first.facts[EMPTY_SINCE_MS]
    assert (wave.rollback(dry_run=True).state, len(everything(pair.target_bootstrap, group))) == (DONE, 2)
    back = wave.rollback()
    assert (back.state, back.findings) == (DONE, ())
    assert everything(pair.target_bootstrap, group) == before
    set_offsets(pair.target_bootstrap, group, {(remote, 0): 5})
    assert (wave.rollback().state, read_offsets(pair.target_bootstrap, group)[TopicPartition(remote, 0)]) == (DONE, 5), "it was taken back"


@contextmanager
def killed_at(point, notes, monkeypatch):
    """Ends a run at the point: `keep`, `keep_groups`, in front of the transaction, in the middle of it, which stays open, or behind it."""
    add, commit = GroupTransaction.add, GroupTransaction.commit

    def cut(call, where):
        def cut_call(transaction, *arguments):
            if point == "in front of the commit":
                raise Killed(point)
            answer = call(transaction, *arguments)
            if point == where:
                raise Killed(point)
            return answer

        return cut_call

    def call(name):
        if name == point:
            raise Killed(point)

    with monkeypatch.context() as patch:
        notes.before = call
        if not point.startswith("keep"):
            patch.setattr(GroupTransaction, "add", cut(add, "in the middle"))
            patch.setattr(GroupTransaction, "commit", cut(commit, "behind the commit"))
            patch.setattr(GroupTransaction, "abort", lambda _transaction: None)
        with pytest.raises(Killed):
            yield
    notes.before = lambda _call: None


POINTS = ("keep", "keep_groups", "in front of the commit", "in the middle", "behind the commit")


@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_was_killed_goes_on_and_is_taken_back_whole(point, wave, pair, topic, notes, monkeypatch):
    group, remote = f"simple-{pair.mark}", pair.remote(topic)
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 5, (topic, 1): 7})
    before = {TopicPartition(remote, 1): Committed(2, "there")}
    commit(pair.target_bootstrap, group, before)
    with killed_at(point, notes, monkeypatch):
        wave.step()
    assert (wave.rollback().state, everything(pair.target_bootstrap, group)) == (DONE, before)
    with killed_at(point, notes, monkeypatch) if point != "keep" else nothing():
        wave.step()
    assert wave.step().state == DONE
    assert read_offsets(pair.target_bootstrap, group) == {TopicPartition(remote, 0): 5, TopicPartition(remote, 1): 7}
    with killed_at(point, notes, monkeypatch) if point != "keep" else nothing():
        wave.rollback()
    assert (wave.rollback().state, everything(pair.target_bootstrap, group)) == (DONE, before)


@contextmanager
def nothing():
    yield


def test_members_on_the_source_are_named_and_waited_for(wave, pair, topic):
    group = f"shop-{pair.mark}"
    said = []
    with member(pair.source_bootstrap, group, topic) as consumer:
        read(consumer, 60)
        admin = AdminClient({"bootstrap.servers": pair.source_bootstrap})
        (row,) = admin.describe_consumer_groups([group])[group].result().members
        waiting = wave.step()
        assert waiting.state == WAITING
        message = codes(waiting)["GroupActive"].message
        assert row.member_id in message
        assert "rdkafka on 127.0.0.1" in message
        assert read_offsets(pair.target_bootstrap, group) == {}

        def leave():
            consumer.consumer.unsubscribe()
            consumer.consumer.poll(1)  # it is told that its partitions are taken; before, it would not leave until its session ends

        def progress(line):
            said.append(line)
            threading.Thread(target=leave).start()

        assert wave.step(timeout=60.0, progress=progress).state == DONE
    assert said
    assert group in said[0]
    assert sum(read_offsets(pair.target_bootstrap, group).values()) == 60


def test_a_group_that_is_active_on_the_target_stops_the_step_and_the_roll_back(wave, pair, topic):
    group, remote = f"shop-{pair.mark}", pair.remote(topic)
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 5, (topic, 1): 7})
    with member(pair.target_bootstrap, group, remote):
        stopped = wave.step()
    assert (stopped.state, set(codes(stopped)), read_offsets(pair.target_bootstrap, group)) == (STOPPED, {"GroupActiveOnTarget"}, {})
    assert wave.step().state == DONE
    with member(pair.target_bootstrap, group, remote, "consumer"):
        stopped = wave.rollback()
    assert (stopped.state, set(codes(stopped))) == (STOPPED, {"GroupActive"})
    assert codes(stopped)["GroupActive"].message.endswith(f" on {pair.target}.")
    assert len(read_offsets(pair.target_bootstrap, group)) == 2
    assert (wave.rollback().state, read_offsets(pair.target_bootstrap, group)) == (DONE, {})


def test_a_group_that_read_what_is_not_copied_or_has_no_answer_stops_the_step(wave, oracle, pair, topic, notes):
    ahead, beyond = f"ahead-{pair.mark}", f"beyond-{pair.mark}"
    oracle.produce(pair.source_bootstrap, topic, 30, seed=3)
    end = max(each.end for each in oracle.count(pair.source_bootstrap, topic) if each.partition == 0)
    set_offsets(pair.source_bootstrap, ahead, {(topic, 0): end})
    set_offsets(pair.source_bootstrap, beyond, {(topic, 0): end + 9})
    stopped = wave.step()
    assert (stopped.state, set(codes(stopped))) == (STOPPED, {"GroupAheadOfCopy", "GroupWithoutAnswer"})
    assert (notes.steps, read_offsets(pair.target_bootstrap, ahead)) == ({}, {})


def test_a_group_that_somebody_used_on_the_target_since_is_left_alone(wave, pair, topic):
    group, remote = f"simple-{pair.mark}", pair.remote(topic)
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 5, (topic, 1): 7})
    assert wave.step().state == DONE
    set_offsets(pair.target_bootstrap, group, {(remote, 0): 9})
    stopped = wave.step()
    assert (stopped.state, set(codes(stopped))) == (STOPPED, {"GroupUsedOnTarget"})
    assert f"{remote}-0@9" in codes(stopped)["GroupUsedOnTarget"].message
    back = wave.rollback()
    assert (back.state, set(codes(back, "warning"))) == (DONE, {"GroupUsedOnTarget"})
    assert read_offsets(pair.target_bootstrap, group) == {TopicPartition(remote, 0): 9}


@pytest.mark.parametrize("partition", [0, 1])
def test_a_group_that_goes_on_on_the_source_meanwhile_is_named_and_the_next_run_moves_it_again(partition, wave, pair, topic, monkeypatch):
    """Also one that reads a partition in which it had no position."""
    group, remote, at = f"simple-{pair.mark}", pair.remote(topic), (topic, partition)
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 5})

    add = GroupTransaction.add

    def read_on(transaction, *arguments):
        set_offsets(pair.source_bootstrap, group, {at: 6})
        return add(transaction, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(GroupTransaction, "add", read_on)
        stopped = wave.step()
    assert (stopped.state, set(codes(stopped))) == (STOPPED, {"GroupReadOn"})
    assert wave.step().state == DONE
    assert read_offsets(pair.target_bootstrap, group) == {TopicPartition(remote, 0): 5, TopicPartition(remote, partition): 6}
    assert (wave.rollback().state, read_offsets(pair.target_bootstrap, group)) == (DONE, {})


def test_partitions_without_position_stay_so_and_are_said(wave, pair, topic):
    group = f"simple-{pair.mark}"
    set_offsets(pair.source_bootstrap, group, {(topic, 1): 7})
    done = wave.step()
    assert (done.state, set(codes(done, "warning"))) == (DONE, {"GroupWithoutPosition"})
    assert f"{topic}-0" in codes(done, "warning")["GroupWithoutPosition"].message
    assert read_offsets(pair.target_bootstrap, group) == {TopicPartition(pair.remote(topic), 1): 7}


def test_records_that_retention_took_from_the_target_alone_stop_the_group(wave, oracle, pair, topic):
    group, remote = f"simple-{pair.mark}", pair.remote(topic)
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 3})
    oracle.delete_records(pair.target_bootstrap, remote, {0: 8})
    stopped = wave.step()
    assert (stopped.state, set(codes(stopped))) == (STOPPED, {"GroupRecordsGone"})
    oracle.delete_records(pair.source_bootstrap, topic, {0: 8})
    assert wave.step().state == DONE, "the source has lost them too"


def test_positions_in_what_the_source_has_from_the_target_move_too(make_pair, make_mirroring, east, west, oracle, tmp_path, notes):
    there = make_pair(east, west)
    back = type(there)(there.target, there.source, there.target_bootstrap, there.source_bootstrap, there.mark, tmp_path / "back")
    back.directory.mkdir()
    origin, ours, group = there.topic("origin"), there.topic("ours"), f"both-{there.mark}"
    patterns = rf".*{there.mark}"
    backward, forward = make_mirroring(back, topics=patterns), make_mirroring(there, topics=patterns)
    for each, name in ((backward, origin), (forward, ours)):
        oracle.create_topic(each.source, name, 1)
        oracle.produce(each.source, name, 20, seed=1)
        each.refresh()
        assert not each.copy().errors
    set_offsets(there.source_bootstrap, group, {(back.remote(origin), 0): 4, (ours, 0): 6})
    steps = WaveSteps(forward.flow, Wave((ours,)), notes)
    assert steps.step().state == DONE
    moved = {TopicPartition(origin, 0): 4, TopicPartition(there.remote(ours), 0): 6}
    assert read_offsets(there.target_bootstrap, group) == moved
    assert notes.read_step(MOVE_GROUPS)["groups"] == [group]
    assert (steps.rollback().state, read_offsets(there.target_bootstrap, group)) == (DONE, {})
    stopped = WaveSteps(make_mirroring(there, topics=ours).flow, Wave((ours,)), notes).step()
    assert (stopped.state, set(codes(stopped))) == (STOPPED, {"GroupTopicLeftOut"}), "a position that would stay behind"


def decided(flow, word, topic):
    """Writes what a cutover decides about a topic."""
    with clusters(flow) as (_, target):
        control_of(flow, target).write(Decision(word, "somebody", datetime.now(UTC), "a test", topic, wave="wave-1"))


def test_group_offsets_leave_a_moved_topic_alone_until_it_returned(copied, wave, oracle, pair, topic):
    """A consumer that was forgotten on the source reads on there; on the target the group goes on by itself."""
    group, other, remote = f"shop-{pair.mark}", pair.topic("payments"), pair.remote(topic)
    oracle.create_topic(pair.source_bootstrap, other, 1)
    oracle.produce(pair.source_bootstrap, other, 10, seed=2)
    copied.refresh()
    assert not copied.copy().errors
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 5, (topic, 1): 7})
    assert wave.step().state == DONE
    decided(copied.flow, MOVED, topic)
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 9, (other, 0): 3})

    def synced():
        done = synchronise(group_context(copied.flow), [group])
        assert not done.errors
        return next((outcome.state, outcome.synced, outcome.reason) for outcome in done.groups)

    state, count, reason = synced()
    assert (state, count) == ("synced", 1)
    assert f"the wave wave-1 moved {topic} to the target" in reason
    assert read_offsets(pair.target_bootstrap, group) == {
        TopicPartition(remote, 0): 5,
        TopicPartition(remote, 1): 7,
        TopicPartition(pair.remote(other), 0): 3,
    }
    decided(copied.flow, RETURNED, topic)
    assert synced()[:2] == ("synced", 1)
    assert read_offsets(pair.target_bootstrap, group)[TopicPartition(remote, 0)] == 9
