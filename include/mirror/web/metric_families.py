"""The metrics of a few flows, from their snapshots, as prometheus_client renders them. Asks nobody anything."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from mirror.report.snapshot import FlowSnapshot, PartitionSnapshot
from mirror.report.snapshot_taking import GROUPS_SHARE
from mirror.report.status import PAUSED, PROGRESSING
from mirror.report.throughput import Throughput
from mirror.web import metric_names as names
from mirror.web.metric_names import FLOW_LABELS, METRICS, Metric
from mirror.web.state import TOO_OLD_SECONDS

Family = GaugeMetricFamily | CounterMetricFamily


class SnapshotCollector(Collector):
    """What a registry of prometheus_client collects from. `series_max`: by flow, of how many partitions, topics and groups there may be
    series of their own."""

    def __init__(self, flows: Iterable[FlowSnapshot], unreadable: int, series_max: Mapping[str, int], now: datetime) -> None:
        self._flows = list(flows)
        self._unreadable = unreadable
        self._series_max = series_max
        self._now = now

    def collect(self) -> Iterator[Family]:
        """Every metric that has a value, once."""
        families = {metric: _family(metric) for metric in METRICS}
        for each in self._flows:
            _Rendering(each, families, self._series_max.get(each.flow, 0), self._now).run()
        families[names.CONFIGURATION_ERRORS].add_metric([], self._unreadable)
        yield from (family for family in families.values() if family.samples)


class _Rendering:
    """One flow on its way into the families."""

    def __init__(self, snapshot: FlowSnapshot, families: Mapping[Metric, Family], series_max: int, now: datetime) -> None:
        self._snapshot = snapshot
        self._families = families
        self._series_max = series_max
        self._now = now
        source, _, target = snapshot.flow.partition("->")
        self._flow = [source, target]

    def run(self) -> None:
        """All of its metrics."""
        snapshot = self._snapshot
        age = snapshot.shown.age_seconds(self._now) if snapshot.shown.is_good else None
        good = snapshot.is_good and age is not None and age <= TOO_OLD_SECONDS
        self._set(names.UP, int(good))
        self._set(names.SNAPSHOT_AGE, age)
        codes = [error.code for error in snapshot.errors]
        for code in sorted(set(codes)):
            self._set(names.PROBLEMS, codes.count(code), code)
        if good:
            self._flow_figures()
            self._topics()
            self._partitions([each for topic in snapshot.topics for each in topic.partitions])
            self._groups()

    def _set(self, metric: Metric, value: float | None, *labels: str) -> None:
        if value is not None:
            self._families[metric].add_metric([*self._flow, *labels], value)

    def _count(self, metric: Metric, counts: Iterable[int | None]) -> None:
        """A counter bears the time at which it was so. Workers of an api-server have snapshots of their own, and an older one that is
        scraped behind a newer one would look as if it had begun anew; with its time Prometheus puts it where it belongs, or leaves it."""
        taken = self._snapshot.taken
        total = sum(count or 0 for count in counts)
        self._families[metric].add_metric(self._flow, total, timestamp=taken.timestamp() if taken else None)

    def _flow_figures(self) -> None:
        snapshot, status = self._snapshot, self._snapshot.status
        assert status is not None
        self._lag(status.lag, status.oldest_seconds, snapshot.bytes_behind, (names.LAG_RECORDS, names.LAG_SECONDS, names.LAG_BYTES))
        self._set(names.CATCH_UP, snapshot.catch_up.seconds)
        self._rates(snapshot.throughput, (names.RATE_RECORDS, names.RATE_BYTES))
        self._set(names.RATE_SOURCE, snapshot.throughput.source_offsets)
        if not any(lane.error for lane in snapshot.lanes):  # else less would be counted than before
            self._count(names.COPIED_RECORDS, (each.records for each in status.partitions))
            self._count(names.COPIED_BYTES, (each.bytes for each in status.partitions))
        self._set(names.SKIPPED, snapshot.skipped_in_all)
        self._set(names.LAST_COPY, status.written.time.timestamp() if status.written else None)
        for state, count in sorted(status.states.items()):
            self._set(names.PARTITIONS, count, state)
        self._set(names.WAITING, sum(n for state, n in status.states.items() if state not in PROGRESSING and state != PAUSED))
        self._set(names.THROTTLE, snapshot.throttle.bytes_per_second)
        for beat in snapshot.heartbeats:
            self._set(names.HEARTBEAT_AGE, beat.age_seconds + (snapshot.age_seconds(self._now) or 0.0), "->".join(beat.path))
        self._set(names.SNAPSHOT_SECONDS, snapshot.seconds)

    def _topics(self) -> None:
        if self._too_many("topic", len(self._snapshot.topics)):
            return
        for each in self._snapshot.topics:
            metrics = (names.TOPIC_LAG, names.TOPIC_LAG_SECONDS, names.TOPIC_LAG_BYTES)
            self._lag(each.lag, each.oldest_seconds, each.bytes_behind, metrics, each.topic)

    def _partitions(self, partitions: list[PartitionSnapshot]) -> None:
        if self._too_many("partition", len(partitions)):
            return
        for each in partitions:
            status, ours = each.status, (each.topic, str(each.partition))
            self._lag(status.lag, status.oldest_seconds, None, (names.PARTITION_LAG, names.PARTITION_LAG_SECONDS), *ours)
            theirs = (each.remote, str(each.partition))
            self._set(names.RECORD_COUNT, status.records, *theirs)
            self._set(names.BYTE_COUNT, status.bytes, *theirs)
            self._rates(each.throughput, (names.RECORD_RATE, names.BYTE_RATE), *theirs)
            if each.last is not None:
                self._set(names.RECORD_AGE, each.last.read - each.last.timestamp, *theirs)
                self._set(names.REPLICATION_LATENCY, each.last.acknowledged - each.last.timestamp, *theirs)

    def _groups(self) -> None:
        found = self._snapshot.groups
        # While nobody can look at groups, the last good look stays beside its error; after two pauses it is none of now.
        longest = timedelta(seconds=max(TOO_OLD_SECONDS, 2 * GROUPS_SHARE * found.seconds))
        if found.taken is None or self._now - found.taken > longest:
            return
        self._set(names.GROUPS, len(found.groups) + found.left_out)
        self._set(names.GROUPS_INEXACT, sum(not each.is_exact for each in found.groups))
        if self._too_many("group", len(found.groups)):
            return
        for each in found.groups:
            self._set(names.GROUP_EXACT, int(each.is_exact), each.group)
            self._set(names.GROUP_REREAD, each.reread, each.group)
            self._set(names.GROUP_AHEAD, each.ahead, each.group)
            self._set(names.GROUP_COUNTED, each.beyond_map, each.group)
            self._set(names.GROUP_OVER_BUDGET, each.over_budget, each.group)
            self._set(names.GROUP_UNANSWERED, each.unanswered, each.group)

    def _too_many(self, kind: str, count: int) -> bool:
        too_many = count > self._series_max
        self._set(names.LEFT_OUT, count if too_many else 0, kind)
        return too_many

    def _lag(self, records: int | None, seconds: float | None, size: int | None, metrics: tuple[Metric, ...], *labels: str) -> None:
        """What is missing. Where nothing is, its age is 0; where the age of what is missing could not be read, there is none."""
        values = (records, 0.0 if records == 0 else seconds, size)
        for metric, value in zip(metrics, values, strict=False):
            self._set(metric, value, *labels)

    def _rates(self, measured: Throughput, metrics: tuple[Metric, Metric], *labels: str) -> None:
        self._set(metrics[0], measured.records, *labels)
        self._set(metrics[1], measured.bytes, *labels)


def _family(metric: Metric) -> Family:
    labels: list[Any] = [] if metric is names.CONFIGURATION_ERRORS else [*FLOW_LABELS, *metric.labels]
    kind = CounterMetricFamily if metric.type == "counter" else GaugeMetricFamily
    return kind(metric.name, metric.help, labels=labels)
