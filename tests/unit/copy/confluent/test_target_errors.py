"""What an error of the target means for a lane: another attempt, too slow a transaction, or neither."""

from dataclasses import replace

import pytest
from confluent_kafka import KafkaError

from mirror.copy.confluent.target import failure_of_lane, unacknowledged
from mirror.errors import AuthorizationRefused, DeadlineExceeded, Overtaken, TransactionTimeoutRefused, TransactionTooSlow
from mirror.kafka.fence import is_fenced

FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.INVALID_PRODUCER_ID_MAPPING)


@pytest.fixture
def task(lane_task):
    return replace(lane_task, transaction_timeout_ms=10_000)


@pytest.mark.parametrize("code", FENCED)
def test_a_fence_of_a_young_transaction_is_another_attempt_and_of_an_old_one_its_age(task, code):
    assert is_fenced(KafkaError(code))
    assert isinstance(failure_of_lane(task, KafkaError(code), 7.9), Overtaken)
    assert isinstance(failure_of_lane(task, KafkaError(code), 8.0), TransactionTooSlow)


def test_a_transactional_id_that_the_target_no_longer_knows_is_not_told_as_another_attempt_alone(task):
    expired = failure_of_lane(task, KafkaError(KafkaError.INVALID_PRODUCER_ID_MAPPING), 1.0)
    assert isinstance(expired, Overtaken)
    assert "expired there (transactional.id.expiration.ms), or another attempt" in expired.message
    assert "was taken over by another attempt" in failure_of_lane(task, KafkaError(KafkaError.PRODUCER_FENCED), 1.0).message


def test_what_the_client_says_of_a_fence_in_words_is_none(task):
    assert not is_fenced(KafkaError(KafkaError.INVALID_TXN_STATE, "the transaction was fenced, or it was never begun", True))
    assert is_fenced(KafkaError(KafkaError._FENCED, "whatever it says", True))
    assert not is_fenced(None)


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT])
def test_time_that_is_up_says_something_of_the_transaction_only_when_it_is_old(task, code):
    assert isinstance(failure_of_lane(task, KafkaError(code), 9.0), TransactionTooSlow)
    assert failure_of_lane(task, KafkaError(code), 1.0) is None


def test_what_is_refused_about_the_transaction_is_told_by_its_setting(task):
    assert isinstance(failure_of_lane(task, KafkaError(KafkaError.INVALID_TRANSACTION_TIMEOUT), 0.0), TransactionTimeoutRefused)
    refused = failure_of_lane(task, KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED), 0.0)
    assert isinstance(refused, AuthorizationRefused)
    assert f"{refused.resource.split()[-1]}{task.lane}" == task.transactional_id, "the prefix of all lanes"
    assert failure_of_lane(task, KafkaError(KafkaError._TRANSPORT), 9.0) is None


@pytest.mark.parametrize(
    ("left", "complaint", "kind"),
    [
        (5, "connection refused", TransactionTooSlow),
        (10, "", TransactionTooSlow),
        (10, "connection refused", DeadlineExceeded),
    ],
)
def test_a_smaller_transaction_helps_unless_nothing_got_through_for_want_of_connections(task, left, complaint, kind):
    assert type(unacknowledged(task, 10.0, left, 10, complaint)) is kind
