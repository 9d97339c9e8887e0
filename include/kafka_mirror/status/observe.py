"""Looks at both clusters of a flow: cheaply, writing nothing, and as far as it goes when one of them does not answer.

How both sides stand; how old the oldest record is that each partition has not copied yet (one record is read a partition, in small
fetches); how old the newest heartbeat of each way is that reached the target; and what the mirror may not write.
"""

from collections.abc import Iterable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import replication_policy, topic_selection
from kafka_mirror.config.validate import check_readable
from kafka_mirror.copy.plan.left_on_source import find_written_since_move, moved_topics
from kafka_mirror.copy.plan.model import FIRST_SIGHT
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.copy.plan.run import survey
from kafka_mirror.copy.plan.source_partitions import source_partitions
from kafka_mirror.copy.plan.target_errors import remote_errors
from kafka_mirror.errors import (
    AuthenticationFailed,
    AuthorizationRefused,
    ClusterUnreachable,
    DeadlineExceeded,
    ErrorReport,
    KafkaFailure,
    MirrorError,
)
from kafka_mirror.formats import mm2
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.mm2_topics import read_between
from kafka_mirror.groups.offset_syncs import find_syncs_topic
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import NewTopic, Topic
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.clusters import clusters, control_of, ledger_of, two_clusters
from kafka_mirror.ledger.control_records import WAVE
from kafka_mirror.ledger.decisions import Present, list_decisions
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.policy import ReplicationPolicy
from kafka_mirror.policy.replication import sources
from kafka_mirror.status.observation import Beats
from kafka_mirror.status.snapshot import HeartbeatPath
from kafka_mirror.status.status import Observation, Status, status_of
from kafka_mirror.topics.topics import discover

READ_SECONDS = 5.0
"""How long records are read in all; a partition that has not answered by then has no age."""


OldestRecords = MutableMapping[TopicPartition, tuple[int, int]]
"""The offset and the timestamp of the oldest record of each partition, as it was read before."""

PROBE_SECONDS = 10.0
"""How long a cluster may take to answer at all; a person who asks how things stand does not wait as long as a run does."""


def oldest_records(
    flow: Flow,
    positions: Iterable[tuple[SourceOffsets, int]],
    errors: MutableMapping[str, MirrorError],
    remembered: OldestRecords | None = None,
) -> dict[TopicPartition, int]:
    """The timestamp (Unix milliseconds) of the first record at or after each position, for each partition that has one.

    A partition whose readable records are all copied, but which an open transaction holds back, gives the first record of that
    transaction. A topic that may not be read is in `errors`. What is `remembered` of a partition that stands where it stood is not read
    again; what is read is remembered the next time.
    """
    before, again = dict(remembered or {}), dict[TopicPartition, tuple[int, int]]()
    readable: dict[TopicPartition, tuple[int, int]] = {}
    held: dict[TopicPartition, tuple[int, int]] = {}
    for partition, position in positions:
        start = max(position, partition.log_start)
        if start < partition.readable_end and partition.tp in before and before[partition.tp][0] == start:
            again[partition.tp] = before[partition.tp]
        elif start < partition.readable_end:
            readable[partition.tp] = (start, partition.readable_end)
        elif start < partition.end:
            held[partition.tp] = (start, partition.end)
    with ThreadPoolExecutor(2) as threads:
        answers = [
            threads.submit(_stamps, flow, ranges, stable, errors) for ranges, stable in ((readable, flow.reads_committed), (held, False))
        ]
    stamps, waiting = (answer.result() for answer in answers)
    again |= {tp: (readable[tp][0], stamp) for tp, stamp in stamps.items()}
    if remembered is not None:
        remembered.clear()
        remembered.update(again)
    return {tp: stamp for tp, (_, stamp) in again.items()} | waiting


def _stamps(
    flow: Flow, ranges: Mapping[TopicPartition, tuple[int, int]], committed: bool, errors: MutableMapping[str, MirrorError]
) -> dict[TopicPartition, int]:
    reader = BoundedReader(flow.source, flow.client("source", "consumer"), committed)
    first = reader.first_visible(ranges, READ_SECONDS, errors, partial=True)
    return {tp: message.timestamp[1] for tp, message in first.items()}


def status(flow: Flow) -> Status:
    """How the flow stands now. Raises ConfigurationError; whatever else goes wrong is in the status."""
    return status_of(observe(flow))


def observe(flow: Flow, remembered: OldestRecords | None = None) -> Observation:
    """What both clusters show. Where a run could not plan, each side is shown by itself. `remembered`: see `oldest_records`, for a caller
    that looks again and again."""
    check_readable(flow)
    observation = Observation(flow.name, datetime.now(UTC), flow.value("mirror.lanes"))
    silent = _silent(flow)
    with clusters(flow) as (source, target):
        if not silent:
            try:
                return _compare(flow, source, target, observation, {} if remembered is None else remembered)
            except MirrorError as error:
                observation = _with_error(observation, error)
        else:
            observation = replace(observation, silent=silent, errors=tuple(silent.values()))
        for alias, cluster, look in ((flow.target, target, _target_alone), (flow.source, source, _source_alone)):
            if alias not in observation.silent:
                try:
                    observation = look(flow, cluster, observation)
                except MirrorError as error:
                    observation = _with_error(observation, error)
        return observation


def _silent(flow: Flow) -> dict[str, ErrorReport]:
    """Asks both clusters the cheapest question at once; gives the error of each that has no answer, by alias."""
    seconds = min(flow.request_seconds, PROBE_SECONDS)
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


def _compare(flow: Flow, source: Cluster, target: Cluster, observation: Observation, remembered: OldestRecords) -> Observation:
    """Both sides beside each other, as the next run would find them."""
    context = survey(flow, source, target, dry_run=True)
    records = _keep_mirrored(flow, context.ledger.records)
    refused: dict[str, MirrorError] = {}
    paused = {tp: pause for tp in _partitions(context.topics) | records.keys() if (pause := context.decisions.find_pause(tp)) is not None}
    left_out = source_partitions(source, context.topics, [tp for tp in paused if tp.topic in context.topics], flow.reads_committed, refused)
    partitions = {**context.source, **left_out, **{tp: partition for tp, (partition, _) in context.waiting.items()}}
    starts = {
        planned.topic_partition: planned.start for planned in context.plan.ranges if planned.reason == FIRST_SIGHT or planned.decisions
    } | {tp: start for tp, (_, start) in context.waiting.items()}
    positions = {tp: record.watermark for tp, record in records.items()} | starts
    oldest = oldest_records(
        flow, [(partitions[tp], position) for tp, position in positions.items() if tp in partitions], refused, remembered
    )
    decided = {planned.topic_partition: "; ".join(map(str, planned.decisions)) for planned in context.plan.ranges if planned.decisions}
    remotes = remote_errors(flow, target, context.source.keys() - decided.keys(), records)
    moved = moved_topics(context.decisions, context.ledger.records)
    written = find_written_since_move(flow, source, context.ledger.records, moved)
    of_lanes = {lane: error.report().with_flow(flow.name) for lane, error in context.ledger.unreadable.items()}
    errors = [error for error in context.plan.errors if error not in of_lanes.values()]
    ids = {flow.source: context.plan.source_cluster_id, flow.target: context.plan.target_cluster_id}
    present = Present(context.ledger.records, context.plan.ledger_id or None, ids)
    return replace(
        observation,
        topics=context.topics,
        source=partitions,
        ledger=records,
        comparable=True,
        unreadable=of_lanes,
        errors=tuple(dict.fromkeys([*errors, *remotes, *written, *(error.report() for error in refused.values())])),
        notices=context.plan.notices,
        idle=context.idle,
        starts=starts,
        oldest=oldest,
        moved={topic: str(decision) for topic, decision in context.decisions.moved_topics.items()},
        paused={tp: str(pause) for tp, pause in paused.items()},
        decided=decided,
        waiting=frozenset(context.waiting),
        decisions=tuple(list_decisions(context.decisions, present)),
        waves={name: wave.document or "" for name, wave in context.decisions.list_notes(WAVE).items()},
    )


def _target_alone(flow: Flow, target: Cluster, observation: Observation) -> Observation:
    """What the ledger knows."""
    ledger = ledger_of(flow, target)
    if not ledger.exists():
        return replace(observation, ledger={})
    view = ledger.read()
    unreadable = {lane: error.report() for lane, error in view.unreadable.items()}
    return replace(observation, ledger=_keep_mirrored(flow, view.records), unreadable=unreadable)


def _source_alone(flow: Flow, source: Cluster, observation: Observation) -> Observation:
    """What there is to mirror."""
    topics = discover(topic_selection(flow), source).topics
    refused: dict[str, MirrorError] = {}
    partitions = source_partitions(source, topics, _partitions(topics), flow.reads_committed, refused)
    return replace(
        observation, topics=topics, source=partitions, errors=(*observation.errors, *(error.report() for error in refused.values()))
    )


def _with_error(observation: Observation, error: MirrorError) -> Observation:
    """A cluster may fall silent after it was probed, too: then the error is that cluster's, as if the probe had met it."""
    report = error.report()
    errors = tuple(dict.fromkeys([*observation.errors, report]))
    silent = {error.cluster: report} if isinstance(error, (ClusterUnreachable, AuthenticationFailed)) else {}
    return replace(observation, errors=errors, silent={**silent, **observation.silent})


def _partitions(topics: Mapping[str, Topic]) -> set[TopicPartition]:
    return {TopicPartition(topic.name, partition.number) for topic in topics.values() for partition in topic.partitions}


def _keep_mirrored(flow: Flow, records: Mapping[TopicPartition, LedgerRecord]) -> dict[TopicPartition, LedgerRecord]:
    """Without the topics that the filters leave out now: they are no longer the flow's."""
    selection = topic_selection(flow)
    chosen = {topic for topic in {tp.topic for tp in records} if selection.takes(topic)}
    return {tp: record for tp, record in records.items() if tp.topic in chosen}


_LAST_OFFSETS = 20_000
"""How much of the end of a topic is read where it is unknown which pairs beat there: a fifth of a second."""
_FIRST_STEP = 200
_LARGEST_STEP = 100_000
_MOST_OFFSETS = 500_000
"""How far back the flow's own beat is looked for, some seconds: 23 days of 15 pairs that beat once a minute, 9 hours once a second."""

Pair = tuple[str, str]


def heartbeat_paths(flow: Flow, target: Cluster) -> tuple[HeartbeatPath, ...]:
    """The newest beat of each way on which beats reach the target through the flow, the shortest ways first; and the flow's own beat, which
    is written to the target itself.

    Its own is looked for until it is found or the log starts: other pairs beat into the same topic, and stay when it stops. Of a mirrored
    topic the newest 20,000 offsets are read; a way whose beats are all older is not among the answers.

    Raises what concerns the target as a whole, and what would leave a way out that may be there: KafkaFailure for a topic without leader,
    DeadlineExceeded where the flow's own beat, if it has one, lies too far back.
    """
    policy = replication_policy(flow)
    topics = [name for name in target.names() if policy.is_heartbeats_topic(name) and sources(policy, name)[:1] in ((), (flow.source,))]
    partitions = [TopicPartition(name, 0) for name in sorted(topics)]
    starts, ends = target.offsets(partitions, "earliest"), target.offsets(partitions, "latest")
    paths: list[HeartbeatPath] = []
    for tp in partitions:
        if tp not in starts or tp not in ends:
            raise KafkaFailure(
                f"Cluster '{target.alias}': {tp} has no leader, so it is unknown how old the heartbeats are.",
                topic=tp.topic,
                partition=tp.partition,
                next="Bring the cluster's brokers back; the next look goes on by itself.",
            )
        start, end = starts[tp], ends[tp]
        if sources(policy, tp.topic):
            newest: Mapping[Pair, int] = _newest(flow, target, tp.topic, max(start, end - _LAST_OFFSETS), end)
        else:
            newest = _find_own(flow, target, tp.topic, start, end)
        paths += _paths(flow, policy, tp.topic, newest, datetime.now(UTC))
    return tuple(sorted(paths, key=lambda path: (len(path.path), path.path)))


def beats_of(flow: Flow, paths: Iterable[HeartbeatPath]) -> tuple[Beats, ...]:
    """The newest beat of each topic that should have some: the flow's own, and those that it mirrors."""
    own_topic, newest = replication_policy(flow).heartbeats_topic(), dict[str, datetime]()
    for path in paths:
        newest[path.topic] = max(newest.get(path.topic, path.time), path.time)
    if not flow.value("emit.heartbeats.enabled"):
        newest.pop(own_topic, None)
    return tuple(Beats(topic, time, mirrored=topic != own_topic) for topic, time in sorted(newest.items()))


def _find_own(flow: Flow, target: Cluster, topic: str, start: int, end: int) -> Mapping[Pair, int]:
    """The flow's own newest beat, read backwards in steps that get larger: most often it stands at the end."""
    pair, beats = (flow.source, flow.target), flow.value("emit.heartbeats.enabled")
    least, step = max(start, end - (_MOST_OFFSETS if beats else _LAST_OFFSETS)), _FIRST_STEP
    while end > least:
        begin = max(least, end - step)
        newest = _newest(flow, target, topic, begin, end)
        if pair in newest:
            return {pair: newest[pair]}
        end, step = begin, min(8 * step, _LARGEST_STEP)
    if beats and least > start:
        raise DeadlineExceeded(
            f"Cluster '{target.alias}': among the newest {_MOST_OFFSETS:,} offsets of {topic} is no heartbeat of {flow.name}, and it takes "
            "too long to read on. How old its newest one is stays unknown.",
            topic=topic,
            partition=0,
            offset=least,
            next="Look at the log of the newest run of the flow's heartbeats DAG; if it is not to beat: emit.heartbeats.enabled=false.",
        )
    return {}


def _newest(flow: Flow, target: Cluster, topic: str, start: int, end: int) -> dict[Pair, int]:
    beats = read_between(target, flow.client("target", "consumer"), topic, start, end, mm2.decode_heartbeat).records
    return {(beat.source, beat.target): beat.timestamp for beat in beats}


def _paths(flow: Flow, policy: ReplicationPolicy, topic: str, newest: Mapping[Pair, int], now: datetime) -> list[HeartbeatPath]:
    through = sources(policy, topic)
    paths = []
    for (source, target), time in newest.items():
        moment = datetime.fromtimestamp(time / 1000, UTC)
        path = (source, *([target] if through else []), *reversed(through[:-1]), flow.target)
        paths.append(HeartbeatPath(path, topic, moment, max((now - moment).total_seconds(), 0.0)))
    return paths


def refused_writes(flow: Flow, remotes: Iterable[str]) -> list[MirrorError]:
    """The refusals: WRITE on the remote topics that exist and on the mirror's own topics, CREATE of its own that do not exist.

    Brokers are asked what we may do with a topic, and to check a request to create one. They do not tell whether a transactional id is ours
    to use. Raises as `two_clusters`.
    """
    with two_clusters(flow) as (source, target):
        refused = _refusals(target, [ledger_of(flow, target).topic, control_of(flow, target).topic, *remotes])
        if flow.value("emit.offset-syncs.enabled"):
            side, syncs = find_syncs_topic(flow)
            refused += _refusals(source if side == "source" else target, [syncs])
    return refused


def _refusals(cluster: Cluster, names: list[str]) -> list[MirrorError]:
    refused: dict[str, MirrorError] = {}
    existing = cluster.topics(names, refused, operation="WRITE")
    missing = [NewTopic(name, 1, -1, {}) for name in names if name not in existing and name not in refused]
    outcomes = cluster.create_topics(missing, dry_run=True)
    return [*refused.values(), *(outcome for outcome in outcomes.values() if isinstance(outcome, AuthorizationRefused))]
