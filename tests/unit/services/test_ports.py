"""Ports on 127.0.0.1."""

import os
import socket

import pytest

from services.ports import LOOPBACK, PortInUse, free_ports, is_free, require_free


def test_free_ports_are_different_and_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(is_free(port) for port in ports)


def test_port_in_use_names_the_port_the_service_and_the_holder() -> None:
    with socket.socket() as held:
        held.bind((LOOPBACK, 0))
        held.listen()
        port = held.getsockname()[1]
        with pytest.raises(
            PortInUse, match=rf"Port {port} on 127\.0\.0\.1, which the demo's Airflow needs, is in use by .*process {os.getpid()}"
        ):
            require_free(port, "the demo's Airflow")
