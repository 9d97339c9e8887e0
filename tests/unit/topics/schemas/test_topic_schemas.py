"""Which schemas a topic has, by its registry."""

import logging

import pytest

from kafka_mirror.config import load
from kafka_mirror.topics.schemas.topic_schemas import newest_schemas, on_target
from services.schema_registry import schema_registry


@pytest.fixture
def flow(tmp_path):
    """`flow(address)`: whose source has this registry."""

    def made(url, **properties):
        lines = {
            "clusters": "east, west",
            "east.bootstrap.servers": "a:1",
            "west.bootstrap.servers": "b:1",
            "east->west.enabled": "true",
            **({"mirror.schemas.source.url": url, "mirror.schemas.target.url": url} if url else {}),
            **properties,
        }
        file = tmp_path / "mm2.properties"
        file.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
        return load([file]).flow("east->west")

    return made


def test_the_newest_versions_of_key_and_value_count_and_ids_are_the_same_on_the_target(flow):
    with schema_registry() as (url, held):
        held.register("orders-key", '"string"')
        held.register("orders-value", '"int"')
        held.register("orders-value", '"long"')
        found = newest_schemas(flow(url), ["orders", "clicks"])
    assert {topic: [(str(each.name), each.version, each.id) for each in versions] for topic, versions in found.items()} == {
        "orders": [("orders-key", 1, 1), ("orders-value", 2, 3)]
    }
    moved = on_target(flow("http://a", **{"mirror.schemas.contexts": ". -> .copy"}), found["orders"])
    assert [(str(each.name), each.id) for each in moved] == [(":.copy:orders-key", 1), (":.copy:orders-value", 3)]


def test_a_flow_without_registries_names_none(flow):
    assert newest_schemas(flow(""), ["orders"]) == {}


def test_a_registry_that_is_away_is_told_and_keeps_nobody_from_anything(flow, caplog):
    with schema_registry() as (url, _):
        pass
    with caplog.at_level(logging.WARNING):
        assert newest_schemas(flow(url), ["orders"]) == {}
    assert "east->west: the lineage names no schemas: " in caplog.text
