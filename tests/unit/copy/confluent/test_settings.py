"""The settings of the clients of a lane: the user's, under what the guarantees need; and how much a throttled one takes at a time."""

from dataclasses import replace

import pytest

from mirror.copy.confluent.source import consumer_settings, records_at_a_time
from mirror.copy.confluent.target import producer_settings


@pytest.fixture
def settings(lane_task):
    def made(batch=1_000_000, **users):
        return producer_settings(replace(lane_task, clients=replace(lane_task.clients, target_producer=users)), batch)

    return made


def test_a_lane_names_itself_unless_the_user_did_so_that_a_quota_can_be_set(settings, lane_task):
    assert settings()["client.id"].startswith(f"{lane_task.source}->{lane_task.target}|lane-{lane_task.lane}@")
    assert settings(**{"client.id": "the-mirror"})["client.id"] == "the-mirror"


def test_tuning_is_the_users_and_guarantees_are_not(settings):
    found = settings(**{"linger.ms": 50, "acks": "1", "enable.idempotence": False, "allow.auto.create.topics": True})
    assert (found["linger.ms"], found["acks"], found["enable.idempotence"]) == (50, "all", True)
    assert found["allow.auto.create.topics"] is False


def test_a_batch_stays_below_what_the_topics_take(settings):
    assert settings(10_000, **{"batch.size": 500_000})["batch.size"] == 10_000
    assert settings(500_000, **{"batch.size": 10_000})["batch.size"] == 10_000


@pytest.mark.parametrize("portion", [16 * 1024, 256 * 1024, 2 * 1024 * 1024])
def test_a_throttled_lane_fetches_a_portion_and_takes_no_more_at_a_time_of_records_of_a_kilobyte(lane_task, portion):
    throttled = replace(lane_task, fetch_bytes=portion)
    assert consumer_settings(throttled)["fetch.max.bytes"] == portion
    assert portion / 4 <= records_at_a_time(throttled) * 1000 <= portion
    assert records_at_a_time(replace(lane_task, fetch_bytes=1)) == 1
    assert records_at_a_time(lane_task) > records_at_a_time(throttled), "an unthrottled one takes thousands"
