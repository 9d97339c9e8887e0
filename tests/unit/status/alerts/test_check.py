"""What a check saw serves a page that reaches no broker itself: it travels through XCom, and becomes a snapshot."""

import json
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.config import Flow
from kafka_mirror.errors import ClusterUnreachable
from kafka_mirror.status.alerts.check import check, observe_for_alerts
from kafka_mirror.status.alerts.tracker import AlertState
from kafka_mirror.status.observation import read_check
from kafka_mirror.status.snapshot import FlowSnapshot
from kafka_mirror.status.snapshot_builder import FlowSnapshotBuilder
from kafka_mirror.status.snapshot_cache import CHECK_OLD_SECONDS
from services.waiting import eventually
from tests.unit.status.observations import at, beats, error, hidden, partition, seen, written
from tests.unit.status.snapshot_world import bad, good, the_only

UNREACHABLE = ClusterUnreachable("west", "west-1:9092", 10.0).report()


def left_by(flow, observation):
    return json.loads(json.dumps(check(flow, observation, AlertState()).write_document()))["seen"]


def test_what_was_seen_is_read_from_xcom_as_it_was(make_flow):
    looked = seen(
        5,
        partition(60, 100, records=60, bytes=600, written=written(1)),
        hidden(1),
        errors=[error("SourceGap", "orders", 1)],
        beats=(beats("heartbeats", 1),),
    )
    read = read_check(left_by(make_flow(), looked))
    known = tuple(replace(each, error=one) for each, one in zip(looked.status.partitions, (None, *looked.status.errors), strict=True))
    assert (read.status, read.comparable, read.beats) == (replace(looked.status, partitions=known), True, looked.beats)
    assert [(late.status.partition, late.records) for late in read.late] == [(0, 40)]


def test_too_many_partitions_and_a_damaged_document_are_no_check(make_flow):
    offsets = random.Random(1)
    thousand = []
    for n in range(1000):
        start = offsets.randrange(10**9)
        figures = {"records": start - 9, "bytes": 97 * start + n, "written": written(n)}
        thousand.append(partition(start, start + offsets.randrange(1000), n, f"topic-{n // 50}", **figures))
    assert len(read_check(left_by(make_flow(), seen(5, *thousand))).status.partitions) == 1000
    many = [replace(each, topic=f"{each.topic}-{copy}") for each in thousand for copy in range(20)]
    assert left_by(make_flow(), seen(5, *many)) is None
    assert (read_check(None), read_check("damaged")) == (None, None)


def test_a_check_becomes_a_snapshot_that_says_why_nobody_looked_here(make_flow):
    flow = make_flow()
    builder, failed = FlowSnapshotBuilder(flow), FlowSnapshot(flow.name, at(200), error=UNREACHABLE)
    first = read_check(left_by(flow, seen(0, partition(60, 100, records=60, bytes=600))))
    builder.from_check(first, failed)
    second = read_check(left_by(flow, seen(60, partition(90, 100, records=90, bytes=900))))
    for _ in range(2):  # the api-server asks more often than freshness looks
        shown = builder.from_check(second, failed)
    assert (shown.taken, shown.is_good, shown.not_reached) == (at(60), True, UNREACHABLE)
    (topic,) = shown.topics
    assert (topic.topic, topic.remote, topic.lag, shown.bytes_behind) == ("orders", "east.orders", 10, 100)
    assert (shown.throughput.records, shown.throughput.seconds) == (0.5, 60)
    assert builder.with_groups(shown) is shown


def looked_at(seconds_ago, **fields):
    found = seen(0, partition(60, 100), **fields)
    return replace(found, status=replace(found.status, time=datetime.now(UTC) - timedelta(seconds=seconds_ago)))


def cache_with(world, make_cache, found):
    world.answers["east->west"] = bad
    return make_cache(last_check=lambda _flow: found)


def test_a_process_that_reaches_no_broker_shows_what_freshness_saw(world, make_cache):
    cache = cache_with(world, make_cache, looked_at(30))
    shown = eventually(lambda: the_only(cache).is_good and the_only(cache))
    assert shown.not_reached.code == "ClusterUnreachable"
    world.answers["east->west"] = good
    assert eventually(lambda: not the_only(cache).not_reached and the_only(cache)).is_good


def test_nothing_is_shown_of_a_check_that_is_old_or_reached_no_broker_either(world, make_cache):
    for found in (looked_at(CHECK_OLD_SECONDS + 1), looked_at(30, comparable=False), None):
        shown = cache_with(world, make_cache, found)
        assert not eventually(lambda shown=shown: the_only(shown).is_taken and the_only(shown)).is_good


def test_a_check_from_before_the_cluster_went_away_does_not_hide_that(world, make_cache):
    cache = make_cache(last_check=lambda _flow: looked_at(30))
    eventually(lambda: the_only(cache).is_good)
    world.answers["east->west"] = bad
    failed = eventually(lambda: not the_only(cache).is_good and the_only(cache))
    assert failed.last_good.not_reached is None


def test_clusters_that_keep_it_waiting_for_ever_do_not_keep_people_from_being_told(
    make_flow: Callable[..., Flow], monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    monkeypatch.setattr("kafka_mirror.status.alerts.check.observe", lambda _flow: answered.wait(30))
    seen = observe_for_alerts(make_flow(), seconds=0.05)
    answered.set()
    assert (seen.comparable, seen.beats) == (False, None)
    assert seen.failure == "Looking at both clusters took longer than 0.05 s."


def test_what_nobody_foresaw_is_said(make_flow: Callable[..., Flow], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_mirror.status.alerts.check.observe", lambda _flow: {}["nothing"])
    seen = observe_for_alerts(make_flow())
    assert (seen.comparable, seen.failure) == (False, "KeyError: 'nothing'")
