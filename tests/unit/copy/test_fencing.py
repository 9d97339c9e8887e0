"""Initialising a lane's producer: patient while a coordinator moves, and no storm of requests where it refuses again and again."""

import itertools
import logging
import time

import pytest
from confluent_kafka import KafkaError, KafkaException

from mirror.copy.confluent_fencing import Refusals, initialised, pauses

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
