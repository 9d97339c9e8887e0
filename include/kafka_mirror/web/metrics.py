"""`/mirror/metrics`, which Prometheus scrapes with a token: the metrics of the newest snapshots. It asks no cluster."""

import hashlib
import hmac
import logging
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Header, HTTPException, Response
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from kafka_mirror.config import Flow
from kafka_mirror.config.deadlines import Limits, limits_of
from kafka_mirror.errors import ConfigurationError
from kafka_mirror.status.observation import SERVED
from kafka_mirror.status.snapshot import FlowSnapshot, PartitionSnapshot, Snapshots
from kafka_mirror.status.snapshot_builder import GROUPS_SHARE
from kafka_mirror.status.throughput import Throughput
from kafka_mirror.web import metric_names as names
from kafka_mirror.web.metric_names import FLOW_LABELS, LEGACY, METRICS, Metric, SourceMetrics
from kafka_mirror.web.state import TOO_OLD_SECONDS, is_old

TOKEN_VARIABLE = "MIRROR_METRICS_TOKEN"  # noqa: S105 — the name of it
_REREAD_SECONDS = 60.0
_REREAD_IF_REFUSED_SECONDS = 2.0
"""A token that opens nothing may just have been set: for it the configuration is read again, no more often than this."""

log = logging.getLogger(__name__)

CLOSED = (
    f"The metrics are closed: no token is set that could be read. Set {TOKEN_VARIABLE} in the environment of Airflow's api-server, or "
    "mirror.metrics.token in mm2.properties, and let Prometheus send it (authorization: credentials)."
)
REFUSED = "The metrics want a token that is set here, as 'Authorization: Bearer <token>'."


@dataclass(frozen=True)
class MetricSettings:
    """What a flow's properties say about its metrics. `series_max`: how many partitions, topics and groups of it have series of their
    own."""

    series_max: int = 0
    formats: tuple[str, ...] = (LEGACY,)
    """Under which names MirrorMaker 2's metrics stand: `metric.names.formats`."""
    limits: Limits | None = None
    """None for a flow with an invalid configuration."""


class MetricAccess:
    """What the flows' properties say about their metrics, and which token opens those of which flows. It has only digests of tokens, and
    compares them in constant time."""

    def __init__(self, flows: Callable[[float], tuple[Flow, ...]], environ: Mapping[str, str]) -> None:
        """`flows`: the valid flows of the configuration, as it was read at most this many seconds ago."""
        self._flows = flows
        self._environ = environ
        self._digests: Mapping[str, bytes] = {}
        self._read_at: float | None = None
        self.settings: Mapping[str, MetricSettings] = {}
        """Of the valid flows, as read for the last answer."""

    def find_opened(self, authorization: str) -> set[str] | None:
        """The flows that the header opens; None: all. Raises HTTPException 403 where nothing could open them, and 401 for a wrong one."""
        self._read(_REREAD_SECONDS)
        try:
            return self._match(authorization)
        except HTTPException:
            if not self._read(_REREAD_IF_REFUSED_SECONDS):
                raise
            return self._match(authorization)

    def _match(self, authorization: str) -> set[str] | None:
        digest_of_all = _digest(self._environ.get(TOKEN_VARIABLE, ""))
        if digest_of_all is None and not self._digests:
            raise HTTPException(403, CLOSED)
        scheme, _, token = authorization.partition(" ")
        offered = _digest(token.strip()) if scheme.lower() == "bearer" else None
        if offered is not None:
            if digest_of_all is not None and hmac.compare_digest(offered, digest_of_all):
                return None
            flows = {flow for flow, digest in self._digests.items() if hmac.compare_digest(offered, digest)}
            if flows:
                return flows
        raise HTTPException(401, REFUSED, headers={"WWW-Authenticate": "Bearer"})

    def _read(self, seconds: float) -> bool:
        """Reads the properties, and resolves their references again if that was longer ago: somebody may replace a token. A token that
        cannot be read opens nothing. Returns whether they were read."""
        if self._read_at is not None and time.monotonic() - self._read_at < seconds:
            return False
        digests, settings = {}, {}
        for flow in self._flows(seconds):
            try:
                settings[flow.name] = MetricSettings(
                    int(flow.value("mirror.metrics.series.max")), tuple(flow.value("metric.names.formats")), limits_of(flow)
                )
                digest = _digest(flow.value("mirror.metrics.token"))
            except ConfigurationError as error:
                log.warning("The metrics of %s open with no token of its own: %s", flow.name, error)
                continue
            if digest is not None:
                digests[flow.name] = digest
        self._digests, self.settings, self._read_at = digests, settings, time.monotonic()
        return True


def _digest(token: str) -> bytes | None:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest() if token else None


Family = GaugeMetricFamily | CounterMetricFamily

_NO_SETTINGS = MetricSettings()


class SnapshotCollector(Collector):
    """A collector for prometheus_client's registry."""

    def __init__(self, flows: Iterable[FlowSnapshot], unreadable: int, settings: Mapping[str, MetricSettings], now: datetime) -> None:
        self._flows = list(flows)
        self._unreadable = unreadable
        self._settings = settings
        self._now = now

    def collect(self) -> Iterator[Family]:
        """Every metric that has a value, once."""
        families: dict[Metric, Family] = {}
        for metric in METRICS:
            labels: list[Any] = [] if metric is names.CONFIGURATION_ERRORS else [*FLOW_LABELS, *metric.labels]
            kind = CounterMetricFamily if metric.type == "counter" else GaugeMetricFamily
            families[metric] = kind(metric.name, metric.help, labels=labels)
        for snapshot in self._flows:
            _Rendering(snapshot, families, self._settings.get(snapshot.flow, _NO_SETTINGS), self._now).run()
        families[names.CONFIGURATION_ERRORS].add_metric([], self._unreadable)
        yield from (family for family in families.values() if family.samples)


class _Rendering:
    """Adds the metrics of one flow to the families."""

    def __init__(self, snapshot: FlowSnapshot, families: Mapping[Metric, Family], settings: MetricSettings, now: datetime) -> None:
        self._snapshot = snapshot
        self._families = families
        self._settings = settings
        self._now = now
        source, _, target = snapshot.flow.partition("->")
        self._flow = [source, target]

    def run(self) -> None:
        """All of its metrics."""
        snapshot = self._snapshot
        age = snapshot.with_figures.measure_age(self._now) if snapshot.with_figures.is_good else None
        good = snapshot.is_good and not is_old(snapshot, self._now)
        self._set(names.UP, int(good))
        self._set(names.BY_FRESHNESS, int(good and snapshot.not_reached is not None))
        self._set(names.SNAPSHOT_AGE, age)
        errors = Counter(error.code for error in snapshot.errors)
        judged = Counter[str]()
        for problem in snapshot.problems if good else ():
            judged[problem.kind] += max(len(problem.places), 1) if problem.kind not in errors else 0
        for code, count in sorted((errors + judged).items()):
            self._set(names.PROBLEMS, count, code)
        if self._settings.limits is not None:
            self._limits(self._settings.limits)
        if good:
            self._flow_figures()
            self._topics()
            self._partitions([partition for topic in snapshot.topics for partition in topic.partitions])
            self._groups()

    def _limits(self, limits: Limits) -> None:
        """What alert rules compare with. No limit is infinity: nothing is more."""
        for metric, limit in (
            (names.LIMIT_LAG, limits.lag),
            (names.LIMIT_LAG_RECORDS, limits.lag_records),
            (names.LIMIT_PROGRESS, limits.progress),
            (names.LIMIT_COPY, limits.copy),
            (names.LIMIT_HEARTBEATS, limits.heartbeats),
            (names.LIMIT_UNREACHABLE, limits.unreachable),
        ):
            self._set(metric, math.inf if limit is None else limit)

    def _set(self, metric: Metric, value: float | None, *labels: str) -> None:
        if value is not None:
            self._families[metric].add_metric([*self._flow, *labels], value)

    def _count(self, metric: Metric, counts: Iterable[int | None]) -> None:
        """Adds a counter with the time of its snapshot. Each worker of an api-server has snapshots of its own; without the time, Prometheus
        would take an older one that it scrapes after a newer one for a restart of the counter."""
        taken = self._snapshot.taken
        total = sum(count or 0 for count in counts)
        self._families[metric].add_metric(self._flow, total, timestamp=taken.timestamp() if taken else None)

    def _flow_figures(self) -> None:
        snapshot, status = self._snapshot, self._snapshot.status
        assert status is not None
        self._lag(status.lag, status.oldest_seconds, snapshot.bytes_behind, (names.LAG_RECORDS, names.LAG_SECONDS, names.LAG_BYTES))
        # Partitions with a problem of their own have an alert of their own, and are not late as well.
        served = [partition for partition in snapshot.late if partition.status.state in SERVED]
        self._set(names.SERVED_LAG_RECORDS, sum(partition.records for partition in served))
        self._set(names.SERVED_LAG_SECONDS, max((partition.seconds for partition in served), default=0.0))
        self._set(names.CATCH_UP, snapshot.catch_up.seconds)
        self._rates(snapshot.throughput, (names.RATE_RECORDS, names.RATE_BYTES))
        self._set(names.RATE_SOURCE, snapshot.throughput.source_records)
        if not any(lane.error for lane in snapshot.lanes):  # else the counters would go down
            self._count(names.COPIED_RECORDS, (partition.records for partition in status.partitions))
            self._count(names.COPIED_BYTES, (partition.bytes for partition in status.partitions))
        self._set(names.SKIPPED, snapshot.skipped_in_all)
        self._set(names.LAST_COPY, status.written.time.timestamp() if status.written else None)
        for state, count in sorted(status.states.items()):
            self._set(names.PARTITIONS, count, state)
        self._set(names.WAITING, sum(partition.needs_help for partition in status.partitions))
        self._set(names.THROTTLE, snapshot.throttle.bytes_per_second)
        for beat in snapshot.heartbeats:
            self._set(names.HEARTBEAT_AGE, beat.age_seconds + (snapshot.measure_age(self._now) or 0.0), "->".join(beat.path))
        self._set(names.SNAPSHOT_SECONDS, snapshot.seconds)

    def _topics(self) -> None:
        if self._too_many("topic", len(self._snapshot.topics)):
            return
        for topic in self._snapshot.topics:
            metrics = (names.TOPIC_LAG, names.TOPIC_LAG_SECONDS, names.TOPIC_LAG_BYTES)
            self._lag(topic.lag, topic.oldest_seconds, topic.bytes_behind, metrics, topic.topic)

    def _partitions(self, partitions: list[PartitionSnapshot]) -> None:
        if self._too_many("partition", len(partitions)):
            return
        for partition in partitions:
            status, ours = partition.status, (partition.topic, str(partition.partition))
            self._lag(status.lag, status.oldest_seconds, None, (names.PARTITION_LAG, names.PARTITION_LAG_SECONDS), *ours)
            theirs = (partition.remote, str(partition.partition))
            if names.LEGACY in self._settings.formats:
                self._source(names.LEGACY_SOURCE, partition, *theirs)
            if names.NEW in self._settings.formats:
                self._source(names.NEW_SOURCE, partition, names.SOURCE_CONNECTOR, str(partition.lane), *theirs)

    def _source(self, metrics: SourceMetrics, partition: PartitionSnapshot, *labels: str) -> None:
        """MirrorMaker 2's metrics of a partition."""
        self._set(metrics.record_count, partition.status.records, *labels)
        self._set(metrics.byte_count, partition.status.bytes, *labels)
        self._rates(partition.throughput, (metrics.record_rate, metrics.byte_rate), *labels)
        if partition.last is not None:
            self._set(metrics.record_age, partition.last.read - partition.last.timestamp, *labels)
            self._set(metrics.replication_latency, partition.last.acknowledged - partition.last.timestamp, *labels)

    def _groups(self) -> None:
        groups = self._snapshot.groups
        # While groups cannot be looked at, the last good look stays beside its error; after two pauses it is none of now.
        max_age = timedelta(seconds=max(TOO_OLD_SECONDS, 2 * GROUPS_SHARE * groups.seconds))
        if groups.taken is None or self._now - groups.taken > max_age:
            return
        self._set(names.GROUPS, len(groups.groups) + groups.left_out)
        self._set(names.GROUPS_INEXACT, sum(not group.is_exact for group in groups.groups))
        if self._too_many("group", len(groups.groups)):
            return
        for group in groups.groups:
            self._set(names.GROUP_EXACT, int(group.is_exact), group.group)
            self._set(names.GROUP_REREAD, group.reread, group.group)
            self._set(names.GROUP_AHEAD, group.ahead, group.group)
            self._set(names.GROUP_COUNTED, group.beyond_map, group.group)
            self._set(names.GROUP_OVER_BUDGET, group.over_budget, group.group)
            self._set(names.GROUP_UNANSWERED, group.unanswered, group.group)

    def _too_many(self, kind: str, count: int) -> bool:
        too_many = count > self._settings.series_max
        self._set(names.LEFT_OUT, count if too_many else 0, kind)
        return too_many

    def _lag(self, records: int | None, seconds: float | None, size: int | None, metrics: tuple[Metric, ...], *labels: str) -> None:
        """Adds lags. The age is 0 where nothing is missing, and there is none where it could not be read."""
        values = (records, 0.0 if records == 0 else seconds, size)
        for metric, value in zip(metrics, values, strict=False):
            self._set(metric, value, *labels)

    def _rates(self, measured: Throughput, metrics: tuple[Metric, Metric], *labels: str) -> None:
        self._set(metrics[0], measured.records, *labels)
        self._set(metrics[1], measured.bytes, *labels)


class SnapshotSource(Protocol):
    """Where snapshots come from: see `status.snapshot_cache.SnapshotCache`."""

    def get(self) -> Snapshots:
        """The newest ones, at once."""

    def flows(self, seconds: float) -> tuple[Flow, ...]:
        """The valid flows of the configuration, as it was read at most this many seconds ago."""


def metrics_router(cache: SnapshotSource, environ: Mapping[str, str] | None = None) -> APIRouter:
    """The route. It checks its token itself, so it is mounted without the page's login."""
    router = APIRouter()
    access = MetricAccess(cache.flows, os.environ if environ is None else environ)

    @router.get("/metrics")
    def metrics(authorization: Annotated[str, Header()] = "", accept: Annotated[str, Header()] = "") -> Response:
        """The newest snapshots of the flows that the token opens, in the format that is asked for. 401 or 403 without the right token."""
        allowed = access.find_opened(authorization)
        snapshots = cache.get()
        readable = [snapshot for snapshot in snapshots.flows if allowed is None or snapshot.flow in allowed]
        registry = CollectorRegistry(auto_describe=False)
        registry.register(SnapshotCollector(readable, len(snapshots.errors), access.settings, datetime.now(UTC)))
        encoder, content_type = choose_encoder(accept)
        return Response(encoder(registry), media_type=None, headers={"content-type": content_type, "cache-control": "no-store"})

    return router
