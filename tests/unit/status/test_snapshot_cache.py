"""The cache of snapshots: answers at once, looks while somebody asks, and lets no flow hold up another."""

import os
import threading
import time
from dataclasses import replace

import pytest

from kafka_mirror.config.flow import InvalidFlow
from kafka_mirror.status.snapshot_cache import AT_ONCE
from services.waiting import PATIENCE, eventually
from tests.unit.status.snapshot_world import BROKEN, MadeUpFlow, bad, good, the_only


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


def test_a_look_that_fails_is_shown_beside_the_last_good_one(world, make_cache):
    cache = make_cache()
    first = eventually(lambda: the_only(cache).is_good and the_only(cache))
    world.answers["east->west"] = bad
    failed = eventually(lambda: not the_only(cache).is_good and the_only(cache))
    assert [error.code for error in failed.errors] == ["ClusterUnreachable"]
    assert failed.last_good.taken >= first.taken
    assert failed.with_figures is failed.last_good
    later = eventually(lambda: (found := the_only(cache)).taken > failed.taken and found)
    assert later.last_good.taken == failed.last_good.taken, "it is not replaced, and holds no further ones"
    assert later.last_good.last_good is None
    world.answers["east->west"] = good
    healed = eventually(lambda: the_only(cache).is_good and the_only(cache))
    assert (healed.last_good, healed.errors, healed.with_figures) == (None, (), healed)


def test_a_mistake_of_ours_is_shown_and_holds_up_nobody(world, make_cache):
    def fail(name):
        raise RuntimeError("a bug")

    world.flows.append(MadeUpFlow("east->north"))
    world.answers["east->west"] = fail
    cache = make_cache()
    found = eventually(lambda: (each := cache.get().by_name)["east->north"].is_good and each["east->west"].error and each)
    error = found["east->west"].error
    assert (error.code, error.next) == ("Unexpected", "Report it with this message.")
    assert error.message.startswith(
        "The snapshot of east->west failed unexpectedly: RuntimeError: a bug (kafka_mirror/status/snapshot_cache.py:"
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


def test_a_last_good_snapshot_holds_no_other_one():
    snapshot = good("east->west")
    assert replace(bad("east->west"), last_good=snapshot).with_figures == snapshot
