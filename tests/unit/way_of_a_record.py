"""Run as a program, beside an Airflow that nobody has set up: follows one record from the DAG to the commit, and prints which files it met.

Of the mirror nothing is replaced but what asks brokers: the adapters of kafka/ know a source with one record and a target. The record
itself goes over connections to brokers of the tests. spark-submit runs the job in this process. Airflow's tasks are called one after the
other.

Printed is JSON: `stations`, the files on the call stack whenever a broker is asked or told something, in the order in which the record
meets them; `calls`, which of them called which; `files`, all files of the way's rooms of which a function ran.
"""

import importlib
import json
import os
import runpy
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from inspect import CO_NEWLOCALS, CO_OPTIMIZED
from itertools import pairwise
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from kafka.protocol.producer import ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder

from kafka_mirror.kafka.broker_connection import BrokerConnection
from kafka_mirror.offsets.partition import TopicPartition
from tests.unit.copy.batches.wire_broker import WireBroker

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "include" / "kafka_mirror"
ROOMS = ("airflow", "plan", "spark", "copy")
"""With dags/ and jobs/, where a record's way leads through; the adapters of kafka/ and what knows no cluster are its tools."""
DAG, ORDERS, REMOTE, LEDGER, CONTROL = "east-to-west.copy", "orders", "east.orders", "mm2-ledger.east.internal", "mm2-control.east.internal"


class Way:
    """Takes down which files a record meets."""

    def __init__(self) -> None:
        self.stations: list[str] = []
        self.calls: set[tuple[str, str]] = set()
        self.files: set[str] = set()

    def met(self) -> None:
        """Called by whoever stands in for a broker, XCom or Spark: the files on the stack are stations."""
        stack = self.stack()
        self.stations += [name for name in dict.fromkeys(stack) if name not in self.stations]
        self.calls |= {(caller, called) for caller, called in pairwise(stack) if caller != called}

    def stack(self) -> list[str]:
        """The files on the stack, outermost first; of a thread behind those of whoever started it."""
        here = [name for name in map(self._file, reversed(list(frames(sys._getframe())))) if name is not None]
        return [*getattr(threading.current_thread(), "started_by", ()), *here]

    def trace(self, frame: FrameType, event: str, argument: object) -> None:
        """A profiler that remembers the files of functions that ran; what runs while a module is imported is none."""
        flags = CO_OPTIMIZED | CO_NEWLOCALS
        if event == "call" and frame.f_code.co_flags & flags == flags and (name := self._file(frame)) is not None:
            self.files.add(name)

    def _file(self, frame: FrameType) -> str | None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(LIBRARY):
            name = path.relative_to(LIBRARY)
            return str(name) if name.parts[0] in ROOMS else None
        return str(path.relative_to(ROOT)) if path.parent in (ROOT / "dags", ROOT / "jobs") else None


def frames(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and its callers, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


WAY = Way()


# ---------------------------------------------------------------- brokers


class Brokers:
    """Both clusters: one topic with one partition, of which [0, 5) is copied, and one record more."""

    def __init__(self) -> None:
        self.east, self.west = WireBroker(), WireBroker()
        source, remote = self.east.log(ORDERS), self.west.log(REMOTE)
        for lane in range(16):
            self.west.log(LEDGER, lane)
        batch = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1024)
        batch.append(0, 1_700_000_000_000, b"k", b"v", [])
        source.append(bytes(batch.build()), 5)
        remote.end = 5

    def ends(self, alias: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        logs = (self.east if alias == "east" else self.west).logs
        return {tp: logs[tp].end if tp in logs else 0 for tp in partitions}

    def written(self) -> list[str]:
        """The topics of the target that were written, in their order."""
        return [topic.name for request in self.west.of(ProduceRequest) for topic in request.topic_data]

    def ledger_record(self) -> Any:
        from kafka_mirror.formats.ledger import LedgerRecord, Writer
        from kafka_mirror.offsets.map import OffsetMap, Run

        writer = Writer("", "elsewhere", "an earlier run", datetime.now(UTC))
        offsets = OffsetMap().extended((Run(0, 0, 5),))
        return LedgerRecord(
            5, 0, f"id-{ORDERS}", REMOTE, f"id-{REMOTE}", 5, "east-id", "west-id", 16, offsets, writer, ((0, 5),), records=5
        )


class FollowedConnection(BrokerConnection):
    """A connection to a broker; whoever asks something over it is a station."""

    def send(self, *request: Any) -> None:
        WAY.met()
        super().send(*request)

    def queue_parts(self, *request: Any) -> None:
        WAY.met()
        super().queue_parts(*request)


class MemoryCluster:
    """What a plan and a lane ask of `kafka_mirror.kafka.cluster.Cluster`."""

    def __init__(self, alias: str, settings: Mapping[str, Any], timeout: float = 1.0, needs: object = None) -> None:
        self.alias, self.timeout = alias, timeout

    def __enter__(self) -> "MemoryCluster":
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def cluster_id(self) -> str:
        WAY.met()
        return f"{self.alias}-id"

    def shared_ends(self, positions: Iterable[Any], seconds: float) -> dict[Any, int]:
        WAY.met()
        return {}

    def ids(self) -> frozenset[str]:
        WAY.met()
        return frozenset([f"{self.alias}-id"])

    def names(self) -> list[str]:
        WAY.met()
        return [ORDERS] if self.alias == "east" else [REMOTE, LEDGER, CONTROL]

    def listing(self) -> Any:
        from kafka_mirror.kafka.cluster import TopicListing

        WAY.met()
        return TopicListing(frozenset(self.names()), {})

    def listed_topics(self, names: Iterable[str], errors: object = None) -> dict[str, Any]:
        WAY.met()
        return self.topics(names)

    def open_ahead(self) -> None:
        WAY.met()

    def topics(self, names: Iterable[str], errors: object = None, operation: str = "DESCRIBE") -> dict[str, Any]:
        from kafka_mirror.kafka.model import Partition, Topic

        WAY.met()
        return {name: Topic(name, f"id-{name}", (Partition(0, 1, (1,), (1,)),)) for name in names}

    def topic_ids(self, names: Iterable[str], errors: object = None) -> dict[str, str]:
        WAY.met()
        return {name: f"id-{name}" for name in names}

    def configs(self, names: Iterable[str], errors: object = None, entries: object = None) -> dict[str, Any]:
        WAY.met()
        return {name: {} for name in names}

    def offsets(self, partitions: Iterable[Any], at: str, committed: bool = False, errors: object = None) -> dict[Any, int]:
        WAY.met()
        return dict.fromkeys(partitions, 0) if at == "earliest" else BROKERS.ends(self.alias, partitions)

    def log_offsets(self, partitions: Iterable[Any], errors: object = None, committed: bool = True) -> dict[Any, Any]:
        from kafka_mirror.kafka.model import LogOffsets

        WAY.met()
        return {tp: LogOffsets(0, end, end, 0) for tp, end in BROKERS.ends(self.alias, partitions).items()}


class MemoryLedger:
    """What a plan and a lane ask of `kafka_mirror.kafka.ledger.Ledger`."""

    def __init__(self, topic: str, lanes: int, target: object, settings: object) -> None:
        self.topic, self.lanes = topic, lanes

    def topic_id(self) -> str:
        return f"id-{LEDGER}"

    def read(self) -> Any:
        from kafka_mirror.kafka.ledger import LedgerView
        from kafka_mirror.offsets.partition import TopicPartition

        WAY.met()
        return LedgerView({TopicPartition(ORDERS, 0): BROKERS.ledger_record()})

    def read_fenced(self, lane: int) -> Any:
        from kafka_mirror.kafka.ledger import FencedLane

        WAY.met()
        return FencedLane(self.read().records, 0)


class MemoryControl:
    """What a plan asks of `kafka_mirror.kafka.control.Control`."""

    read_end = 0

    def __init__(self, *_: object) -> None:
        self.topic = CONTROL

    def exists(self) -> bool:
        return True

    def read(self) -> tuple[Any, ...]:
        from kafka_mirror.formats.control import LEDGER as OF_THE_LEDGER
        from kafka_mirror.formats.control import Decision

        WAY.met()
        return (Decision(OF_THE_LEDGER, "plan", datetime.now(UTC), "the ledger of this flow", ledger_id=f"id-{LEDGER}"),)


class MemoryReader:
    """Finds no record where none of ours should stand."""

    def __init__(self, alias: str, settings: object) -> None:
        pass

    def first_visible(self, ranges: Mapping[Any, Any], seconds: float, errors: object, in_all: bool = True) -> dict[Any, Any]:
        WAY.met()
        return {}


# ---------------------------------------------------------------- Spark and Airflow


class MemoryContext:
    """A SparkContext of one worker, which is this process; its settings, and what else pyspark has, are one too."""

    defaultParallelism, version, master, applicationId = 1, "4", "local[1]", "local-1"  # noqa: N815 — Spark's own names

    _jsc = SimpleNamespace(stop=lambda: None)

    def __call__(self, conf: object = None) -> "MemoryContext":
        return self

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *_: self

    def parallelize(self, tasks: list[bytes], slices: int) -> Any:
        WAY.met()
        return SimpleNamespace(mapPartitions=lambda work: SimpleNamespace(collect=lambda: list(work(iter(tasks)))))


class FollowedThread(threading.Thread):
    """A thread that knows who started it."""

    def start(self) -> None:
        WAY.met()
        self.started_by = WAY.stack()
        super().start()


def chained(*tasks: Any) -> None:
    """Airflow's `chain`, by which a DAG's file puts its tasks into order."""
    from airflow.sdk.bases.operator import chain

    WAY.met()
    chain(*tasks)


def submit(hook: Any, application: str = "", **_: object) -> None:
    """Stands in for spark-submit."""
    WAY.met()
    spark = ModuleType("pyspark")
    spark.SparkConf = spark.SparkContext = spark.cloudpickle = MemoryContext()  # type: ignore[attr-defined]
    sys.modules["pyspark"] = spark
    sys.path.insert(0, str(Path(application).parent))  # as Python does with a program
    runpy.run_path(application)["main"](*hook._application_args)


def replace(stand_ins: Mapping[str, object]) -> None:
    """Puts a stand-in into the place of each name, `<module>:<name>`."""
    for place, stand_in in stand_ins.items():
        module, _, name = place.partition(":")
        setattr(importlib.import_module(module), name, stand_in)


def run_tasks(flow_dag: Any, xcom: dict[str, Any]) -> None:
    """Plans and copies, as Airflow would."""

    def pulled(task_ids: str) -> Any:
        WAY.met()
        return xcom.get(task_ids)

    instance = SimpleNamespace(try_number=1, max_tries=3, xcom_pull=pulled)
    run = SimpleNamespace(run_type="scheduled", dag_id=DAG, run_id="one record")
    replace({"kafka_mirror.airflow.tasks:get_current_context": lambda: {"params": {}, "dag_run": run, "ti": instance}})
    plan, copy = flow_dag.get_task("plan"), flow_dag.get_task("copy")
    xcom["plan"] = plan.python_callable(*plan.op_args)
    xcom["copy"] = copy.execute({})


STAND_INS = {
    "kafka_mirror.airflow.dags.copy:chain": chained,
    "kafka_mirror.airflow.dags:get_parsing_context": lambda: SimpleNamespace(dag_id=DAG),  # as in the process of a task
    "threading:Thread": FollowedThread,
    "kafka_mirror.sync.flow_clusters:Cluster": MemoryCluster,
    "kafka_mirror.sync.flow_clusters:Ledger": MemoryLedger,
    "kafka_mirror.sync.flow_clusters:Control": MemoryControl,
    "kafka_mirror.copy.lane_protocol:Cluster": MemoryCluster,
    "kafka_mirror.copy.lane_preflight:Ledger": MemoryLedger,
    "kafka_mirror.copy.lane_preflight:BoundedReader": MemoryReader,
    "kafka_mirror.kafka.broker_pool:BrokerConnection": FollowedConnection,
    "kafka_mirror.copy.throttle:LOOK_EVERY_SECONDS": 3600.0,  # however slow this machine is: a lane that is done before asks nothing
}


def main() -> None:
    """Follows the record."""
    for room in ROOMS:
        for path in sorted((LIBRARY / room).rglob("*.py")):
            importlib.import_module(".".join(("kafka_mirror", *path.relative_to(LIBRARY).with_suffix("").parts)).removesuffix(".__init__"))
    replace(STAND_INS)
    SparkSubmitHook.submit = submit  # type: ignore[method-assign]
    threading.setprofile(WAY.trace)
    sys.setprofile(WAY.trace)
    xcom: dict[str, Any] = {}
    run_tasks(runpy.run_path(str(ROOT / "dags" / "mirror.py"))[DAG], xcom)
    sys.setprofile(None)
    assert BROKERS.written() == [REMOTE, LEDGER], "the record, and the ledger's"
    found = {"stations": WAY.stations, "calls": sorted(WAY.calls), "files": sorted(WAY.files), "copied": xcom["copy"]}
    print("# way\n" + json.dumps(found))


def configure(directory: Path) -> None:
    """Writes the properties of a flow between both clusters."""
    addresses = {alias: broker.settings["bootstrap.servers"] for alias, broker in (("east", BROKERS.east), ("west", BROKERS.west))}
    lines = ["clusters = east, west", "east->west.enabled = true"]
    file = directory / "mm2.properties"
    file.write_text("\n".join([*lines, *(f"{alias}.bootstrap.servers = {address}" for alias, address in addresses.items())]))
    os.environ["MIRROR_CONFIG"] = str(file)


if __name__ == "__main__":
    BROKERS = Brokers()
    configure(Path(sys.argv[1]))
    main()
