"""The mm2.properties of a pair of clusters."""

from pathlib import Path

from services.flows import ClusterPair


def test_file_says_what_an_operator_would_write_and_resolves_the_roles(tmp_path: Path) -> None:
    pair = ClusterPair("east1", "west1", "127.0.0.1:1", "127.0.0.1:2", "1", tmp_path)
    extra = {"source->target.mirror.lanes": "4", "target.producer.linger.ms": "7", "sources": "other", "east1->west1.groups": r"a\.b"}
    lines = pair.properties(extra=extra).read_text().splitlines()
    assert {
        "clusters = east1, west1",
        "east1.bootstrap.servers = 127.0.0.1:1",
        "west1.bootstrap.servers = 127.0.0.1:2",
        "east1->west1.enabled = true",
        "east1->west1.topics = .*-1",
        "east1->west1.mirror.lanes = 4",
        "west1.producer.linger.ms = 7",
        "sources = other",
        r"east1->west1.groups = a\\.b",
        "replication.factor = 1",
    } <= set(lines)


def test_topics_of_the_pair_are_selected_by_its_mark() -> None:
    pair = ClusterPair("east1", "west1", "", "", "ab12", Path())
    assert pair.topic("orders") == "orders-ab12"
    assert pair.remote("orders-ab12") == "east1.orders-ab12"
