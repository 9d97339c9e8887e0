"""Whose wave it is: a run is cut at every call of a client, another one is played to its end there, and the first one goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.cutover.steps import fence_acls
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, TAKING_BACK, UNDER_WAY
from kafka_mirror.cutover.wave.step import AUDIT_GATE, FAILOVER, FENCE, LAST_COPY, MOVE_GROUPS, OPEN, PREFLIGHT
from kafka_mirror.errors import FlowClosed, MirrorError, WaveDiffers, WaveHeld, WaveIsOpen, WaveRollsBack, WaveRunElsewhere, WaveUnknown
from kafka_mirror.kafka.model import Committed
from tests.unit.cutover.wave.wave_world import BY_CHECKPOINT, EXACT, PARTITIONS, World
from tests.wave_notes import Killed


def in_turn(*acts):
    """Each of them to its end; what one refuses is no obstacle to the next."""

    def play(world):
        for act in acts:
            ended(act, world)

    return play


def ended(act, world):
    """The error by which it ended, if any."""
    try:
        act(world)
    except MirrorError as error:
        return error
    return None


def killed_at(call):
    """A run that is gone at this call."""

    def die(world, act):
        def before_call(at):
            if at == call:
                world.before_call = lambda _at: None
                raise Killed

        world.before_call = before_call
        with pytest.raises(Killed):
            act(world)

    return die


def run(world):
    world.run()


def roll_back(world):
    for name in world.stored.waves:
        ended(lambda world, name=name: world.roll_back(name), world)


def fail_over(world):
    world.fail_over()


def half_open(world):
    """A wave whose `open` was killed when the ledger was marked, and the control topic was not."""
    calls = count_of(run)
    marks = [at for at, what in enumerate(calls) if what == "commit to a lane"]
    killed_at(marks[0] + 1)(world, run)


def count_of(act, begin=lambda _world: None):
    world = World()
    begin(world)
    began = len(world.calls)
    act(world)
    return world.calls[began:]


def until(step):
    return lambda world: world.run(until=step)


OLDER = {
    "a run": (in_turn(), run),
    "a roll back": (until(MOVE_GROUPS), roll_back),
    "a roll back of a killed open": (half_open, roll_back),
    "a failover": (in_turn(), fail_over),
    "a failover beside a wave": (until(MOVE_GROUPS), fail_over),
}
NEWER = {
    "a roll back": roll_back,
    "a run": in_turn(run),
    "a roll back and a run": in_turn(roll_back, run),
    "a roll back, a run, and its roll back": in_turn(roll_back, until(MOVE_GROUPS), roll_back),
    "a failover": in_turn(fail_over),
    "a failover to its groups, and its roll back": in_turn(lambda world: world.fail_over(until=MOVE_GROUPS), roll_back),
}


@pytest.mark.parametrize("newer", NEWER)
@pytest.mark.parametrize("older", OLDER)
def test_wherever_a_run_stands_still_the_end_is_that_of_the_newer_one_alone(older, newer):
    (begin, act), then = OLDER[older], NEWER[newer]
    wave = "lost" if "failover" in older else "w"
    calls = count_of(act, begin)
    alone = World()
    begin(alone)
    act(alone)
    begun = calls.index("write to the control topic") + 1
    expected = {}
    for cut in range(begun, len(calls)):
        if expected and calls[cut - 1].startswith(("read", "list")):
            expected[cut] = expected[cut - 1]  # nothing was changed in between
        else:
            killed = World()
            begin(killed)
            killed_at(len(killed.calls) + cut)(killed, act)
            then(killed)
            expected[cut] = killed.end()

        world, seen = World(), {}
        begin(world)
        began = len(world.calls)

        def stand_still(at, world=world, seen=seen, began=began, cut=cut):
            if at == began + cut:
                world.before_call = lambda _at: None
                before = world.stored.waves[wave]
                then(world)
                seen["took it"] = world.stored.waves[wave] != before
                seen["end"] = world.end()

        world.before_call = stand_still
        error = ended(act, world)
        place = (cut, calls[cut], error)
        if seen["took it"]:
            assert world.end() == expected[cut], place
        else:
            assert (error, world.stored.waves[wave].state) == (None, alone.stored.waves[wave].state), place
        if isinstance(error, WaveRunElsewhere) and "changed no ACL" in error.message:
            assert world.end() == seen["end"], place


@pytest.mark.parametrize("newer", ["a roll back", "a run", "a roll back and a run"])
@pytest.mark.parametrize("older", OLDER)
def test_wherever_a_run_stands_still_the_group_keeps_what_it_read_on_to_since(older, newer):
    """A commit for a group without members is taken whatever stands there, so a deposed run must not get as far as that."""
    (begin, act), then = OLDER[older], NEWER[newer]
    wave = "lost" if "failover" in older else "w"
    calls = count_of(act, begin)
    for cut in range(calls.index("write to the control topic") + 1, len(calls)):
        if calls[cut].startswith(("read", "list")):
            continue
        world, took_it = World(), []
        begin(world)

        began = len(world.calls)

        def stand_still(at, world=world, took_it=took_it, began=began, cut=cut):
            if at == began + cut:
                world.before_call = lambda _at: None
                before = world.stored.waves[wave]
                then(world)
                took_it.append(world.stored.waves[wave] != before)
                world.sides.target_groups.offsets[PARTITIONS[0]] = Committed(12, "its own")

        world.before_call = stand_still
        ended(act, world)
        if took_it == [True]:
            assert world.sides.target_groups.offsets[PARTITIONS[0]] == Committed(12, "its own"), (cut, calls[cut])


def test_a_kill_of_open_is_taken_back_or_the_roll_back_refuses():
    calls = count_of(run, until(MOVE_GROUPS))
    refused = []
    for cut in range(calls.index("write to the control topic") + 1, len(calls)):
        world = World()
        until(MOVE_GROUPS)(world)
        killed_at(len(world.calls) + cut)(world, run)
        is_moved = world.decided("moved") == {"orders"}
        error = ended(lambda world: world.roll_back(), world)
        refused.append(isinstance(error, WaveIsOpen))
        assert refused[-1] == is_moved, (cut, calls[cut], error)
        if not is_moved:
            assert (world.marked, world.positions, world.denied) == (set(), {}, set()), (cut, calls[cut])
        assert ended(run, world) is None
        assert world.stored.waves["w"].state == OPENED, "either way the wave can be run to its end"
    assert set(refused) == {True, False}


def test_a_failover_that_closed_the_flow_is_not_rolled_back_even_if_it_was_killed():
    calls = count_of(fail_over)
    for cut in range(calls.index("fence a lane"), len(calls)):
        world = World()
        killed_at(cut)(world, fail_over)
        assert isinstance(ended(lambda world: world.roll_back("lost"), world), WaveIsOpen), (cut, calls[cut])
        world.fail_over()
        assert world.stored.waves["lost"].state == OPENED


def test_a_second_wave_over_a_topic_of_the_first_is_refused_until_that_is_taken_back():
    world = World()
    world.run("first", until=MOVE_GROUPS)
    before = world.end()
    error = ended(lambda world: world.run("second", ("orde.*", "payments")), world)
    assert isinstance(error, WaveHeld)
    assert (error.other, error.topics, world.end()) == ("first", ("orders",), before)
    world.run("beside", ("payments",), until=FENCE)
    world.roll_back("first")
    world.roll_back("beside")
    world.run("second", ("orde.*", "payments"))
    assert world.decided("moved") == {"orders", "payments"}


def test_a_wave_over_topics_that_are_moved_is_refused_and_the_way_on_is_to_leave_them_out():
    world = World()
    world.run("first")
    error = ended(lambda world: world.run("second", (".*",)), world)
    assert isinstance(error, WaveHeld)
    assert "Leave these topics out" in error.next
    world.run("rest", ("payments",))


def test_two_waves_that_begin_at_once_do_not_both_get_a_topic():
    for cut in range(3):
        world, seen = World(), []

        def begin_another(at, world=world, seen=seen, cut=cut):
            if at == cut:
                world.before_call = lambda _at: None
                seen.append(ended(lambda world: world.run("second", (".*",), until=FENCE), world))

        world.before_call = begin_another
        first = ended(run, world)
        assert seen == [None]
        assert isinstance(first, WaveHeld), cut


def test_a_failover_takes_a_planned_wave_whose_roll_back_then_leaves_what_it_stands_on_and_says_so():
    world = World()
    world.run(until=MOVE_GROUPS)
    world.fail_over(until=MOVE_GROUPS)
    assert isinstance(ended(lambda world: world.roll_back(), world), WaveHeld)
    assert isinstance(ended(run, world), WaveHeld)
    world.fail_over()
    assert isinstance(ended(run, world), FlowClosed)
    stood = world.positions
    done = world.roll_back()
    assert (world.positions, world.denied) == (stood, set())
    said = next(line for line in done.outcomes[0].lines if "stay" in line)
    assert said == "billing: 1 positions stay, for the wave lost is open and stands on them: orders-0."


def test_a_failover_that_is_rolled_back_leaves_the_planned_wave_as_it_found_it():
    world = World()
    world.run(until=MOVE_GROUPS)
    world.fail_over(until=MOVE_GROUPS)
    world.roll_back("lost")
    assert (world.positions, world.denied) == ({PARTITIONS[0]: 7}, {"orders"})
    world.roll_back()
    assert (world.positions, world.denied) == ({}, set())


NAMES = {"orders": ("orders",), "both": (".*",), "payments": ("payments",), "lost": ("orders",)}
STEPS = (FENCE, LAST_COPY, AUDIT_GATE, MOVE_GROUPS, OPEN)
acts = st.tuples(st.sampled_from(sorted(NAMES)), st.sampled_from((*STEPS, None, None)), st.none() | st.integers(0, 60))


@given(st.lists(acts, min_size=2, max_size=7))
def test_in_any_order_of_runs_kills_and_roll_backs_nothing_is_taken_away_that_an_open_wave_needs(played):
    world = World()
    for name, step, kill in played:

        def act(world, name=name, step=step):
            if step is None:
                return world.roll_back(name)
            if name != "lost":
                return world.run(name, NAMES[name], until=step)
            return world.fail_over(name, until=step) if step in (MOVE_GROUPS, OPEN) else None

        try:
            killed_at(len(world.calls) + (kill if kill is not None else 1_000))(world, lambda world, act=act: ended(act, world))
        except pytest.fail.Exception:  # it ended before
            world.before_call = lambda _at: None
        check_that_nothing_is_missing(world, played)


def check_that_nothing_is_missing(world, played):
    waves = world.stored.waves
    for name, record in waves.items():
        partitions = [tp for tp in PARTITIONS if tp.topic in NAMES[name] or name == "both"]
        if record.mode == FAILOVER:
            partitions = [tp for tp in partitions if tp.topic not in world.decided("moved")]
        goes_on = BY_CHECKPOINT if record.mode == FAILOVER else EXACT
        if record.state == OPENED:
            assert all(world.positions.get(tp) == goes_on[tp] for tp in partitions), (name, played)
        if record.state == OPENED and record.mode != FAILOVER:
            assert {tp.topic for tp in partitions} <= world.marked & world.decided("moved") & world.denied, (name, played)
        if record.state == UNDER_WAY and record.is_done(FENCE):
            assert {tp.topic for tp in partitions} <= world.denied, (name, played)
    if waves and all(record.state == ROLLED_BACK for record in waves.values()):
        assert (world.positions, world.denied, world.marked) == ({}, set(), set()), played


class Interrupted(BaseException):
    """A time limit that passed while the machine stood still ends a run at the first moment, and so does Ctrl-C."""


def test_a_run_that_is_interrupted_when_it_wakes_puts_back_all_the_same_what_it_wrote():
    world, wakes = World(), []
    call = world._create_acls

    def interrupted(*arguments):
        answer = call(*arguments)
        if wakes:
            raise wakes.pop()
        return answer

    def stand_still(at):
        if world.calls[at] == "create ACLs":
            world.before_call = lambda _at: None
            roll_back(world)
            wakes.append(Interrupted())

    world.before_call = stand_still
    world._create_acls = interrupted
    with pytest.raises(WaveRunElsewhere, match="put back"):
        until(FENCE)(world)
    assert (world.positions, world.denied, world.stored.waves["w"].state) == ({}, set(), ROLLED_BACK)


def test_a_step_alone_that_comes_after_a_roll_back_neither_begins_the_wave_anew_nor_takes_it():
    """As Airflow's next try does, or the next task, once a person has taken back what the run did."""
    world = World()
    assert world.run(only=FENCE).outcomes[0].findings[0].code == "StepBefore"
    assert world.stored.waves == {}
    world.run(until=LAST_COPY)
    world.roll_back()
    before = world.stored.waves["w"]
    (stopped,) = world.run(only=AUDIT_GATE).outcomes
    assert stopped.findings[0].message == "audit-gate cannot begin: the wave was rolled back, by bob."
    assert (world.stored.waves["w"], world.denied) == (before, set())
    world.run("second")
    assert world.run("second", only=PREFLIGHT).outcomes == ()


def test_a_run_that_wakes_when_the_wave_is_anothers_changes_no_position_and_says_so():
    """Its transaction is fenced as soon as the newer run writes to the control topic."""
    world = World()

    def stand_still(at):
        if world.calls[at] == "commit positions":
            world.before_call = lambda _at: None
            run(world)
            world.sides.target_groups.offsets[PARTITIONS[0]] = Committed(12)

    world.before_call = stand_still
    error = ended(run, world)
    assert isinstance(error, WaveRunElsewhere)
    assert "changed no ACL and no position" in error.message
    assert world.positions == {PARTITIONS[0]: 12}


def test_two_waves_that_move_groups_at_once_both_come_to_their_end():
    """Each fences the other's transaction, and begins anew, for its wave is still its own."""
    world = World()

    def move_another(at):
        if world.calls[at] == "commit positions":
            world.before_call = lambda _at: None
            world.run("beside", ("payments",), until=MOVE_GROUPS)

    world.before_call = move_another
    world.run(until=MOVE_GROUPS)
    assert world.positions == EXACT
    assert world.calls.count("begin a transaction") == 3


def test_a_run_that_wakes_takes_back_its_acl_also_if_the_broker_that_it_asks_does_not_show_it_yet(monkeypatch):
    world, shown = World(), []
    listed = world._topic_acls
    world._topic_acls = lambda *asked: shown[0] if shown else listed(*asked)
    monkeypatch.setattr(fence_acls, "_VISIBLE_WITHIN_SECONDS", 0.0)

    def stand_still(at):
        if world.calls[at] == "create ACLs":
            world.before_call = lambda _at: None
            roll_back(world)
            shown.append(frozenset(world.acls))

    world.before_call = stand_still
    assert isinstance(ended(until(FENCE), world), WaveRunElsewhere)
    assert world.denied == set()


def test_the_name_of_a_wave_stays_taken_by_its_topics_and_its_mode():
    world = World()
    world.run(until=FENCE)
    before = world.stored.waves["w"]
    with pytest.raises(WaveDiffers, match="was begun with topics"):
        world.run("w", ("payments",))
    with pytest.raises(WaveDiffers, match="the mode planned"):
        world.fail_over("w")
    assert world.stored.waves == {"w": before}
    world.run()
    with pytest.raises(WaveDiffers, match="was begun with topics"):
        world.run("w", ("payments",))


def test_a_roll_back_that_was_killed_is_ended_before_the_wave_begins_anew():
    calls = count_of(World.roll_back, until(MOVE_GROUPS))
    world = World()
    until(MOVE_GROUPS)(world)
    killed_at(len(world.calls) + calls.index("delete ACLs"))(world, World.roll_back)
    assert world.stored.waves["w"].state == TAKING_BACK
    with pytest.raises(WaveRollsBack):
        world.run()
    world.roll_back()
    assert world.roll_back().outcomes == ()
    record = world.run().record
    assert (record.attempt, record.state) == (2, OPENED)


def test_a_wave_that_is_not_there_cannot_be_rolled_back():
    world = World()
    world.run(until=PREFLIGHT)
    with pytest.raises(WaveUnknown, match="it has w"):
        world.roll_back("x")
