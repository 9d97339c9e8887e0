"""Initialising a transactional producer: patient while a coordinator moves, and no storm of requests where it refuses again and again."""

import itertools
import logging
import time

import pytest
from confluent_kafka import KafkaError, KafkaException

from mirror.kafka import fence
from mirror.kafka.client_errors import ClientErrors
from mirror.kafka.fence import Refusals, initialised, pauses

WAITING = KafkaException(KafkaError(KafkaError._TIMED_OUT, "waiting", retriable=True))
REFUSED = KafkaException(KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "no", retriable=False))
LINE = ("GETPID", "lane-0", "Failed to acquire transactional PID")


class FakeProducer:
    """Answers with these failures, then is initialised; before each answer its client writes so many lines."""

    def __init__(self, refusals, failures, lines=0):
        self.failures, self.lines, self.calls, self.refusals = iter(failures), lines, 0, refusals

    def init_transactions(self, seconds):
        self.calls += 1
        for _ in range(self.lines):
            self.refusals.log(logging.WARNING, "%s [%s] %s", *LINE)
        if failure := next(self.failures, None):
            raise failure

    def poll(self, seconds):
        pass


@pytest.fixture
def refusals():
    return Refusals(logging.getLogger("mirror.librdkafka"))


def in_seconds(seconds):
    return time.monotonic() + seconds


def test_a_coordinator_that_moves_is_waited_for(refusals):
    producer = FakeProducer(refusals, [WAITING, WAITING], lines=1)
    assert initialised(producer, refusals, in_seconds(60))
    assert producer.calls == 3


def test_one_that_refuses_again_and_again_is_left_alone(refusals):
    producer = FakeProducer(refusals, itertools.repeat(WAITING), lines=100)
    assert not initialised(producer, refusals, in_seconds(60))
    assert producer.calls == 1


def test_what_asking_again_does_not_mend_is_raised_at_once(refusals):
    producer = FakeProducer(refusals, [REFUSED])
    with pytest.raises(KafkaException):
        initialised(producer, refusals, in_seconds(60))
    assert producer.calls == 1


def test_when_time_is_up_the_failure_is_raised(refusals):
    with pytest.raises(KafkaException, match="waiting"):
        initialised(FakeProducer(refusals, itertools.repeat(WAITING)), refusals, in_seconds(0))


def test_pauses_grow_and_end_with_the_deadline():
    assert list(itertools.islice(pauses(in_seconds(60)), 5)) == [0.5, 1.0, 2.0, 2.0, 2.0]
    assert next(pauses(in_seconds(-1))) == 0.0


def test_other_lines_are_no_refusals(refusals):
    refusals.log(logging.WARNING, "%s [%s] %s", "FAIL", "lane-0", "Connect failed")
    assert refusals.count == 0


# ---------------------------------------------------------------- opening one


class Opened:
    """A producer that writes down what it is asked; `refuses` so many times to be initialised, with as many lines as make a storm."""

    def __init__(self, settings, log, refuses, failure):
        self.settings, self.log, self.refuses, self.failure = settings, log, refuses, failure
        log.append("opened")

    def list_topics(self, topic, seconds):
        self.log.append(f"metadata of {topic}")

    def init_transactions(self, seconds):
        self.log.append("initialised")
        if self.failure is not None:
            raise self.failure
        if self.refuses:
            self.refuses.pop()
            for _ in range(5):
                self.settings["logger"].log(logging.WARNING, "%s [%s] %s", *LINE)
            raise WAITING

    def poll(self, seconds):
        pass

    def close(self):
        self.log.append("closed")


@pytest.fixture
def opening(monkeypatch):
    """Opens a fenced producer; gives what was asked of the client in order."""

    def run(storms=0, failure=None):
        log, refuses = [], [None] * storms
        monkeypatch.setattr(fence, "Producer", lambda settings: Opened(settings, log, refuses, failure))
        monkeypatch.setattr(fence.time, "sleep", lambda _seconds: log.append("pause"))
        try:
            fence.fenced_producer({"transactional.id": "t"}, ClientErrors("west", {}), 60, "ledger")
        except KafkaException:
            log.append("raised")
        return log

    return run


def test_metadata_is_asked_for_before_the_coordinator(opening):
    assert opening() == ["opened", "metadata of ledger", "initialised"]


def test_a_producer_that_is_refused_in_a_storm_is_closed_and_another_one_asks_after_a_pause(opening):
    assert opening(storms=1) == ["opened", "metadata of ledger", "initialised", "closed", "pause", "opened", "initialised"]


def test_a_producer_that_cannot_be_initialised_is_closed(opening):
    assert opening(failure=REFUSED) == ["opened", "metadata of ledger", "initialised", "closed", "raised"]
