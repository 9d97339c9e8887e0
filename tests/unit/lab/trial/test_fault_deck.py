"""Which faults a trial deals: each kill point as often as the others, and those again that hit nothing."""

import random
from collections import Counter

from kafka_mirror.cutover.wave.step import OPEN
from lab.trial.cutovers import KILLED_OPEN, STEPS, CutoverOutcome, Fault, FaultOutcome
from lab.trial.fault_deck import FaultDeck

POINTS = {Fault(kind, step) for kind in ("process killed", "broker killed") for step in STEPS}


def played(deck, misses=lambda _fault: False):
    """The waves of a deck; `misses` says which faults come too late."""
    for hand in deck:
        outcome = CutoverOutcome(0, "names kept", "east", tuple(FaultOutcome(fault, not misses(fault)) for fault in hand), 1, 1.0, 1.0)
        deck.count(outcome)
        yield outcome


def deck(waves, seed=1, hand=1):
    return FaultDeck(("process killed", "broker killed"), waves, random.Random(seed), hand)


def faults(outcomes):
    return [struck.fault for outcome in outcomes for struck in outcome.faults]


def test_each_kind_comes_in_each_step_before_any_comes_again():
    outcomes = list(played(deck(28)))
    assert {*faults(outcomes[:14])} == {*faults(outcomes[14:])} == POINTS
    assert len(outcomes) == 28


def test_points_that_were_missed_come_again_until_each_was_hit_as_often_as_planned():
    missed = []

    def misses(fault):
        """The first two of each point in `open`."""
        missed.append(fault)
        return fault.step == OPEN and missed.count(fault) <= 2

    outcomes = list(played(deck(42), misses))
    hits = Counter(struck.fault for outcome in outcomes for struck in outcome.faults if struck.is_hit)
    assert hits == dict.fromkeys(POINTS, 3)
    assert {fault.step for fault in faults(outcomes[42:])} == {OPEN}
    assert len(outcomes) == 42 + 4


def test_a_wave_with_a_fault_in_each_step_gets_no_step_twice():
    outcomes = list(played(deck(10, hand=len(STEPS))))
    assert [{fault.step for fault in faults([outcome])} for outcome in outcomes] == [{*STEPS}] * 10
    assert Counter(faults(outcomes)) == dict.fromkeys(POINTS, 5)


def test_a_point_that_nothing_hits_is_given_up():
    outcomes = list(played(deck(14), lambda fault: fault.step == OPEN))
    assert len(outcomes) == 28


def test_the_same_seed_deals_the_same():
    assert list(deck(20, seed=5)) == list(deck(20, seed=5)) != list(deck(20, seed=6))


def test_a_fault_that_comes_in_one_step_alone_is_dealt_there_alone():
    outcomes = list(played(FaultDeck(("process killed", KILLED_OPEN), 16, random.Random(1))))
    assert Counter(fault.step for fault in faults(outcomes) if fault.kind == KILLED_OPEN) == {OPEN: 2}
    assert len({*faults(outcomes)}) == len(STEPS) + 1
