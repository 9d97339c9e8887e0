"""A run with rounds that goes on beside a test."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from mirror.__main__ import main
from mirror.config import Flow
from mirror.copy.model import LaneResult, RoundBudget
from mirror.copy.rounds import CopyRound, Rounds, RunTimes, plan_anew
from mirror.copy.run import copy_in_process
from mirror.copy.run_result import RunResult
from mirror.plan.model import Plan
from mirror.plan.run import plan
from tests.integration.conftest import Mirroring
from tests.waiting import PATIENCE, eventually

RUN = "a run with rounds"


class RunUnderWay:
    """A run whose rounds go on in a thread until the test ends them, as a task does."""

    def __init__(self, mirroring: Mirroring, threads: ThreadPoolExecutor, copy: CopyRound) -> None:
        self._mirroring = mirroring
        self._end = threading.Event()
        self.plans = 0
        self.first = plan(mirroring.flow)
        times = RunTimes(time.monotonic() + 600, time.monotonic() + 600)
        result, flow = RunResult(self.first), mirroring.flow
        self._rounds = Rounds(flow, result, RUN, times, lambda seconds: not self._end.wait(seconds), plan=self.first, anew=self._anew)
        self._run: Future[RunResult] = threads.submit(self._rounds.run, copy)

    def _anew(self, flow: Flow) -> Any:
        context = plan_anew(flow)
        self.plans += 1
        return context

    def await_plans(self, number: int) -> None:
        """Until so many plans more have been made and acted on."""
        last = self.plans + number + 1
        eventually(lambda: self.plans >= last, "the next rounds")

    def end(self) -> RunResult:
        """Lets the round end that is under way, and gives what came of all of them."""
        self._end.set()
        return self._run.result(PATIENCE)

    def arrived(self, topic: str, records: int) -> None:
        """Until the target has so many records; it fails once the run has ended."""
        mirroring = self._mirroring

        def there() -> bool:
            assert not self._run.done(), self._run.result()
            counts = mirroring.oracle.count(mirroring.target, mirroring.pair.remote(topic))
            return sum(count.records for count in counts) >= records

        eventually(there, f"{records} records")


def in_process(flow: Flow, plan: Plan, budget: RoundBudget) -> list[LaneResult]:
    """Copies a round in this process."""
    return copy_in_process(flow, plan, RUN, budget)


@contextmanager
def under_way(mirroring: Mirroring, copy: CopyRound = in_process) -> Iterator[RunUnderWay]:
    """A run whose rounds are copied so, and which ends with the block at the latest."""
    with ThreadPoolExecutor(1) as threads:
        run = RunUnderWay(mirroring, threads, copy)
        try:
            yield run
        finally:
            run.end()


def decided(mirroring: Mirroring, *arguments: str) -> bool:
    """Whether a person could decide so."""
    return main(["--config", mirroring.flow.file, "decide", *arguments]) == 0
