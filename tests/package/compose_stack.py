"""docker-compose.yaml, started by podman-compose out of a copy of what it names, as a person would start it in a checkout.

Podman 4.3 has no condition `service_healthy`, it runs no health checks without systemd, and podman-compose stops all services at once. So
this file does what Compose would do: it starts a service when those that it depends on are healthy, by their own health checks, and stops
it before them.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from services.waiting import PATIENCE, eventually
from tests.package.environment import ROOT

PASSWORD_FILE = ".secrets/airflow_password"


class ComposeStack:
    """The services of one project directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._file = directory / "docker-compose.yaml"
        self._services: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yaml").read_text(encoding="utf-8"))["services"]

    def prepare(self, config: Path) -> None:
        """The two commands before the first start, with this configuration."""
        shutil.copy(ROOT / "docker-compose.yaml", self._file)
        shutil.copytree(ROOT / "compose", self.directory / "compose")
        subprocess.run([self.directory / "compose" / "make_secrets.sh"], check=True, capture_output=True)
        (self.directory / "config").mkdir()
        shutil.copy(config, self.directory / "config" / "mm2.properties")

    @property
    def services(self) -> list[str]:
        """Their names, each after those that it depends on."""
        ordered: list[str] = []
        while missing := set(self._services) - set(ordered):
            ordered += sorted(name for name in missing if set(self._services[name].get("depends_on", ())) <= set(ordered))
        return ordered

    @property
    def password(self) -> str:
        """That of Airflow's user admin."""
        return (self.directory / PASSWORD_FILE).read_text()

    def up(self) -> None:
        """Starts all services, and returns when all are well."""
        for name in self.services:
            for other, wait in self._services[name].get("depends_on", {}).items():
                self._wait(other, wait["condition"])
            self.compose("up", "--detach", "--no-build", "--no-deps", name)
        for name in self.services:
            self._wait(name, "service_healthy" if "healthcheck" in self._services[name] else "service_completed_successfully")

    def stop(self) -> None:
        """Stops all services, each before those that it depends on, as Compose does."""
        for name in reversed(self.services):
            self.compose("stop", name)

    def down(self) -> str:
        """Stops and removes all of it, volumes too; what was said."""
        return self.compose("down", "--volumes", "--timeout", "30")

    def exec(self, service: str, *command: str) -> str:
        """What a command prints in a service's container."""
        return self.compose("exec", "-T", service, *command)

    def state(self, service: str) -> dict[str, Any]:
        """What podman says of a service's container."""
        [found] = json.loads(_run(["podman", "inspect", "--type", "container", self._container(service)]))
        return dict(found)

    def is_healthy(self, service: str) -> bool:
        """What the service's own health check says now."""
        done = subprocess.run(["podman", "healthcheck", "run", self._container(service)], capture_output=True, timeout=PATIENCE)
        return done.returncode == 0

    def compose(self, *arguments: str) -> str:
        """Runs podman-compose to its end; what it printed. Fails with that, and with the containers' output, if it fails."""
        return _run(["podman-compose", "--file", str(self._file), *arguments], self._logs)

    def _wait(self, service: str, condition: str) -> None:
        if condition == "service_healthy":
            eventually(lambda: self.is_healthy(service), f"the health of {service}\n{self._logs()}", seconds=3 * PATIENCE, longest=5)
            return
        ended = eventually(lambda: self._ended(service), f"the end of {service}", seconds=3 * PATIENCE)
        assert ended["ExitCode"] == 0, self._logs()

    def _ended(self, service: str) -> dict[str, Any] | None:
        state = self.state(service)["State"]
        return state if state["Status"] == "exited" else None

    def _container(self, service: str) -> str:
        return f"mirror_{service}_1"

    def _logs(self) -> str:
        """The last lines of every container."""
        return "\n".join(self._tail(name) for name in self.services)

    def _tail(self, service: str) -> str:
        command = ["podman", "logs", "--tail", "15", self._container(service)]
        said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
        return f"--- {service}\n{said.stdout}"


def _run(command: Iterable[str], logs: Any = str) -> str:
    done = subprocess.run(list(command), capture_output=True, text=True, timeout=5 * PATIENCE)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}\n{logs()}"
    return done.stdout
