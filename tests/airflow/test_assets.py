"""Remote topics as assets: which copies add an event to which, and what it says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.flows import ClusterPair
from services.oracle import Oracle, Record

pytestmark = pytest.mark.usefixtures("spark_here")


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
    assert (uri, task, extra["topic"], extra["records"]) == (asset, "announce", told, 40)
    published = first.xcom["copy"]["watermarks"]
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
    assert "announce" not in dags()["east-to-west.copy"].task_ids
    configured(*lines, "mirror.assets.topics = orders")
    assert [outlet.name for outlet in dags()["east-to-west.copy"].get_task("announce").outlets] == ["mirror-east-to-west"]


DAY = 86_400_000
FIRST = 1_793_491_200_000  # 2026-11-01
KEYS_OF_THE_FIRST = ["2026-11-01", *(f"2026-11-01T{hour:02}" for hour in range(24))]


@pytest.fixture
def backfill(
    pair: ClusterPair, mm2_properties: Callable[..., Path], run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs the pair's backfill of so many days of November 2026; topics that begin with `told` get events of these words."""

    def run(days: int = 1, events: str = "days", **params: Any) -> Any:
        late = params.pop("late", "false")
        extra = {"mirror.assets.topics": "told.*", "mirror.assets.events": events, "mirror.assets.late.events": late}
        monkeypatch.setenv("MIRROR_CONFIG", str(mm2_properties(extra=extra)))
        times = {"from": "2026-11-01T00:00:00Z", "to": f"2026-11-{1 + days:02}T00:00:00Z"}
        return run_dag(f"{pair.source}-to-{pair.target}.backfill", times | params)

    return run


def orders(pair: ClusterPair, oracle: Oracle, name: str, days: int = 2) -> str:
    """A topic with a record each hour of so many days, in two partitions."""
    topic = pair.topic(name)
    oracle.create_topic(pair.source_bootstrap, topic, partitions=2)
    stamped(pair, oracle, topic, range(24 * days))
    return topic


def stamped(pair: ClusterPair, oracle: Oracle, topic: str, hours: range) -> None:
    rows = [Record(b"%d" % hour, b"", timestamp=FIRST + hour * DAY // 24, partition=hour % 2) for hour in hours]
    oracle.produce_records(pair.source_bootstrap, topic, rows)


def named_by_a_dag(pair: ClusterPair, *topics: str) -> None:
    """Makes the assets of topics active, as Airflow does when a DAG names them."""
    from airflow.models.asset import AssetActive, AssetModel
    from airflow.utils.session import create_session

    with create_session() as session:
        for topic in topics:
            model = AssetModel(name=asset_uri(pair, topic), uri=asset_uri(pair, topic), group="asset")
            session.add(model)
            session.flush()
            session.add(AssetActive.for_asset(model))


def asset_uri(pair: ClusterPair, topic: str) -> str:
    return f"kafka://{pair.target_bootstrap.split(',')[0]}/{pair.remote(topic)}"


def keyed_events(pair: ClusterPair) -> list[tuple[str, str | None, dict[str, Any]]]:
    """Source topic, partition key and what is said of the key, of each event of the pair's flow."""
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        found = [each for each in session.scalars(select(AssetEvent).order_by(AssetEvent.id)) if each.extra.get("flow") == pair.flow]
        return [(each.extra["topic"], each.partition_key, each.extra.get("keys", {}).get(each.partition_key)) for each in found]


def test_a_day_and_its_hours_are_told_once_when_they_are_complete(pair: ClusterPair, backfill: Callable[..., Any], oracle: Oracle) -> None:
    told, other = orders(pair, oracle, "told-orders"), orders(pair, oracle, "clicks")
    named_by_a_dag(pair, told, other)

    first = backfill(events="days, hours")

    assert first.state == "success"
    assert {topic: sorted(keys) for topic, keys in first.xcom["announce"]["announced"].items()} == {told: KEYS_OF_THE_FIRST}
    events = keyed_events(pair)
    assert sorted((topic, key) for topic, key, _ in events) == [(told, key) for key in KEYS_OF_THE_FIRST]
    said = {key: value for _, key, value in events}
    assert said["2026-11-01"] == {
        "from": "2026-11-01T00:00:00Z",
        "to": "2026-11-02T00:00:00Z",
        "offsets": {"0": [0, 12], "1": [0, 12]},
    }
    assert said["2026-11-01T10"]["offsets"] == {"0": [5, 6], "1": [5, 5]}

    again = backfill(days=2, events="days, hours")

    assert again.state == "success"
    assert {key[:10] for key in again.xcom["announce"]["announced"][told]} == {"2026-11-02"}, "of both days only what was not told"
    assert len(keyed_events(pair)) == 2 * 25


def test_a_topic_that_differs_is_not_told_and_the_others_are(
    pair: ClusterPair, backfill: Callable[..., Any], oracle: Oracle, copy: Callable[..., Any]
) -> None:
    good, bad = orders(pair, oracle, "told-orders"), orders(pair, oracle, "told-payments")
    named_by_a_dag(pair, good, bad)
    assert copy().state == "success"
    oracle.delete_records(pair.target_bootstrap, pair.remote(bad), {0: 3})

    run = backfill()

    assert [(topic, key) for topic, key, _ in keyed_events(pair) if key] == [(good, "2026-11-01")]
    assert list(run.xcom["announce"]["announced"]) == [good]
    assert f"{bad}-0" in run.xcom["announce"]["not_complete"][bad]


def test_records_that_come_after_their_day_was_told_make_another_event_where_that_is_wanted(
    pair: ClusterPair, backfill: Callable[..., Any], oracle: Oracle
) -> None:
    told = orders(pair, oracle, "told-orders", days=1)  # nothing stands behind the day: more of it may come
    named_by_a_dag(pair, told)
    assert backfill().state == "success"
    stamped(pair, oracle, told, range(20, 24, 2))
    assert backfill().xcom["announce"]["announced"] == {}

    late = backfill(late="true")

    assert late.xcom["announce"]["announced"] == {told: ["2026-11-01"]}
    assert [value.get("late") for _, _, value in keyed_events(pair)] == [None, "partition 0: 2 offsets"]
    assert backfill(late="true").xcom["announce"]["announced"] == {}


def test_nothing_is_told_to_an_asset_that_no_dag_names_and_it_is_told_once_one_does(
    pair: ClusterPair, backfill: Callable[..., Any], oracle: Oracle
) -> None:
    told = orders(pair, oracle, "told-orders")
    assert backfill().state == "success"
    assert keyed_events(pair) == []
    named_by_a_dag(pair, told)
    assert backfill().state == "success"
    assert [(topic, key) for topic, key, _ in keyed_events(pair)] == [(told, "2026-11-01")]


def test_only_those_who_want_days_or_hours_have_the_task(dags: Callable[[], dict[str, Any]], configured: Callable[..., None]) -> None:
    lines = ("clusters = east, west", "east.bootstrap.servers = a:1", "west.bootstrap.servers = b:1", "east->west.enabled = true")
    configured(*lines, "mirror.assets.topics = orders")
    assert "announce" not in dags()["east-to-west.backfill"].task_ids
    configured(*lines, "mirror.assets.topics = orders", "mirror.assets.events = days")
    assert "announce" in dags()["east-to-west.backfill"].task_ids
    assert "announce" not in dags()["east-to-west.copy"].task_ids, "records that came are not told then"
