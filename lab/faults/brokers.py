"""Brokers killed, paused, and leaders moved, at the target and at the source."""

import random
import time

from kafka_mirror.formats.offsets.partition import transactional_id
from lab.faults.faults import Fault, Round, await_end
from lab.faults.injections import BROKERS, CutOff, Kill, MoveLeaders, Pause


def kill_coordinator(now: Round) -> bool:
    """kill -9 of the broker that decides a lane's transactions."""
    now.site.catch_up()  # a lane that never wrote has no coordinator yet
    now.produce()
    now.begin()
    lanes = now.site.mirroring.flow.value("mirror.lanes")
    name = transactional_id(now.site.mirroring.pair.source, lanes, now.chance.randrange(lanes))
    return _hurt(now, Kill(now.site.target, now.site.oracle.transaction_coordinator(now.site.target.bootstrap, name)))


def depose_leader(now: Round) -> bool:
    """The leader of the ledger and of every remote partition is cut off from its cluster. A run that reaches the others copies the rest,
    and then the first plan is copied again by clients whose connections end at the deposed leader, all or some of them, for a while."""
    now.site.catch_up()  # a ledger that does not exist has no leader
    now.produce()
    now.begin()
    fault = CutOff(now.site.target, now.site.oracle, _target_topics(now))
    fault.lead()
    planned = now.site.plan()
    copy = now.site.copy_here(planned)
    hit = now.await_moment(copy)
    now.add_cleanup(fault.heal)
    fault.inject()
    await_end(now.site.copy_here(by=now.site.variant_at(fault.others)))
    fault.attract_clients(now.chance.choice((1.0, 0.4, 0.3, 0.2)), random.Random(now.chance.getrandbits(30)))
    again = now.site.copy_here(planned)
    time.sleep(2 + 6 * now.chance.random())
    now.site.target.network.gather(None)
    time.sleep(1 + 3 * now.chance.random())
    now.heal()
    await_end(copy)
    await_end(again)
    return hit


def _target_topics(now: Round) -> tuple[str, str]:
    """The topics that a copy writes to."""
    return now.site.remote, f"mm2-ledger.{now.site.mirroring.pair.source}.internal"


def _hurt(now: Round, fault: Kill | Pause | MoveLeaders) -> bool:
    copy = now.site.copy_here()
    hit = now.await_moment(copy)
    now.add_cleanup(fault.heal)
    fault.inject()
    time.sleep(1 + 6 * now.chance.random())
    now.heal()
    await_end(copy)
    now.site.source.wait_ready()
    now.site.target.wait_ready()
    return hit


def _kill_any(now: Round) -> bool:
    return _hurt(now, Kill(now.site.target, now.chance.choice(BROKERS)))


def _pause_any(now: Round) -> bool:
    return _hurt(now, Pause(now.site.target, now.chance.choice(BROKERS)))


def _move_leaders(now: Round) -> bool:
    return _hurt(now, MoveLeaders(now.site.target, now.site.oracle, _target_topics(now)))


BROKER_FAULTS = (
    Fault("broker", "kill -9 of a target broker", _kill_any, own_clusters=True),
    Fault("pause", "SIGSTOP of a target broker", _pause_any, own_clusters=True),
    Fault("coordinator", "kill -9 of a transaction coordinator", kill_coordinator, own_clusters=True),
    Fault("source-broker", "kill -9 of the source's broker", lambda now: _hurt(now, Kill(now.site.source, 1)), own_clusters=True),
    Fault("source-pause", "SIGSTOP of the source's broker", lambda now: _hurt(now, Pause(now.site.source, 1)), own_clusters=True),
    Fault("leaders", "leaders moved on the target", _move_leaders, own_clusters=True),
    Fault("deposed", "a leader cut off from its cluster, not from us", depose_leader, own_clusters=True),
)
