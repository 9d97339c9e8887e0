"""How far a long step is: drawn beside it, and never in its way."""

import itertools
import logging
import re
import threading
import time
from collections import deque

import pytest

from kafka_mirror.cli import terminal as module
from kafka_mirror.cli.terminal import Counter, add, outlook, progress
from services.waiting import PATIENCE

SHOW_CURSOR, CLEAR_LINE = "\x1b[?25h", "\r\x1b[1A\x1b[2K"


@pytest.fixture
def at_once(monkeypatch):
    """The bar does not wait for a moment to pass."""
    monkeypatch.setattr(module, "_MOMENT_SECONDS", 0.0)


@pytest.fixture(autouse=True)
def quiet():
    """The mirror's loggers as without --verbose, whatever ran before."""
    logger = logging.getLogger("kafka_mirror")
    before = logger.level
    logger.setLevel(logging.WARNING)
    yield
    logger.setLevel(before)


def wait_for(happened):
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_pipe_gets_nothing(capsys, at_once):
    with progress("east->west: copying.", 10, Counter().follow):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_what_begins_and_then_how_far_it_is(screen, at_once):
    count = Counter()
    with screen, progress("east->west: copying up to 1,000 records.", 1_000, count.follow, every=0.01):
        count.add(250)
        wait_for(lambda: "250 of 1,000 offsets" in screen.getvalue())
        count.add(250)
        wait_for(lambda: "500 of 1,000 offsets" in screen.getvalue())
    assert screen.lines[0] == "east->west: copying up to 1,000 records."
    assert screen.getvalue().endswith(f"{SHOW_CURSOR}{CLEAR_LINE}")
    assert "progress" not in {thread.name for thread in threading.enumerate()}


def test_what_lasts_a_time_says_what_came_and_how_long_it_still_takes(screen, at_once):
    count = Counter()
    with screen, progress("east->west: copying and following.", 10, count.follow, every=0.01, lasts=600.0):
        count.add(25)
        wait_for(lambda: re.search(r"25 offsets.*9 min \d+ s left", screen.getvalue()))
    assert "%" not in screen.getvalue(), "what comes next is not known"


def test_what_is_over_in_a_moment_has_no_bar(screen):
    asked = []
    with screen, progress("east->west: copying.", 10, lambda: (asked.append(1) or 0 for _ in itertools.count())):
        pass
    assert (screen.getvalue(), asked) == ("east->west: copying.\n", [])


def test_where_nobody_knows_how_far_it_is_the_time_passes(screen, at_once):
    with screen, progress("east->west: comparing. A Spark job does it.", 10, every=0.01):
        wait_for(lambda: "0 s" in screen.getvalue())
    assert "%" not in screen.getvalue(), "nobody knows how much of it is done"


def test_a_position_that_cannot_be_had_is_logged_and_the_step_goes_on(screen, at_once, caplog):
    def positions():
        yield 1
        raise RuntimeError("the target is away")

    with screen, progress("east->west: copying.", 10, positions, every=0.01):
        wait_for(lambda: caplog.messages)
        done = True
    assert done
    assert caplog.messages == ["How far it is cannot be shown any more: the target is away"]


def test_a_terminal_that_is_gone_is_logged_and_the_step_goes_on(screen, at_once, caplog, monkeypatch):
    def gone(*_):
        raise OSError("Input/output error")

    count = Counter()
    with screen, progress("east->west: copying.", 10, count.follow, every=0.01):
        wait_for(lambda: "0 of 10 offsets" in screen.getvalue())
        monkeypatch.setattr(screen, "write", gone)
    monkeypatch.undo()
    assert "The progress cannot be taken off the terminal: Input/output error" in caplog.messages


def test_a_step_that_fails_fails_with_its_own_error(screen, at_once):
    with screen, pytest.raises(ZeroDivisionError), progress("east->west: copying.", 10, Counter().follow, every=0.01):
        raise ZeroDivisionError


def test_the_end_does_not_wait_for_an_answer_that_does_not_come(screen, at_once, monkeypatch):
    monkeypatch.setattr(module, "_END_SECONDS", 0.01)
    asked, answered = threading.Event(), threading.Event()

    def positions():
        yield 0
        asked.set()
        answered.wait(PATIENCE)
        yield 1

    with screen, progress("east->west: copying.", 10, positions, every=0.01):
        assert asked.wait(PATIENCE)
    written = screen.getvalue()
    answered.set()
    wait_for(lambda: "progress" not in {thread.name for thread in threading.enumerate()})
    assert screen.getvalue() == written, "nothing is drawn behind the end"


def test_with_verbose_the_log_says_it(screen, at_once):
    logging.getLogger("kafka_mirror").setLevel(logging.INFO)
    with screen, progress("east->west: copying.", 10, Counter().follow):
        pass
    assert screen.getvalue() == ""


@pytest.mark.parametrize(
    ("samples", "says"),
    [
        ([(0, 0), (2, 0)], "0 of 1,000 offsets"),
        ([(0, 0), (2, 500)], "500 of 1,000 offsets, 250 a second, 2 s left"),
        ([(0, 100), (10, 500), (20, 300)], "300 of 1,000 offsets, 10 a second, 1 min 10 s left"),
        ([(0, 0), (2, 1_000)], "1,000 of 1,000 offsets, 500 a second"),
        ([(0, 0), (2, 1_003)], "1,000 of 1,000 offsets, 502 a second"),
        ([(0, 0)], "0 of 1,000 offsets"),
    ],
)
def test_samples_say_how_far_it_is_how_fast_and_how_long_the_rest_takes(samples, says):
    assert outlook(samples, 1_000) == says


@pytest.mark.parametrize(
    ("taken", "kept"),
    [
        ([(0, 0), (2, 5), (4, 9)], [(0, 0), (2, 5), (4, 9)]),
        ([(0, 0), (10, 0), (20, 0), (22, 5)], [(20, 0), (22, 5)]),
        ([(0, 0), (30, 5), (70, 9)], [(0, 0), (30, 5), (70, 9)]),
        ([(0, 0), (30, 5), (95, 9)], [(30, 5), (95, 9)]),
        ([(0, 0), (30, 5), (62, 5), (95, 5)], [(95, 5)]),
    ],
    ids=["from the start", "before anything moved", "a little more than a minute", "older than a minute", "nothing moves any more"],
)
def test_the_rate_is_that_of_the_last_minute_in_which_something_moved(taken, kept):
    samples = deque(taken[:1])
    for sample in taken[1:]:
        add(samples, sample)
    assert list(samples) == kept
