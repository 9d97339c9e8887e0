"""Every metric that there is: its name, what it says, its labels beside `source` and `target`.

Names that begin with `kafka_connect_mirror_` are those that Strimzi's configuration of the JMX exporter gives MirrorMaker 2's metrics. They
stand here only where they mean the same in a mirror that copies in batches. Names that begin with `kafka_connect_plugins_` are those that
the JMX exporter gives the same metrics by KIP-1280 without any rule. `metric.names.formats` says which of both a flow has.
"""

from dataclasses import dataclass
from typing import Literal

FLOW_LABELS = ("source", "target")
_SOURCE_CONNECTOR = "kafka_connect_mirror_mirrorsourceconnector_"
_PLUGINS = "kafka_connect_plugins_"
LEGACY, NEW = "legacy", "new"
"""The words of `metric.names.formats`."""
SOURCE_CONNECTOR = "MirrorSourceConnector"
"""The label `connector`: the name that MirrorMaker 2 gives its source connector in a cluster of its own."""


@dataclass(frozen=True)
class Metric:
    """One metric. `labels` are those beside the flow's; a counter's name ends with `_total`."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    type: Literal["gauge", "counter"] = "gauge"

    @property
    def sample(self) -> str:
        """The name under which Prometheus knows its samples."""
        return f"{self.name}_total" if self.type == "counter" else self.name


_LIMIT = "; the property of this name, or its default for the flow; +Inf: any"

_TOPIC, _PARTITION = ("topic",), ("topic", "partition")


@dataclass(frozen=True)
class SourceMetrics:
    """MirrorMaker 2's metrics of a partition under the names of one format."""

    record_count: Metric
    byte_count: Metric
    record_rate: Metric
    byte_rate: Metric
    record_age: Metric
    replication_latency: Metric


def _source_metrics(prefix: str, labels: tuple[str, ...]) -> SourceMetrics:
    return SourceMetrics(
        Metric(f"{prefix}record_count", "Records copied of a partition since it is mirrored; topic is the remote one", labels),
        Metric(f"{prefix}byte_count", "Bytes of keys, values and headers copied of a partition since it is mirrored", labels),
        Metric(f"{prefix}record_rate", "Records copied a second, over the last minutes", labels),
        Metric(f"{prefix}byte_rate", "Bytes of keys, values and headers copied a second, over the last minutes", labels),
        Metric(f"{prefix}record_age_ms", "How old the last copied record was when it was read from the source", labels),
        Metric(f"{prefix}replication_latency_ms", "How old the last copied record was when the target had acknowledged it", labels),
    )


LEGACY_SOURCE = _source_metrics(_SOURCE_CONNECTOR, _PARTITION)
NEW_SOURCE = _source_metrics(_PLUGINS, ("connector", "task", *_PARTITION))
"""KIP-1280; `task` is the lane that copies the partition."""

LAG_RECORDS = Metric("mirror_lag_records", "Offsets of the source that are not copied yet, where that is known; no more records than that")
LAG_SECONDS = Metric("mirror_lag_seconds", "Age of the oldest record that is not copied yet; 0: nothing is missing")
SERVED_LAG_RECORDS = Metric("mirror_served_lag_records", "Offsets that a consumer may read and that the next run copies")
SERVED_LAG_SECONDS = Metric(
    "mirror_served_lag_seconds",
    "For how long the oldest of them waits, as alerts count it: no longer than since it was first seen",
)
LAG_BYTES = Metric(
    "mirror_lag_bytes", "About how many bytes of keys, values and headers are not copied yet, by the mean size of those that are"
)
CATCH_UP = Metric("mirror_catch_up_seconds", "In how many seconds all will be copied as things go; +Inf: never, absent: not known")
RATE_RECORDS = Metric("mirror_copied_records_per_second", "Records copied a second, over the last minutes")
RATE_BYTES = Metric("mirror_copied_bytes_per_second", "Bytes of keys, values and headers copied a second, over the last minutes")
RATE_SOURCE = Metric("mirror_source_records_per_second", "About how many records the source grows by a second, over the last minutes")
COPIED_RECORDS = Metric(
    "mirror_copied_records",
    "Records copied since the flow mirrors, as the ledger counts them, of the topics that it mirrors now; with the time of the snapshot",
    type="counter",
)
COPIED_BYTES = Metric(
    "mirror_copied_bytes",
    "Bytes of keys, values and headers copied since the flow mirrors, counted in the same way",
    type="counter",
)
SKIPPED = Metric("mirror_skipped_records", "Source offsets that were passed over and are not on the target (gaps, refused records)")
LAST_COPY = Metric("mirror_last_copy_timestamp_seconds", "When a copy last wrote to the ledger, as Unix time")
PARTITIONS = Metric("mirror_partitions", "Partitions in each state of `python -m kafka_mirror status`", ("state",))
WAITING = Metric("mirror_partitions_waiting", "Partitions that no run will serve without somebody's help")
PROBLEMS = Metric("mirror_problems", "Problems for a person, by their code in the runbook", ("code",))
THROTTLE = Metric("mirror_throttle_bytes_per_second", "How fast the flow may copy; absent without a throttle")
HEARTBEAT_AGE = Metric("mirror_heartbeat_age_seconds", "Age of the newest heartbeat that reached the target on this way", ("path",))

LIMIT_LAG = Metric("mirror_deadline_lag_seconds", f"For how long a record may wait{_LIMIT}")
LIMIT_LAG_RECORDS = Metric("mirror_deadline_lag_records", f"How many records the flow may be behind{_LIMIT}")
LIMIT_PROGRESS = Metric("mirror_deadline_progress_seconds", f"For how long a partition with work may stand still{_LIMIT}")
LIMIT_COPY = Metric("mirror_deadline_copy_seconds", f"For how long nothing may be copied while there is work{_LIMIT}")
LIMIT_HEARTBEATS = Metric("mirror_deadline_heartbeats_seconds", f"How old the newest heartbeat of a path may be{_LIMIT}")
LIMIT_UNREACHABLE = Metric("mirror_deadline_unreachable_seconds", f"For how long a cluster may not answer{_LIMIT}")

TOPIC_LAG = Metric("mirror_topic_lag_records", "Offsets of a topic that are not copied yet", _TOPIC)
TOPIC_LAG_SECONDS = Metric("mirror_topic_lag_seconds", "Age of the oldest record of a topic that is not copied yet", _TOPIC)
TOPIC_LAG_BYTES = Metric("mirror_topic_lag_bytes", "About how many bytes of a topic are not copied yet", _TOPIC)
PARTITION_LAG = Metric("mirror_partition_lag_records", "Offsets of a partition that are not copied yet", _PARTITION)
PARTITION_LAG_SECONDS = Metric("mirror_partition_lag_seconds", "Age of the oldest record of a partition that is not copied yet", _PARTITION)

GROUPS = Metric("mirror_groups", "Consumer groups whose offsets are translated")
GROUPS_INEXACT = Metric("mirror_groups_inexact", "Of those, the groups of which a failover now would not be exact")
GROUP_EXACT = Metric("mirror_group_exact", "1 if a failover of the group now would be exact in every partition, else 0", ("group",))
GROUP_REREAD = Metric("mirror_group_reread_records", "Records that the group would read again at most if it failed over now", ("group",))
GROUP_AHEAD = Metric(
    "mirror_group_ahead_offsets", "Offsets that the group has read on the source and that the copy has yet to bring", ("group",)
)
GROUP_COUNTED = Metric(
    "mirror_group_partitions_counted", "Partitions of the group that are exact by counting, beyond what the offset map knows", ("group",)
)
GROUP_OVER_BUDGET = Metric(
    "mirror_group_partitions_over_budget", "Partitions of the group that stay early, for counting would cost too much", ("group",)
)
GROUP_UNANSWERED = Metric("mirror_group_partitions_unanswered", "Partitions of the group without any position on the target", ("group",))

UP = Metric("mirror_up", "1 if both clusters could be looked at and compared, else 0: then only this, problems, age and limits are there")
BY_FRESHNESS = Metric(
    "mirror_seen_by_freshness", "1 if this api-server cannot reach the clusters, and the figures are what the task freshness saw; else 0"
)
SNAPSHOT_AGE = Metric("mirror_snapshot_age_seconds", "How old the newest snapshot is in which both clusters could be compared")
SNAPSHOT_SECONDS = Metric("mirror_snapshot_duration_seconds", "How long it took to take the snapshot")
CONFIGURATION_ERRORS = Metric("mirror_configuration_errors", "Configuration files that cannot be read; this one has no source and target")
LEFT_OUT = Metric("mirror_series_left_out", "Partitions, topics or groups without series of their own: more than allowed", ("kind",))

METRICS: tuple[Metric, ...] = (
    *vars(LEGACY_SOURCE).values(),
    *vars(NEW_SOURCE).values(),
    *(metric for metric in list(vars().values()) if isinstance(metric, Metric)),
)
"""All of them, in this order."""


def markdown_metrics() -> str:
    """The handbook's table of metrics: one row for what MirrorMaker 2 has under two names."""
    pairs = list(zip(vars(LEGACY_SOURCE).values(), vars(NEW_SOURCE).values(), strict=True))
    rows = [*pairs, *((metric,) for metric in METRICS[2 * len(pairs) :])]
    lines = ["| metric | labels | says |", "|---|---|---|"]
    for metrics in rows:
        names, labels = (", ".join(f"`{text}`" for text in texts) for texts in ((m.sample for m in metrics), metrics[0].labels))
        lines.append(f"| {names} | {labels} | {metrics[0].help.partition(_LIMIT)[0]} |")
    return "\n".join(lines) + "\n"
