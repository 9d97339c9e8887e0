"""Looks at both clusters of a flow, for its status: cheaply, writing nothing, and as far as it goes when one of them does not answer."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

from mirror.config import Flow
from mirror.config.readable import check_readable
from mirror.decide.listing import Present, listed
from mirror.errors import ErrorReport, MirrorError
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import clusters, ledger_of
from mirror.kafka.model import Topic
from mirror.offsets.partition import TopicPartition
from mirror.plan.discover import discover
from mirror.plan.model import FIRST_SIGHT
from mirror.plan.run import survey
from mirror.plan.sources import source_partitions
from mirror.policy import topic_selection
from mirror.report.oldest import Known, oldest_records
from mirror.report.remotes import remote_errors
from mirror.report.status import Observation, Status, status_of

PROBE_SECONDS = 10.0
"""How long a cluster may take to answer at all; a person who asks how things stand does not wait as long as a run does."""


def status(flow: Flow) -> Status:
    """How the flow stands now. Raises ConfigurationError; whatever else goes wrong is in the status."""
    return status_of(observe(flow))


def observe(flow: Flow, known: Known | None = None) -> Observation:
    """What both clusters show. Where a run could not plan, each side is shown by itself. `known`: see `oldest_records`, for whoever looks
    again and again."""
    check_readable(flow)
    seen = Observation(flow.name, datetime.now(UTC), flow.value("mirror.lanes"))
    silent = _silent(flow)
    with clusters(flow) as (source, target):
        if not silent:
            try:
                return _compared(flow, source, target, seen, {} if known is None else known)
            except MirrorError as error:
                seen = replace(seen, errors=(error.report(),))
        seen = replace(seen, silent=silent, errors=(*seen.errors, *silent.values()))
        if flow.target not in silent:
            seen = _as_far_as_it_goes(seen, lambda: _target_alone(flow, target, seen))
        if flow.source not in silent:
            seen = _as_far_as_it_goes(seen, lambda: _source_alone(flow, source, seen))
        return seen


def _silent(flow: Flow) -> dict[str, ErrorReport]:
    """Asks both clusters the cheapest question at once; gives the error of each that has no answer, by alias."""
    seconds = min(flow.value("admin.timeout.ms") / 1000, PROBE_SECONDS)
    sides = {flow.source: flow.client("source", "admin"), flow.target: flow.client("target", "admin")}

    def probe(alias: str) -> ErrorReport | None:
        """The error of a cluster that does not answer."""
        with Cluster(alias, sides[alias], seconds) as cluster:
            try:
                cluster.cluster_id()
            except MirrorError as error:
                return error.report()
        return None

    with ThreadPoolExecutor(len(sides)) as threads:
        return {alias: error for alias, error in zip(sides, threads.map(probe, sides), strict=True) if error is not None}


def _compared(flow: Flow, source: Cluster, target: Cluster, seen: Observation, known: Known) -> Observation:
    """Both sides beside each other, as the next run would find them."""
    found = survey(flow, source, target, dry_run=True)
    records = _mirrored(flow, found.ledger.records)
    refused: dict[str, MirrorError] = {}
    paused = {tp: pause for tp in _partitions(found.topics) | records.keys() if (pause := found.decisions.pause(tp)) is not None}
    left_out = source_partitions(source, found.topics, [tp for tp in paused if tp.topic in found.topics], _committed(flow), refused)
    partitions = {**found.source, **left_out}
    starts = {each.topic_partition: each.start for each in found.plan.ranges if each.reason == FIRST_SIGHT or each.decisions}
    positions = {tp: record.watermark for tp, record in records.items()} | starts
    oldest = oldest_records(flow, [(partitions[tp], position) for tp, position in positions.items() if tp in partitions], refused, known)
    decided = {each.topic_partition: "; ".join(map(str, each.decisions)) for each in found.plan.ranges if each.decisions}
    remotes = remote_errors(flow, target, found.source.keys() - decided.keys(), records)
    of_lanes = {lane: error.report().of_flow(flow.name) for lane, error in found.ledger.unreadable.items()}
    errors = [error for error in found.plan.errors if error not in of_lanes.values()]
    ids = {flow.source: found.plan.source_cluster_id, flow.target: found.plan.target_cluster_id}
    present = Present(found.ledger.records, found.plan.ledger_id or None, ids)
    return replace(
        seen,
        topics=found.topics,
        source=partitions,
        ledger=records,
        comparable=True,
        unreadable=of_lanes,
        errors=tuple(dict.fromkeys([*errors, *remotes, *(error.report() for error in refused.values())])),
        notices=found.plan.notices,
        starts=starts,
        oldest=oldest,
        paused={tp: str(pause) for tp, pause in paused.items()},
        decided=decided,
        decisions=tuple(listed(found.decisions, present)),
    )


def _target_alone(flow: Flow, target: Cluster, seen: Observation) -> Observation:
    """What the ledger knows."""
    ledger = ledger_of(flow, target)
    if not ledger.exists():
        return replace(seen, ledger={})
    view = ledger.read()
    unreadable = {lane: error.report() for lane, error in view.unreadable.items()}
    return replace(seen, ledger=_mirrored(flow, view.records), unreadable=unreadable)


def _source_alone(flow: Flow, source: Cluster, seen: Observation) -> Observation:
    """What there is to mirror."""
    topics = discover(topic_selection(flow), source).topics
    refused: dict[str, MirrorError] = {}
    partitions = source_partitions(source, topics, _partitions(topics), _committed(flow), refused)
    return replace(seen, topics=topics, source=partitions, errors=(*seen.errors, *(error.report() for error in refused.values())))


def _as_far_as_it_goes(seen: Observation, look: Callable[[], Observation]) -> Observation:
    try:
        return look()
    except MirrorError as error:
        report = error.report()
        return seen if report in seen.errors else replace(seen, errors=(*seen.errors, report))


def _partitions(topics: Mapping[str, Topic]) -> set[TopicPartition]:
    return {TopicPartition(topic.name, each.number) for topic in topics.values() for each in topic.partitions}


def _committed(flow: Flow) -> bool:
    return bool(flow.client("source", "consumer").get("isolation.level") != "read_uncommitted")


def _mirrored(flow: Flow, records: Mapping[TopicPartition, LedgerRecord]) -> dict[TopicPartition, LedgerRecord]:
    """Without the topics that the filters leave out now: they are no longer the flow's."""
    selection = topic_selection(flow)
    chosen = {topic for topic in {tp.topic for tp in records} if selection.takes(topic)}
    return {tp: record for tp, record in records.items() if tp.topic in chosen}
