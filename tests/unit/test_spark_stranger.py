"""Which ports a stranger asks: those of processes that may end while they are looked at."""

import socket
import subprocess
import sys

import psutil

from tests.spark_stranger import listening


def test_a_process_that_ended_meanwhile_listens_on_nothing_and_the_others_are_asked():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child,
    ):
        ended = psutil.Process(child.pid)
        child.communicate()
        assert server.getsockname()[1] in listening([ended, psutil.Process()])
