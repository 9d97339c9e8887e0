import json
from pathlib import Path

from kafka_mirror.config import load
from kafka_mirror.config.flow import FlowName
from kafka_mirror.config.pools import pools


def test_every_flow_has_a_pool_of_one_slot() -> None:
    made = pools([FlowName("east", "west"), FlowName("eu/1", "us")])
    assert list(made) == ["mirror_spark", "mirror_copy_east-to-west", "mirror_copy_eu_1-to-us"]
    assert made["mirror_copy_east-to-west"]["slots"] == 1


def test_a_flow_whose_runs_follow_has_slots_for_two_of_them_and_for_a_backfill(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    lines = ["clusters = east, west", *(f"{alias}.bootstrap.servers = 127.0.0.1:1" for alias in ("east", "west"))]
    file.write_text("\n".join([*lines, "east->west.enabled = true", "mirror.follow.seconds = 1"]))
    assert [made["slots"] for made in pools(load([file]).flows).values()] == [2, 4]


def test_the_pools_of_a_teams_flows_are_its_own_and_the_other_one_is_of_all_teams() -> None:
    made = pools([FlowName("east", "west")], "paris")
    assert made["mirror_copy_east-to-west"]["team_name"] == "paris"
    assert "team_name" not in made["mirror_spark"]


def test_the_pools_are_what_airflow_imports() -> None:
    made = json.loads(json.dumps(pools([FlowName("east", "west")])))
    for pool in made.values():
        assert set(pool) == {"slots", "description", "include_deferred"}
        assert isinstance(pool["slots"], int)
