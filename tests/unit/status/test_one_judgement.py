"""One judgement: alerts, page, metrics and the command `status` say the same of how a flow stands, whatever is wrong with it."""

import argparse
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_mirror.cli import status as command
from kafka_mirror.cli.answer import FAILED
from kafka_mirror.config import Flow
from kafka_mirror.config.deadlines import Limits
from kafka_mirror.errors import ClusterUnreachable, SourceGap
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import Partition, Topic
from kafka_mirror.policy import IdleMembers
from kafka_mirror.status.judge import BEHIND, FINE, STUCK, level, problems
from kafka_mirror.status.observation import CheckObservation, with_waits
from kafka_mirror.status.snapshot import FlowSnapshot
from kafka_mirror.status.snapshot_builder import catch_up_of, partitions_of, topics_of
from kafka_mirror.status.status import Observation, status_of
from kafka_mirror.web.state import state_of
from kafka_mirror.web.tables import level as topic_level
from tests.unit.ledger_records import ledger_record
from tests.unit.status.test_status import FOUND, NOW, SEEN, TP
from tests.unit.web.made_up import HEALTHY
from tests.unit.web.scrape import samples

OTHER = TopicPartition("orders", 1)
TWO = Topic("orders", "source-topic-id", (Partition(0, 1, (1,), (1,)), Partition(1, 1, (1,), (1,))))
"""Two partitions: everything is copied of the first, and the second is what the case says."""
RECENT = replace(ledger_record(watermark=100).writer, time=NOW - timedelta(seconds=30))


def world(**changes: Any) -> Observation:
    copied = ledger_record(watermark=100, writer=RECENT)
    base = replace(SEEN, topics={"orders": TWO}, source={TP: FOUND, OTHER: replace(FOUND, tp=OTHER)}, ledger={TP: copied, OTHER: copied})
    return replace(base, **changes)


def second(**source: int) -> Observation:
    """The second partition's source is this."""
    return world(source={TP: FOUND, OTHER: replace(FOUND, tp=OTHER, **source)})


GAP = SourceGap("orders", 1, 5, 10).report()
SILENT = ClusterUnreachable("east", "kafka:9092", 30.0).report()
MISSPELT = IdleMembers("topics", "topic", "east", ("ordres",), is_whole_list=True)
ANY = IdleMembers("topics", "topic", "east", (".*",), is_whole_list=True, is_expected=True)
WORLDS: dict[str, tuple[Observation, str, set[str]]] = {
    "everything is copied": (world(), FINE, set()),
    "a gap": (world(errors=(GAP,)), STUCK, {"SourceGap"}),
    "no leader": (world(source={TP: FOUND}), STUCK, {"NoLeader"}),
    "gone from the source": (world(source={TP: FOUND}, topics={}), FINE, set()),
    "paused": (world(paused={OTHER: "paused by me"}), FINE, set()),
    "an open transaction": (second(end=130), FINE, set()),
    "a cluster that is silent": (
        world(comparable=False, source=None, silent={"east": SILENT}, errors=(SILENT,)),
        STUCK,
        {"ClusterUnreachable"},
    ),
    "a topic that is misspelt": (world(topics={}, source={}, ledger={}, idle=MISSPELT), STUCK, {"NothingMirrored"}),
    "a flow that waits for its first topic": (world(topics={}, source={}, ledger={}, idle=ANY), FINE, set()),
    "a record of an hour ago": (
        replace(second(readable_end=130, end=130), oldest={OTHER: int((NOW.timestamp() - 3600) * 1000)}),
        STUCK,
        {"NoProgress"},
    ),
    "more records than are allowed": (
        replace(second(readable_end=9000, end=9000), oldest={OTHER: int((NOW.timestamp() - 30) * 1000)}),
        BEHIND,
        {"Behind"},
    ),
}
LIMITS = Limits(lag_records=1000)
WAITS = {"NoProgress", "Behind"}
"""What takes more than one look: `status` leaves it to `freshness`."""


def taken(seen: Observation) -> tuple[CheckObservation, FlowSnapshot]:
    status = status_of(seen)
    observation = with_waits(CheckObservation(status, seen.comparable, seen.silent, []), None)
    topics = topics_of(partitions_of(status, seen, [], lambda topic: f"east.{topic}"), [], {})
    judged = tuple(problem for problem in problems(observation, LIMITS.of_page).problems if problem.opens)
    estimate = catch_up_of(status, [], 60, 450)
    snapshot = FlowSnapshot("east->west", datetime.now(UTC), status, None, seen.comparable, topics, catch_up=estimate, rhythm=450)
    return observation, replace(snapshot, problems=judged, late=observation.late)


@pytest.mark.parametrize("name", WORLDS)
def test_all_who_say_how_a_flow_stands_say_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, expected, kinds = WORLDS[name]
    observation, snapshot = taken(seen)

    told = [problem for problem in problems(observation, LIMITS).problems if problem.opens]
    assert ({problem.kind for problem in told}, level(told)) == (kinds, expected)

    assert state_of(snapshot, HEALTHY, datetime.now(UTC)).level == expected

    metric = samples(snapshot)
    assert {code for code in kinds | {"NoLeader"} if metric("mirror_problems", code=code)} == kinds

    monkeypatch.setattr(command, "status", lambda _flow: status_of(seen))
    flow = cast("Flow", SimpleNamespace(name="east->west"))
    answer = command.run(flow, argparse.Namespace(topic=None, problems=False, watch=None, flow=None))
    assert (answer.state == FAILED, {error.code for error in answer.errors}) == (bool(kinds - WAITS), kinds - WAITS)


@pytest.mark.parametrize(
    ("name", "helped", "marked"),
    [
        ("no leader", 1, STUCK),
        ("gone from the source", 0, FINE),
        ("an open transaction", 0, FINE),
        ("paused", 0, FINE),
        ("a gap", 1, STUCK),
    ],
)
def test_partitions_that_wait_for_somebody_are_counted_alike(name: str, helped: int, marked: str) -> None:
    seen, _, _ = WORLDS[name]
    _, snapshot = taken(seen)
    assert samples(snapshot)("mirror_partitions_waiting") == helped
    assert (snapshot.catch_up.waiting, sum(topic.problems for topic in snapshot.topics)) == (helped, helped)
    assert topic_level(snapshot.topics[0].states) == marked


def test_a_record_that_says_it_is_of_last_year_is_late_for_metrics_as_for_alerts() -> None:
    seen = replace(second(readable_end=130, end=130), oldest={OTHER: 1_700_000_000_000})
    memory = with_waits(CheckObservation(status_of(replace(seen, time=NOW - timedelta(seconds=60))), comparable=True), None).memory
    now = with_waits(CheckObservation(status_of(seen), comparable=True), memory)
    assert problems(now, LIMITS).problems == ()
    metric = samples(replace(taken(seen)[1], late=now.late))
    assert (metric("mirror_served_lag_records"), metric("mirror_served_lag_seconds")) == (30, 60)
    assert metric("mirror_lag_seconds") > 1e6
