"""`kafka-mirror spark serve`: Spark's own Connect server out of pyspark's jars, set up for the mirror, in the foreground on 127.0.0.1."""

import os
import secrets
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from urllib.parse import quote

from kafka_mirror.errors import UsageError
from kafka_mirror.spark.connect_url import USER
from kafka_mirror.spark.start import environment, program, tuned_spark

TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 — the name of the variable that Spark's own client and server read
LOOPBACK = "127.0.0.1"
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_UP_SECONDS = 120.0
# Spark's own two ports, the driver's and that of its blocks, hold the tasks with their secrets: with spark.authenticate they ask for a
# secret that a local master makes for itself.
# Sessions stay, for their Python workers are warm and the mirror names them; artifacts and Python's commands stay in the private directory.
_SETTINGS = """\
spark.authenticate true
spark.ui.enabled false
spark.log.level WARN
spark.driver.bindAddress 127.0.0.1
spark.driver.host 127.0.0.1
spark.driver.memory {memory}
spark.driver.extraJavaOptions {archive}-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms48m
spark.speculation false
spark.python.unix.domain.socket.enabled true
spark.connect.grpc.binding.address 127.0.0.1
spark.connect.grpc.binding.port {port}
spark.connect.session.manager.defaultSessionTimeout 7d
spark.connect.authenticate.token {token}
"""


@dataclass(frozen=True)
class ConnectServer:
    """What the server is to be. `cores` 0: all of this host."""

    port: int
    cores: int
    memory: str
    token: str

    @property
    def master(self) -> str:
        """The local master; four attempts at a task, as on a cluster."""
        return f"local[{self.cores or '*'},4]"

    def build_settings(self, archive: str) -> str:
        """The properties file, token included."""
        return _SETTINGS.format(memory=self.memory, port=self.port, token=self.token, archive=archive)

    def build_connection_uri(self, show_token: bool) -> str:
        """The Airflow connection, as AIRFLOW_CONN_<NAME> takes it."""
        return f"spark-connect://{USER}:{quote(self.token, safe='') if show_token else '***'}@{LOOPBACK}:{self.port}"


def token_of(path: Path) -> tuple[str, str]:
    """The token, and where it is from: the variable SPARK_CONNECT_AUTHENTICATE_TOKEN, else the file, which is made if there is none.

    Raises UsageError if somebody else may read the file, or it holds no token.
    """
    given = os.environ.get(TOKEN, "")
    if given:
        return given, f"the variable {TOKEN}"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_token(path), str(path)
    except OSError as failure:
        raise UsageError(
            f"The token cannot be written into {path}: {failure.strerror}.", next="Name another file by --token-file."
        ) from None
    token = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{token}\n")
    return token, str(path)


def serve(server: ConnectServer, token_source: str, show_token: bool) -> int:
    """Runs the server until it ends or this process is asked to end; its exit code. Says on standard error how to reach it."""
    _check_free(server.port)
    with tempfile.TemporaryDirectory(prefix="mirror-spark-serve-") as directory:
        scratch = Path(directory)
        tuned = tuned_spark()
        properties = scratch / "spark.properties"
        properties.touch(mode=0o600)
        archive = f"-XX:SharedArchiveFile={tuned.archive} -Xlog:cds=off -Xlog:cds+dynamic=off " if tuned else ""
        properties.write_text(server.build_settings(archive), encoding="utf-8")
        command = [
            program(server.master, "spark-submit", tuned),
            *("--master", server.master, "--properties-file", str(properties)),
            *("--name", "mirror spark server", "--class", _SERVER, "spark-internal"),
        ]
        variables = {name: value for name, value in os.environ.items() if name != TOKEN}
        child = subprocess.Popen(
            command,
            env={**variables, **environment(server.master, (), tuned, scratch)},
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            stderr=sys.stderr,
        )
        return _run_to_its_end(child, server, token_source, show_token)


def _run_to_its_end(child: "subprocess.Popen[bytes]", server: ConnectServer, token_source: str, show_token: bool) -> int:
    def end(_signal: int, _frame: FrameType | None) -> None:
        child.terminate()

    # Ctrl-C reaches the server too, which ends by itself.
    previous = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        if _await_port(child, server.port):
            how_to_reach = (
                f"Spark listens on sc://{LOOPBACK}:{server.port} with {server.master}. Its token is in {token_source}. Ctrl-C ends it.\n"
                f"Airflow's connection: AIRFLOW_CONN_MIRROR_SPARK='{server.build_connection_uri(show_token)}'.\n"
                f"By hand: --master sc://{LOOPBACK}:{server.port}, with the token in {TOKEN}."
            )
            print(how_to_reach, file=sys.stderr, flush=True)  # noqa: T201 — the command's own words
        return child.wait()
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        for number, handler in previous.items():
            signal.signal(number, handler)


def _await_port(child: "subprocess.Popen[bytes]", port: int) -> bool:
    """Whether the server listens; False if it ended before."""
    deadline = time.monotonic() + _UP_SECONDS
    while child.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection((LOOPBACK, port), 1.0).close()
        except OSError:
            time.sleep(0.1)
        else:
            return True
    return False


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as failure:
            raise UsageError(f"Port {port} of {LOOPBACK} cannot be used: {failure.strerror}.", next="Name another one by --port.") from None


def _read_token(path: Path) -> str:
    mode = path.stat().st_mode
    if stat.S_IMODE(mode) & 0o077:
        raise UsageError(f"Others may read the token in {path}.", next=f"Run chmod 600 {path}, and have a new token made if somebody did.")
    token = path.read_text(encoding="utf-8").strip()
    if not token or any(character.isspace() for character in token):
        raise UsageError(f"{path} holds no token: it must be one word.", next="Delete the file; a new token is made.")
    return token
