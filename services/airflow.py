"""A real Airflow on this machine: api-server, scheduler, dag-processor and triggerer, each a process; LocalExecutor and PostgreSQL."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from cryptography.fernet import Fernet

from services.airflow_api import AirflowApi
from services.java import ROOT
from services.ports import LOOPBACK, free_ports, require_free
from services.processes import Server, ServiceFailed

_BIN = Path(sys.executable).parent
# In the order in which they are stopped: all at once leaves the scheduler hanging. `-s`: no log server, the files are on this machine.
COMPONENTS = {
    "scheduler": ("scheduler", "-s"),
    "dag-processor": ("dag-processor",),
    "triggerer": ("triggerer", "-s"),
    "api-server": ("api-server",),
}
_HEALTH_NAMES = {"scheduler": "scheduler", "dag-processor": "dag_processor", "triggerer": "triggerer"}


class AirflowServices:
    """One Airflow with a home directory of its own.

    `users` is {name: role}; each password is made with the directory (`password(name)`). `environment` reaches every process, tasks
    included: MIRROR_CONFIG, AIRFLOW_CONN_*, AIRFLOW__* that differ from those below. `bin` is where the program `airflow` is. With
    `teams`, {name: folder of its DAG files}, each is a bundle, and users' roles may name teams: `user:paris`.
    """

    def __init__(
        self,
        directory: Path,
        database_url: str,
        *,
        dags: Path = ROOT / "dags",
        plugins: Path = ROOT / "plugins",
        environment: Mapping[str, str] | None = None,
        users: Mapping[str, str] | None = None,
        teams: Mapping[str, Path] | None = None,
        components: Sequence[str] = tuple(COMPONENTS),
        bin: Path = _BIN,
        port: int | None = None,
        on_parent_death: signal.Signals | None = signal.SIGTERM,
    ) -> None:
        self._directory = directory
        self._database_url = database_url
        self._dags = dags
        self._plugins = plugins
        self._extra = dict(environment or {})
        self._bin = bin
        self._users = dict(users or {"admin": "admin"})
        self._teams = dict(teams or {})
        self._port_wanted = port
        self._servers = {name: Server(name, directory, on_parent_death=on_parent_death) for name in COMPONENTS if name in components}

    # ------------------------------------------------------------ where it answers

    @property
    def url(self) -> str:
        """The UI's address."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def port(self) -> int:
        """The port that was asked for, else one that is chosen with the directory."""
        return self._port_wanted or int(self._secrets()["port"])

    def password(self, user: str = "admin") -> str:
        """A user's password."""
        return str(self._secrets()["passwords"][user])

    def api(self, user: str = "admin") -> AirflowApi:
        """The REST API as one of the users."""
        return AirflowApi(self.url, user, self.password(user))

    @property
    def running(self) -> bool:
        """Whether all its components run."""
        return all(server.running for server in self._servers.values())

    @property
    def any_running(self) -> bool:
        """Whether at least one of its components runs."""
        return any(server.running for server in self._servers.values())

    def pid(self, component: str) -> int | None:
        """The process id of a component; None if it does not run."""
        return self._servers[component].pid

    @property
    def logs(self) -> list[Path]:
        """The log file of each component."""
        return [server.log for server in self._servers.values()]

    def log_tail(self, lines: int = 30) -> str:
        """The last lines of each component's log."""
        return "\n".join(server.log_tail(lines) for server in self._servers.values())

    # ------------------------------------------------------------ start and stop

    def start(self, *components: str, timeout: float = 240.0) -> None:
        """Starts the components that do not run (or those named); returns when Airflow calls all running ones healthy."""
        began = time.time()
        if not self._servers["api-server"].running:
            require_free(self.port, "Airflow's api-server")
        if not self._migrated.exists():
            self.migrate()
            for team in self._teams:
                self.command("teams", "create", team)
        wanted = {name: 0.0 if self._servers[name].running else began for name in components or self._servers}
        for name in wanted:
            self._servers[name].start([str(self._bin / "airflow"), *COMPONENTS[name]], env=self.environment(), cwd=self._directory)
        self._wait_healthy(wanted, timeout)

    def stop(self, *components: str) -> None:
        """Stops all (or those named), one after the other in the order that Airflow needs; kills what does not end."""
        for name, server in self._servers.items():
            if not components or name in components:
                server.stop(timeout=20.0)

    def kill(self, component: str) -> None:
        """kill -9 of a component and all its children: of the scheduler, its workers and the tasks that they run."""
        self._servers[component].kill()

    def command(self, *arguments: str) -> str:
        """Runs `airflow <arguments>` in this environment; raises ServiceFailed with its output."""
        done = subprocess.run([str(self._bin / "airflow"), *arguments], env=self.environment(), capture_output=True, text=True, timeout=240)
        if done.returncode:
            raise ServiceFailed(f"airflow {' '.join(arguments)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return done.stdout

    def migrate(self) -> None:
        """Brings its database up to date. The first `start` does it; call it again where the database may be of another Airflow."""
        self.command("db", "migrate")
        self._migrated.touch()

    @property
    def _migrated(self) -> Path:
        return self._directory / "migrated"

    def _wait_healthy(self, wanted: Mapping[str, float], timeout: float) -> None:
        """`wanted`: the components and when each was started. A heartbeat from before does not count: after a kill, Airflow calls a dead
        component healthy for half a minute."""
        api = AirflowApi(self.url, "", "")
        deadline = time.monotonic() + timeout
        for name, since in {**wanted, "api-server": 0.0}.items():
            self._servers[name].wait(partial(_is_healthy, api, name, since), max(deadline - time.monotonic(), 1), "become healthy")
        api.close()

    # ------------------------------------------------------------ its settings

    def environment(self) -> dict[str, str]:
        """The environment of every process of this Airflow, and of other commands that use it."""
        own_secrets = self._secrets()
        home = self._directory
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW") and name != "PYTHONDONTWRITEBYTECODE"
        }
        return {
            **inherited,
            "PATH": f"{self._bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "PYTHONPATH": str(ROOT / "include"),
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__DAGS_FOLDER": str(self._dags),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(self._plugins),
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__CORE__FERNET_KEY": own_secrets["fernet_key"],
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{name}:{role}" for name, role in self._users.items()),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
            "AIRFLOW__API__HOST": LOOPBACK,
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API__SECRET_KEY": own_secrets["secret_key"],
            "AIRFLOW__API_AUTH__JWT_SECRET": own_secrets["jwt_secret"],
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": self._database_url,
            "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(home / "logs"),
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.25",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
            # What a killed scheduler left running is taken up again when its heartbeat is 30 s old; by default that is looked at only
            # at a scheduler's start, which is too early, and every five minutes.
            "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "10",
            "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "1",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "10",
            # Every look at all files costs seconds of processor time; a file that changed is looked at sooner.
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "120",
            **self._make_team_settings(),
            **self._extra,
        }

    def _make_team_settings(self) -> dict[str, str]:
        kind = "airflow.dag_processing.bundles.local.LocalDagBundle"
        bundles = [
            {"name": team, "classpath": kind, "kwargs": {"path": str(folder)}, "team_name": team} for team, folder in self._teams.items()
        ]
        names = ("AIRFLOW__CORE__MULTI_TEAM", "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST")
        return dict(zip(names, ("True", json.dumps(bundles)), strict=True)) if bundles else {}

    def _secrets(self) -> dict[str, Any]:
        """Port, keys and passwords, made with the directory and kept in files that only their owner reads."""
        file = self._directory / "secrets.json"
        if not file.exists():
            self._directory.mkdir(parents=True, exist_ok=True)
            passwords = {name: secrets.token_urlsafe(12) for name in self._users}
            fresh = {
                "port": self._port_wanted or free_ports(1)[0],
                "fernet_key": Fernet.generate_key().decode(),
                "secret_key": secrets.token_hex(32),
                "jwt_secret": secrets.token_hex(64),
                "passwords": passwords,
            }
            _write_private(self._directory / "passwords.json", passwords)
            _write_private(file, fresh)
        stored: dict[str, Any] = json.loads(file.read_text())
        return stored


def _is_healthy(api: AirflowApi, component: str, since: float) -> bool:
    try:
        health = api.health()
    except httpx.HTTPError:
        return False
    if component not in _HEALTH_NAMES:
        return bool(health["metadatabase"]["status"] == "healthy")
    state = health[_HEALTH_NAMES[component]]
    beat = state.get(f"latest_{_HEALTH_NAMES[component]}_heartbeat")
    return bool(state["status"] == "healthy") and beat is not None and datetime.fromisoformat(beat).timestamp() >= since


def _write_private(file: Path, content: object) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
        json.dump(content, opened)
