"""Waves that run as the DAG `<flow>.cutover` under a scheduler, which is killed, or whose task is; Airflow alone goes on with them."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from kafka_mirror.airflow.flow_operator import task_id_of
from kafka_mirror.config import load
from kafka_mirror.cutover.wave.step import FENCE, MOVE_GROUPS, OPEN
from lab.trial.airflow_service import TrialAirflow, cutover_dag, is_alive, start_trial_airflow
from lab.trial.cutovers import STEP_SECONDS, CutoverOutcome, Fault, FaultOutcome
from lab.trial.site import LIVE_SECONDS, PRODUCERS, TOPIC, TrialSite
from lab.trial.wave_watch import WaveWatch

TASK, SCHEDULER = "task killed", "scheduler killed"
AIRFLOW_KINDS = (TASK, SCHEDULER)
SLOW_PRODUCERS = tuple(replace(producer, pause_ms=5 * producer.pause_ms) for producer in PRODUCERS)
"""A wave takes longer here, and each audits all that was produced before."""
_LONGEST_SECONDS = 900.0
_LOOK_SECONDS, _ASK_SECONDS = 0.1, 1.0
_ENDED = ("success", "failed")
_FORM = {"topics": TOPIC, "reason": "trial", "max_lag": 10_000, "dry_run": False, "by": "hand", "quiet_seconds": 1}
"""The trigger form of the DAG, but for the wave's name."""


@dataclass(frozen=True)
class Strike:
    """How a fault comes, by chance: after which part of its step, for how long there is no scheduler then, and whether the task lives on.
    If it does, only its supervisor is killed, or only the scheduler's own process."""

    part: float
    pause_seconds: float
    is_task_spared: bool

    @classmethod
    def draw(cls, dice: random.Random) -> "Strike":
        """Draws all of it at once, so that the same seed gives the same strikes."""
        return cls(dice.random(), 2 * dice.random(), dice.random() < 1 / 3)


class AirflowCutover:
    """One wave of a site under load, by a trigger of the DAG, with a fault in any of its steps."""

    def __init__(self, airflow: TrialAirflow, site: TrialSite, number: int, faults: Sequence[Fault], dice: random.Random) -> None:
        self._airflow = airflow
        self._site = site
        self._number = number
        self._faults = {str(fault.step): (fault, Strike.draw(dice)) for fault in faults}
        self._strikes: dict[str, Future[str]] = {}
        self._dag = cutover_dag(site.at, site.other)
        self._run = ""

    def run(self) -> CutoverOutcome:
        """Moves the applications to the other cluster; people do their part when the wave waits for it. Afterwards the applications live
        there, even if something was wrong."""
        site, began, source, wave = self._site, time.monotonic(), self._site.at, f"wave-{self._number}"
        flow = load([site.config]).flow(f"{site.at}->{site.other}")
        site.copy()
        with (
            ThreadPoolExecutor(1) as strikes,
            WaveWatch(flow, site.clusters[site.other].bootstrap, wave, self._watch_steps(strikes)) as watch,
        ):
            self._run = self._airflow.api.trigger(self._dag, {**_FORM, "wave": wave})
            self._wait_for(lambda: watch.has_begun(FENCE))
            site.end(site.producers)
            pause_began = time.monotonic()
            self._wait_for(lambda: watch.has_begun(MOVE_GROUPS))
            site.end_consumers()
            self._wait_for(lambda: OPEN in watch.seconds)
            site.at = site.other
            site.start_producers()
            pause = time.monotonic() - pause_began
            site.start_consumers()
            self._wait_for(lambda: False)
        struck = {step: future.result() for step, future in self._strikes.items()}
        site.step_seconds.update(watch.seconds)
        self._airflow.remove_abandoned()
        wrong, runs = self._judge()
        time.sleep(LIVE_SECONDS)
        seconds = time.monotonic() - began
        faults = tuple(FaultOutcome(fault, bool(struck.get(step)), struck.get(step, "")) for step, (fault, _) in self._faults.items())
        return CutoverOutcome(self._number, site.policy, source, faults, runs, seconds, pause, wrong)

    def _wait_for(self, has_come: Callable[[], bool]) -> None:
        """Waits until `has_come`, or until the run has ended, or its time is up. Airflow is asked less often: it has enough to do."""
        last_look = time.monotonic()
        deadline = last_look + _LONGEST_SECONDS
        while not has_come() and (now := time.monotonic()) < deadline:
            if now - last_look > _ASK_SECONDS:
                last_look = now
                if self._airflow.api.run(self._dag, self._run)["state"] in _ENDED:
                    return
            time.sleep(_LOOK_SECONDS)

    def _judge(self) -> tuple[tuple[str, ...], int]:
        """What went wrong, a sentence each, and how many runs it took: one, and one more for each step that began again."""
        api = self._airflow.api
        state, tasks = api.run(self._dag, self._run)["state"], api.tasks(self._dag, self._run)
        tries = {task["task_id"]: int(task["try_number"]) for task in tasks}
        runs = 1 + sum(max(count - 1, 0) for count in tries.values())
        if state == "success":
            return (), runs
        states = {task["task_id"]: task["state"] for task in tasks}
        red = [task for task, task_state in states.items() if task_state == "failed"]
        errors = [f"{task}, try {tries[task]}: {api.errors(self._dag, self._run, task, tries[task])}" for task in red]
        return (f"the run is {state}; its tasks: {states}; tries: {tries}; {' | '.join(errors)}",), runs

    # ------------------------------------------------------------ the fault

    def _watch_steps(self, strikes: ThreadPoolExecutor) -> Callable[[str], None]:
        def strike_once(step: str) -> None:
            """Lets the fault come once, a moment after its step has begun for the first time."""
            if step in self._faults and step not in self._strikes:
                self._strikes[step] = strikes.submit(self._hit, *self._faults[step], time.monotonic())

        return strike_once

    def _hit(self, fault: Fault, strike: Strike, began: float) -> str:
        """Lets a fault come, by the time at which its step began; says what was killed, or nothing if the fault came too late."""
        assert fault.step is not None
        longest = self._site.step_seconds.get(fault.step, STEP_SECONDS)
        task = self._airflow.task(self._dag, self._run, task_id_of(fault.step))
        time.sleep(max(strike.part * longest - (time.monotonic() - began), 0))
        if task is None or not is_alive(task):
            return ""
        if fault.kind == SCHEDULER:
            self._airflow.kill_scheduler(alone=strike.is_task_spared)
            time.sleep(strike.pause_seconds)
            self._airflow.end_locks_of_the_dead()
            self._airflow.start_scheduler()
            return "the scheduler alone" if strike.is_task_spared else "the scheduler with its tasks"
        if not strike.is_task_spared:
            task.kill()
            return "the task"
        task.parent().kill()
        return "the supervisor"


@contextmanager
def airflow_cutovers(site: TrialSite) -> Iterator[Callable[[int, Sequence[Fault], random.Random], AirflowCutover]]:
    """Makes the waves of a site, with an Airflow of its own inside the block."""
    with start_trial_airflow(site) as airflow:
        yield partial(AirflowCutover, airflow, site)
