"""The task that announces complete days is killed: there must be one event for each day, and one run of the DAG that reads it.

Each round has a day of its own. Its backfill runs once, or twice at the same time, or once more afterwards. Its task `announce` is killed
at some moment, or its supervisor is, or the scheduler. Sometimes a person clears the task when all is done.
"""

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lab.trial.airflow_service import TrialAirflow, is_alive, process_of, start_airflow
from services.flows import ClusterPair
from services.kafka import KafkaCluster, run_clusters
from services.oracle import Oracle, Record

_DAGS = Path(__file__).with_name("asset_dags")
_TASK, _READER = "announce", "reader"
_TOPIC, _PARTITIONS, _RECORDS = "orders", 2, 6
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
KINDS = ("the task", "the supervisor", "the scheduler with its tasks")
SHAPES = ("one run", "two runs at once", "another run afterwards", "cleared afterwards")
_LOOK_SECONDS = 0.1
_LONGEST_SECONDS = 300.0


@dataclass(frozen=True)
class Round:
    """What happens to a day."""

    day: int
    kind: str
    shape: str
    part: float
    """When the kill comes, as a part of the time that the task takes."""


@dataclass(frozen=True)
class RoundOutcome:
    """Whether the kill hit the task while it ran, how many events and runs of the reader the day has, and how long the round took."""

    round: Round
    is_hit: bool
    events: int
    readers: int
    seconds: float
    states: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        """One event, one run of the reader, and every backfill green in the end."""
        return self.events == self.readers == 1 and set(self.states) == {"success"}

    def __str__(self) -> str:
        killed = f"{self.round.kind} killed" if self.is_hit else f"({self.round.kind}: the kill came too late)"
        counts = f"{self.events} events, {self.readers} runs of the reader, backfills {', '.join(self.states)}"
        return f"{key_of(self.round.day)}, {self.round.shape}: {killed}; {counts}; {self.seconds:.0f} s"


def key_of(day: int) -> str:
    """The partition key of a day, counted from the first one."""
    return (_FIRST + timedelta(days=day)).strftime("%Y-%m-%d")


def play(directory: Path, kills: int, seed: int) -> Iterator[RoundOutcome]:
    """Plays rounds until this many kills have hit, but at most twice as many rounds."""
    dice = random.Random(seed)
    clusters = [KafkaCluster(directory / alias, alias) for alias in ("east", "west")]
    with run_clusters(*clusters), Oracle(directory / "oracle.log") as oracle:
        pair = ClusterPair("east", "west", clusters[0].bootstrap, clusters[1].bootstrap, "trial", directory)
        topic = _produce(oracle, pair, days=2 * kills)
        config = pair.properties(extra={"mirror.assets.topics": topic, "mirror.assets.events": "days"})
        asset = f"kafka://{pair.target_bootstrap.split(',')[0]}/{pair.remote(topic)}"
        dag = f"{pair.source}-to-{pair.target}.backfill"
        environment = {"MIRROR_CONFIG": str(config), "TRIAL_ASSET": asset}
        with start_airflow(directory, _DAGS, [dag, _READER], environment) as airflow:
            rig, hits = _Rig(airflow, dag, asset), 0
            for day in range(2 * kills):
                outcome = rig.play(Round(day, dice.choice(KINDS), dice.choice(SHAPES), dice.random()))
                hits += outcome.is_hit
                yield outcome
                if hits >= kills:
                    break
            yield from rig.judge_again()


def _produce(oracle: Oracle, pair: ClusterPair, days: int) -> str:
    """Makes a topic with records on this many days and the one after them; gives its name."""
    topic = pair.topic(_TOPIC)
    oracle.create_topic(pair.source_bootstrap, topic, partitions=_PARTITIONS)
    begin, step = int(_FIRST.timestamp() * 1000), 86_400_000 // _RECORDS
    rows = [Record(b"", b"%d" % n, timestamp=begin + n * step, partition=n % _PARTITIONS) for n in range((days + 1) * _RECORDS)]
    oracle.produce_records(pair.source_bootstrap, topic, rows)
    return topic


class _Rig:
    """The flow's backfill in an Airflow that is killed."""

    def __init__(self, airflow: TrialAirflow, dag: str, asset: str) -> None:
        self._airflow = airflow
        self._dag = dag
        self._asset = asset
        self._seconds = 1.0
        self._played: list[RoundOutcome] = []

    def play(self, planned: Round) -> RoundOutcome:
        """Plays one round to its end."""
        began = time.monotonic()
        runs = [self._backfill(planned.day) for _ in range(2 if planned.shape == "two runs at once" else 1)]
        is_hit = self._kill(planned, runs[0])
        self._await_ends(runs)
        if planned.shape == "another run afterwards":
            runs.append(self._backfill(planned.day))
        elif planned.shape == "cleared afterwards":
            self._airflow.api.clear(self._dag, runs[0], _TASK)
        states = self._await_ends(runs)
        outcome = RoundOutcome(planned, is_hit, *self._count(planned.day), time.monotonic() - began, states)
        self._played.append(outcome)
        return outcome

    def judge_again(self) -> Iterator[RoundOutcome]:
        """Counts again; gives the rounds whose counts have changed since they ended."""
        for outcome in self._played:
            if (outcome.events, outcome.readers) != (counts := self._count(outcome.round.day)):
                yield RoundOutcome(outcome.round, outcome.is_hit, *counts, outcome.seconds, outcome.states)

    def _backfill(self, day: int) -> str:
        times = [(_FIRST + timedelta(days=day + more)).isoformat() for more in (0, 1)]
        return self._airflow.api.trigger(self._dag, {"from": times[0], "to": times[1]})

    def _await_ends(self, runs: Sequence[str]) -> tuple[str, ...]:
        return tuple(str(self._airflow.api.wait_for_run(self._dag, run)["state"]) for run in runs)

    def _kill(self, planned: Round, run: str) -> bool:
        """Waits for the task and for the round's part of its time, and kills; gives whether the task still ran then."""
        deadline = time.monotonic() + _LONGEST_SECONDS
        process = None
        while process is None:
            task = next(instance for instance in self._airflow.api.tasks(self._dag, run) if instance["task_id"] == _TASK)
            if task["state"] not in (None, "scheduled", "queued", "running") or time.monotonic() > deadline:
                return False
            process = process_of(task) if task["state"] == "running" else None
            time.sleep(0 if process else _LOOK_SECONDS)
        began = time.monotonic()
        while is_alive(process) and time.monotonic() - began < planned.part * self._seconds:
            time.sleep(_LOOK_SECONDS / 10)
        if not is_alive(process):
            self._seconds = max(time.monotonic() - began, _LOOK_SECONDS)
            return False
        if planned.kind == "the scheduler with its tasks":
            self._airflow.kill_scheduler(alone=False)
            self._airflow.start_scheduler()
        elif planned.kind == "the task":
            process.kill()
        else:
            process.parent().kill()
        return True

    def _count(self, day: int) -> tuple[int, int]:
        """Events with the day's key, and runs of the reader by it. A run comes a moment after its event."""
        key, deadline = key_of(day), time.monotonic() + 20
        while True:
            events = Counter(event["partition_key"] for event in self._airflow.api.asset_events(self._asset))[key]
            readers = Counter(run["partition_key"] for run in self._airflow.api.runs(_READER))[key]
            if readers or time.monotonic() > deadline:
                return events, readers
            time.sleep(0.5)
