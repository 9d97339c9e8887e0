"""Planned waves forth and back under load, each with a fault in one of its steps; afterwards every group got everything once, in order."""

import random
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from kafka_mirror.cutover.wave.step import AUDIT_GATE, CATCH_UP, FENCE, LAST_COPY, MOVE_GROUPS, OPEN, PREFLIGHT
from lab.trial.mover import DEATHS, MOVED_DEATH
from lab.trial.site import DONE, KILLED, LIVE_SECONDS, STOPPED, TOPIC, MoverProcess, TrialSite, choose_moment, run_later

PEOPLE = (CATCH_UP, AUDIT_GATE, None)
"""Up to which step a run goes before people do something: stop the producers, stop the consumers, start both on the other cluster."""
STEPS = (PREFLIGHT, CATCH_UP, FENCE, LAST_COPY, AUDIT_GATE, MOVE_GROUPS, OPEN)
KILL, SOURCE_BROKER, TARGET_BROKER = "process killed", "source's broker killed", "target's broker killed"
FROZEN, ROLLED_BACK = "process frozen, and another run meanwhile", "process frozen, and rolled back meanwhile"
SECOND_WAVE = "a second wave of its topics"
KILLED_OPEN = "process killed between ledger and control topic"
KINDS = (KILL, SOURCE_BROKER, TARGET_BROKER, FROZEN, ROLLED_BACK, SECOND_WAVE, KILLED_OPEN)
STEPS_OF = {KILLED_OPEN: (OPEN,)}
"""In which steps a kind of fault can come, if not in all."""
NO_FAULT = "none"
LOST_TRACK = "Kafka lost track of the group"
"""Part of the error of a broker that came back from a crash and cannot describe a group any more (Kafka 4.3)."""
STILL_HAS = "stop GroupActive: "
_RUNS_OF_A_SESSION = 2
"""How many runs that wait for members last longer than a session."""
_TRIES = 6
_PATIENCE_SECONDS = 120
"""For how long people try again at least: a member whose broker was killed as it left counts until its session ends."""
STEP_SECONDS = 0.6
"""How long a step is believed to take before it ran for the first time: a fault is to come before its end."""


@dataclass(frozen=True)
class Fault:
    """What happens, and in which step of the wave."""

    kind: str
    step: str | None = None

    def __str__(self) -> str:
        return self.kind if self.step is None else f"{self.kind} in {self.step}"


@dataclass(frozen=True)
class FaultOutcome:
    """Whether a fault hit its step while that ran. `how` says what of several things it was."""

    fault: Fault
    is_hit: bool
    how: str = ""

    def __str__(self) -> str:
        return f"{self.how or self.fault.kind} in {self.fault.step}" if self.is_hit else f"({self.fault}: came too late)"


@dataclass(frozen=True)
class CutoverOutcome:
    """One wave: from where, with which faults, how many runs it took, and for how many seconds no producer could write. `wrong`
    has a sentence for each thing that went wrong."""

    number: int
    policy: str
    source: str
    faults: tuple[FaultOutcome, ...]
    runs: int
    seconds: float
    write_pause: float
    wrong: tuple[str, ...] = ()
    restarts: int = 0
    """How often a broker was restarted because a run said that this mends it."""

    def __str__(self) -> str:
        faults = ", ".join(map(str, self.faults)) or NO_FAULT
        result = f"NOT MOVED: {' | '.join(self.wrong)}" if self.wrong else f"moved in {self.seconds:.0f} s"
        how = f"{faults}; {result}, {self.runs} runs, no writes for {self.write_pause:.1f} s"
        how += f", {self.restarts} brokers restarted as advised" if self.restarts else ""
        return f"wave {self.number}, {self.policy}, from {self.source}: {how}"


class Cutover:
    """One wave of a site under load, with one fault."""

    def __init__(self, site: TrialSite, number: int, fault: Fault, dice: random.Random) -> None:
        self._site = site
        self._number = number
        self._fault = fault
        self._dice = dice
        self._step: str | None = None
        self._target_step: str | None = None
        self._step_began = 0.0
        self._is_under_way = self._is_hit = self._are_groups_moved = False
        self._runs = self._restarts = 0
        self._strike_thread: threading.Thread | None = None
        self._stayed: Counter[str] = Counter()
        self._how = ""
        self._wrong: list[str] = []

    def run(self) -> CutoverOutcome:
        """Moves the applications to the other cluster. They stay where they are if the wave stopped before it moved the groups."""
        site, began, source = self._site, time.monotonic(), self._site.at
        wrong: list[str] = []
        pause_began, are_ended = 0.0, False
        site.copy()
        for until in PEOPLE:
            wrong += self._run_until(until)
            if wrong and until is not None:
                break
            if until == CATCH_UP:
                site.end(site.producers)
                pause_began = time.monotonic()
            elif until == AUDIT_GATE:
                site.end_consumers()
                are_ended = True
        is_moved = not wrong or self._are_groups_moved
        if self._strike_thread is not None:
            self._strike_thread.join()  # it must not hit the wave after the applications have moved
        if is_moved:
            site.at = site.other
        if pause_began:
            site.start_producers()
        pause = time.monotonic() - pause_began if pause_began else 0.0
        if are_ended:
            site.start_consumers()
        time.sleep(LIVE_SECONDS)
        seconds = time.monotonic() - began
        fault, wrong = FaultOutcome(self._fault, self._is_hit, self._how), [*wrong, *self._wrong]
        return CutoverOutcome(self._number, site.policy, source, (fault,), self._runs, seconds, pause, tuple(wrong), self._restarts)

    def _run_until(self, step: str | None) -> list[str]:
        """Runs up to a step, again and again as people would; gives a sentence if the wave did not come there."""
        began, tries = time.monotonic(), 0
        while tries < _TRIES or time.monotonic() - began < _PATIENCE_SECONDS:
            tries += 1
            self._runs += 1
            self._target_step = step
            death = self._choose_death(step)
            mover = self._site.mover(self._wave, until=step, **death)
            mover.watch(lambda line, mover=mover: self._take_line(line, mover))  # type: ignore[misc]
            code = mover.run()
            self._step = None
            if code == DONE:
                return []
            if death and code == KILLED:
                self._recover(death["dies"])
            self._follow_advice(mover.lines)
            time.sleep(0.5)
        stops = [line.strip() for line in mover.lines if line.strip().startswith("stop ")]
        said = " | ".join(stops or mover.lines[-4:])
        return [f"the wave did not come to {step or 'its end'} in {tries} runs; the last one said: {said}"]

    def _follow_advice(self, lines: Sequence[str]) -> None:
        """Restarts a broker that lost track of a group, or that lists members for longer than a session though none runs, as the run
        advises."""
        for alias, cluster in self._site.clusters.items():
            has_lost_track = any(f"Cluster '{alias}'" in line and LOST_TRACK in line for line in lines)
            stays = any(STILL_HAS in line and f" on {alias}." in line for line in lines)
            self._stayed[alias] = self._stayed[alias] + 1 if stays else 0
            if has_lost_track or self._stayed[alias] == _RUNS_OF_A_SESSION:
                cluster.kill()
                cluster.start()
                self._restarts += 1
                self._stayed[alias] = 0

    def _take_line(self, line: str, mover: MoverProcess) -> None:
        """Notes from a line of a run which step it is in. The fault comes once, at some moment of its step."""
        if line.endswith(" begins."):
            self._step, self._step_began = line.removesuffix(" begins."), time.monotonic()
            self._are_groups_moved &= self._step != PREFLIGHT  # a wave that was rolled back begins again with it
            if self._step == self._fault.step and self._fault.kind != KILLED_OPEN and not self._is_under_way:
                self._is_under_way = True
                self._strike_thread = run_later(
                    choose_moment(self._dice, self._site.step_seconds.get(self._step, STEP_SECONDS)), lambda: self._strike(mover)
                )
        elif self._step is not None and line == f"{self._step}: done.":
            self._site.step_seconds[self._step] = time.monotonic() - self._step_began
            self._are_groups_moved |= self._step == MOVE_GROUPS
            self._step = None

    def _strike(self, mover: MoverProcess) -> None:
        """Lets the fault come, even if its step is over: then it hits another one."""
        self._is_hit = self._step == self._fault.step
        if self._fault.kind == KILL:
            mover.kill()
            return
        if self._fault.kind in (FROZEN, ROLLED_BACK):
            with mover.freeze():
                meanwhile = {"rolls_back": True} if self._fault.kind == ROLLED_BACK else {"until": self._target_step}
                self._site.mover(self._wave, **meanwhile).run()
            return
        if self._fault.kind == SECOND_WAVE:
            is_frozen = self._dice.random() < 0.5
            self._how = f"{SECOND_WAVE}, {'while it was frozen' if is_frozen else 'beside it'}"
            with mover.freeze() if is_frozen else nullcontext():
                self._begin_second()
            return
        alias = self._site.at if self._fault.kind == SOURCE_BROKER else self._site.other
        cluster = self._site.clusters[alias]
        cluster.kill()
        time.sleep(choose_moment(self._dice, 2.0))
        cluster.start()

    @property
    def _wave(self) -> str:
        return f"wave-{self._number}"

    # ------------------------------------------------------------ a second wave

    def _begin_second(self) -> None:
        """Runs a wave of the same topics, by a wider pattern. It must be refused, and leave nothing to roll back."""
        self._expect("WaveHeld", topics=f"{TOPIC[:3]}.*")
        self._expect("WaveUnknown", rolls_back=True)

    def _expect(self, error: str, **request: object) -> None:
        second = self._site.mover(f"second-{self._number}", **request)
        if (code := second.run()) != STOPPED or not any(line.startswith(f"{error}: ") for line in second.lines):
            self._wrong.append(f"a second wave was to end with {error}, and ended with {code}: {' | '.join(second.lines[-4:])}")

    # ------------------------------------------------------------ a killed `open`

    def _choose_death(self, until: str | None) -> Mapping[str, str]:
        """Chooses at which write of `open` the run dies that comes to it."""
        if self._fault.kind != KILLED_OPEN or until is not None or self._is_hit:
            return {}
        return {"dies": self._dice.choice(DEATHS)}

    def _recover(self, death: str) -> None:
        """After a death people run the wave again, or roll it back first: then the flow copies, or the refusal says what to do."""
        self._is_hit = True
        is_rolled_back = self._dice.random() < 0.5
        self._how = f"killed {death}, then {'rolled back' if is_rolled_back else 'run again'}"
        if not is_rolled_back:
            return
        roll_back = self._site.mover(self._wave, rolls_back=True)
        code, said = roll_back.run(), " | ".join(roll_back.lines[-4:])
        if death == MOVED_DEATH:
            if code != STOPPED or "WaveIsOpen" not in said or "Move back by a wave in the other direction" not in said:
                self._wrong.append(f"the roll back of an open wave was to be refused with the way on, and ended with {code}: {said}")
        elif code != DONE:
            self._wrong.append(f"the roll back of a killed open ended with {code}: {said}")
        elif not self._site.live_here_again():
            self._wrong.append("the wave was rolled back, and its flow copied nothing afterwards")
