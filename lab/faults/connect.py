"""Faults of a Spark that stays: its server, its Python workers, and the process that asks it to copy."""

import time

from lab.faults.copy_process import CopyProcess
from lab.faults.faults import Fault, Round, await_end
from lab.faults.site import Stuck

_FROZEN_SECONDS = 5


def kill_server(now: Round) -> bool:
    """kill -9 of the server and its workers; the next copy starts another one."""
    copy, hit = _copy_until_moment(now)
    now.site.spark_server.kill()
    await_end(copy)
    _require_good_end(copy)
    return hit


def restart_server(now: Round) -> bool:
    """kill -9 of the server and its workers; a new one answers while the copy still asks for the old one's session."""
    copy, hit = _copy_until_moment(now)
    now.site.spark_server.kill()
    now.site.spark_server.start()
    await_end(copy)
    _require_good_end(copy)
    return hit


def kill_server_workers(now: Round) -> bool:
    """The server's Python workers die; Spark starts their tasks again."""
    copy, hit = _copy_until_moment(now)
    killed = now.site.spark_server.kill_workers()
    await_end(copy)
    return hit and killed > 0


def freeze_server(now: Round) -> bool:
    """The server and its workers stop for some seconds, and continue where they were."""
    copy, hit = _copy_until_moment(now)
    now.add_cleanup(now.site.spark_server.thaw)
    now.site.spark_server.freeze()
    time.sleep(_FROZEN_SECONDS)
    now.site.spark_server.thaw()
    await_end(copy)
    return hit


def kill_client(now: Round) -> bool:
    """kill -9 of the task: its lanes go on running on the server, and the next runs meet them, the first one on the same server."""
    copy, hit = _copy_until_moment(now)
    copy.kill()
    await_end(now.site.connect_copy())
    return hit


def _copy_until_moment(now: Round) -> tuple[CopyProcess, bool]:
    copy = now.site.connect_copy()
    now.add_cleanup(copy.kill)
    return copy, now.await_moment(copy)


def _require_good_end(copy: CopyProcess) -> None:
    """Raises Stuck unless the copy succeeded, or failed because its server was gone, which Airflow retries."""
    log = copy.log.read_text(errors="replace")
    if copy.wait() and "SparkServerUnavailable" not in log:
        raise Stuck(f"a copy whose server was gone logged: {log[-2000:]}")


CONNECT = (
    Fault("server", "kill -9 of the Spark Connect server", kill_server, spark=True),
    Fault("server-again", "Spark Connect server restarted in the middle", restart_server, spark=True),
    Fault("server-worker", "kill -9 of the Connect server's Python workers", kill_server_workers, spark=True),
    Fault("server-slow", "Spark Connect server stands still for a while", freeze_server, spark=True),
    Fault("client", "kill -9 of the client of a Spark Connect server", kill_client, spark=True),
)
