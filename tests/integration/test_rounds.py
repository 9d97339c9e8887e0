"""A run that goes on with rounds, on real brokers: what is produced meanwhile arrives while it runs, and all of it is counted."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from mirror.__main__ import main
from mirror.copy.publish import publish
from mirror.copy.rounds import Rounds, RunTimes, plan_anew
from mirror.copy.run import copy_in_process
from mirror.copy.run_result import RunResult
from mirror.copy.verdict import verdict
from mirror.plan.run import plan
from tests.integration.conftest import Mirroring
from tests.waiting import PATIENCE, eventually

RUN = "a run with rounds"


class RunUnderWay:
    """A run whose rounds go on in a thread until the test ends them, as a task does."""

    def __init__(self, mirroring: Mirroring, threads: ThreadPoolExecutor) -> None:
        self._mirroring = mirroring
        self._end = threading.Event()
        self.plans = 0
        self.first = plan(mirroring.flow)
        times = RunTimes(time.monotonic() + 600, time.monotonic() + 600)
        result, flow = RunResult(self.first), mirroring.flow
        self._rounds = Rounds(flow, result, RUN, times, lambda seconds: not self._end.wait(seconds), plan=self.first, anew=self._anew)
        self._run: Future[RunResult] = threads.submit(self._rounds.run, lambda *work: copy_in_process(*work[:2], RUN, work[2]))

    def _anew(self, flow_name: str) -> Any:
        context = plan_anew(flow_name)
        self.plans += 1
        return context

    def await_plans(self, number: int) -> None:
        """Until so many plans more have been made and acted on."""
        last = self.plans + number + 1
        eventually(lambda: self.plans >= last, "the next rounds")

    def end(self) -> RunResult:
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


@contextmanager
def under_way(mirroring: Mirroring) -> Iterator[RunUnderWay]:
    with ThreadPoolExecutor(1) as threads:
        run = RunUnderWay(mirroring, threads)
        try:
            yield run
        finally:
            run.end()


def test_records_arrive_while_a_run_goes_on_and_a_pause_holds_in_its_middle(
    make_mirroring: Callable[..., Mirroring], pair: Any, oracle: Any, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirroring = make_mirroring(pair, {"source->target.mirror.rounds.seconds": "1"})
    monkeypatch.setenv("MIRROR_CONFIG", mirroring.flow.file)
    other = pair.topic("clicks")
    oracle.create_topic(pair.source_bootstrap, other, 1)
    decide = ["--flow", pair.flow, "--topic", topic, "--reason", "a test"]
    with under_way(mirroring) as run:
        run.arrived(topic, 60)
        for number in range(1, 4):
            oracle.produce(pair.source_bootstrap, other, 10, seed=number)
            run.arrived(other, 10 * number)
        assert decided(mirroring, "pause", *decide)
        run.await_plans(1)
        oracle.produce(pair.source_bootstrap, topic, 5, seed=2)
        oracle.produce(pair.source_bootstrap, other, 5, seed=4)
        run.arrived(other, 35)
        run.await_plans(1)
        assert sum(record.records for record in mirroring.ledger().values()) == 60 + 35, "of the paused topic nothing came"
        assert decided(mirroring, "resume", *decide)
        run.arrived(topic, 65)
        result = run.end()
    published = publish(mirroring.flow, result.plan, result.results, run=RUN)
    judged = verdict(result.whole_plan, result.results, published)
    assert (judged.state, judged.errors, judged.owed, judged.records) == ("done", (), 0, 100)
    assert {(mark.topic, mark.partition) for mark in published.watermarks} == {(topic, 0), (topic, 1), (other, 0)}
    assert judged.bytes == sum(record.bytes for record in mirroring.ledger().values())
    assert published.syncs.partitions == 3
    assert any("is left out: pause" in notice for notice in judged.notices)
    mirroring.assert_mirrored(topic)
    mirroring.assert_mirrored(other)


def decided(mirroring: Mirroring, *arguments: str) -> bool:
    return main(["--config", mirroring.flow.file, "decide", *arguments]) == 0
