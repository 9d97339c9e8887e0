"""Remote topics as assets: which copies add an event to which, and what it says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.flows import ClusterPair
from services.oracle import Oracle


@pytest.fixture
def copy(
    pair: ClusterPair, mm2_properties: Callable[..., Path], run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs the pair's copy DAG, of whose topics those that begin with `told` are assets."""
    monkeypatch.setenv("MIRROR_CONFIG", str(mm2_properties(extra={"mirror.assets.topics": "told.*"})))
    return lambda conf=None: run_dag(f"{pair.source}-to-{pair.target}.copy", conf)


def events(pair: ClusterPair) -> list[tuple[str, dict[str, Any], str | None]]:
    """Asset, extra and task of each event of the pair's flow, the oldest first."""
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        found = session.scalars(select(AssetEvent).order_by(AssetEvent.id))
        return [(each.uri, each.extra, each.source_task_id) for each in found if each.extra.get("flow") == pair.flow]


def test_a_copy_adds_an_event_with_its_watermarks_to_each_listed_topic_that_got_records(
    pair: ClusterPair, copy: Callable[..., Any], oracle: Oracle
) -> None:
    told, quiet, other = pair.topic("told-orders"), pair.topic("told-quiet"), pair.topic("clicks")
    for topic in (told, quiet, other):
        oracle.create_topic(pair.source_bootstrap, topic, partitions=2)
    for topic in (told, other):
        oracle.produce(pair.source_bootstrap, topic, 40, seed=1)
    assert copy({"dry_run": True}).state == "success"
    assert events(pair) == []

    first = copy()

    assert first.state == "success"
    asset = f"kafka://{pair.target_bootstrap.split(',')[0]}/{pair.remote(told)}"
    [(uri, extra, task)] = events(pair)
    assert (uri, task, extra["topic"], extra["records"]) == (asset, "publish", told, 40)
    published = first.xcom["publish"]["watermarks"]
    columns = zip(*(published[name] for name in ("topic", "partition", "source_offset", "target_offset")), strict=True)
    marks = {str(partition): {"source": source, "target": target} for topic, partition, source, target in columns if topic == told}
    assert extra["watermarks"] == marks
    assert sorted(marks) == ["0", "1"]

    assert copy().state == "success"
    assert len(events(pair)) == 1, "a copy without records adds none"

    oracle.produce(pair.source_bootstrap, quiet, 5, seed=2)
    assert copy().state == "success"
    assert [(each["topic"], each["records"]) for _, each, _ in events(pair)] == [(told, 40), (quiet, 5)]


def test_without_listed_topics_there_is_no_alias(dags: Callable[[], dict[str, Any]], configured: Callable[..., None]) -> None:
    lines = ("clusters = east, west", "east.bootstrap.servers = a:1", "west.bootstrap.servers = b:1", "east->west.enabled = true")
    configured(*lines)
    assert dags()["east-to-west.copy"].get_task("publish").outlets == []
    configured(*lines, "mirror.assets.topics = orders")
    assert [outlet.name for outlet in dags()["east-to-west.copy"].get_task("publish").outlets] == ["mirror-east-to-west"]
