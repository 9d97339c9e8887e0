"""Planned waves forth and back under load, each with a fault in one of its steps; afterwards every group got everything once, in order."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mirror.cutover.steps import AUDIT_GATE, CATCH_UP, FENCE, LAST_COPY, MOVE_GROUPS, OPEN, PREFLIGHT
from tests.trial.site import DONE, MoverProcess, TrialSite, after, moment

PEOPLE = (CATCH_UP, AUDIT_GATE, None)
"""Up to which step a run goes before people do something: stop the producers, stop the consumers, start both on the other cluster."""
STEPS = (PREFLIGHT, CATCH_UP, FENCE, LAST_COPY, AUDIT_GATE, MOVE_GROUPS, OPEN)
KILL, SOURCE_BROKER, TARGET_BROKER = "process killed", "source's broker killed", "target's broker killed"
KINDS = (KILL, SOURCE_BROKER, TARGET_BROKER)
NO_FAULT = "none"
_TRIES = 6
_LIVE_SECONDS = 1.5


@dataclass(frozen=True)
class Fault:
    """What happens, and in which step of the wave."""

    kind: str
    step: str | None = None

    def __str__(self) -> str:
        return self.kind if self.step is None else f"{self.kind} in {self.step}"


@dataclass(frozen=True)
class CutoverOutcome:
    """One wave: from where, with which fault, whether that hit a step that ran, how many runs it took, and for how many seconds nobody
    could write. `wrong` are the sentences of what was not as it should be."""

    number: int
    policy: str
    source: str
    fault: Fault
    is_hit: bool
    runs: int
    seconds: float
    write_pause: float
    wrong: tuple[str, ...] = ()


def faults(dice: random.Random) -> Iterator[Fault]:
    """Each kind in each step, in an order by chance, again and again."""
    while True:
        every = [Fault(kind, step) for kind in KINDS for step in STEPS]
        dice.shuffle(every)
        yield from every


class Cutover:
    """One wave of a site under load."""

    def __init__(self, site: TrialSite, number: int, fault: Fault, dice: random.Random) -> None:
        self._site = site
        self._number = number
        self._fault = fault
        self._dice = dice
        self._is_hit = False
        self._runs = 0

    def run(self) -> CutoverOutcome:
        """Moves the applications to the other cluster. They live there afterwards, also if something was wrong."""
        site, began, source = self._site, time.monotonic(), self._site.at
        wrong: list[str] = []
        pause_began = 0.0
        site.copy()
        for until in PEOPLE:
            wrong += self._until(until)
            if until == CATCH_UP:
                site.end(site.producers)
                pause_began = time.monotonic()
            elif until == AUDIT_GATE:
                site.end(site.consumers)
        site.at = site.other
        site.start_producers()
        pause = time.monotonic() - pause_began
        site.start_consumers()
        time.sleep(_LIVE_SECONDS)
        seconds = time.monotonic() - began
        return CutoverOutcome(self._number, site.policy, source, self._fault, self._is_hit, self._runs, seconds, pause, tuple(wrong))

    def _until(self, step: str | None) -> list[str]:
        """Runs up to a step, again and again as people would; the sentences of what did not come right."""
        for _ in range(_TRIES):
            self._runs += 1
            mover = self._site.mover(f"wave-{self._number}", until=step)
            mover.watch(lambda line, mover=mover: self._strike(line, mover))  # type: ignore[misc]
            if mover.run() == DONE:
                return []
            time.sleep(0.5)
        return [f"the wave did not come to {step or 'its end'} in {_TRIES} runs; the last one said: {' | '.join(mover.lines[-4:])}"]

    def _strike(self, line: str, mover: MoverProcess) -> None:
        if self._is_hit or self._fault.step is None or not line.startswith(f"{self._fault.step} begins"):
            return
        self._is_hit = True
        after(moment(self._dice, 0.6), self._deed(mover))

    def _deed(self, mover: MoverProcess) -> Callable[[], None]:
        if self._fault.kind == KILL:
            return mover.kill
        alias = self._site.at if self._fault.kind == SOURCE_BROKER else self._site.other
        cluster = self._site.clusters[alias]

        def restart() -> None:
            """The broker is killed, and started again a moment later."""
            cluster.kill()
            time.sleep(moment(self._dice, 2.0))
            cluster.start()

        return restart
