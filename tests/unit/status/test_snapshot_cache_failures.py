"""The cache of snapshots when something is wrong: it says so, keeps the last good one, and the other flows go on."""

from dataclasses import replace

from kafka_mirror.config.flow import InvalidFlow
from services.waiting import eventually
from tests.unit.status.snapshot_world import BROKEN, MadeUpFlow, bad, good, the_only


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
