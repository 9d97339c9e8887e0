"""Ports on 127.0.0.1."""

import os
import socket
import subprocess
import sys

import pytest

from services import ports
from services.ports import LOOPBACK, PortInUse, free_ports, is_free, require_free


def test_free_ports_are_different_and_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(is_free(port) for port in ports)


def test_no_port_is_given_twice_though_no_process_listens_on_it_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    first = free_ports(1)[0]
    drawn = iter([first, first, first + 1, first + 2, first + 3, first + 4])
    monkeypatch.setattr(ports.random, "choice", lambda candidates: next(drawn))
    assert free_ports(1) != [first]


def test_no_port_is_given_to_another_process_while_the_one_that_has_it_lives() -> None:
    here = free_ports(1)[0]
    program = (
        "import sys; from services import ports; here = int(sys.argv[1]); drawn = iter(range(here, here + 9));"
        "ports.random.choice = lambda candidates: next(drawn); print(ports.free_ports(1)[0])"
    )
    elsewhere = subprocess.run([sys.executable, "-c", program, str(here)], capture_output=True, text=True, check=True, timeout=60)
    assert int(elsewhere.stdout) > here


def test_port_in_use_names_the_port_the_service_and_the_holder() -> None:
    with socket.socket() as held:
        held.bind((LOOPBACK, 0))
        held.listen()
        port = held.getsockname()[1]
        with pytest.raises(
            PortInUse, match=rf"Port {port} on 127\.0\.0\.1, which the demo's Airflow needs, is in use by .*process {os.getpid()}"
        ):
            require_free(port, "the demo's Airflow")
