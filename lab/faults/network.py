"""Faults of the network between the mirror and its clusters."""

import time
from functools import partial

from lab.faults.faults import Fault, Round, await_end


def cut(now: Round) -> bool:
    """One cluster cannot be reached for one to six seconds: connections are refused, or hang."""
    network = now.chance.choice((now.site.source, now.site.target)).network
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    now.add_cleanup(network.heal)
    now.chance.choice((network.refuse, network.hold))()
    time.sleep(1 + 5 * now.chance.random())
    network.heal()
    await_end(copy)
    return hit


def delay(now: Round) -> bool:
    """One cluster or both are suddenly far away, and near again later."""
    networks = now.chance.choice(([now.site.source.network], [now.site.target.network], [now.site.source.network, now.site.target.network]))
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    for network in networks:
        now.add_cleanup(partial(network.delay, 0))
        network.delay(now.chance.choice((50, 200)))
    time.sleep(2 + 6 * now.chance.random())
    now.heal()
    await_end(copy)
    return hit


def drop(now: Round) -> bool:
    """Connections of both clusters break at random for some seconds."""
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    until = time.monotonic() + 2 + 3 * now.chance.random()
    while time.monotonic() < until:
        for cluster in (now.site.source, now.site.target):
            cluster.network.drop(0.3, now.chance)
        time.sleep(0.3 * now.chance.random())
    await_end(copy)
    return hit


NETWORK = (
    Fault("cut", "network cut for 1 to 6 s", cut),
    Fault("delay", "network suddenly far", delay),
    Fault("drop", "connections dropped at random", drop),
)
