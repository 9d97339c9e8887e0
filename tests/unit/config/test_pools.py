"""The pools that flows name, as `airflow pools import` takes them."""

from pathlib import Path

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.config.pools import pools

CLUSTERS = ("clusters = east, west", *(f"{alias}.bootstrap.servers = 127.0.0.1:1" for alias in ("east", "west")))
BOTH = ("east->west.enabled = true", "west->east.enabled = true")


@pytest.fixture
def flows(tmp_path: Path):
    def made(*lines: str) -> list[Flow]:
        file = tmp_path / "mm2.properties"
        file.write_text("\n".join([*CLUSTERS, *BOTH, *lines]))
        return list(load([file]).flows)

    return made


def test_flows_that_name_no_pool_need_none(flows):
    assert pools(flows()) == {}


@pytest.mark.parametrize(("follow", "slots"), [("1", 4), ("0", 1)], ids=["two runs and a backfill", "one after the other"])
def test_a_pool_has_the_slots_of_its_flow(flows, follow, slots):
    made = pools(flows("east->west.mirror.copy.pool = copies", f"mirror.follow.seconds = {follow}"))
    assert made == {"copies": {"slots": slots, "description": "Copies of east->west", "include_deferred": False}}


def test_a_pool_that_flows_share_has_the_slots_of_all_and_is_its_teams(flows):
    made = pools(flows("mirror.copy.pool = copies"), "paris")
    assert made == {
        "copies": {"slots": 8, "description": "Copies of east->west, west->east", "include_deferred": False, "team_name": "paris"}
    }
