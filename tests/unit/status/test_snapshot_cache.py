"""The cache of snapshots: answers at once, looks while somebody asks, and lets no flow hold up another."""

import os
import threading
import time

import pytest

from kafka_mirror.status.snapshot_cache import AT_ONCE
from services.waiting import PATIENCE, eventually
from tests.unit.status.snapshot_world import MadeUpFlow, good, the_only


def test_the_first_answer_comes_at_once_and_says_that_nobody_has_looked_yet(world, make_cache):
    world.gates["east->west"] = threading.Event()
    cache = make_cache()
    found = cache.get()
    assert [(each.flow, each.is_taken, each.error) for each in found.flows] == [("east->west", False, None)]
    assert found.refreshing
    eventually(lambda: world.looks)
    began = time.monotonic()
    assert not the_only(cache).is_taken
    assert time.monotonic() - began < PATIENCE / 2, "it does not wait for the look, which is held for longer"
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


def test_it_ends_when_it_is_stopped_and_begins_anew_with_the_next_question(world, make_cache):
    cache = make_cache(refresh_seconds=0.01)
    eventually(lambda: the_only(cache).is_good)
    cache.stop()
    looks = len(world.looks)
    assert cache._thread is None
    time.sleep(0.1)
    assert len(world.looks) == looks
    eventually(lambda: (cache.get(), len(world.looks) > looks)[1])


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
    eventually(lambda: (cache.get(), len(times) >= 2)[1])
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
