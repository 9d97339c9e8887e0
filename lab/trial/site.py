"""Two clusters with a flow in each direction, and applications that live on one of them until a wave moves them to the other."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from lab.trial.applications import JAVA, LIBRDKAFKA, ApplicationFailed, Cluster, ConsumerApplication, Library, ProducerApplication
from lab.trial.journal import Produced, Verdict, judge, read_group, read_producer
from services.flows import ONE_BROKER, RUNS_END
from services.java import ROOT
from services.kafka import KafkaCluster
from services.oracle import Oracle

TOPIC, PARTITIONS = "orders", 3
IDENTITY, REMOTE_NAMES = "names kept", "remote names"
POLICIES = (IDENTITY, REMOTE_NAMES)
DONE, STOPPED, WAITING, KILLED = 0, 1, 3, -signal.SIGKILL
LIVE_SECONDS = 1.5
"""For how long applications live where they are before the next wave."""
_DRAIN_SECONDS = 60.0
_IDENTITY_POLICY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"

PRODUCERS = (
    ProducerApplication(JAVA, "java", PARTITIONS),
    ProducerApplication(JAVA, "java-transactional", PARTITIONS, is_transactional=True, pause_ms=50),
    ProducerApplication(LIBRDKAFKA, "librdkafka", PARTITIONS),
    ProducerApplication(LIBRDKAFKA, "librdkafka-transactional", PARTITIONS, is_transactional=True, pause_ms=50),
)
CONSUMERS = (
    ConsumerApplication(JAVA, "java-classic"),
    ConsumerApplication(JAVA, "java-consumer", "consumer"),
    ConsumerApplication(JAVA, "java-late", pause_ms=700),
    ConsumerApplication(LIBRDKAFKA, "librdkafka-classic"),
    ConsumerApplication(LIBRDKAFKA, "librdkafka-consumer", "consumer"),
)


class MoverProcess:
    """One run of a wave in a process of its own, which can be killed. `lines` has its output so far."""

    def __init__(self, config: Path, request: Mapping[str, object], log: Path) -> None:
        self.lines: list[str] = []
        self._log = log
        self._watchers: list[Callable[[str], None]] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lab.trial.mover", str(config), json.dumps(request)],
            env=process_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)

    def watch(self, watcher: Callable[[str], None]) -> None:
        """Calls it with each line of output from now on."""
        self._watchers.append(watcher)

    def run(self) -> int:
        """Waits for its end; gives the exit code."""
        self._reader.start()
        code = self._process.wait()
        self._reader.join()
        return code

    def kill(self) -> None:
        """SIGKILL; harmless if it has ended."""
        self._process.kill()

    @contextmanager
    def freeze(self) -> Iterator[None]:
        """Stops the process until the block ends, as on a machine that is suspended; harmless if it has ended."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._log.open("a", encoding="utf-8") as log:
            for line in self._process.stdout:
                log.write(line)
                self.lines.append(line.rstrip("\n"))
                for watcher in self._watchers:
                    watcher(self.lines[-1])


@dataclass
class TrialSite:
    """The clusters by alias, the two flows, and the applications, which are `at` one of the clusters."""

    directory: Path
    clusters: Mapping[str, KafkaCluster]
    libraries: Mapping[str, Library]
    oracle: Oracle
    policy: str
    producers: Sequence[ProducerApplication] = PRODUCERS
    consumers: Sequence[ConsumerApplication] = CONSUMERS
    at: str = "east"
    settings: Mapping[str, str] = field(default_factory=dict)
    gave_up: list[str] = field(default_factory=list)
    """What consumers said whose client gave up by itself. As under a supervisor they are started again, with the next start of all."""
    step_seconds: dict[str, float] = field(default_factory=dict)
    """How long each step of a wave took when it ran last: a fault comes within it."""

    def __post_init__(self) -> None:
        for cluster in self.clusters.values():
            if self.policy == REMOTE_NAMES or cluster.alias == self.at:
                self.oracle.create_topic(cluster.bootstrap, TOPIC, PARTITIONS)
        self.config = self._properties()

    @property
    def other(self) -> str:
        """Where a wave moves to."""
        return next(alias for alias in self.clusters if alias != self.at)

    def start_producers(self) -> None:
        """Starts all of them on the cluster of now."""
        for producer in self.producers:
            producer.start(self.libraries[producer.library], self._here, TOPIC, self._journal(producer.name))

    def start_consumers(self) -> None:
        """Starts all of them on the cluster of now, for the topic and its mirror."""
        for consumer in self.consumers:
            self._start(consumer)

    def end(self, applications: Sequence[ProducerApplication | ConsumerApplication]) -> None:
        """Ends applications in order: what they did is committed and written down."""
        for application in applications:
            self.libraries[application.library].ask("end", application.name)

    def end_consumers(self, consumers: Sequence[ConsumerApplication] | None = None) -> None:
        """Ends the members of all groups, or these; one that has ended by itself is noted."""
        for consumer in self.consumers if consumers is None else consumers:
            try:
                self.end([consumer])
            except ApplicationFailed as failure:
                self.gave_up.append(f"{datetime.now(UTC):%H:%M:%S}, at {self.at}: {failure}")

    def mover(self, wave: str, **request: object) -> MoverProcess:
        """A run of a wave from the cluster of now to the other one."""
        flow = f"{self.at}->{self.other}"
        return MoverProcess(self.config, {"flow": flow, "topics": TOPIC, "wave": wave, **request}, self.directory / "movers.log")

    def copy(self) -> None:
        """Copies both flows, as their schedule does each minute. Raises CalledProcessError with the output."""
        command = [sys.executable, "-m", "kafka_mirror", "--config", str(self.config), "copy", "--without-spark"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "include")}
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    def live_here_again(self) -> int:
        """After a roll back: lets everything live here for a moment, and copies; gives by how much the copy grew."""
        self.start_producers()
        self.start_consumers()
        before = self._count_copied()
        time.sleep(LIVE_SECONDS)
        self.copy()
        grown = self._count_copied() - before
        self.end(self.producers)
        self.end_consumers()
        return grown

    def begin(self) -> None:
        """Starts everything. The copy creates the remote topics before a consumer reads them."""
        self.start_producers()
        self.copy()
        self.start_consumers()

    def read_produced(self) -> list[Produced]:
        """What the producers wrote down so far."""
        return [read_producer(self._lines(producer.name), producer.name) for producer in self.producers]

    def verdicts(self) -> list[Verdict]:
        """What each group missed, got twice, or got late."""
        by_producer, names_kept = self.read_produced(), self.policy == IDENTITY
        return [
            judge(consumer.group, by_producer, read_group(self._lines(consumer.name), names_kept=names_kept)) for consumer in self.consumers
        ]

    def drain(self) -> None:
        """Waits until the groups have read what was acknowledged, with the producers ended; the verdicts say so if they do not. Those that
        are slow on purpose are started again as quick ones."""
        slow = [consumer for consumer in self.consumers if consumer.pause_ms]
        self.end_consumers(slow)
        for consumer in slow:
            self._start(replace(consumer, pause_ms=0))
        deadline = time.monotonic() + _DRAIN_SECONDS
        while any(verdict.lost for verdict in self.verdicts()) and time.monotonic() < deadline:
            time.sleep(0.5)

    @property
    def _here(self) -> Cluster:
        return Cluster(self.at, self.clusters[self.at].bootstrap)

    def _count_copied(self) -> int:
        """The sum of the copy's end offsets on the other cluster."""
        topic = TOPIC if self.policy == IDENTITY else f"{self.at}.{TOPIC}"
        reader = Consumer({"bootstrap.servers": self.clusters[self.other].bootstrap, "group.id": "trial", "log_level": 0})
        try:
            ends = [reader.get_watermark_offsets(TopicPartition(topic, number), timeout=60) for number in range(PARTITIONS)]
        finally:
            reader.close()
        return sum(high for _, high in ends)

    def _start(self, consumer: ConsumerApplication) -> None:
        topics = [TOPIC] if self.policy == IDENTITY else [TOPIC, f"{self.other}.{TOPIC}"]
        consumer.start(self.libraries[consumer.library], self._here, topics, self._journal(consumer.name))

    def _journal(self, name: str) -> Path:
        return self.directory / f"{name}.journal"

    def _lines(self, name: str) -> list[str]:
        path = self._journal(name)
        # A line that is being written has no end yet.
        return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []

    def _properties(self) -> Path:
        ends = {alias: cluster.bootstrap for alias, cluster in self.clusters.items()}
        return write_flows(self.directory, ends, self.policy, f".*{TOPIC}", {"groups": ".*", **self.settings})


def write_flows(directory: Path, ends: Mapping[str, str], policy: str, topics: str, more: Mapping[str, str]) -> Path:
    """Writes the mm2.properties of flows in both directions between two clusters. `ends`: their aliases with their servers."""
    east, west = ends
    lines = {
        "clusters": f"{east}, {west}",
        **{f"{alias}.bootstrap.servers": bootstrap for alias, bootstrap in ends.items()},
        f"{east}->{west}.enabled": "true",
        f"{west}->{east}.enabled": "true",
        "topics": topics,
        "mirror.lanes": "4",
        "admin.timeout.ms": "20000",
        **ONE_BROKER,
        **RUNS_END,
        **more,
    }
    if policy == IDENTITY:
        lines |= {"replication.policy.class": _IDENTITY_POLICY, f"{west}->{east}.mirror.way.back": "true"}
    path = directory / "mm2.properties"
    path.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
    return path


def process_environment() -> dict[str, str]:
    """The environment in which a process of the trial finds the library and the lab."""
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'include'}{os.pathsep}{ROOT}", "PYTHONUNBUFFERED": "1"}


def run_later(seconds: float, action: Callable[[], None]) -> threading.Thread:
    """Runs an action in a thread, some seconds later."""
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
    return timer


def choose_moment(dice: random.Random, longest: float) -> float:
    """Draws a number of seconds up to the longest, early ones as often as late ones."""
    return dice.random() * longest
