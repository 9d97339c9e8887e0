"""Whose wave it is, on real brokers: runs that stand still while another one plays to its end, kills of `open`, two waves of a topic."""

import signal
import subprocess
import sys

import pytest

from kafka_mirror.copy.batches.target import BatchProducer
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK
from kafka_mirror.cutover.wave.run import read_waves, roll_back, run_wave
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import MOVE_GROUPS, StepOptions
from kafka_mirror.errors import WaveIsOpen, WaveRunElsewhere
from kafka_mirror.groups.checkpoints import emit
from kafka_mirror.groups.context import group_context
from kafka_mirror.kafka.groups import GroupTransaction
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import MOVED
from services.consumers import read_offsets, set_offsets
from services.oracle import Record
from tests.wave_notes import Killed


@pytest.fixture
def parcels(mirroring, oracle):
    """A copied topic of three partitions."""
    topic = mirroring.pair.topic("parcels")
    oracle.create_topic(mirroring.source, topic, 3)
    send(mirroring, topic, 45)
    assert mirroring.copy().errors == ()
    return topic


@pytest.fixture
def sorters(mirroring, parcels):
    """A group with positions in two of the partitions."""
    group = f"sorters-{mirroring.pair.mark}"
    set_offsets(mirroring.source, group, {(parcels, 0): 4, (parcels, 2): 9})
    emit(group_context(mirroring.flow), [group])
    return group


def send(mirroring, topic, records):
    mirroring.oracle.produce_records(mirroring.source, topic, [Record(b"k", b"%d" % n, partition=n % 3) for n in range(records)])


def options(name="w", who="ada", **more):
    return StepOptions(name, who, "a test", **{"dry_run": False, "quiet_seconds": 1.0, "timeout": 30.0, **more})


def positions(mirroring, group):
    return {tp.partition: offset for tp, offset in read_offsets(mirroring.target, group).items()}


def before_call(monkeypatch, owner, name, act):
    """Calls `act` once, before this call of a client is made."""
    call, acts = getattr(owner, name), [act]

    def cut(*arguments, **named):
        if acts:
            acts.pop()()
        return call(*arguments, **named)

    monkeypatch.setattr(owner, name, cut)


def assert_copies_again(mirroring, topic):
    send(mirroring, topic, 6)
    copied = mirroring.copy()
    assert (copied.errors, copied.records) == ((), 6)
    mirroring.assert_mirrored(topic)


@pytest.mark.parametrize(("until", "owner"), [(None, GroupTransaction), (MOVE_GROUPS, BatchProducer)], ids=["group", "ledger"])
def test_a_run_that_stands_still_while_it_is_rolled_back_changes_nothing_when_it_wakes(
    mirroring, parcels, sorters, monkeypatch, until, owner
):
    """Between its look and a group's commit; and in `open`, when a mark is written to the ledger and not committed."""
    if until is not None:
        run_wave(mirroring.flow, Wave((parcels,)), options(), until=until)
    before_call(monkeypatch, owner, "commit", lambda: roll_back(mirroring.flow, options(who="bea")))
    with pytest.raises(WaveRunElsewhere, match="by bea"):
        run_wave(mirroring.flow, Wave((parcels,)), options())
    assert read_waves(mirroring.flow).waves["w"].state == ROLLED_BACK
    assert positions(mirroring, sorters) == {}
    assert_copies_again(mirroring, parcels)


@pytest.mark.parametrize("call", ["add", "commit"])
@pytest.mark.parametrize("act", [roll_back, run_wave], ids=["roll back", "run"])
def test_a_run_that_stands_still_in_the_middle_of_its_commit_takes_no_position_back_that_a_group_read_on_to(
    mirroring, parcels, sorters, monkeypatch, call, act
):
    """The group goes on while the run stands still, and has no members when it wakes: nothing else keeps a commit away."""
    remote = mirroring.pair.remote(parcels)

    def take_and_read_on():
        act(mirroring.flow, *((Wave((parcels,)),) if act is run_wave else ()), options(who="bea"))
        set_offsets(mirroring.target, sorters, {(remote, 0): 12, (remote, 1): 12})

    before_call(monkeypatch, GroupTransaction, call, take_and_read_on)
    with pytest.raises(WaveRunElsewhere, match="It changed no ACL and no position since"):
        run_wave(mirroring.flow, Wave((parcels,)), options())
    assert {**positions(mirroring, sorters), 2: None} == {0: 12, 1: 12, 2: None}


def before_decision(monkeypatch, is_it, act):
    """Calls `act` once, before the first decision of this kind is written to the control topic."""
    write, acts = Control.write_next, [act]

    def cut(control, decisions):
        if acts and any(is_it(decision) for decision in decisions):
            acts.pop()()
        return write(control, decisions)

    monkeypatch.setattr(Control, "write_next", cut)


def test_a_run_that_stands_still_while_another_one_opens_the_wave_moves_no_group_back(mirroring, parcels, sorters, monkeypatch):
    remote = mirroring.pair.remote(parcels)

    def open_and_read_on():
        assert run_wave(mirroring.flow, Wave((parcels,)), options(who="bea")).record.state == OPENED
        set_offsets(mirroring.target, sorters, {(remote, 0): 15, (remote, 2): 15})

    before_decision(monkeypatch, lambda decision: decision.topic == f"w/{sorters}", open_and_read_on)
    with pytest.raises(WaveRunElsewhere, match="It changed no ACL and no position since"):
        run_wave(mirroring.flow, Wave((parcels,)), options())
    assert positions(mirroring, sorters) == {0: 15, 2: 15}


def die():
    raise Killed


def kill_a_lane(patch):
    """Behind the first mark that is committed."""
    commit = BatchProducer.commit

    def once(producer):
        commit(producer)
        die()

    patch.setattr(BatchProducer, "commit", once)


def kill_the_move(patch):
    before_decision(patch, lambda decision: decision.decision == MOVED, die)


@pytest.mark.parametrize("kill", [kill_a_lane, kill_the_move])
def test_a_killed_open_is_rolled_back_to_a_flow_that_copies(mirroring, parcels, sorters, monkeypatch, kill):
    run_wave(mirroring.flow, Wave((parcels,)), options(), until=MOVE_GROUPS)
    with monkeypatch.context() as patch:
        kill(patch)
        with pytest.raises(Killed):
            run_wave(mirroring.flow, Wave((parcels,)), options())
    assert any(record.moved for record in mirroring.ledger().values())
    roll_back(mirroring.flow, options())
    assert positions(mirroring, sorters) == {}
    assert_copies_again(mirroring, parcels)
    assert run_wave(mirroring.flow, Wave((parcels,)), options()).record.state == OPENED


def test_a_process_that_is_frozen_in_a_step_and_rolled_back_meanwhile_leaves_nothing_when_it_goes_on(mirroring, parcels, sorters):
    """A real process and its signals: wherever it stood, the wave is rolled back, or was open already."""
    file = mirroring.pair.directory / "mm2.properties"
    command = ["cutover", "run", "--flow", mirroring.pair.flow, "--topics", parcels, "--wave", "w", "--quiet-seconds", "1", "--reason", "r"]
    said = []
    with subprocess.Popen(
        [sys.executable, "-m", "kafka_mirror", "--config", str(file), *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        try:
            for line in running.stdout:
                said.append(line)
                if " move-groups begins." in line:
                    running.send_signal(signal.SIGSTOP)
                    is_open = play_roll_back(mirroring)
                    running.send_signal(signal.SIGCONT)
        finally:
            running.kill()
    record = read_waves(mirroring.flow).waves["w"]
    if is_open:
        assert record.state == OPENED, said
        return
    assert record.state == ROLLED_BACK, said
    assert any("WaveRunElsewhere" in line for line in said), said
    assert positions(mirroring, sorters) == {}
    assert_copies_again(mirroring, parcels)


def play_roll_back(mirroring):
    """Whether it comes too late."""
    try:
        roll_back(mirroring.flow, options(who="bea"))
    except WaveIsOpen:
        return True
    return False
