"""Tells the assets of a flow's topics which hours and days are complete (`mirror.assets.events`): one event for each partition key.

Why there is exactly one: only one such task of a flow runs at a time (`max_active_tis_per_dag`); it asks Airflow for the events that the
asset has, and leaves out what it announced before; and Airflow keeps its events in the transaction that makes the task a success. So a
task that was killed announced nothing, and one that is cleared, retried, or of another backfill of the same day, finds what was
announced.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import Asset, get_current_context

from kafka_mirror.airflow.assets import asset_of, is_asset
from kafka_mirror.airflow.compat import asset_events, has_partition_keys, tell_partitions
from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.tasks import fail, from_xcom, is_dry_run, pull, run_name, skip, task_body
from kafka_mirror.airflow.work.backfill_run import resolution_of
from kafka_mirror.audit.model import AuditResult
from kafka_mirror.backfill.completeness import Period, clip_offsets, completeness, describe_late, list_periods
from kafka_mirror.backfill.model import Resolution, TimeInterval, moment_of
from kafka_mirror.backfill.resolve import offsets_within
from kafka_mirror.config import Flow
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.topics.schemas.run import are_equal

Offsets = Mapping[int, Interval]

log = logging.getLogger(__name__)

_NO_SCHEMAS = "the target's schema registry lacks schemas of the source's; {} brings them. Then run this backfill's task announce again."


@dataclass(frozen=True)
class _Topic:
    """A topic that is complete: its asset, the offsets of each partition that were audited, and what was announced of it, by key."""

    name: str
    asset: Asset
    audited: Offsets
    earlier: Mapping[str, Offsets]


def announce(flow_name: str) -> dict[str, Any]:
    """Adds an event to the asset of each listed topic for each hour or day of the run's interval that is over and complete. Returns the
    keys by topic, and of the other topics why they are not complete."""
    if not has_partition_keys():
        fail("Airflow has partition keys from 3.3 on. Set mirror.assets.events=copies, or upgrade Airflow.")
    if is_dry_run():
        skip("A dry run changes nothing, so there is nothing to tell.")
    audit_value, context = pull("audit"), get_current_context()
    if audit_value is None or pull("resolve") is None:
        skip("Nothing was audited, so it is unknown what is complete; the log of the task audit says why.")
    audit = from_xcom(audit_value)
    if audit is None:
        skip("The audit has too many partitions for XCom, so it is unknown here which topics are complete. Give this flow fewer topics.")
    with task_body():
        flow = configured_flow(flow_name)
        resolution = resolution_of(flow)
        topics, reasons, periods = _complete(flow, resolution, audit)
        for reason in reasons.values():
            log.warning("%s: not announced as complete: %s", flow_name, reason)
        news = _news(flow, resolution, topics, periods)
        for topic in topics:
            keys = news.get(topic.name)
            if keys:
                extra = {"flow": flow.name, "topic": topic.name, "run": run_name(), "keys": keys}
                tell_partitions(context, topic.asset, list(keys), extra)
                log.info("%s: events tell %s that %s is complete: %s.", flow_name, topic.asset.uri, topic.name, ", ".join(keys))
    return {"announced": {name: list(keys) for name, keys in news.items()}, "not_complete": reasons}


def _complete(flow: Flow, resolution: Resolution, audit: Mapping[str, Any]) -> tuple[list[_Topic], dict[str, str], list[Period]]:
    """The listed topics that are complete, why the others are not, and the hours and days that were over when the audit began."""
    result, remote, is_listed = AuditResult.from_document(audit), topic_selection(flow).remote, is_asset(flow)
    periods = list_periods(resolution.times, flow.value("mirror.assets.events"), round(result.time.timestamp() * 1000))
    result_by_topic, since = completeness(resolution, result, remote), datetime.fromtimestamp(resolution.times.start / 1000, UTC)
    topics = []
    for name, audited in result_by_topic.complete.items():
        if is_listed(name):
            asset = asset_of(flow, remote(name))
            topics.append(_Topic(name, asset, audited, _earlier_events(asset, since)))
    reasons = {name: reason for name, reason in result_by_topic.reasons.items() if is_listed(name)}
    # Records may have the id of a schema that the target's registry does not know.
    if topics and flow.value("mirror.schemas.source.url") and not are_equal(flow):
        return [], reasons | {topic.name: f"{topic.name}: {_NO_SCHEMAS.format(flow.dag_id('schemas'))}" for topic in topics}, periods
    return topics, reasons, periods


def _earlier_events(asset: Asset, since: datetime) -> dict[str, Offsets]:
    """The offsets that the newest event of each partition key tells of."""
    earlier: dict[str, Offsets] = {}
    for event in asset_events(asset.uri, since):
        period = (event.extra or {}).get("keys", {}).get(event.partition_key)
        if period is not None:
            earlier[event.partition_key] = {int(number): (start, end) for number, (start, end) in period["offsets"].items()}
    return earlier


def _news(flow: Flow, resolution: Resolution, topics: list[_Topic], periods: list[Period]) -> dict[str, dict[str, Any]]:
    """What was not announced yet, by topic and key: times, offsets, and the reason if it was announced before."""
    wants_late, news = flow.value("mirror.assets.late.events"), dict[str, dict[str, Any]]()
    wanted = [(topic, period) for topic in topics for period in periods if wants_late or period.key not in topic.earlier]
    all_offsets = _offsets(flow, resolution, wanted)
    for topic, period in wanted:
        offsets = {tp.partition: interval for tp, interval in all_offsets[period.times].items() if tp.topic == topic.name}
        inside, earlier = clip_offsets(offsets, topic.audited), topic.earlier.get(period.key)
        if inside is None:
            log.warning(
                "%s: %s: the offsets of %s are not known of all partitions, so it is not announced.", flow.name, topic.name, period.key
            )
            continue
        reason = "" if earlier is None else describe_late(earlier, inside)
        if earlier is None or reason:
            value = {"from": moment_of(period.times.start), "to": moment_of(period.times.end), "offsets": inside}
            news.setdefault(topic.name, {})[period.key] = {**value, **({"late": reason} if reason else {})}
    return news


def _offsets(
    flow: Flow, resolution: Resolution, wanted: list[tuple[_Topic, Period]]
) -> Mapping[TimeInterval, Mapping[TopicPartition, Interval]]:
    """The offsets of each period: as the run knows them, or as the source says now."""
    if all(period.times == resolution.times for _, period in wanted):
        return {resolution.times: {interval.topic_partition: (interval.start, interval.end) for interval in resolution.intervals}}
    all_times = sorted({period.times for _, period in wanted}, key=lambda times: (times.start, times.end))
    return offsets_within(flow, {topic.name for topic, _ in wanted}, all_times)
