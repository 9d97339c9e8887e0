"""What the benchmarks count: a worker of Spark whose parent never waits for it, too."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from kafka_mirror.spark import worker
from lab.bench.processes import RunningTree, cost_of
from services.waiting import eventually

# As Spark's daemon does: the kernel adds the CPU time of its children to no process.
DAEMON = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
reader, writer = os.pipe()
time.sleep(0.3)
if not os.fork():
    while time.process_time() < 1.0: pass
    time.sleep(0.1)
    if sys.argv[2] == "ends first": os.write(writer, b"x")
    time.sleep(0.1)
    os._exit(0)
os.close(writer)
os.read(reader, 1)
if sys.argv[2] == "stays": time.sleep(600)
"""
COMMANDS = [[sys.executable, "-c", DAEMON, module] for module in ("pyspark.daemon", worker.MODULE)]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[-1])
@pytest.mark.parametrize("order", ["waits", "ends first"])
def test_a_commands_cost_has_the_cpu_time_of_workers_once(order: str, command: list[str]) -> None:
    # The command starts the daemon, as a JVM does.
    cost = cost_of([sys.executable, "-c", f"import subprocess; subprocess.run({[*command, order]!r}, check=True)"], memory=True)
    assert 1.0 <= cost.cpu < 2.0, "twice would be more"
    assert cost.megabytes > 3


def test_a_running_tree_keeps_the_cpu_time_of_workers_that_ended() -> None:
    program = f"import subprocess; subprocess.run({[*COMMANDS[0], 'stays']!r})"
    parent = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    try:
        with RunningTree(parent.pid) as tree:
            eventually(lambda: tree.cpu >= 1.0, "the worker's CPU time")
            eventually(lambda: len(psutil.Process(parent.pid).children(recursive=True)) == 1, "the worker's end")
            assert 1.0 <= tree.cpu < 2.0
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
