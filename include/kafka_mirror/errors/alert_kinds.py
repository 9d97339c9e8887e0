"""What the runbook says of alerts that are no errors: those of `freshness`, and those of Prometheus' rules (with `Mirror` in front)."""

from collections.abc import Mapping

from kafka_mirror.errors.base import Runbook

ALERTS: Mapping[str, tuple[Runbook, bool]] = {
    "Behind": (
        Runbook(
            "Copies run; records wait for longer than `mirror.deadline.lag.seconds`, or more of them than `mirror.deadline.lag.records`.",
            "No, records are only late.",
            "Look at the newest copy runs: whether they end at their budget (`mirror.run.max.seconds`, `mirror.run.max.bytes`) or at the "
            "throttle, and how busy machine and network are.",
            more="The first copy of a topic with old records lags too, by the age of those records.",
        ),
        True,
    ),
    "NotCopying": (
        Runbook(
            "Nothing was written to the ledger for `mirror.deadline.copy.seconds`, and there is work.",
            "No, records are only late.",
            "Look whether the scheduler runs, whether `<flow>.copy` is paused or waits for a free slot of its pool, and at the log of "
            "its newest run.",
        ),
        True,
    ),
    "NothingMirrored": (
        Runbook(
            "`topics` names something, and for `mirror.deadline.copy.seconds` no topic of the source has been taken by it.",
            "No, but nothing is mirrored.",
            "Compare `topics` and `topics.exclude` with the names of the source's topics, letter by letter. `plan` names the members that "
            "take nothing.",
        ),
        False,
    ),
    "NoProgress": (
        Runbook(
            "The watermark of a partition has stood still for `mirror.deadline.progress.seconds`, and its source has records to copy.",
            "No, records are only late.",
            "Look at the log of the newest copy run: what it says of these partitions, and whether its budget is too small.",
        ),
        True,
    ),
    "PartitionsWaiting": (
        Runbook(
            "The watermark of a partition has stood still for `mirror.deadline.progress.seconds` though its source has records to copy: "
            "`NoProgress` of `freshness`.",
            "No, records are only late.",
            "Look at the log of the newest copy run, and whether `<flow>.refresh-topics` is paused.",
        ),
        True,
    ),
    "HeartbeatsStopped": (
        Runbook(
            "The newest heartbeat of a path is older than `mirror.deadline.heartbeats.seconds`, while records come.",
            "No.",
            "Look whether the pair where the path begins still beats: the newest run of its heartbeats DAG.",
        ),
        True,
    ),
    "AuditMismatch": (
        Runbook(
            "An audit found records that differ or are missing.",
            "Perhaps. The audit names topic, partition and offsets.",
            "Look at the audit's log, and run `audit` again for the same topic.",
        ),
        False,
    ),
    "DeadlineMissed": (
        Runbook(
            "A run of one of the flow's DAGs did not end within `mirror.deadline.run.seconds`.",
            "No, records are only late.",
            "Look at the run: whether its tasks wait for a slot or a pool, or hang.",
        ),
        True,
    ),
    "CheckFailed": (
        Runbook(
            "`freshness` itself failed or took too long, so nobody in Airflow knows how the flow stands.",
            "No.",
            "Look at the log of the newest run of `<flow>.freshness`.",
        ),
        True,
    ),
    "MetricsMissing": (
        Runbook(
            "Prometheus gets no metrics, so it knows of no flow.",
            "No.",
            "Look whether Airflow's api-server runs, and at the scrape of `/mirror/metrics`: 401 and 403 say what is wrong with the token.",
        ),
        False,
    ),
    "ConfigurationErrors": (
        Runbook(
            "A configuration file cannot be read. The DAGs of its flows are gone, and `freshness` with them: nothing else tells anybody.",
            "No, records are only late.",
            "Correct what the log of the DAG `mirror.configuration` names.",
        ),
        False,
    ),
    "FlowVanished": (
        Runbook(
            "A flow had metrics within the last day, and has none now, though all files can be read.",
            "No, records are only late.",
            "If somebody switched the flow off or took it out of the configuration on purpose, silence the alert for a day. Otherwise put "
            "it back.",
        ),
        False,
    ),
    "SnapshotOld": (
        Runbook(
            "The mirror could compare both clusters before, and has not been able to for `mirror.deadline.unreachable.seconds`.",
            "No, records are only late.",
            "Look at the brokers of both clusters and the network between. The status page says which cluster does not answer.",
        ),
        True,
    ),
    "NotComparable": (
        Runbook(
            "The mirror has not been able to compare both clusters since the api-server started, or the flow's configuration is invalid.",
            "No, records are only late.",
            "Look at the flow's error on the status page; `mirror_problems` has its code.",
        ),
        False,
    ),
    "GroupsWithoutPosition": (
        Runbook(
            "A consumer group has no position on the target in some partitions, so it could not fail over there.",
            "No.",
            "`translate --group GROUP` says why.",
        ),
        False,
    ),
}
"""By the alert's kind: the entry, and whether it usually ends by itself."""
