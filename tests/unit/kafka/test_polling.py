"""Waiting until a cluster shows something, by a clock of our own."""

import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from kafka_mirror.kafka import polling
from kafka_mirror.kafka.polling import poll_until, repeat_meanwhile


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time that passes by sleeping alone."""
    passing = SimpleNamespace(now=0.0, pauses=[])

    def sleep(seconds: float) -> None:
        passing.now += seconds
        assert passing.now < 60, "it waits on and on"
        passing.pauses.append(seconds)

    monkeypatch.setattr(polling, "time", SimpleNamespace(monotonic=lambda: passing.now, sleep=sleep))
    return passing


def look_of(clock: SimpleNamespace, looks: list[float]) -> Callable[[], float]:
    """A look that sees what time it is."""

    def look() -> float:
        looks.append(clock.now)
        return clock.now

    return look


def test_what_is_there_at_once_is_not_waited_for(clock: SimpleNamespace) -> None:
    assert poll_until(lambda: "there", 5, every=1) == "there"
    assert clock.pauses == []


def test_it_looks_again_after_each_pause_until_it_has_seen_enough(clock: SimpleNamespace) -> None:
    looks: list[float] = []
    assert poll_until(look_of(clock, looks), 5, every=1, enough=lambda seen: seen >= 3) == 3
    assert looks == [0, 1, 2, 3]


def test_after_the_deadline_it_gives_what_it_sees_in_one_last_look(clock: SimpleNamespace) -> None:
    looks: list[float] = []
    assert poll_until(look_of(clock, looks), 2.5, every=1, enough=lambda _seen: False) == 3
    assert looks == [0, 1, 2, 3]
    assert poll_until(lambda: None, 2.5, every=1) is None


def test_without_any_time_it_looks_once(clock: SimpleNamespace) -> None:
    looks: list[float] = []
    clock.now = 7.0

    def slow() -> bool:
        looks.append(clock.now)
        clock.now += 0.01
        return False

    assert poll_until(slow, 0, every=1) is False
    assert looks == [7.0]


def test_what_a_look_raises_ends_the_waiting(clock: SimpleNamespace) -> None:
    with pytest.raises(ZeroDivisionError):
        poll_until(lambda: 1 // 0, 5, every=1)
    assert clock.pauses == []


def test_what_is_repeated_beside_other_work_goes_on_after_a_failure_and_ends_with_the_block(caplog: pytest.LogCaptureFixture) -> None:
    done, came = [], threading.Event()

    def work() -> bool:
        done.append(threading.current_thread().name)
        if len(done) == 1:
            raise ConnectionError("no broker")
        came.set()
        return True

    with repeat_meanwhile("offset syncs", 0.01, work, "the end of the run writes them", 5.0):
        assert came.wait(10)
    count = len(done)
    assert set(done) == {"offset syncs"}
    assert "the end of the run writes them: ConnectionError: no broker" in caplog.text
    threading.Event().wait(0.05)
    assert len(done) == count


def test_it_may_begin_at_once() -> None:
    came = threading.Event()

    def work() -> bool:
        came.set()
        return True

    with repeat_meanwhile("checkpoints", 600.0, work, "", 5.0, at_once=True):
        assert came.wait(10)


def test_what_says_that_it_is_done_is_not_repeated() -> None:
    done: list[int] = []

    def work() -> bool:
        done.append(1)
        return False

    with repeat_meanwhile("configuration", 0.001, work, "", 5.0):
        threading.Event().wait(0.1)
    assert done == [1]
