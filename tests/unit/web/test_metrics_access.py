"""Who gets to see the metrics: by which token, of which flow."""

import pytest

from kafka_mirror.config import load
from kafka_mirror.errors import ConfigurationError, Problem
from kafka_mirror.status.snapshot_cache import SnapshotCache
from services.waiting import eventually
from tests.unit.status.snapshot_world import World
from tests.unit.web.scrape import TOKEN, MadeUpCache, MadeUpFlow, client, flow, scrape


def test_without_a_token_that_is_set_they_are_closed_with_a_hint():
    cache = MadeUpCache(flow())
    answer = client(cache, {}).get("/mirror/metrics", headers={"Authorization": "Bearer "})
    assert (answer.status_code, cache.asked) == (403, 0)
    assert "MIRROR_METRICS_TOKEN" in answer.json()["detail"]


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \u00e4"],
)
def test_a_wrong_token_is_refused_and_nobody_looks_at_anything(header):
    cache = MadeUpCache(flow())
    answer = client(cache).get("/mirror/metrics", headers={"Authorization": header.encode()} if header else {})
    assert (answer.status_code, answer.headers["www-authenticate"], cache.asked) == (401, "Bearer", 0)
    assert TOKEN not in answer.text


def test_the_word_bearer_may_be_written_as_one_likes():
    cache = MadeUpCache(flow())
    assert client(cache).get("/mirror/metrics", headers={"Authorization": f"bEaReR  {TOKEN}"}).status_code == 200


def test_the_token_of_a_flow_opens_that_flow_alone():
    flows = (MadeUpFlow(token="east's"), MadeUpFlow("north->west", token="north's"))
    cache = MadeUpCache(flow(), flow("north->west"), flows=flows)
    theirs = scrape(cache, "north's", environ={})
    assert theirs.status_code == 200
    assert 'source="north"' in theirs.text
    assert 'source="east"' not in theirs.text
    assert scrape(cache, "east's", environ={"MIRROR_METRICS_TOKEN": TOKEN}).status_code == 200
    assert scrape(cache, "nobody's", environ={}).status_code == 401


def test_flows_with_one_token_are_seen_together():
    flows = (MadeUpFlow(token="ours"), MadeUpFlow("north->west", token="ours"))
    text = scrape(MadeUpCache(flow(), flow("north->west"), flows=flows), "ours", environ={}).text
    assert 'mirror_up{source="east"' in text
    assert 'mirror_up{source="north"' in text


def test_a_token_that_cannot_be_read_opens_nothing():
    unreadable = ConfigurationError([Problem("mirror.metrics.token", "the reference cannot be read")])
    cache = MadeUpCache(flow(), flows=(MadeUpFlow(token=unreadable),))
    assert scrape(cache, "", environ={}).status_code == 403
    assert scrape(cache).status_code == 200


@pytest.mark.parametrize("before", ["", "mirror.metrics.token = old"], ids=("the first token", "another token"))
def test_a_token_opens_within_seconds_of_being_set_though_nobody_looks_at_the_page(tmp_path, before):
    """Nothing else reads the configuration again meanwhile: a scrape that is refused counts as nobody asking."""
    file = tmp_path / "mm2.properties"
    addresses = [f"{alias}.bootstrap.servers = 127.0.0.1:1" for alias in ("east", "west")]
    common = ["clusters = east, west", *addresses, "east->west.enabled = true"]
    file.write_text("\n".join([*common, before]), encoding="utf-8")
    cache = SnapshotCache(lambda: load([file]), World().taking)
    prometheus = client(cache, {})

    def status(token):
        return prometheus.get("/mirror/metrics", headers={"Authorization": f"Bearer {token}"}).status_code

    assert status("new") in (401, 403)
    file.write_text("\n".join([*common, "mirror.metrics.token = new"]), encoding="utf-8")
    eventually(lambda: status("new") == 200, "the new token")
    assert status("old") == 401
    cache.stop()
