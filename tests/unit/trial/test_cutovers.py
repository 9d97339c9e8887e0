"""When a fault of the trial counts as a hit: it has to come while its step runs."""

import random
import threading
from types import SimpleNamespace
from typing import ClassVar

import pytest

from mirror.cutover.steps import CATCH_UP, OPEN, PREFLIGHT
from tests.trial import cutovers
from tests.trial.cutovers import KILL, LOST_TRACK, Cutover, Fault
from tests.trial.site import DONE, KILLED, STOPPED


class Run:
    """A run of the mover that says these lines, and then waits until it is killed if it is the first one."""

    def __init__(self, lines, waits, code=DONE):
        self.lines = []
        self._code = code
        self._says, self._waits = lines, waits
        self._killed = threading.Event()

    def watch(self, watcher):
        self._watcher = watcher

    def run(self):
        for line in self._says:
            self._watcher(line)
        return KILLED if self._waits and self._killed.wait(60) else self._code

    def kill(self):
        self._killed.set()


class Site:
    """Applications that nobody has to move."""

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


def test_a_broker_that_lost_track_of_a_group_is_restarted_as_the_run_advises():
    done = []
    site = Site([f"stop: Cluster 'east': describing the group g failed: UNKNOWN. Next: {LOST_TRACK} when …"])
    site.clusters = {"east": SimpleNamespace(kill=lambda: done.append("kill"), start=lambda: done.append("start")), "west": None}
    outcome = Cutover(site, 0, Fault(KILL, None), random.Random(1))
    outcome._follow_advice(site._lines)
    assert (done, outcome._restarts) == (["kill", "start"], 1)


@pytest.mark.parametrize(
    ("codes", "calls"),
    [
        ([STOPPED], []),
        ([DONE, STOPPED], ["end producers", "start producers on east"]),
        ([DONE, DONE, STOPPED], ["end producers", "end consumers", "start producers on west", "start consumers on west"]),
    ],
)
def test_applications_stay_where_their_positions_are_if_a_wave_cannot_be_moved(monkeypatch, codes, calls):
    monkeypatch.setattr(cutovers.time, "sleep", lambda _seconds: None)
    site = Site(["preflight begins."], codes)
    outcome = Cutover(site, 0, Fault(KILL, OPEN), random.Random(1)).run()
    assert (bool(outcome.wrong), site.calls) == (True, calls)
