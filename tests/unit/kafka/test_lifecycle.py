"""Closing a client: waited for, but not for ever."""

import logging
import threading

import pytest

from mirror.kafka.lifecycle import close


class Client:
    def __init__(self, act):
        self.close = act


def test_it_is_closed_when_the_call_returns():
    closed = []
    assert close(Client(lambda: closed.append(True)))
    assert closed == [True]


def test_one_that_never_ends_is_left_behind_and_said(caplog):
    released = threading.Event()
    with caplog.at_level(logging.WARNING):
        assert not close(Client(released.wait), seconds=0.05)
    assert "client did not close within 0.05 s" in caplog.text
    released.set()


def test_what_its_close_raises_is_raised():
    def fail():
        raise RuntimeError("consumer closed twice")

    with pytest.raises(RuntimeError, match="closed twice"):
        close(Client(fail))
