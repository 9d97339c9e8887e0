"""When a fault of the trial counts as a hit: it has to come while its step runs."""

import random
import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import ClassVar

import pytest

from kafka_mirror.cutover.wave.step import CATCH_UP, OPEN, PREFLIGHT
from lab.trial import cutovers
from lab.trial.cutovers import KILL, KILLED_OPEN, LOST_TRACK, SECOND_WAVE, Cutover, Fault
from lab.trial.mover import LEDGER_DEATH, MOVED_DEATH
from lab.trial.site import DONE, KILLED, STOPPED


class Run:
    """A run of the mover that says these lines, and then waits until it is killed if it is the first one."""

    def __init__(self, lines, waits, code=DONE):
        self.lines = []
        self._code = code
        self._says, self._waits = lines, waits
        self._killed = threading.Event()
        self._watcher = lambda _line: None

    def watch(self, watcher):
        self._watcher = watcher

    def run(self):
        for line in self._says:
            self._watcher(line)
        return KILLED if self._waits and self._killed.wait(60) else self._code

    def kill(self):
        self._killed.set()

    def freeze(self):
        return nullcontext()


class Site:
    """A site without applications."""

    at, other, policy, producers, consumers = "east", "west", "names kept", (), ()
    clusters: ClassVar = {}

    def __init__(self, lines, codes=()):
        self.step_seconds = {}
        self.calls = []
        self._lines, self._runs, self._codes = lines, 0, codes

    def mover(self, _wave, **_request):
        self._runs += 1
        if self._codes:
            return Run(self._lines, waits=False, code=self._codes[min(self._runs, len(self._codes)) - 1])
        return Run(self._lines, waits=self._runs == 1)

    def copy(self): ...

    def end(self, _applications):
        self.calls.append("end producers")

    def end_consumers(self):
        self.calls.append("end consumers")

    def start_producers(self):
        self.calls.append(f"start producers on {self.at}")

    def start_consumers(self):
        self.calls.append(f"start consumers on {self.at}")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(cutovers, "LIVE_SECONDS", 0)
    monkeypatch.setattr(cutovers, "_PATIENCE_SECONDS", 0)


def test_a_kill_while_its_step_runs_is_a_hit_and_the_wave_is_run_again():
    site = Site(["preflight begins.", "preflight: done.", "catch-up begins."])
    outcome = Cutover(site, 0, Fault(KILL, CATCH_UP), random.Random(1)).run()
    assert ([struck.is_hit for struck in outcome.faults], outcome.runs, outcome.wrong) == ([True], 4, ())
    assert set(site.step_seconds) == {PREFLIGHT}


def test_a_kill_that_comes_after_its_step_is_none():
    site = Site(["preflight begins.", "preflight: done.", "catch-up begins."])
    outcome = Cutover(site, 0, Fault(KILL, PREFLIGHT), random.Random(1)).run()
    assert ([struck.is_hit for struck in outcome.faults], outcome.runs) == ([False], 4)


STAYS = "stop GroupActive: g: it has 1 member (app) on east. Next: …"


@pytest.mark.parametrize(
    ("runs", "restarts"),
    [
        ([f"stop: Cluster 'east': describing the group g failed: UNKNOWN. Next: {LOST_TRACK} when …"], 1),
        ([STAYS], 0),
        ([STAYS, STAYS], 1),
        ([STAYS, "another stop", STAYS], 0),
        ([STAYS, STAYS, STAYS], 1),
    ],
)
def test_a_broker_that_lost_track_of_a_group_or_of_its_members_is_restarted_as_the_run_advises(runs, restarts):
    done = []
    site = Site([])
    site.clusters = {"east": SimpleNamespace(kill=lambda: done.append("kill"), start=lambda: done.append("start")), "west": None}
    outcome = Cutover(site, 0, Fault(KILL, None), random.Random(1))
    for line in runs:
        outcome._follow_advice([line])
    assert (done, outcome._restarts) == (["kill", "start"] * restarts, restarts)


ENDED = ["end producers", "end consumers"]
GROUPS_MOVED = ["move-groups begins.", "move-groups: done."]


@pytest.mark.parametrize(
    ("lines", "codes", "calls"),
    [
        ([], [STOPPED], []),
        ([], [DONE, STOPPED], ["end producers", "start producers on east"]),
        ([], [DONE, DONE, STOPPED], [*ENDED, "start producers on east", "start consumers on east"]),
        (GROUPS_MOVED, [DONE, DONE, STOPPED], [*ENDED, "start producers on west", "start consumers on west"]),
    ],
)
def test_applications_stay_where_their_positions_are_if_a_wave_cannot_be_moved(monkeypatch, lines, codes, calls):
    monkeypatch.setattr(cutovers.time, "sleep", lambda _seconds: None)
    site = Site(["preflight begins.", *lines], codes)
    outcome = Cutover(site, 0, Fault(KILL, OPEN), random.Random(1)).run()
    assert (bool(outcome.wrong), site.calls) == (True, calls)


REFUSED, UNKNOWN = (["WaveHeld: the wave 'wave-0' holds orders."], STOPPED), (["WaveUnknown: no wave 'second-0'."], STOPPED)
IS_OPEN = (["WaveIsOpen: it is open. Next: Move back by a wave in the other direction, of the flow b->a"], STOPPED)
TAKEN_BACK = (["open: taken back."], DONE)


class AnsweringSite(Site):
    """A site whose runs answer by the kind of their request; a run that is to die dies."""

    def __init__(self, grows=1, **said):
        super().__init__([])
        self._said, self._grows, self.asked = said, grows, []

    def mover(self, wave, **request):
        self.asked.append((wave, request))
        if "dies" in request:
            return Run(["open begins."], waits=False, code=KILLED)
        kind = "rolls_back" if "rolls_back" in request else "second" if wave.startswith("second") else None
        lines, code = self._said[kind] if kind is not None else (["preflight begins."], DONE)
        run = Run(lines, waits=False, code=code)
        run.lines = lines
        return run

    def live_here_again(self):
        self.calls.append("copy again")
        return self._grows


class Dice:
    """Dice that fall as their maker says."""

    def __init__(self, choice=None, random=0.0):
        self.choice, self.random = lambda _of: choice, lambda: random


@pytest.mark.parametrize(
    ("second", "taken_back", "wrong"),
    [(REFUSED, UNKNOWN, 0), (([], DONE), UNKNOWN, 1), (([], STOPPED), UNKNOWN, 1), (REFUSED, TAKEN_BACK, 1)],
)
def test_a_second_wave_of_the_same_topics_is_to_be_refused_and_to_leave_nothing_to_take_back(second, taken_back, wrong):
    site = AnsweringSite(second=second, rolls_back=taken_back)
    outcome = Cutover(site, 0, Fault(SECOND_WAVE, PREFLIGHT), Dice()).run()
    assert (len(outcome.wrong), outcome.faults[0].how) == (wrong, f"{SECOND_WAVE}, while it was frozen")
    assert [request for wave, request in site.asked if wave == "second-0"] == [{"topics": "ord.*"}, {"rolls_back": True}]
    assert site.calls[-1] == "start consumers on west", "the first one is moved all the same"


@pytest.mark.parametrize(
    ("death", "taken_back", "grows", "wrong"),
    [
        (LEDGER_DEATH, TAKEN_BACK, 1, ()),
        (LEDGER_DEATH, TAKEN_BACK, 0, ("the wave was rolled back, and its flow copied nothing afterwards",)),
        (LEDGER_DEATH, IS_OPEN, 1, ("the roll back of a killed open ended with 1: ",)),
        (MOVED_DEATH, IS_OPEN, 1, ()),
        (MOVED_DEATH, TAKEN_BACK, 1, ("the roll back of an open wave was to be refused with the way on, and ended with 0: ",)),
    ],
)
def test_after_a_killed_open_a_roll_back_gives_a_flow_that_copies_or_names_the_way_on(monkeypatch, death, taken_back, grows, wrong):
    monkeypatch.setattr(cutovers.time, "sleep", lambda _seconds: None)
    site = AnsweringSite(grows, rolls_back=taken_back)
    outcome = Cutover(site, 0, Fault(KILLED_OPEN, OPEN), Dice(death)).run()
    (fault,) = outcome.faults
    assert (fault.is_hit, str(fault), outcome.runs) == (True, f"killed {death}, then rolled back in open", 4)
    assert [said[: len(begins)] for said, begins in zip(outcome.wrong, wrong, strict=True)] == list(wrong)
    assert ("copy again" in site.calls) == (taken_back == TAKEN_BACK and death == LEDGER_DEATH)


def test_after_a_killed_open_the_wave_may_be_run_to_its_end(monkeypatch):
    monkeypatch.setattr(cutovers.time, "sleep", lambda _seconds: None)
    site = AnsweringSite()
    outcome = Cutover(site, 0, Fault(KILLED_OPEN, OPEN), Dice(LEDGER_DEATH, random=0.9)).run()
    assert (outcome.wrong, str(outcome.faults[0])) == ((), f"killed {LEDGER_DEATH}, then run again in open")
    assert [request.get("dies") for _, request in site.asked] == [None, None, LEDGER_DEATH, None]
