"""The series as a command: clusters of its own, one line a round, the table at the end and in lab/faults/RESULTS.md."""

import argparse
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from kafka_mirror.config import load
from lab.faults.brokers import BROKER_FAULTS
from lab.faults.compute import COMPUTE
from lab.faults.connect import CONNECT
from lab.faults.data import DATA
from lab.faults.decisions import DECISIONS
from lab.faults.injections import PROPERTIES, SEPARABLE
from lab.faults.network import NETWORK
from lab.faults.results import RESULTS, Outcome, append, disk_text, table
from lab.faults.series import draw_faults, play
from lab.faults.site import PARTITIONS, SETTINGS, Site
from services.flow_in_process import Mirroring
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle
from services.spark_connect import SparkServer
from services.stored_batches import count_batches

ONCE = (*COMPUTE, *CONNECT, *NETWORK, *DATA, *DECISIONS, *BROKER_FAULTS)
ALL = (*ONCE, *(fault.with_following() for fault in ONCE if fault.key != "restart"))  # whose copies end in the middle
FAULTS = {fault.key: fault for fault in ALL}
_ABORT_CHECK = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
_TARGET = {**PROPERTIES, **_ABORT_CHECK, "min.insync.replicas": "2"}
_THREE_COPIES = {
    "replication.factor": "3",
    "offset-syncs.topic.replication.factor": "3",
    "source->target.offset-syncs.topic.location": "target",
    "admin.timeout.ms": "15000",
    "source->target.mirror.transaction.timeout.ms": "15000",
}


def new_site(
    source: KafkaCluster,
    target: KafkaCluster,
    oracle: Oracle,
    directory: Path,
    extra: dict[str, str] | None = None,
    spark_server: SparkServer | None = None,
) -> Site:
    """A flow of its own between two clusters with networks, with a topic and nothing in it."""
    mark = uuid.uuid4().hex[:6]
    home = directory / mark
    home.mkdir(parents=True)
    pair = ClusterPair(f"east{mark}", f"west{mark}", source.bootstrap, target.bootstrap, mark, home)
    addresses = {"source.bootstrap.servers": source.proxied_bootstrap, "target.bootstrap.servers": target.proxied_bootstrap}
    settings = {**SETTINGS, **addresses, **(extra or {})}
    config = pair.properties(extra=settings)
    topic = pair.topic("orders")
    oracle.create_topic(source.bootstrap, topic, PARTITIONS)
    return Site(
        Mirroring(pair, oracle, load([config]).flow(pair.flow)),
        config,
        topic,
        source,
        target,
        settings,
        spark_server or SparkServer(home / "spark"),
    )


def main() -> int:
    """Runs the series. The exit code is 1 if any round was bad."""
    options = _parse_options()
    directory = Path(tempfile.mkdtemp(prefix="mirror-faults-"))
    source = KafkaCluster(directory / "east", "east", proxied=True)
    target = KafkaCluster(directory / "west", "west", 3, _TARGET, proxied=True, separable=SEPARABLE)
    spark_server = SparkServer(directory / "spark")
    started = time.monotonic()
    outcomes: list[Outcome] = []
    is_good = False
    faults = [FAULTS[key] for key in options.only] if options.only else list(FAULTS.values())
    drawn = draw_faults(faults, options.rounds, options.seed)
    print(f"seed {options.seed}, {options.rounds} rounds of {options.records} records; logs in {directory}", flush=True)
    try:
        source.launch()
        target.launch()
        source.wait_ready()
        target.wait_ready()
        with Oracle(directory / "oracle.log") as oracle:
            make: Callable[[], Site] = lambda: new_site(source, target, oracle, directory / "flows", _THREE_COPIES, spark_server)  # noqa: E731
            for outcome in play(make, drawn, options.seed, options.records):
                outcomes.append(outcome)
                print(outcome, flush=True)
    finally:
        spark_server.stop()
        target.stop()
        source.stop()
        if outcomes:
            print(f"\n{table(outcomes)}", flush=True)
            on_disk = count_batches((directory / "west").glob("data-*/*-[0-9]*/*.log"))
            print(disk_text(on_disk))
            append(outcomes, on_disk, options.seed, time.monotonic() - started, options.results)
            is_good = all(outcome.is_good for outcome in outcomes) and not on_disk["invalid"]
            if len(outcomes) == options.rounds and is_good:
                shutil.rmtree(directory, ignore_errors=True)
    return 0 if is_good else 1


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m lab.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="decides which fault comes when (default: the clock)")
    parser.add_argument("--rounds", type=int, default=len(FAULTS))
    parser.add_argument("--records", type=int, default=40_000, help="records of a round")
    parser.add_argument("--only", type=lambda text: text.split(","), help=f"some of: {', '.join(FAULTS)}")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file to which the table is added")
    options = parser.parse_args()
    unknown = set(options.only or ()) - set(FAULTS)
    if unknown:
        parser.error(f"unknown faults: {', '.join(sorted(unknown))}")
    return options


if __name__ == "__main__":
    sys.exit(main())
