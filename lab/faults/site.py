"""The flow that the faults are thrown at: producing into it, running it, deciding about it, and judging what its mirror holds."""

import faulthandler
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kafka_mirror.config import load
from kafka_mirror.copy.follow import Following
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.copy.run_result import FAILED, NOTHING_TO_DO, RunResult
from kafka_mirror.decide.binding import DecisionWithEffect
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.decide.run import decide
from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.control_records import ADOPT_CLUSTER, SKIP_RECORD, TAKE_OWNERSHIP, THROTTLE
from lab.faults.copy_process import CopyProcess
from lab.faults.groups import Groups
from lab.faults.translations import Tally
from lab.faults.witness import Witness
from services.comparison import Account
from services.flow_in_process import Mirroring
from services.kafka import KafkaCluster
from services.oracle import Oracle
from services.spark_connect import SparkServer

PARTITIONS = 6
CATCH_UP_SECONDS = 400
FOLLOW_SECONDS = 25.0
"""For how long a copy follows, in the rounds in which it does."""

# Small transactions, so that there are many moments to be hit in. A run may try a step four times, each for as long as admin.timeout.ms
# allows, and a run here must end within three minutes.
SETTINGS = {
    "admin.timeout.ms": "15000",
    "source->target.mirror.lanes": "4",
    "source->target.mirror.transaction.max.bytes": "131072",
    "source->target.mirror.transaction.timeout.ms": "20000",
    "source->target.mirror.installation": "first",
    "source->target.mirror.follow.seconds": "1",
    "source->target.mirror.follow.discovery.seconds": "2",
}


class Stuck(Exception):
    """Raised when the runs after a fault do not mend it: an error that is not retried, or work left after `CATCH_UP_SECONDS`."""


@dataclass
class Site:
    """A flow with one topic between two clusters. The flow reaches the clusters through their networks, everything else
    reaches them directly."""

    mirroring: Mirroring
    config: Path
    topic: str
    source: KafkaCluster
    target: KafkaCluster
    settings: Mapping[str, str]
    """What the flow's file says beside the usual."""
    spark_server: SparkServer
    """The Spark that stays; the first copy that needs it starts it."""
    plans: list[Plan] = field(default_factory=list)
    """The plans of all runs so far, oldest first; not those of Spark jobs."""
    follow_seconds: float = 0.0
    """For how long the copies that begin now follow."""
    _admins: dict[str, Cluster] = field(default_factory=dict)
    _skipped: set[tuple[int, int]] = field(default_factory=set)
    """Partitions and source offsets of records that a person had skipped."""

    def __post_init__(self) -> None:
        source, target = self.source.bootstrap, self.target.bootstrap
        self.witness = Witness(self.oracle, source, self.topic, target, self.remote)
        self.groups = Groups(self.mirroring.flow, self.topic, source, target)

    @property
    def oracle(self) -> Oracle:
        return self.mirroring.oracle

    @property
    def remote(self) -> str:
        return self.mirroring.pair.remote(self.topic)

    @property
    def log(self) -> Path:
        return self.config.parent / "copies.log"

    @property
    def read_below(self) -> dict[int, int]:
        """Source offsets below which the witness has seen all records; at a round's beginning they are copied and were found right."""
        return {partition: copies.source_end for partition, copies in self.witness.copies.items()}

    def variant(self, **settings: str) -> "Mirroring":
        """The same flow with other settings of its own (with _ for .), as another installation's file may have them."""
        changed = {f"source->target.mirror.{name.replace('_', '.')}": value for name, value in settings.items()}
        return self._make_variant(changed, f"{'-'.join(settings)}.properties")

    def variant_at(self, servers: str) -> "Mirroring":
        """The same flow from a host that begins at these brokers of the target."""
        return self._make_variant({"target.bootstrap.servers": servers}, "at.properties")

    def _make_variant(self, settings: Mapping[str, str], file: str) -> "Mirroring":
        pair = self.mirroring.pair
        path = pair.properties(extra={**self.settings, **settings}, file=file)
        return Mirroring(pair, self.oracle, load([path]).flow(pair.flow))

    # ------------------------------------------------------------ producing and copying

    def produce(self, records: int, seed: int) -> None:
        """Awkward records of three producers, their transactions interleaved, a fifth of them aborted."""
        self.oracle.produce(
            self.source.bootstrap, self.topic, records, seed=seed, transactions=400, abort_percent=20, producers=3, codec="lz4"
        )

    def spark_copy(self) -> CopyProcess:
        """One run as a process tree: command, JVM, driver, workers."""
        return CopyProcess(self.config, self.log, *self._follow_option)

    def connect_copy(self) -> CopyProcess:
        """One run whose lanes are tasks of the Spark Connect server; the process is that of the command alone."""
        self.spark_server.start()
        options = "--master", self.spark_server.master, *self._follow_option
        return CopyProcess(self.config, self.log, *options, environment=self.spark_server.environment())

    def copy_here(self, planned: Plan | None = None, by: Mirroring | None = None) -> "CopyHere":
        """One run in a thread of this process, with a plan made now or the given one; or a run of another installation."""
        return CopyHere(by.copy if by else lambda: self._run(planned))

    def count_written(self, only: int | None = None) -> int:
        """How many offsets the target has, committed or not: how far the copy under way has come, in one partition or all."""
        return sum(end for partition, end in self._ends(self.target, self.remote).items() if only in (None, partition))

    def catch_up(self) -> int:
        """Runs until nothing is left to do, as the scheduler would; gives how many runs had something to do. Raises Stuck."""
        deadline = time.monotonic() + CATCH_UP_SECONDS
        runs, last = 0, ""
        while time.monotonic() < deadline:
            try:
                self.mirroring.refresh()
                judged = self.mirroring.copy()
            except MirrorError as error:
                if not error.retriable:
                    raise Stuck(f"{error.code}: {error}") from error
                last = str(error)
            else:
                if judged.state == NOTHING_TO_DO:
                    return runs
                if judged.state == FAILED and not judged.retriable and not self._skip_again():
                    raise Stuck(str(judged))
                last = str(judged)
            runs += 1
            time.sleep(0.2)
        raise Stuck(f"after {runs} runs: {last}")

    def plan(self) -> Plan:
        """What there is to do now."""
        self.plans.append(plan(self.mirroring.flow, follow_for=self.follow_seconds))
        return self.plans[-1]

    @property
    def _follow_option(self) -> tuple[str, ...]:
        return ("--follow", f"{self.follow_seconds:g}") if self.follow_seconds else ()

    def _run(self, planned: Plan | None) -> None:
        flow, planned = self.mirroring.flow, planned or self.plan()
        if not self.follow_seconds:
            copy_in_process(flow, replace(planned, follow_for=0.0))
            return
        run, due = f"{flow.name}.copy / {uuid.uuid4().hex}", time.monotonic() + self.follow_seconds
        wait: Callable[[float], bool] = lambda seconds: not threading.Event().wait(seconds)  # noqa: E731
        following = Following(flow, RunResult(planned), run, due, wait, plan=planned)
        following.run(lambda now, newest, max_bytes: copy_in_process(now, newest, run, max_bytes))

    # ------------------------------------------------------------ people

    def decide(
        self, word: str, partition: int | None = None, start: int | None = None, by: Mirroring | None = None
    ) -> list[DecisionWithEffect]:
        """A person decides about the topic, or about the flow (`by` its other installation) where the decision knows no topic. Raises
        NothingToDecide as the command does."""
        topic = None if word in (ADOPT_CLUSTER, TAKE_OWNERSHIP) else self.topic
        return decide((by or self.mirroring).flow, DecisionRequest(word, "somebody", "a round of faults", topic, partition, start=start))

    def throttle(self, rate: int) -> None:
        """A person says how fast the flow may copy, in bytes a second."""
        decide(self.mirroring.flow, DecisionRequest(THROTTLE, "somebody", "a round of faults", bytes_per_second=rate))

    def skip(self, partition: int) -> None:
        """A person has the record skipped that blocks a partition. Raises NothingToDecide as the command does."""
        for result in self.decide(SKIP_RECORD, partition):
            offset = result.decision.offset or 0
            self.witness.note_decision(partition, offset, offset + 1)
            self._skipped.add((partition, offset))

    def _skip_again(self) -> bool:
        """A decision holds for what the person saw. After a restart in front of a record that was skipped it blocks its partition again,
        and is skipped again. Gives whether there was one."""
        blocked = {(tp.partition, record.blocked.offset) for tp, record in self.mirroring.ledger().items() if record.blocked is not None}
        for partition, _ in sorted(blocked & self._skipped):
            self.skip(partition)
        return bool(blocked & self._skipped)

    # ------------------------------------------------------------ the witness

    def count(self) -> list[Account]:
        """What is wrong with everything that was produced since the last call, partition by partition."""
        return self.witness.count()

    def judge(self) -> Tally:
        """Whether the groups would continue at the right offsets if no more records came; no copy may run meanwhile."""
        return self.witness.judge(self.groups.answers())

    def ends(self) -> dict[int, int]:
        """Where each partition ends on the source."""
        return self._ends(self.source, self.topic)

    def log_starts(self) -> dict[int, int]:
        """Where each partition begins on the source."""
        return self._ends(self.source, self.topic, "earliest")

    def _ends(self, cluster: KafkaCluster, topic: str, which: str = "latest") -> dict[int, int]:
        admin = self._admins.setdefault(cluster.alias, Cluster(cluster.alias, {"bootstrap.servers": cluster.bootstrap}))
        topics = admin.topics([topic])
        partitions = [TopicPartition(topic, partition.number) for partition in topics[topic].partitions] if topics else []
        return {tp.partition: offset for tp, offset in admin.offsets(partitions, which).items()}


class CopyHere:
    """A run in a thread. Errors of ours are what faults lead to; any other one is raised by `wait`."""

    def __init__(self, run: Callable[[], object]) -> None:
        self.error: MirrorError | None = None
        self._failure: Exception | None = None
        self._run = run
        self._thread = threading.Thread(target=self._run_and_keep_failure, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the run has not ended."""
        return self._thread.is_alive()

    def wait(self, seconds: float = 180) -> None:
        """Returns at the run's end."""
        self._thread.join(seconds)
        if self.running:
            # Where it hangs is all there is to go by.
            faulthandler.dump_traceback(sys.stderr)
            raise Stuck(f"a copy did not end within {seconds:g} s")
        if self._failure is not None:
            raise self._failure

    def _run_and_keep_failure(self) -> None:
        try:
            self._run()
        except MirrorError as error:
            self.error = error
        except Exception as failure:  # noqa: BLE001 — it is raised again by `wait`
            self._failure = failure
