"""Apicurio Registry on this machine: a real schema registry, in memory, that answers Confluent's API below `/apis/ccompat/v7`."""

from pathlib import Path

import httpx

from services.java import fetched, java
from services.ports import LOOPBACK, free_ports
from services.processes import Server

_ARTIFACT = "io.apicurio:apicurio-registry-app:3.0.9:tar.gz:all"
"""The last release that runs on Java 17, with all that it needs."""
_UNPACK = "org.apache.maven.plugins:maven-dependency-plugin:2.8:unpack"
"""Newer versions want the descriptors of the artifact's parents too."""


class ApicurioRegistry:
    """One registry; what it holds goes with its process."""

    def __init__(self, directory: Path) -> None:
        self._server = Server("apicurio", directory)
        self._port = free_ports(1)[0]

    @property
    def url(self) -> str:
        """The address of Confluent's API."""
        return f"http://{LOOPBACK}:{self._port}/apis/ccompat/v7"

    def start(self) -> None:
        """Starts it, and waits until it answers. Maven fetches it the first time (109 MB)."""
        home = fetched("apicurio-3.0", _UNPACK, f"-Dartifact={_ARTIFACT}")
        [program] = home.glob("*-runner.jar")
        settings = [f"-Dquarkus.http.host={LOOPBACK}", f"-Dquarkus.http.port={self._port}", "-Dquarkus.log.level=WARN"]
        options = ["-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *settings]
        self._server.start([java(), *options, "-jar", str(program)], cwd=home)
        self._server.wait(self._answers, 120, "answer")

    def stop(self) -> None:
        """Ends it."""
        self._server.stop()

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/subjects").status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False
