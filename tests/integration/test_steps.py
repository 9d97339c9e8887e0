"""What every step beside the copy has to keep, each with both clusters behind a network that can be cut: one sentence and a red run while
a cluster cannot be reached, within the deadline; and the next run catches up by itself."""

import time
from dataclasses import replace

import pytest

from kafka_mirror.errors import MirrorError
from kafka_mirror.status.steps import STEPS, run_step
from services.consumers import set_offsets

SECONDS = 2.0
CALLS = 4
"""So many calls one after the other may each take the deadline."""
ALONE = {"heartbeats": "target", "refresh-groups": "source", "topic-acls": "source", "schemas": "neither"}
"""Steps that ask one side only. MM2's MirrorHeartbeatConnector has no business on the source; of ACLs these clusters know none, so the
target is not asked for them. Schemas come from registries."""


@pytest.fixture
def mirroring(east, west, make_pair, make_mirroring):
    """A flow that is copied once, whose clusters are reached through their networks."""
    pair = make_pair(east, west)
    far = replace(pair, source_bootstrap=east.proxied_bootstrap, target_bootstrap=west.proxied_bootstrap)
    extra = {
        "admin.timeout.ms": str(int(SECONDS * 1000)),
        "source->target.sync.group.offsets.enabled": "true",
        "source->target.groups": f"group-{pair.mark}",
    }
    made = make_mirroring(far, extra, topics=pair.topic("orders"))
    made.oracle.create_topic(pair.source_bootstrap, pair.topic("orders"), 2)
    made.oracle.produce(pair.source_bootstrap, pair.topic("orders"), 40, seed=5)
    assert made.copy().state == "done"
    set_offsets(pair.source_bootstrap, f"group-{pair.mark}", {(pair.topic("orders"), 0): 7})
    assert run_step("checkpoints", made.flow).errors == ()
    yield made
    for cluster in (east, west):
        cluster.network.heal()


@pytest.mark.parametrize(("side", "cut"), [("source", "hold"), ("target", "refuse")])
def test_a_cluster_that_is_down_is_one_sentence_in_time_and_the_next_run_catches_up(mirroring, east, west, side, cut):
    network = (east if side == "source" else west).network
    alias = mirroring.pair.source if side == "source" else mirroring.pair.target
    steps = [step for step in STEPS if ALONE.get(step, side) == side]
    getattr(network, cut)()
    for step in steps:
        began = time.monotonic()
        error = raised(step, mirroring.flow)
        took = time.monotonic() - began
        assert error.retriable, error
        assert f"'{alias}'" in error.message, f"{step}: {error.message}"
        assert error.message.endswith("."), error.message
        assert "\n" not in str(error), str(error)
        assert took < CALLS * (SECONDS + 5), f"{step} took {took:.0f} s"
    network.heal()
    for step in steps:
        assert run_step(step, mirroring.flow).errors == (), step


def raised(step, flow):
    """What the step raises."""
    try:
        done = run_step(step, flow)
    except MirrorError as error:
        return error
    raise AssertionError(f"{step} ended without an error: {done}")
