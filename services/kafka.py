"""A real Kafka cluster on this machine: KRaft, every broker a process of its own, in a directory that it can be started from again.

One broker is its own controller. With three, the controller is a fourth process, so that a test may kill any of the brokers and still
see what the rest does.
"""

import secrets
import signal
import subprocess
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from services.java import LIBS, java_command
from services.ports import LOOPBACK, free_ports, is_listening, require_free
from services.processes import Server, ServiceFailed
from services.proxy import Proxy

QUICK_START = ("-XX:TieredStopAtLevel=1",)
"""Options of a JVM with a short life: it starts sooner, and runs slower."""
_CONTROLLER = 100  # node id of the separate controller

# What a small cluster needs to start fast, take little memory, and not wait: few internal partitions, no rebalance delay, no start delay
# of the log cleaner, which otherwise also reserves 128 MB. A broker that was killed may not return before its session has ended.
# Records with old timestamps stay, unless a topic's own retention.ms says otherwise; then it is applied within a second.
_TEST_SETTINGS = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "8",
    "share.coordinator.state.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
    "metadata.max.idle.interval.ms": "0",  # no record that says nothing, twice a second and through every thread of the controller
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.cleaner.backoff.ms": "1000",
    "log.initial.task.delay.ms": "500",
    "log.retention.check.interval.ms": "1000",
    "log.retention.ms": "-1",
}


@dataclass(frozen=True)
class Listener:
    """A listener beside the plain one: `protocol` (SSL, SASL_SSL, …) and settings of its own, such as `ssl.keystore.location`."""

    protocol: str
    properties: Mapping[str, str] = field(default_factory=dict)


class KafkaCluster:
    """One cluster of one or three brokers, node ids from 1; `users` adds a SASL_PLAINTEXT/PLAIN listener with ACLs switched on.

    The plain listener (`bootstrap`) stays open and may do everything; users of `secure_bootstrap` may do what ACLs allow.
    `proxied` adds a listener that is reached through `network` alone, which can delay it and cut it off: `proxied_bootstrap`.
    `separable` is a broker whose connections to the controller, and those of the other brokers to it, pass `links` alone: cut, they leave
    it a deposed leader that still answers clients. Only with three brokers, whose controller is apart.
    `listeners` are further ones by name, such as {"tls": Listener("SSL", {...})}: `bootstrap_of("tls")`.
    `ports` are those of the listeners, node by node (plain, sasl, controller as far as a node has them); the others are chosen when the
    directory is first used.
    `java` are options of its JVMs, `jars` those of its Kafka.
    `features` are levels that it is formatted with, such as {"transaction.version": 0}, where its release's own are not wanted.
    `on_parent_death=None` lets the brokers outlive this process (the demo): another KafkaCluster on the same directory finds them again.
    """

    def __init__(
        self,
        directory: Path,
        alias: str,
        brokers: int = 1,
        properties: Mapping[str, str] | None = None,
        *,
        users: Mapping[str, str] | None = None,
        proxied: bool = False,
        separable: int | None = None,
        listeners: Mapping[str, Listener] | None = None,
        ports: Sequence[int] = (),
        java: Sequence[str] = QUICK_START,
        jars: Path = LIBS,
        features: Mapping[str, int] | None = None,
        on_parent_death: signal.Signals | None = signal.SIGKILL,
    ) -> None:
        self.alias = alias
        self._directory = directory
        self._properties = dict(properties or {})
        self._users = dict(users or {})
        self._proxied = proxied
        self._more = dict(listeners or {})
        self._network: Proxy | None = None
        self._separable = separable
        self._links: Proxy | None = None
        self._ports_wanted = tuple(ports)
        self._java = tuple(java)
        self._jars = jars
        self._features = dict(features or {})
        self._ids = tuple(range(1, brokers + 1))
        self._nodes = self._ids if brokers == 1 else (*self._ids, _CONTROLLER)
        self._servers = {node: Server(f"{alias}-{node}", directory, on_parent_death=on_parent_death) for node in self._nodes}

    # ------------------------------------------------------------ where it answers

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` of the plain listener."""
        return self._addresses("plain")

    def bootstrap_without(self, broker: int) -> str:
        """`bootstrap` less one broker: a client that asks a paused one first waits for long."""
        return ",".join(f"{LOOPBACK}:{self._port(node, 'plain')}" for node in self._ids if node != broker)

    @property
    def secure_bootstrap(self) -> str:
        """`bootstrap.servers` of the SASL listener; only with `users`."""
        return self._addresses("sasl")

    @property
    def proxied_bootstrap(self) -> str:
        """`bootstrap.servers` of the listener that `network` leads to; only with `proxied`."""
        return self._addresses("network")

    @property
    def network(self) -> Proxy:
        """What lies between the cluster and the clients of `proxied_bootstrap`, while the cluster runs; only with `proxied`."""
        if self._network is None:
            raise ServiceFailed(f"'{self.alias}' has no network to change: it does not run, or was not made with `proxied`.")
        return self._network

    @property
    def links(self) -> Proxy:
        """What lies between the `separable` broker and the rest of its cluster, while the cluster runs."""
        if self._links is None:
            raise ServiceFailed(f"'{self.alias}' has no links to cut: it does not run, or was not made with `separable`.")
        return self._links

    def bootstrap_of(self, listener: str) -> str:
        """`bootstrap.servers` of one of `listeners`."""
        return self._addresses(listener)

    @property
    def running(self) -> bool:
        """Whether every process of the cluster runs."""
        return all(server.running for server in self._servers.values())

    @property
    def pids(self) -> list[int]:
        """The process ids of its nodes that run."""
        return [pid for server in self._servers.values() if (pid := server.pid) is not None]

    # ------------------------------------------------------------ start and stop

    def start(self, broker: int | None = None, timeout: float = 180.0) -> None:
        """Starts what does not run (or that one broker) and returns when all that run answer; formats the directory first if it is new."""
        self.launch(broker)
        self.wait_ready(timeout)

    def launch(self, broker: int | None = None) -> None:
        """Starts without waiting, so that clusters which are launched together are ready together."""
        self._prepare()
        if self._proxied and self._network is None:
            self._network = Proxy({self._port(node, "network"): self._port(node, "proxied") for node in self._ids})
            self._network.start()
        if self._separable is not None and self._links is None:
            here, controller = self._separable, self._nodes[-1]
            routes = {"peers-link": self._port(here, "peers"), "controller-link": self._port(controller, "linked")}
            self._links = Proxy({self._port(here, link): port for link, port in routes.items()})
            self._links.start()
        for node in self._nodes if broker is None else (broker,):
            server = self._servers[node]
            if not server.running:
                for port in self._ports(node):
                    require_free(port, f"broker {node} of the cluster '{self.alias}'")
                server.start(java_command("kafka.Kafka", self._file(node), options=self._java, jars=self._jars))

    def wait_ready(self, timeout: float = 180.0) -> None:
        """Returns when every broker that runs is a member of this very cluster; raises ServiceFailed with the end of its log."""
        running = [node for node in self._ids if self._servers[node].running]
        client = AdminClient({"bootstrap.servers": self.bootstrap, "reconnect.backoff.max.ms": 200, "log_level": 0})
        for node in running:
            self._servers[node].wait(partial(is_listening, self._port(node, "plain")), timeout, "listen")
            self._servers[node].wait(partial(self._is_member, client, node), timeout, "join its cluster")

    def stop(self, broker: int | None = None, timeout: float = 20.0) -> None:
        """Stops all (or one broker) in order, controlled shutdown included; what does not end within `timeout` seconds is killed."""
        chosen = self._ids if broker is None else (broker,)
        with ThreadPoolExecutor(len(self._ids)) as pool:
            list(pool.map(lambda node: self._servers[node].stop(timeout), chosen))
        if broker is None and _CONTROLLER in self._servers:
            self._servers[_CONTROLLER].stop()
        if broker is None:
            self._stop_proxies()

    def discard(self) -> None:
        """Ends a cluster that is not started again, sooner than in order: kill -9 of every node."""
        for server in self._servers.values():
            server.kill()
        self._stop_proxies()

    def _stop_proxies(self) -> None:
        for proxy in (self._network, self._links):
            if proxy is not None:
                proxy.stop()
        self._network = self._links = None

    def kill(self, broker: int = 1) -> None:
        """kill -9."""
        self._servers[broker].kill()

    def pause(self, broker: int = 1) -> None:
        """SIGSTOP: the broker keeps its connections and answers nothing."""
        self._servers[broker].send(signal.SIGSTOP)

    def resume(self, broker: int = 1) -> None:
        """SIGCONT after `pause`."""
        self._servers[broker].send(signal.SIGCONT)

    def log_tail(self, lines: int = 30) -> str:
        """The last lines of every node's log."""
        return "\n".join(server.log_tail(lines) for server in self._servers.values())

    @property
    def logs(self) -> list[Path]:
        """Every node's log file."""
        return [server.log for server in self._servers.values()]

    # ------------------------------------------------------------ the directory

    def _prepare(self) -> None:
        """Chooses ports, writes the properties files and formats, once for a directory."""
        self._directory.mkdir(parents=True, exist_ok=True)
        if not self._ports_file.exists():
            listeners = self._list_listeners()
            ports = zip(listeners, free_ports(len(listeners)), strict=True)
            self._ports_file.write_text("\n".join(f"{node} {listener} {port}" for (node, listener), port in ports))
        for node in self._nodes:
            lines = (f"{name}={value}" for name, value in self._settings(node).items())
            self._file(node).write_text("\n".join(lines) + "\n")
        self._format_new()

    def _format_new(self) -> None:
        """Formats what was never formatted."""
        unformatted = [node for node in self._nodes if not (self._data(node) / "meta.properties").exists()]
        if unformatted:
            cluster_id = self._cluster_id()
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda node: self._format(cluster_id, self._file(node)), unformatted))

    def _format(self, cluster_id: str, properties: Path) -> None:
        levels = [word for name, level in self._features.items() for word in ("--feature", f"{name}={level}")]
        arguments: tuple[str | Path, ...] = ("format", "-t", cluster_id, "-c", properties, *levels)
        command = java_command("kafka.tools.StorageTool", *arguments, options=QUICK_START, jars=self._jars)
        done = subprocess.run(command, capture_output=True, text=True, timeout=180)
        if done.returncode:
            reason = "\n".join(line for line in (done.stderr or done.stdout).splitlines() if not line.startswith("\tat "))
            raise ServiceFailed(f"The storage for {properties} could not be formatted: {reason}")

    def _is_member(self, client: AdminClient, node: int) -> bool:
        """Whether the cluster knows the broker. If another cluster's broker answers at its port, this one cannot listen, and ends."""
        try:
            metadata = client.list_topics(timeout=5)
        except KafkaException:
            return False
        return node in metadata.brokers and self._is_id(str(metadata.cluster_id))

    def _is_id(self, cluster_id: str) -> bool:
        """Whether this is the cluster's id."""
        return cluster_id == self._cluster_id()

    @property
    def _ports_file(self) -> Path:
        return self._directory / "ports"

    def _cluster_id(self) -> str:
        file = self._directory / "cluster.id"
        if not file.exists():
            file.write_text(urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=").replace("-", "A"))
        return file.read_text()

    def _list_listeners(self) -> list[tuple[int, str]]:
        """The nodes' listeners, and the ports of `network` and `links`, which are chosen and stored with those of the brokers."""
        ports = [(node, listener) for node in self._nodes for listener in self._listeners(node)]
        links = [] if self._separable is None else [(self._separable, "peers-link"), (self._separable, "controller-link")]
        return ports + [(node, "network") for node in self._ids if self._proxied] + links

    def _port(self, node: int, listener: str) -> int:
        wanted = dict(zip(self._list_listeners(), self._ports_wanted, strict=False)).get((node, listener))
        if wanted is not None:
            return wanted
        if not self._ports_file.exists():
            self._prepare()
        for line in self._ports_file.read_text().splitlines():
            owner, name, port = line.split()
            if (int(owner), name) == (node, listener):
                return int(port)
        raise ServiceFailed(f"'{self.alias}' in {self._directory} has no {listener} listener on node {node}; was it made with `users`?")

    def _ports(self, node: int) -> list[int]:
        return [self._port(node, listener) for listener in self._listeners(node)]

    def _addresses(self, listener: str) -> str:
        return ",".join(f"{LOOPBACK}:{self._port(node, listener)}" for node in self._ids)

    def _file(self, node: int) -> Path:
        return self._directory / f"{node}.properties"

    def _data(self, node: int) -> Path:
        return self._directory / f"data-{node}"

    # ------------------------------------------------------------ settings

    def _listeners(self, node: int) -> list[str]:
        if node == _CONTROLLER:
            return ["controller"] if self._separable is None else ["controller", "linked"]
        optional = {
            "sasl": bool(self._users),
            "proxied": self._proxied,
            "peers": self._separable is not None,
            "controller": len(self._ids) == 1,
        }
        return ["plain", *(listener for listener, wanted in optional.items() if wanted), *self._more]

    def _settings(self, node: int) -> dict[str, str]:
        listeners = {name: f"{name.upper()}://{LOOPBACK}:{self._port(node, name)}" for name in self._listeners(node)}
        advertised = {name: address for name, address in listeners.items() if name not in ("controller", "linked")}
        if "proxied" in listeners:
            advertised["proxied"] = f"PROXIED://{LOOPBACK}:{self._port(node, 'network')}"
        controller = self._nodes[-1]
        voter, controllers = self._port(controller, "controller"), ["CONTROLLER"]
        if node == self._separable:
            advertised["peers"] = f"PEERS://{LOOPBACK}:{self._port(node, 'peers-link')}"
            voter, controllers = self._port(node, "controller-link"), ["LINKED"]
        copies = str(len(self._ids))
        majority = str(len(self._ids) // 2 + 1)
        settings = {
            "process.roles": ",".join((["controller"] if "controller" in listeners else []) + (["broker"] if advertised else [])),
            "node.id": str(node),
            "controller.quorum.voters": f"{controller}@{LOOPBACK}:{voter}",
            "listeners": ",".join(listeners.values()),
            "listener.security.protocol.map": ",".join(f"{name.upper()}:{protocol}" for name, protocol in self._protocols().items()),
            "controller.listener.names": ",".join(controllers),
            "log.dirs": str(self._data(node)),
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": majority,
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": majority,
        }
        if node == self._separable:
            # After this time a broker that is cut off asks for its controller without a pause, and keeps a processor busy.
            settings["controller.quorum.fetch.timeout.ms"] = "600000"
        if advertised:
            settings |= {
                "advertised.listeners": ",".join(advertised.values()),
                "inter.broker.listener.name": "PEERS" if "peers" in listeners else "PLAIN",
            }
        elif self._separable is not None:
            # A broker begins at a voter's address and goes on at the one that the leader advertises on the listener it was asked on.
            link = f"LINKED://{LOOPBACK}:{self._port(self._separable, 'controller-link')}"
            settings |= {"controller.listener.names": "CONTROLLER,LINKED", "advertised.listeners": f"{listeners['controller']},{link}"}
        return settings | _TEST_SETTINGS | self._security() | self._properties

    def _protocols(self) -> dict[str, str]:
        plain = dict.fromkeys(("plain", "proxied", "controller", "peers", "linked"), "PLAINTEXT")
        return plain | {"sasl": "SASL_PLAINTEXT"} | {name: listener.protocol for name, listener in self._more.items()}

    def _security(self) -> dict[str, str]:
        more = {f"listener.name.{name}.{key}": value for name, listener in self._more.items() for key, value in listener.properties.items()}
        if not self._users:
            return more
        accounts = " ".join(f'user_{name}="{password}"' for name, password in self._users.items())
        return more | {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl.plain.sasl.jaas.config": f"org.apache.kafka.common.security.plain.PlainLoginModule required {accounts};",
        }


@contextmanager
def run_clusters(*clusters: KafkaCluster) -> Iterator[None]:
    """Launches clusters together, which takes hardly longer than one, and discards them at the end of the block."""
    try:
        for cluster in clusters:
            cluster.launch()
        for cluster in clusters:
            cluster.wait_ready()
        yield
    finally:
        for cluster in clusters:
            cluster.discard()
