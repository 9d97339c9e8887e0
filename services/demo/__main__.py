"""`python -m services.demo` starts the demo and returns when it has shown that it mirrors; `python -m services.demo stop` ends it.

Exit code 0, or 1 with the reason. Whatever happened, `stop` ends exactly the processes that were started.
"""

import fcntl
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx

from kafka_mirror.config import Flow, load
from kafka_mirror.errors import MirrorError
from services.airflow_api import AirflowApi, AirflowApiError
from services.demo.failover import GROUP
from services.demo.progress import Progress
from services.demo.scenes import read_scenes, show
from services.demo.settings import (
    COPY_SECONDS,
    DOWNSTREAM,
    FLOW,
    DemoFailed,
    DemoRefused,
    Ports,
    chosen_ports,
    directory,
    record_ports,
    recorded_ports,
    variable,
)
from services.demo.shop import RETURNS
from services.demo.stack import Stack
from services.demo.verify import compare, format_rows, wait_until_mirrored
from services.oracle import Oracle, OracleError
from services.ports import PortInUse
from services.processes import ServiceFailed

COPY_TIMEOUT = 400.0
_EXPECTED = (DemoFailed, ServiceFailed, PortInUse, AirflowApiError, OracleError, MirrorError, OSError, httpx.HTTPError)


def demo(home: Path, progress: Progress) -> None:
    """Starts what does not run yet, and shows that both sides are equal."""
    stack = _stack(home, progress)
    began = datetime.now(UTC)
    with progress.step("PostgreSQL and the Kafka clusters east and west"):
        stack.start_servers()
    stack.start_producer()
    stack.start_inbox()
    stack.start_spark()
    with progress.step("Airflow: api-server, scheduler, dag-processor, triggerer"):
        stack.airflow.start()
    stack.start_retention()
    with progress.step("the producer's backlog: orders, payments, clicks"):
        stack.wait_for_backlog()
    flow, api = load([stack.configuration]).flow(FLOW), stack.airflow.api()
    played = read_scenes(home)
    with progress.step("DAGs"):
        prepare_airflow(flow, api)
    with progress.step(f"scheduled runs of {flow.dag_id('copy')} mirror what is there") as say:
        runs = wait_until_mirrored(flow, api, began, COPY_TIMEOUT, say, may_be_red=played is not None)
    with progress.step("both sides read back and compared"), Oracle(home / "oracle.log") as oracle:
        rows, comparisons = compare(flow, oracle)
    different = [str(comparison) for comparison in comparisons if not comparison.equal]
    if different:
        raise DemoFailed("\n".join(["The mirror is not equal to its source:", *different]))
    progress.say("\n" + "\n".join(format_rows(rows)) + "\n")
    progress.say(f"{_explanation(sum(row.records for row in rows), runs)}\n")
    played = played or show(stack, flow, api, progress)
    progress.say(f"\n{played.text(stack, flow)}\n\n{_addresses(stack, flow)}")
    progress.say(f"\nReady after {progress.seconds:.0f} s.")


def prepare_airflow(flow: Flow, api: AirflowApi) -> None:
    """Unpauses the flow's DAGs."""
    api.wait_for_dags([flow.dag_id("copy"), flow.dag_id("refresh-topics")])
    for dag, state in api.dags().items():
        if state["is_paused"]:
            api.unpause(dag)


def stop(home: Path, progress: Progress) -> None:
    """Ends all that runs, in order; the data stays."""
    running = [part for part in Stack(home, recorded_ports(home)).parts() if part.running()] if home.exists() else []
    for part in running:
        with progress.step(f"stopping {part.name}"):
            part.stop()
    progress.say(f"The demo is stopped; its data stays in {_short(home)} for the next `make demo`." if running else "No demo is running.")


def _stack(home: Path, progress: Progress) -> Stack:
    """On the ports of the environment, or on those on which it runs already. Raises DemoRefused if another process has a port."""
    ports, earlier = chosen_ports(), Stack(home, recorded_ports(home))
    running = [part.name for part in earlier.parts() if part.running()]
    progress.say(f"Demo of the flow {FLOW}, in {_short(home)}{'; already running: ' + ', '.join(running) if running else ''}")
    if running and earlier.ports != ports:
        progress.say(
            f"  It keeps the ports it runs on; `make stop` first, then other ones ({_list_ports(ports, earlier.ports)}) take effect."
        )
    stack = earlier if running else Stack(home, ports)
    occupied = stack.find_occupied_ports()
    if occupied:
        raise DemoRefused("\n".join([*map(str, occupied), _suggest_ports(stack.ports, occupied)]))
    record_ports(home, stack.ports)
    return stack


def _suggest_ports(ports: Ports, occupied: Sequence[PortInUse]) -> str:
    taken = {problem.port for problem in occupied}
    names = [name for name, port in vars(ports).items() if port in taken or (name in ("east", "west") and port + 1 in taken)]
    return f"Free it, or choose another one: {' '.join(f'{variable(name)}=<port>' for name in names)} make demo"


def _list_ports(ports: Ports, others: Ports) -> str:
    return ", ".join(f"{variable(name)}={port}" for name, port in vars(ports).items() if port != getattr(others, name))


def _explanation(records: int, runs: int) -> str:
    return f"""\
{records:,} records are equal on both sides: key, value, headers, timestamp, partition and order, as Kafka's own Java client reads them.
source end and watermark are offsets, which count aborted records and transaction markers too. lag is what the producer,
which goes on, wrote after the last copy planned; a copy runs every {COPY_SECONDS} s. Runs watched: {runs}."""


def _addresses(stack: Stack, flow: Flow) -> str:
    airflow, configuration = stack.airflow, _short(stack.configuration)
    return f"""\
  Airflow  {airflow.url}/dags/{flow.dag_id("copy")}
           user admin, password {airflow.password()}
  Mirror   {airflow.url}/plugin/mirror  (how the flow stands, and what to decide)
  reader   {airflow.url}/dags/{DOWNSTREAM}  (starts when an hour of clicks is complete)
  alerts   {_short(stack.alerts)}
  Kafka    east {stack.east.bootstrap}, west {stack.west.bootstrap}
  logs     {_short(stack.home)}/*/*.log
  end it   make stop

To try by hand, in this directory:
  export PYTHONPATH=include MIRROR_CONFIG={configuration}
  .venv/bin/python -m kafka_mirror status
  .venv/bin/python -m kafka_mirror audit
  .venv/bin/python -m kafka_mirror translate --group {GROUP}
  .venv/bin/python -m kafka_mirror decide accept-gap --flow '{FLOW}' --topic {RETURNS} --reason "they are not needed"
The last one answers the alert, as «accept the gap» does on the status page."""


def _short(path: Path) -> str:
    """The path relative to the current directory, where it lies below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


@contextmanager
def _lock(home: Path) -> Iterator[None]:
    """One `make demo` or `make stop` at a time. Raises DemoRefused."""
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o711)  # a root user's PostgreSQL runs as another user, who must get through
    with (home / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoFailed(
                f"Another `make demo` or `make stop` is at work in {_short(home)}: wait for it, or end it with Ctrl-C."
            ) from None
        os.set_inheritable(lock.fileno(), False)
        yield


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 or 1."""
    if list(arguments) not in ([], ["stop"]):
        print("Usage: python -m services.demo [stop]", file=sys.stderr)
        return 1
    work: Callable[[Path, Progress], None] = stop if arguments else demo
    home, progress = directory(), Progress()
    try:
        with _lock(home):
            work(home, progress)
    except KeyboardInterrupt:
        progress.say("\nInterrupted. `make stop` ends what was started; `make demo` goes on from here.")
        return 1
    except DemoRefused as problem:
        progress.say(str(problem))
        return 1
    except _EXPECTED as problem:
        progress.say(f"\nThe demo could not go on: {problem}")
        progress.say(f"\nThe logs are in {_short(home)}/*/*.log. `make stop` ends what runs; `make demo` goes on from here.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
