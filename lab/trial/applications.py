"""Applications of both client libraries, each library's in a process of its own, which is asked over JSON lines."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.java import ROOT, java_command
from services.oracle import compiled_classes

SOURCES = Path(__file__).with_name("applications")
JAVA, LIBRDKAFKA = "java", "librdkafka"


class ApplicationFailed(RuntimeError):
    """Raised when an application could not be started, or failed while it ran; the message is what its client said."""


class Library:
    """The process with the applications of one client library."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True, cwd=ROOT, start_new_session=True
            )

    def ask(self, command: str, name: str, **request: Any) -> None:
        """Starts or ends an application. Raises ApplicationFailed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"command": command, "name": name, **request}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": "its process ended"}
        if "error" in answer:
            raise ApplicationFailed(f"{command} {name}: {answer['error']}")

    def kill(self) -> None:
        """SIGKILL: the applications are gone as with their site."""
        self._process.kill()

    def stop(self) -> None:
        """Ends the process; what still runs in it is cut off."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def libraries(directory: Path) -> Iterator[dict[str, Library]]:
    """Runs both libraries inside the block; gives them by name."""
    commands = {
        JAVA: java_command("Applications", heap="384m", options=("-XX:TieredStopAtLevel=1",), class_path=(compiled_classes(SOURCES),)),
        LIBRDKAFKA: [sys.executable, "-m", "lab.trial.librdkafka_applications"],
    }
    with ExitStack() as stack:
        started = {}
        for name, command in commands.items():
            started[name] = Library(command, directory / f"{name}.log")
            stack.callback(started[name].stop)
        yield started


@dataclass(frozen=True)
class Cluster:
    """A cluster that applications use: its name in journals, and its servers."""

    alias: str
    bootstrap: str


@dataclass(frozen=True)
class ProducerApplication:
    """A producer of one topic's numbered records."""

    library: str
    name: str
    partitions: int
    is_transactional: bool = False
    pause_ms: int = 20
    delivery_timeout_ms: int = 60_000
    transaction_timeout_ms: int = 20_000

    def start(self, library: Library, cluster: Cluster, topic: str, journal: Path) -> None:
        """Starts it on a cluster; the numbers go on where they were."""
        library.ask(
            "produce",
            self.name,
            bootstrap=cluster.bootstrap,
            cluster=cluster.alias,
            topic=topic,
            partitions=self.partitions,
            transactional_id=self.name if self.is_transactional else None,
            pause_ms=self.pause_ms,
            delivery_timeout_ms=self.delivery_timeout_ms,
            transaction_timeout_ms=self.transaction_timeout_ms,
            journal=str(journal),
        )


@dataclass(frozen=True)
class ConsumerApplication:
    """The only member of a consumer group."""

    library: str
    group: str
    protocol: str = "classic"
    pause_ms: int = 0

    @property
    def name(self) -> str:
        """The group's name."""
        return self.group

    def start(self, library: Library, cluster: Cluster, topics: Sequence[str], journal: Path) -> None:
        """Starts it on a cluster."""
        library.ask(
            "consume",
            self.name,
            bootstrap=cluster.bootstrap,
            cluster=cluster.alias,
            group=self.group,
            protocol=self.protocol,
            topics=list(topics),
            pause_ms=self.pause_ms,
            journal=str(journal),
        )
