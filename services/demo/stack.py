"""All processes of the demo: how they are started, found again, and stopped."""

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kafka_mirror.spark.connect_url import USER
from kafka_mirror.spark.serve import token_of
from services.airflow import AirflowServices
from services.demo.settings import INBOX, PROPERTIES, SPARK, Ports
from services.flows import ClusterPair
from services.java import ROOT
from services.kafka import KafkaCluster
from services.ports import LOOPBACK, PortInUse, require_free
from services.postgres import PostgresServer
from services.processes import Server

_DAGS = Path(__file__).with_name("dags")


@dataclass(frozen=True)
class Part:
    """One of the things that are stopped one after the other."""

    name: str
    running: Callable[[], bool]
    stop: Callable[[], None]


class Stack:
    """The demo's processes in their directory. They outlive the command that starts them: another Stack on that directory finds them."""

    def __init__(self, home: Path, ports: Ports) -> None:
        self.home = home
        self.ports = ports
        self.postgres = PostgresServer(home / "postgres", port=ports.postgres, on_parent_death=None)
        self.east, self.west = (
            KafkaCluster(home / alias, alias, ports=(port, port + 1), on_parent_death=None)
            for alias, port in (("east", ports.east), ("west", ports.west))
        )
        self._spark = Server("spark", home / "spark", on_parent_death=None)
        self._producer = Server("producer", home / "producer", on_parent_death=None)
        self._inbox = Server("inbox", home / "inbox", on_parent_death=None)
        self._retention = Server("retention", home / "retention", on_parent_death=None)
        self.alerts = home / "inbox" / "alerts.txt"
        self.configuration = home / "mm2.properties"
        self.backlog_written = home / "producer" / "backlog-written"

    @property
    def airflow(self) -> AirflowServices:
        """The demo's Airflow. PostgreSQL must have its directory before: Airflow's environment holds the database's password."""
        return AirflowServices(
            self.home / "airflow",
            self.postgres.url,
            dags=_DAGS,
            environment={"MIRROR_CONFIG": str(self.configuration), **self._connections()},
            port=self.ports.ui,
            on_parent_death=None,
        )

    # ------------------------------------------------------------ what runs

    def parts(self) -> list[Part]:
        """What can be stopped, in the order in which that is done: first what writes, last what others need."""
        airflow = self.airflow
        return [
            Part("the producer", lambda: self._producer.running, self._producer.stop),
            Part("the retention", lambda: self._retention.running, self._retention.stop),
            Part("Airflow", lambda: airflow.any_running, airflow.stop),
            Part("Spark", lambda: self._spark.running, self._spark.stop),
            Part("the inbox of alerts", lambda: self._inbox.running, self._inbox.stop),
            Part("the Kafka clusters", lambda: self.east.running or self.west.running, self._stop_clusters),
            Part("PostgreSQL", lambda: self.postgres.running, self.postgres.stop),
        ]

    def find_occupied_ports(self) -> list[PortInUse]:
        """What keeps this stack from starting: ports that belong to other processes."""
        own = {
            self.ports.ui: self.airflow.any_running,
            self.ports.east: self.east.running,
            self.ports.east + 1: self.east.running,
            self.ports.west: self.west.running,
            self.ports.west + 1: self.west.running,
            self.ports.postgres: self.postgres.running,
            self.ports.alerts: self._inbox.running,
            self.ports.spark: self._spark.running,
        }
        occupied = []
        for port, service in self.ports.list_ports().items():
            try:
                if not own[port]:
                    require_free(port, service)
            except PortInUse as taken:
                occupied.append(taken)
        return occupied

    # ------------------------------------------------------------ start and stop

    def start_servers(self) -> None:
        """PostgreSQL and both clusters; while the brokers start, Airflow's database is brought up to date."""
        for cluster in (self.east, self.west):
            cluster.launch()
        fresh = not self.postgres.running
        self.postgres.start()
        if fresh:
            self.airflow.migrate()
        for cluster in (self.east, self.west):
            cluster.wait_ready()
        self._configure()

    def start_spark(self) -> None:
        """Starts the Spark that stays, unless it runs. It listens some seconds later, while Airflow starts."""
        command = [
            sys.executable,
            "-m",
            "kafka_mirror",
            "spark",
            "serve",
            "--port",
            str(self.ports.spark),
            "--token-file",
            str(self._token_file),
        ]
        self._spark.start(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "include")})

    def start_producer(self) -> None:
        """Starts it unless it runs."""
        command = [sys.executable, "-m", "services.demo.producer", self.east.bootstrap, str(self.backlog_written)]
        self._producer.start(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})

    def start_inbox(self) -> None:
        """Starts it unless it runs."""
        command = [sys.executable, "-m", "services.demo.inbox", str(self.ports.alerts), str(self.alerts)]
        self._inbox.start(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})

    def start_retention(self) -> None:
        """Starts it unless it runs."""
        command = [sys.executable, "-m", "services.demo.retention", str(self.home / "airflow" / "logs")]
        self._retention.start(command, cwd=ROOT, env={**self.airflow.environment(), "PYTHONPATH": f"{ROOT / 'include'}{os.pathsep}{ROOT}"})

    def wait_for_backlog(self) -> None:
        """Returns when there is something to mirror."""
        self._producer.wait(self.backlog_written.exists, 180, "write its backlog")

    def _configure(self) -> None:
        pair = ClusterPair("east", "west", self.east.bootstrap, self.west.bootstrap, "", self.home)
        pair.properties(".*", PROPERTIES, file=self.configuration.name)

    @property
    def _token_file(self) -> Path:
        return self.home / "spark" / "token"

    def _connections(self) -> dict[str, str]:
        """Airflow's connections to the inbox and to Spark, as variables."""
        token, _ = token_of(self._token_file)
        inbox = {"conn_type": "http", "host": f"http://{LOOPBACK}:{self.ports.alerts}", "extra": {"format": "json"}}
        spark = {"conn_type": "spark_connect", "host": LOOPBACK, "port": self.ports.spark, "login": USER, "password": token}
        return {f"AIRFLOW_CONN_{name.upper()}": json.dumps(connection) for name, connection in ((INBOX, inbox), (SPARK, spark))}

    def _stop_clusters(self) -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(KafkaCluster.stop, (self.east, self.west)))
