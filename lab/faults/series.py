"""Round after round: which fault comes when is drawn from the seed alone, so a round can be repeated."""

import random
import time
from collections.abc import Callable, Iterator, Sequence

from kafka_mirror.errors import MirrorError
from lab.faults.faults import Fault, Round
from lab.faults.results import Outcome
from lab.faults.site import FOLLOW_SECONDS, Site, Stuck
from services.oracle import OracleError


def draw_faults(faults: Sequence[Fault], rounds: int, seed: int) -> list[Fault]:
    """Draws a fault for each round, each kind about as often as the others."""
    chance = random.Random(seed)
    drawn: list[Fault] = []
    while len(drawn) < rounds:
        drawn += chance.sample(list(faults), len(faults))
    return drawn[:rounds]


def play(make_site: Callable[[], Site], faults: Sequence[Fault], seed: int, records: int) -> Iterator[Outcome]:
    """One round for each fault, in order.

    After a round with wrong records the next rounds use a new flow; after one with wrong answers, new groups.
    """
    site = make_site()
    for number, fault in enumerate(faults):
        chance = random.Random(f"{seed} {number}")
        outcome = _round(Round(site, number, chance, records), fault)
        yield outcome
        if outcome.stuck or any(outcome.wrong):
            site = make_site()
        elif not outcome.is_good:
            site.groups.committed.clear()


def _round(now: Round, fault: Fault) -> Outcome:
    started = time.monotonic()
    site, in_time, runs, stuck = now.site, False, 0, ""
    site.follow_seconds = FOLLOW_SECONDS if fault.follows else 0.0
    try:
        now.produce()
        now.begin()
        now.place_groups()
        try:
            in_time = fault.inject(now)
        finally:
            now.heal()
    except (Stuck, MirrorError, OracleError, AssertionError) as failure:
        stuck = f"{type(failure).__name__}: {failure}"
    try:
        runs = site.catch_up()
    except Stuck as failure:
        stuck = f"{stuck} {failure}".lstrip()
    accounts = tuple(site.count())
    try:
        now.judge()
    except (MirrorError, AssertionError) as failure:
        stuck = f"{stuck} {type(failure).__name__}: {failure}".lstrip()
    return Outcome(
        now.number,
        fault.name,
        in_time,
        runs,
        accounts,
        time.monotonic() - started,
        stuck,
        now.judged,
        now.last,
        tuple(site.witness.decisions),
    )
