"""The cache of snapshots: answers at once, looks while somebody asks, keeps the last good one, and lets no flow hold up another."""

import os
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mirror.config.flow import Configuration, InvalidFlow
from mirror.errors import ClusterUnreachable, ConfigurationError, ErrorReport, Problem
from mirror.report.snapshot import FlowSnapshot
from mirror.report.snapshot_cache import AT_ONCE, SnapshotCache
from mirror.report.status import Status

AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
BROKEN = ConfigurationError([Problem("topics", "is wrong")])


class MadeUpFlow:
    """The part of a flow that the cache asks."""

    def __init__(self, name, config_hash="1", refresh=0.02):
        self.name, self.config_hash, self.refresh = name, config_hash, refresh

    def value(self, name):
        assert name == "mirror.status.refresh.seconds"
        if isinstance(self.refresh, Exception):
            raise self.refresh
        return self.refresh


class World:
    """Flows that answer when they are allowed to; `looks` has every look at one."""

    def __init__(self):
        self.flows = [MadeUpFlow("east->west")]
        self.invalid = ()
        self.failure = None
        self.answers = {}
        self.looks = []
        self.groups = []
        self.gates = {}
        self.loads = 0

    def configuration(self):
        self.loads += 1
        if self.failure:
            raise self.failure
        return Configuration(tuple(self.flows), self.invalid, ())

    def taking(self, flow):
        world = self

        class Taking:
            def take(self):
                world.looks.append(flow.name)
                if (gate := world.gates.get(flow.name)) is not None:
                    assert gate.wait(20)
                answer = world.answers.get(flow.name, good)
                return answer(flow.name)

            def with_groups(self, snapshot):
                world.groups.append(flow.name)
                return snapshot

        return Taking()


def good(name):
    return FlowSnapshot(name, datetime.now(UTC), Status(name, AT), comparable=True)


def bad(name):
    error = ClusterUnreachable("west", "127.0.0.1:1", 1.0).report()
    return FlowSnapshot(name, datetime.now(UTC), Status(name, AT, errors=(error,)))


@pytest.fixture
def world():
    return World()


@pytest.fixture
def make_cache(world):
    """A cache that stops looking when the test is over."""
    made = []

    def make(**options):
        made.append(SnapshotCache(world.configuration, world.taking, **{"idle_seconds": 30.0, "reload_seconds": 0.05, **options}))
        return made[-1]

    yield make
    for gate in world.gates.values():
        gate.set()
    for cache in made:
        cache._idle_seconds = -1.0


def eventually(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)
    return found


def the_only(cache):
    (snapshot,) = cache.get().flows
    return snapshot


def test_the_first_answer_comes_at_once_and_says_that_nobody_has_looked_yet(world, make_cache):
    world.gates["east->west"] = threading.Event()
    cache = make_cache()
    found = cache.get()
    assert [(each.flow, each.is_taken, each.error) for each in found.flows] == [("east->west", False, None)]
    assert found.refreshing
    eventually(lambda: world.looks)
    began = time.monotonic()
    assert not the_only(cache).is_taken
    assert time.monotonic() - began < 1
    world.gates["east->west"].set()
    assert eventually(lambda: the_only(cache).is_good)


def test_nobody_is_asked_in_the_thread_of_a_request(world, make_cache):
    threads = []
    world.answers["east->west"] = lambda name: threads.append(threading.current_thread()) or good(name)
    cache = make_cache()
    eventually(lambda: the_only(cache).is_taken)
    assert threading.current_thread() not in threads
    assert all(thread.daemon for thread in threads), "they end with the process"


def test_it_looks_again_and_again_while_somebody_asks_and_no_longer(world, make_cache):
    cache = make_cache(idle_seconds=0.3)
    eventually(lambda: (cache.get(), len(world.looks) >= 3)[1])
    eventually(lambda: cache._thread is None)
    looks = len(world.looks)
    time.sleep(0.2)
    assert len(world.looks) <= looks + 1, "one look may have been under way"
    looks = len(world.looks)
    assert the_only(cache).is_good, "what was seen last is still there"
    eventually(lambda: len(world.looks) > looks)


def test_a_flow_is_left_alone_between_two_looks(world, make_cache):
    cache = make_cache(refresh_seconds=3600.0)
    eventually(lambda: the_only(cache).is_good)
    for _ in range(20):
        cache.get()
        time.sleep(0.005)
    assert world.looks == ["east->west"]


def test_after_a_decision_it_looks_at_once(world, make_cache):
    cache = make_cache(refresh_seconds=3600.0)
    eventually(lambda: the_only(cache).is_good)
    cache.refresh("east->west")
    cache.refresh("nobody->knows")
    assert eventually(lambda: world.looks == ["east->west"] * 2)


def test_a_decision_during_a_look_leads_to_another_one(world, make_cache):
    world.gates["east->west"] = threading.Event()
    cache = make_cache(refresh_seconds=3600.0)
    cache.get()
    eventually(lambda: world.looks)
    cache.refresh("east->west")
    world.gates["east->west"].set()
    assert eventually(lambda: len(world.looks) == 2)


def test_a_look_that_fails_is_shown_beside_the_last_good_one(world, make_cache):
    cache = make_cache()
    first = eventually(lambda: the_only(cache).is_good and the_only(cache))
    world.answers["east->west"] = bad
    failed = eventually(lambda: not the_only(cache).is_good and the_only(cache))
    assert [error.code for error in failed.errors] == ["ClusterUnreachable"]
    assert failed.last_good.taken >= first.taken
    assert failed.shown is failed.last_good
    later = eventually(lambda: (found := the_only(cache)).taken > failed.taken and found)
    assert later.last_good.taken == failed.last_good.taken, "it is not replaced, and holds no further ones"
    assert later.last_good.last_good is None
    world.answers["east->west"] = good
    healed = eventually(lambda: the_only(cache).is_good and the_only(cache))
    assert (healed.last_good, healed.errors, healed.shown) == (None, (), healed)


def test_a_mistake_of_ours_is_shown_and_holds_up_nobody(world, make_cache):
    def fail(name):
        raise RuntimeError("a bug")

    world.flows.append(MadeUpFlow("east->north"))
    world.answers["east->west"] = fail
    cache = make_cache()
    found = eventually(lambda: (each := cache.get().by_name)["east->north"].is_good and each["east->west"].error and each)
    assert found["east->west"].error == ErrorReport(
        "Unexpected", "The snapshot failed: RuntimeError: a bug.", next="Report it with this message."
    )


def test_a_flow_that_cannot_be_used_says_why_and_keeps_what_was_seen(world, make_cache):
    cache = make_cache()
    eventually(lambda: the_only(cache).is_good)
    flow, world.flows = world.flows[0], []
    world.invalid = (InvalidFlow("east", "west", BROKEN),)
    broken = eventually(lambda: the_only(cache).error and the_only(cache))
    assert (broken.error, broken.is_good, broken.last_good.is_good) == (BROKEN.report(), False, True)
    world.flows, world.invalid = [flow], ()
    eventually(lambda: the_only(cache).is_good)


def test_a_reference_that_cannot_be_read_is_shown(world, make_cache):
    world.flows = [MadeUpFlow("east->west", refresh=BROKEN)]
    cache = make_cache()
    assert eventually(lambda: the_only(cache).error) == BROKEN.report()


def test_a_configuration_that_cannot_be_read_at_all_is_said_and_the_flows_stay(world, make_cache):
    cache = make_cache()
    eventually(lambda: the_only(cache).is_good)
    world.failure = BROKEN
    assert eventually(lambda: cache.get().errors) == (BROKEN.report(),)
    assert [each.flow for each in cache.get().flows] == ["east->west"]
    world.failure = None
    eventually(lambda: not cache.get().errors)


def test_the_first_question_about_a_configuration_that_cannot_be_read_has_an_answer(world, make_cache):
    world.failure = BROKEN
    found = make_cache().get()
    assert (found.flows, found.errors) == ((), (BROKEN.report(),))


def test_another_configuration_of_a_flow_begins_anew_and_a_flow_that_is_gone_is_gone(world, make_cache):
    world.flows.append(MadeUpFlow("east->north"))
    cache = make_cache()
    eventually(lambda: all(each.is_good for each in cache.get().flows))
    made = []
    cache._make_taking = lambda flow: made.append(flow.config_hash) or world.taking(flow)
    world.flows = [MadeUpFlow("east->west", config_hash="2")]
    eventually(lambda: made == ["2"])
    assert [each.flow for each in cache.get().flows] == ["east->west"]


def test_a_flow_that_does_not_answer_keeps_its_own_place_busy_alone(world, make_cache):
    world.flows = [MadeUpFlow(f"east->{number}") for number in range(AT_ONCE + 3)]
    world.gates = {f"east->{number}": threading.Event() for number in range(AT_ONCE - 1)}
    cache = make_cache()
    free = [f"east->{number}" for number in range(AT_ONCE - 1, AT_ONCE + 3)]
    eventually(lambda: all(cache.get().by_name[name].is_good for name in free))
    assert all(world.looks.count(name) == 1 for name in world.gates)


def test_no_more_than_some_flows_are_looked_at_at_once(world, make_cache):
    world.flows = [MadeUpFlow(f"east->{number}") for number in range(AT_ONCE + 3)]
    gate = threading.Event()
    world.gates = {flow.name: gate for flow in world.flows}
    cache = make_cache()
    cache.get()
    eventually(lambda: len(world.looks) == AT_ONCE)
    time.sleep(0.1)
    assert len(world.looks) == AT_ONCE
    gate.set()
    eventually(lambda: all(each.is_good for each in cache.get().flows))


def test_a_flow_that_costs_much_is_looked_at_more_rarely(world, make_cache):
    times = []

    def busy(name):
        times.append(time.monotonic())
        end = time.thread_time() + 0.03
        while time.thread_time() < end:
            pass
        return good(name)

    world.answers["east->west"] = busy
    cache = make_cache(refresh_seconds=0.001)
    eventually(lambda: (cache.get(), len(times) == 2)[1])
    assert times[1] - times[0] >= 0.3, "a tenth of the time may be spent on it"


def test_groups_are_looked_at_behind_the_rest(world, make_cache):
    cache = make_cache()
    assert eventually(lambda: (cache.get(), world.groups)[1])


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_looks_for_itself(world, make_cache):
    cache = make_cache(refresh_seconds=3600.0)
    eventually(lambda: the_only(cache).is_good)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            before = the_only(cache).is_taken
            eventually(lambda: the_only(cache).is_good)
            os.write(writer, b"no" if before else b"ok")
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        assert answer.read() == b"ok"
    os.waitpid(child, 0)


def test_flows_are_known_without_a_look(world, make_cache):
    cache = make_cache()
    assert [each.name for each in cache.flows()] == ["east->west"]
    time.sleep(0.05)
    assert world.looks == []


def test_a_last_good_snapshot_holds_no_other_one():
    snapshot = good("east->west")
    assert replace(bad("east->west"), last_good=snapshot).shown == snapshot
