"""A real Kafka cluster of one broker with ZooKeeper: how Kafka ran before KRaft."""

from functools import partial
from pathlib import Path
from typing import Any

from services.java import java_command
from services.kafka import QUICK_START, KafkaCluster
from services.ports import LOOPBACK, is_listening, require_free
from services.processes import Server

_OF_KRAFT = ("process.roles", "node.id", "controller.quorum.voters", "controller.listener.names")


class ZooKeeperCluster(KafkaCluster):
    """One broker, and a ZooKeeper of the same jars beside it. Everything else is as with `KafkaCluster`."""

    def __init__(self, directory: Path, alias: str, *, jars: Path, **options: Any) -> None:
        super().__init__(directory, alias, jars=jars, **options)
        self._zookeeper = Server(f"{alias}-zookeeper", directory)

    def launch(self, broker: int | None = None) -> None:
        """Starts ZooKeeper first: a broker ends by itself if it finds none for 18 seconds."""
        self._prepare()
        if not self._zookeeper.running:
            port = self._port(1, "controller")
            require_free(port, f"the ZooKeeper of the cluster '{self.alias}'")
            file = self._directory / "zookeeper.properties"
            settings = {
                "clientPort": port,
                "clientPortAddress": LOOPBACK,
                "dataDir": self._directory / "zookeeper",
                "admin.enableServer": "false",
                "tickTime": "500",  # sessions are between 2 and 20 ticks long
            }
            file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
            main = "org.apache.zookeeper.server.ZooKeeperServerMain"
            self._zookeeper.start(java_command(main, file, heap="128m", options=QUICK_START, jars=self._jars))
            self._zookeeper.wait(partial(is_listening, port), 60, "listen")
        super().launch(broker)

    def stop(self, broker: int | None = None, timeout: float = 20.0) -> None:
        """Stops the broker in order, then ZooKeeper; the latter stays if a broker is named."""
        super().stop(broker, timeout)
        if broker is None:
            self._zookeeper.stop()

    def discard(self) -> None:
        """Kills both."""
        super().discard()
        self._zookeeper.kill()

    @property
    def logs(self) -> list[Path]:
        """The broker's log file and ZooKeeper's."""
        return [*super().logs, self._zookeeper.log]

    def _ports(self, node: int) -> list[int]:
        return [self._port(node, listener) for listener in self._listeners(node) if listener != "controller"]

    def _format_new(self) -> None:
        """Nothing: the broker makes its directory and its cluster's id itself."""

    def _is_id(self, cluster_id: str) -> bool:
        """Any id, before Kafka 2.4: then a broker does not write the id of its cluster."""
        return cluster_id == self._cluster_id() or ("broker.id" in self._read_meta() and "cluster.id" not in self._read_meta())

    def _cluster_id(self) -> str:
        return self._read_meta().get("cluster.id", "")

    def _read_meta(self) -> dict[str, str]:
        """What the broker writes soon after it listens."""
        file = self._data(1) / "meta.properties"
        lines = file.read_text().splitlines() if file.exists() else []
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def _settings(self, node: int) -> dict[str, str]:
        settings = super()._settings(node)
        for name in _OF_KRAFT:
            settings.pop(name)
        without_controller = ",".join(listener for listener in settings["listeners"].split(",") if not listener.startswith("CONTROLLER:"))
        more = {
            "broker.id": str(node),
            "zookeeper.connect": f"{LOOPBACK}:{self._port(node, 'controller')}",
            "listeners": without_controller,
        }
        if "authorizer.class.name" in settings:
            more["authorizer.class.name"] = "kafka.security.authorizer.AclAuthorizer"
        return settings | more | {"zookeeper.session.timeout.ms": "4000"}
