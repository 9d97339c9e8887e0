"""The step `preflight`, which `cutover plan` shows: asks everything that could stop a wave, and says all of it at once. Writes nothing.

It judges the flow's own state (properties, decisions, errors, partitions that are not copied, or lag too far), and asks both clusters about
the wave's topics (configs, partitions, readers and writers), its groups, those who write to it, and rights that later steps need.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from kafka_mirror.config.policies import config_property_filter, replication_policy, topic_selection
from kafka_mirror.cutover.steps.group_survey import WaveGroup, find_in_groups, survey_groups
from kafka_mirror.cutover.steps.opposite_flow import check_age, find_opposite_flow, survey_opposite_fence
from kafka_mirror.cutover.steps.writers import Writers, report_writers, survey_writers
from kafka_mirror.cutover.wave.move import Move, open_move
from kafka_mirror.cutover.wave.record import WaveNotes
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import (
    INFORMATION,
    PREFLIGHT,
    Finding,
    StepOptions,
    StepOutcome,
    has_stop,
    information,
    make_outcome,
    report_wave_topics,
    sort_findings,
    stop,
    warning,
    with_flow,
)
from kafka_mirror.errors import (
    AclsDiffer,
    AuthorizationRefused,
    ConfigsDiffer,
    ConfigurationError,
    DecisionPending,
    GroupOffsetsBySchedule,
    HandedBack,
    LeaderMissing,
    MirrorError,
    NoCheckpoints,
    NoRemotePartition,
    NotCopiedYet,
    PartitionsDiffer,
    PartitionsPaused,
    PartitionStateUnknown,
    ReadersWithoutAcl,
    RightMissing,
    SourcePartitionGone,
    WaveBehind,
    WritersWithoutAcl,
)
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.documents import moment_text
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.acls import pattern_acls
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import EVERYBODY, LITERAL, ConfigEntry, PatternAcl, Topic, may
from kafka_mirror.ledger.control_records import HANDED_BACK, THROTTLE, Decision
from kafka_mirror.status.observe import observe
from kafka_mirror.status.status import (
    DECIDED,
    FIRST_SIGHT,
    GONE,
    NO_LEADER,
    NO_REMOTE,
    PAUSED,
    UNKNOWN,
    Observation,
    PartitionStatus,
    Status,
    status_of,
)
from kafka_mirror.topics.config_diff import compare_configs, select_configs_to_sync
from kafka_mirror.topics.topic_acls import remote_acls

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

_OWN = "DYNAMIC_TOPIC_CONFIG"
_CLUSTER, _INSTEAD = "the cluster", ", or do that by hand"

Entries = Mapping[str, ConfigEntry]
Errors = MutableMapping[str, MirrorError]


def judge_flow(flow: "Flow", has_groups: bool, decisions: Iterable[tuple[Decision, bool]]) -> Iterator[Finding]:
    """What is said of the flow; of its groups only if the wave has some. `decisions`: those of people, and whether each is in force."""
    if has_groups and not flow.value("emit.checkpoints.enabled"):
        yield stop(NoCheckpoints(flow.name, flow.target))
    if has_groups and flow.value("sync.group.offsets.enabled"):
        yield warning(GroupOffsetsBySchedule(flow.name, flow.target, flow.dag_id("group-offsets")))
    for decision, is_in_force in decisions:
        if is_in_force and decision.decision == THROTTLE:
            yield information("Throttled", f"The flow is throttled, so catching up takes longer: {decision}.")
        if is_in_force and decision.decision == HANDED_BACK:
            yield stop(HandedBack(decision.who, moment_text(decision.when)))


def judge_partitions(status: Status, topics: Collection[str], max_lag: int | None) -> Iterator[Finding]:
    """What is said of the partitions of these topics, and of the flow as a whole."""
    partitions = [partition for partition in status.partitions if partition.topic in topics]
    errors = [*status.errors, *(partition.error for partition in partitions if partition.error is not None)]
    yield from (stop(error) for error in dict.fromkeys(errors) if error.topic is None or error.topic in topics)
    for topic, group in groupby(partitions, key=lambda partition: partition.topic):
        yield from _find_in_topic(topic, list(group), max_lag)
    lags = [partition.lag for partition in partitions if partition.lag is not None]
    if lags:
        yield information("Lag", f"The wave lags by {sum(lags):,} records in all, and by at most {max(lags):,} in one partition.")


def _find_in_topic(topic: str, partitions: Sequence[PartitionStatus], max_lag: int | None) -> Iterator[Finding]:
    for note, group in groupby(_select_state(partitions, PAUSED), key=lambda partition: partition.note):
        yield stop(PartitionsPaused(topic, _numbers(group), note))
    decided = _select_state(partitions, DECIDED)
    if decided:
        yield warning(DecisionPending(topic, f"a decision about partitions {_numbers(decided)}: {decided[0].note}"))
    unseen = _select_state(partitions, FIRST_SIGHT)
    if unseen:
        yield warning(NotCopiedYet(_names(unseen), topic=topic))
    for state, error in _LOST_STATES.items():
        lost = [partition for partition in _select_state(partitions, state) if partition.error is None]
        if lost:
            yield stop(error(topic, _names(lost)))
    late = [partition for partition in partitions if max_lag is not None and (partition.lag or 0) > max_lag]
    if late and max_lag is not None:
        lags = first_few([f"{partition.partition} ({partition.lag:,})" for partition in late])
        yield stop(WaveBehind(f"{topic}: {len(late)} of {len(partitions)} partitions", max_lag, lags, topic=topic))


_LOST_STATES: Mapping[str, Callable[[str, str], MirrorError]] = {
    NO_REMOTE: NoRemotePartition,
    NO_LEADER: lambda topic, partitions: LeaderMissing(partitions, "the source", topic=topic),
    GONE: lambda topic, partitions: SourcePartitionGone(topic, partitions, "it was copied"),
    UNKNOWN: PartitionStateUnknown,
}
"""States in which it is unknown whether a partition is whole on the target."""


def _select_state(partitions: Iterable[PartitionStatus], state: str) -> list[PartitionStatus]:
    return [partition for partition in partitions if partition.state == state]


def _names(partitions: Iterable[PartitionStatus]) -> str:
    return first_few([f"{partition.topic}-{partition.partition}" for partition in partitions])


def _numbers(partitions: Iterable[PartitionStatus]) -> str:
    return first_few([partition.partition for partition in partitions])


# ------------------------------------------------------------ the settings of the topics


def check_configs(flow: "Flow", topics: Mapping[str, Topic], source: Cluster, target: Cluster, refused: Errors) -> Iterator[Finding]:
    """What differs between topics and their remote topics, where these are there. A config that the flow keeps the same
    (sync.topic.configs.enabled) stops the wave: a step was not run. What a cluster does not show of a topic is in `refused`."""
    selection, config_filter = topic_selection(flow), config_property_filter(flow)
    remotes = {name: selection.remote(name) for name in topics}
    there = target.topics(remotes.values(), refused)
    configs, remote_configs = source.configs(topics, refused), target.configs(there, refused)
    for name, remote in sorted(remotes.items()):
        if remote not in there:
            continue
        partitions, remote_partitions = len(topics[name].partitions), len(there[remote].partitions)
        if remote_partitions > partitions:
            yield warning(PartitionsDiffer(name, remote, partitions, remote_partitions))
        entries, remote_entries = configs.get(name, {}), remote_configs.get(remote, {})
        if not entries or not remote_entries:
            continue
        changes = compare_configs(select_configs_to_sync(entries, config_filter), remote_entries)
        if changes:
            error = ConfigsDiffer(name, remote, first_few(changes))
            yield stop(error) if flow.value("sync.topic.configs.enabled") else warning(error)
        others = _find_differences(entries, remote_entries, {change.entry for change in changes})
        if others:
            said = f"{remote}: these configs differ, and the flow leaves them alone: {first_few(others)}."
            yield information("ConfigsDiffer", said, topic=name)


def _find_differences(configs: Entries, remote_configs: Entries, named: Collection[str]) -> list[str]:
    """Entries that somebody set for one of the two topics, and that differ."""
    differences = []
    for name in sorted({*configs, *remote_configs} - set(named)):
        entries = configs.get(name), remote_configs.get(name)
        is_own = any(entry is not None and entry.source == _OWN for entry in entries)
        value, remote_value = (None if entry is None else entry.value for entry in entries)
        if is_own and value != remote_value:
            differences.append(f"{name} {value} (remote topic: {remote_value})")
    return differences


def check_acls(flow: "Flow", topics: Collection[str], source: Cluster, target: Cluster) -> Iterator[Finding]:
    """Who may read on the source and not on the target, and who may write there and not here; a warning where a cluster does not show its
    ACLs. A reader's ACL that the flow carries (sync.topic.acls.enabled) stops the wave where it lacks."""
    selection = topic_selection(flow)
    try:
        of_source, of_target = pattern_acls(source), pattern_acls(target)
    except AuthorizationRefused as refusal:
        yield warning(RightMissing(refusal.cluster, "DESCRIBE", _CLUSTER, "comparing the ACLs of both sides", _INSTEAD))
        return
    if of_source is None:
        yield information(
            "NoAuthorizer", f"{flow.source} has no authorizer, so no ACL can hold its producers off: a person has to stop them."
        )
        return
    if of_target is None:
        return
    there = {binding.acl for binding in of_target if binding.pattern == LITERAL}
    missing = {acl: topic for acl, topic in remote_acls(of_source, selection).items() if acl not in there}
    for topic in sorted(topics):
        remote = selection.display_name(topic)
        lacking = sorted(acl for acl, of_topic in missing.items() if of_topic == topic)
        if lacking:
            error = AclsDiffer(topic, first_few([f"{acl.topic}: {acl}" for acl in lacking]))
            yield stop(error) if flow.value("sync.topic.acls.enabled") else warning(error)
        readers = _find_lacking(of_source, of_target, "READ", topic, remote, of_many=True)
        if readers:
            yield warning(ReadersWithoutAcl(topic, flow.source, remote, flow.target, readers))
        writers = _find_lacking(of_source, of_target, "WRITE", topic, topic)
        if writers:
            yield warning(WritersWithoutAcl(topic, flow.source, flow.target, writers))


def _find_lacking(
    source: Collection[PatternAcl], target: Collection[PatternAcl], operation: str, topic: str, other: str, of_many: bool = False
) -> str:
    """Everybody who may do something with a topic on the source and not with the `other` one on the target, with the ACL that says so
    there; `of_many`: only by an ACL of many topics. What denies everybody to write is left out: it may be a fence."""
    fence = ("DENY", "WRITE", EVERYBODY)
    here = [of for of in source if of.takes(topic) and (of.acl.permission, of.acl.operation, of.acl.principal) != fence]
    there = [binding for binding in target if binding.takes(other)]
    return ", ".join(
        str(binding)
        for binding in sorted(here)
        if binding.acl.permission == "ALLOW"
        and binding.acl.operation in (operation, "ALL")
        and (binding.is_of_many or not of_many)
        and may(here, operation, topic, binding.acl.principal, binding.acl.host)
        and not may(there, operation, other, binding.acl.principal, binding.acl.host)
    )


def check_rights(flow: "Flow", source: Cluster, target: Cluster, refused: Errors) -> Iterator[Finding]:
    """A warning of each right that later steps would use, and that can be tested without writing. A control topic that may not be written
    is in `refused`."""
    operations = source.list_operations()
    if "DESCRIBE" not in operations:
        purpose = "seeing all consumer groups: those that it may not describe are not in this plan"
        yield warning(RightMissing(source.alias, "DESCRIBE", _CLUSTER, purpose, _INSTEAD))
    if "ALTER" not in operations:
        yield warning(RightMissing(source.alias, "ALTER", _CLUSTER, "a write fence by ACL", _INSTEAD))
    target.topics([replication_policy(flow).control_topic(flow.source)], refused, operation="WRITE")


# ------------------------------------------------------------ all questions


@dataclass(frozen=True)
class Preflight:
    """What a preflight saw, and what it says. `writers` is None if no broker could be asked."""

    time: datetime
    topics: tuple[str, ...] = ()
    partitions: tuple[PartitionStatus, ...] = ()
    groups: tuple[WaveGroup, ...] = ()
    writers: Writers | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def may_move(self) -> bool:
        """Whether nothing stops the wave."""
        return not has_stop(self.findings)


def preflight(flow: "Flow", wave: Wave) -> Preflight:
    """Asks both clusters about a wave. What cannot be asked is a stop beside the others. Raises ConfigurationError."""
    observation = observe(flow)
    if observation.silent:
        findings = map(stop, observation.silent.values())
        return Preflight(observation.time, findings=with_flow(sort_findings(findings), flow.name))
    with open_move(flow, wave) as move:
        return _Survey(move, observation, status_of(observation)).run()


@dataclass
class _Survey:
    """One pass over all questions. A question that fails is a stop, and the others are asked all the same."""

    move: Move
    observation: Observation
    status: Status
    findings: list[Finding] = field(default_factory=list)
    refused: dict[str, MirrorError] = field(default_factory=dict)
    groups: tuple[WaveGroup, ...] = ()
    writers: Writers | None = None

    def run(self) -> Preflight:
        """Asks all questions."""
        flow, wave, topics = self.move.flow, self.move.wave, self.move.topics
        self.findings += report_wave_topics(wave, topics)
        self.findings += judge_partitions(self.status, topics.names, wave.max_lag)
        if topics.names:
            self._ask(self._ask_clusters)
        self.findings += judge_flow(flow, bool(self.groups), self.observation.decisions)
        self.findings += map(stop, self.refused.values())
        partitions = tuple(partition for partition in self.status.partitions if partition.topic in topics.names)
        findings = with_flow(sort_findings(self.findings), flow.name)
        return Preflight(self.observation.time, topics.names, partitions, self.groups, self.writers, findings)

    def _ask_clusters(self) -> None:
        flow, source, target, names = self.move.flow, self.move.sides.source, self.move.sides.target, self.move.topics.names
        topics = source.topics(names, self.refused, operation="READ")
        partitions = [TopicPartition(topic.name, partition.number) for topic in topics.values() for partition in topic.partitions]
        began, ends = time.monotonic(), source.offsets(partitions, "latest", errors={})
        self._ask(lambda: check_configs(flow, topics, source, target, self.refused))
        self._ask(lambda: check_acls(flow, names, source, target))
        self._ask(self._check_earlier_fence)
        self._ask(lambda: check_rights(flow, source, target, self.refused))
        self._ask(self._check_groups)
        self._ask(lambda: self._check_writers(partitions, ends, began))

    def _check_earlier_fence(self) -> Iterator[Finding]:
        flow, sides, topics = self.move.flow, self.move.sides, self.move.topics.names
        opposite = find_opposite_flow(flow, topics)
        yield from check_age(opposite, flow, sides.source)
        acls, findings = survey_opposite_fence(opposite, topics, sides.source, sides.target)
        yield from findings
        for acl in acls:
            yield information("FenceGoes", f"{acl.topic}: {acl} on {flow.target}, set by an earlier wave, goes when this one opens.")

    def _check_groups(self) -> Iterator[Finding]:
        surveyed = survey_groups(self.move)
        self.groups = surveyed.groups
        return find_in_groups(surveyed, self.move.flow.source, self.move.flow.target)

    def _check_writers(self, partitions: list[TopicPartition], ends: Mapping[TopicPartition, int], began: float) -> Iterator[Finding]:
        """`ends`: those of a moment, to see whether they moved since."""
        source = self.move.sides.source
        writers = survey_writers(self.move.flow, source, partitions, self.refused)
        now = source.offsets(ends, "latest", errors={})
        growth = {tp: now[tp] - end for tp, end in ends.items() if tp in now}
        self.writers = replace(writers, growth=growth, seconds=time.monotonic() - began)
        return report_writers(self.writers)

    def _ask(self, question: Callable[[], Iterable[Finding] | None]) -> None:
        """Keeps what a question brings; that it failed stops the wave."""
        try:
            self.findings += question() or ()
        except ConfigurationError:
            raise
        except MirrorError as error:
            self.findings.append(stop(error))


def step(move: Move, _notes: WaveNotes, _options: StepOptions) -> StepOutcome:
    """Asks both clusters everything that would stop the wave; notes the size of the wave. Raises ConfigurationError."""
    result = preflight(move.flow, move.wave)
    lag = sum(partition.lag or 0 for partition in result.partitions)
    sizes = {"topics": len(result.topics), "partitions": len(result.partitions), "groups": len(result.groups), "lag": lag}
    size = f"{len(result.topics)} topics with {len(result.partitions)} partitions, {len(result.groups)} groups."
    findings = tuple(finding for finding in result.findings if finding.kind != INFORMATION)
    information = tuple(finding.message for finding in result.findings if finding.kind == INFORMATION)
    return make_outcome(PREFLIGHT, findings, (size, *information), sizes)
