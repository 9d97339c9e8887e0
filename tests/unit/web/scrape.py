"""Made-up flows whose metrics are read, and Prometheus's own parser that reads them."""

import math
from dataclasses import replace
from datetime import UTC, datetime

from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client import parser

from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.errors import ErrorReport
from kafka_mirror.ledger.record import LastRecord
from kafka_mirror.status.observation import CheckObservation, WaitingPartition, with_waits
from kafka_mirror.status.snapshot import (
    FlowSnapshot,
    GroupSnapshot,
    GroupsSnapshot,
    HeartbeatPath,
    PartitionSnapshot,
    Snapshots,
    ThrottleStatus,
    TopicSnapshot,
)
from kafka_mirror.status.status import PartitionStatus, Status
from kafka_mirror.status.throughput import CatchUp, Throughput
from kafka_mirror.web.metrics import metrics_router

SEEN_LONG_AGO = WaitingPartition(60, 0.0, ((0.0, 100),))
TOKEN = "a token of the tests"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def now():
    return datetime.now(UTC)


def partition(number, topic="orders", state="behind", lag=40, **fields):
    status = PartitionStatus(topic, number, state, 60, 100, 100, lag, 12.5 if lag else None, records=60, bytes=6000, **fields)
    return PartitionSnapshot(status, f"east.{topic}", number % 4, None if lag is None else lag * 100, Throughput(300, 2.0, 200.0, 3.0))


def topic_of(name, *partitions):
    return TopicSnapshot(name, f"east.{name}", partitions, sum(each.status.lag for each in partitions), 12.5, 4000)


def flow(name="east->west", topics=None, **fields):
    first = replace(partition(0), last=LastRecord(1000, 61_000, 61_250))
    topics = topics or (topic_of("orders", first, partition(1, state="gap", lag=0)),)
    partitions = tuple(each.status for topic in topics for each in topic.partitions)
    status = Status(name, now(), partitions, fields.pop("errors", ()))
    if fields.get("groups") is BUSY["groups"]:  # of the time when this module was imported: tests of a long run come late
        fields["groups"] = replace(fields["groups"], taken=now())
    comparable = fields.pop("comparable", True)
    late = with_waits(CheckObservation(status, comparable), {each.topic_partition: SEEN_LONG_AGO for each in partitions}).late
    return FlowSnapshot(
        name, fields.pop("taken", now()), status, comparable=comparable, topics=topics, bytes_behind=4000, late=late, **fields
    )


BUSY = {
    "throughput": Throughput(300, 10.0, 1000.0, 12.5),
    "catch_up": CatchUp(math.inf, "too slow"),
    "throttle": ThrottleStatus(5000),
    "groups": GroupsSnapshot(
        now(),
        (
            GroupSnapshot("billing", 2, 2, ahead=46, beyond_map=2),
            GroupSnapshot('re"po\\rts\n', 3, 1, unanswered=1, early=1, reread=7, over_budget=1),
        ),
    ),
    "heartbeats": (HeartbeatPath(("north", "east", "west"), "east.heartbeats", now(), 30.0),),
    "skipped_in_all": 5,
    "seconds": 0.5,
    "errors": (
        ErrorReport("SourceGap", "gone", "orders", 1),
        ErrorReport("SourceGap", "gone", "orders", 2),
        ErrorReport("Unexpected", "x"),
    ),
}


class MadeUpFlow:
    """The part of a flow that the endpoint asks."""

    def __init__(self, name="east->west", token="", series=1000, values=None):
        self.name, self.values = name, {"mirror.metrics.token": token, "mirror.metrics.series.max": series, **(values or {})}

    def value(self, name):
        value = self.values.get(name, CATALOGUE[name].default)
        if isinstance(value, Exception):
            raise value
        return value


class MadeUpCache:
    """Snapshots that a test made; counts how often they were asked for."""

    def __init__(self, *snapshots, flows=None, errors=()):
        self.snapshots, self.errors, self.asked = snapshots, errors, 0
        self.configured = tuple(MadeUpFlow(each.flow) for each in snapshots) if flows is None else flows

    def get(self):
        self.asked += 1
        return Snapshots(self.snapshots, self.errors)

    def flows(self, _seconds):
        return self.configured


def client(cache, environ=None):
    app = FastAPI()
    app.include_router(metrics_router(cache, {"MIRROR_METRICS_TOKEN": TOKEN} if environ is None else environ), prefix="/mirror")
    return TestClient(app)


def scrape(cache, token=TOKEN, accept="text/plain", environ=None):
    return client(cache, environ).get("/mirror/metrics", headers={"Authorization": f"Bearer {token}", "Accept": accept})


def samples(*snapshots, **options):
    """Every sample by name and labels, as Prometheus's own parser reads them."""
    answer = scrape(MadeUpCache(*snapshots, **options))
    assert answer.status_code == 200, answer.text
    families = parser.text_string_to_metric_families(answer.text)
    found = {(each.name, frozenset(each.labels.items())): each.value for family in families for each in family.samples}
    return lambda name, **labels: found.get((name, frozenset({"source": "east", "target": "west", **labels}.items())))
