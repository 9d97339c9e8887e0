"""The settings of the producer of a lane: the user's, under what the guarantees need."""

from dataclasses import replace

import pytest

from mirror.copy.confluent_settings import producer_settings


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
