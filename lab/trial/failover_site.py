"""A flow between two clusters that serve many rounds: its applications live on the source until that is lost, and then on the target.

Topic, groups and aliases carry the number of the round, so nothing of an earlier one is in the way.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from kafka_mirror.config import Flow, load
from kafka_mirror.formats.offsets.partition import TopicPartition
from lab.trial.applications import Cluster, ConsumerApplication, Library, ProducerApplication
from lab.trial.copier import COPY
from lab.trial.journal import Number
from lab.trial.site import CONSUMERS, IDENTITY, PARTITIONS, PRODUCERS, MoverProcess, process_environment, write_flows
from services.java import java_command
from services.kafka import KafkaCluster, run_clusters
from services.oracle import Oracle

EAST, WEST = "east", "west"
_DRAIN_SECONDS = 60.0
_FIRST_COPY_SECONDS = 120.0
_TIMEOUT_MS = 5_000


@contextmanager
def failover_clusters(directory: Path) -> Iterator[dict[str, KafkaCluster]]:
    """The two clusters, of one broker each. The source ends a dead producer's transaction within seconds, so a comparison need not wait."""
    soon = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
    clusters = {alias: KafkaCluster(directory / alias, alias, properties=soon) for alias in (EAST, WEST)}
    with run_clusters(*clusters.values()):
        yield clusters


class CopierProcess:
    """The copies of a flow, until it is killed. `begun` counts them."""

    def __init__(self, config: Path, flow: str, log: Path) -> None:
        self.begun = 0
        self._log = log
        command = [sys.executable, "-m", "lab.trial.copier", str(config), flow]
        self._process = subprocess.Popen(
            command, env=process_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def await_copy(self, number: int) -> None:
        """Returns when the copy of this number, from 1, begins."""
        deadline = time.monotonic() + _FIRST_COPY_SECONDS
        while self.begun < number:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the copier did not come to its copy {number}; see {self._log}")
            time.sleep(0.01)

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._log.open("a", encoding="utf-8") as log:
            for line in self._process.stdout:
                log.write(line)
                log.flush()
                self.begun += line.startswith(f"{COPY} begins")


@dataclass
class FailoverSite:
    """One round's flow. `there` are the client libraries of the source's site, `here` those of the target's; `budget` is how many bytes one
    copy moves at most (None: all that is there)."""

    directory: Path
    clusters: Mapping[str, KafkaCluster]
    oracle: Oracle
    policy: str
    number: int
    there: Mapping[str, Library]
    here: Mapping[str, Library]
    budget: int | None = None
    running: list[CopierProcess | MoverProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True)
        self.topic, self.source, self.target = f"orders-{self.number}", f"{EAST}{self.number}", f"{WEST}{self.number}"
        self.config = self._properties()
        self.oracle.create_topic(self.source_cluster.bootstrap, self.topic, PARTITIONS)
        if self.policy != IDENTITY:
            self.oracle.create_topic(self.target_cluster.bootstrap, self.topic, PARTITIONS)

    @property
    def source_cluster(self) -> KafkaCluster:
        """The cluster that will be lost."""
        return self.clusters[EAST]

    @property
    def target_cluster(self) -> KafkaCluster:
        """The cluster on which everything goes on."""
        return self.clusters[WEST]

    def abort_transaction(self, tp: TopicPartition, start: int) -> None:
        """Aborts a transaction of the returned source that its producer left open, as the finding advises."""
        words = ("abort", "--topic", tp.topic, "--partition", str(tp.partition), "--start-offset", str(start))
        tool = "org.apache.kafka.tools.TransactionsCommand"
        subprocess.run(java_command(tool, "--bootstrap-server", self.source_cluster.bootstrap, *words), capture_output=True, check=True)

    @cached_property
    def flow(self) -> Flow:
        """The flow, for what the trial itself asks."""
        return load([self.config]).flow(f"{self.source}->{self.target}")

    @property
    def remote(self) -> str:
        """The topic's name on the target."""
        return self.topic if self.policy == IDENTITY else f"{self.source}.{self.topic}"

    @property
    def own_topics(self) -> tuple[str, ...]:
        """What consumers read on the target: the copy, and what producers write there."""
        return tuple(dict.fromkeys((self.remote, self.topic)))

    @property
    def producers(self) -> list[ProducerApplication]:
        """The producers of the source."""
        of_round = {"delivery_timeout_ms": 6_000, "transaction_timeout_ms": _TIMEOUT_MS, "pause_ms": 50}
        return [replace(producer, name=f"{producer.name}-{self.number}", **of_round) for producer in PRODUCERS]  # type: ignore[arg-type]

    @property
    def later_producers(self) -> list[ProducerApplication]:
        """The producers of the target, under names of their own, for their numbers begin again."""
        return [replace(producer, name=f"{producer.name}-later") for producer in self.producers]

    @property
    def consumers(self) -> list[ConsumerApplication]:
        """A consumer of each group."""
        return [replace(consumer, group=f"{consumer.group}-{self.number}") for consumer in CONSUMERS]

    # ------------------------------------------------------------ what lives

    def begin(self) -> CopierProcess:
        """Starts everything on the source."""
        cluster = Cluster(self.source, self.source_cluster.bootstrap)
        for producer in self.producers:
            producer.start(self.there[producer.library], cluster, self.topic, self.journal(producer.name))
        for consumer in self.consumers:
            consumer.start(self.there[consumer.library], cluster, [self.topic], self.journal(consumer.name))
        copier = CopierProcess(self.config, self.flow.name, self.directory / "copies.log")
        self.running.append(copier)
        return copier

    def lose_source(self) -> None:
        """Kills the source's broker and its applications, all by SIGKILL."""
        self.source_cluster.kill()
        for library in self.there.values():
            library.kill()

    def begin_on_target(self) -> None:
        """Starts the applications on the target. Consumers that were slow on purpose are quick now."""
        cluster = Cluster(self.target, self.target_cluster.bootstrap)
        for consumer in self.consumers:
            quick = replace(consumer, pause_ms=0)
            quick.start(self.here[consumer.library], cluster, self.own_topics, self.journal(f"{consumer.name}-later"))
        for producer in self.later_producers:
            producer.start(self.here[producer.library], cluster, self.topic, self.journal(producer.name))

    def end_producers(self) -> None:
        """Ends those of the target in order."""
        for producer in self.later_producers:
            self.here[producer.library].ask("end", producer.name)

    def end_consumers(self, wanted: Set[Number]) -> None:
        """Ends those of the target in order, once each has read what is wanted, or after a minute; the verdicts name what is missing."""
        deadline = time.monotonic() + _DRAIN_SECONDS
        while any(wanted - self.numbers_read(consumer.group) for consumer in self.consumers) and time.monotonic() < deadline:
            time.sleep(0.3)
        for consumer in self.consumers:
            self.here[consumer.library].ask("end", consumer.name)

    def mover(self) -> MoverProcess:
        """A run of the failover."""
        request = {"flow": self.flow.name, "topics": self.topic, "wave": self.wave, "mode": "failover", "reason": "the site is gone"}
        return MoverProcess(self.config, request, self.directory / "movers.log")

    def plan_mover(self, **request: object) -> MoverProcess:
        """A run of a planned wave of the same topics."""
        options = {"flow": self.flow.name, "topics": self.topic, "wave": f"planned-{self.number}", **request}
        return MoverProcess(self.config, options, self.directory / "movers.log")

    def begin_planned(self) -> MoverProcess:
        """Starts a run of a planned wave beside everything else."""
        mover = self.plan_mover()
        threading.Thread(target=mover.run, daemon=True).start()
        self.running.append(mover)
        return mover

    @property
    def wave(self) -> str:
        """The wave's name."""
        return f"lost-{self.number}"

    def end(self) -> None:
        """Ends what still runs of the round."""
        for process in self.running:
            process.kill()

    # ------------------------------------------------------------ what it left

    def journal(self, name: str) -> Path:
        """The file in which an application writes down what it does; a group's on the target ends with `-later`."""
        return self.directory / f"{name}.journal"

    def lines(self, name: str) -> list[str]:
        """The whole lines of a journal."""
        path = self.journal(name)
        return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []

    def numbers_read(self, group: str) -> set[Number]:
        """The records that a group has read on both clusters."""
        words = (line.split() for name in (group, f"{group}-later") for line in self.lines(name) if line.startswith("read "))
        return {(producer, int(partition), int(number)) for _, _, partition, _, producer, number, _ in words}

    def read_target(self) -> dict[str, list[Number]]:
        """All committed records of the target's topics in their order, as the witness reads them."""
        return {topic: self._numbers(topic) for topic in self.own_topics}

    def _numbers(self, topic: str) -> list[Number]:
        return [
            parse_number((record.value or b"").decode(), record.partition)
            for record in self.oracle.dump(self.target_cluster.bootstrap, topic)
        ]

    def _properties(self) -> Path:
        ends = {self.source: self.source_cluster.bootstrap, self.target: self.target_cluster.bootstrap}
        more = {"mirror.run.max.bytes": str(self.budget), "mirror.transaction.max.bytes": "20000"} if self.budget is not None else {}
        return write_flows(self.directory, ends, self.policy, f".*{self.topic}", {"groups": f".*-{self.number}", **more})


def parse_number(value: str, partition: int) -> Number:
    """Which record of a producer this is, by its value: the producer's name and the number."""
    producer, number = value.split()
    return producer, partition, int(number)
