"""The step `preflight`, which `cutover plan` shows: asks everything that could stop a wave, and says all of it at once. Writes nothing.

Besides the clusters it judges the flow's own state: properties, decisions, errors, partitions that are not copied, or lag too far.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from kafka_mirror.config.policies import config_property_filter
from kafka_mirror.cutover.groups.findings import WaveGroup, find_in_groups
from kafka_mirror.cutover.groups.survey import GroupClusters, survey_groups
from kafka_mirror.cutover.steps.opposite_flow import age_findings, opposite_flow, survey_opposite_fence
from kafka_mirror.cutover.steps.topic_settings import (
    acl_findings,
    config_findings,
    readable_topics,
    survey_acls,
    survey_rights,
    survey_topics,
)
from kafka_mirror.cutover.steps.writers import EndWatch, Writers, survey_writers, writer_findings
from kafka_mirror.cutover.wave.findings import INFORMATION, STOP, Finding, in_order, information, stop, warning, wave_findings
from kafka_mirror.cutover.wave.move import Move, clusters_of
from kafka_mirror.cutover.wave.notebook import WaveNotes
from kafka_mirror.cutover.wave.selection import Wave, WaveTopics, select_topics
from kafka_mirror.cutover.wave.step import PREFLIGHT, StepOptions, StepOutcome, ended
from kafka_mirror.errors import (
    ConfigurationError,
    DecisionPending,
    GroupOffsetsBySchedule,
    HandedBack,
    LeaderMissing,
    MirrorError,
    NoCheckpoints,
    NoRemotePartition,
    NotCopiedYet,
    PartitionsPaused,
    PartitionStateUnknown,
    SourcePartitionGone,
    WaveBehind,
)
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.documents import moment_text
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import GroupContext, group_context
from kafka_mirror.kafka.model import Topic
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

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


def flow_findings(flow: "Flow", has_groups: bool, decisions: Iterable[tuple[Decision, bool]]) -> Iterator[Finding]:
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


def partition_findings(status: Status, topics: Collection[str], max_lag: int | None) -> Iterator[Finding]:
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


Result = TypeVar("Result")


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
        return not any(finding.kind == STOP for finding in self.findings)


def preflight(flow: "Flow", wave: Wave) -> Preflight:
    """Asks both clusters about a wave. What cannot be asked is a stop beside the others. Raises ConfigurationError."""
    context = group_context(flow)
    observation = observe(flow)
    status = status_of(observation)
    if observation.silent:
        findings = map(stop, observation.silent.values())
        return Preflight(observation.time, findings=in_order(findings, flow.name))
    with clusters_of(context) as sides:
        return _Survey(flow, wave, context, sides, observation, status).run()


@dataclass
class _Survey:
    """One pass over all questions. A question that fails is a stop, and the others are asked all the same."""

    flow: "Flow"
    wave: Wave
    context: GroupContext
    sides: GroupClusters
    observation: Observation
    status: Status
    findings: list[Finding] = field(default_factory=list)
    refused: dict[str, MirrorError] = field(default_factory=dict)
    groups: tuple[WaveGroup, ...] = ()
    writers: Writers | None = None

    def run(self) -> Preflight:
        """Asks all questions."""
        names = self._ask(self.sides.source.names) or []
        chosen = select_topics(self.wave, names, self.context.selection)
        self.findings += wave_findings(self.wave, chosen)
        self.findings += partition_findings(self.status, chosen.names, self.wave.max_lag)
        if chosen.names:
            self._ask(lambda: self._clusters(chosen, names))
        self.findings += flow_findings(self.flow, bool(self.groups), self.observation.decisions)
        self.findings += map(stop, self.refused.values())
        return Preflight(
            self.observation.time,
            chosen.names,
            tuple(partition for partition in self.status.partitions if partition.topic in chosen.names),
            self.groups,
            self.writers,
            in_order(self.findings, self.flow.name),
        )

    def _clusters(self, chosen: WaveTopics, names: Iterable[str]) -> None:
        topics = readable_topics(self.sides.source, chosen.names, self.refused)
        partitions = [TopicPartition(topic.name, partition.number) for topic in topics.values() for partition in topic.partitions]
        watch = EndWatch(self.sides.source, partitions)
        self._ask(lambda: self._settings(topics))
        self._ask(lambda: self._acls(chosen))
        self._ask(lambda: self._earlier_fence(chosen))
        self._ask(self._rights)
        self._ask(lambda: self._groups(chosen, frozenset(names)))
        self._ask(lambda: self._writers(partitions, watch))

    def _settings(self, topics: Mapping[str, Topic]) -> None:
        config_filter, is_synced = config_property_filter(self.flow), bool(self.flow.value("sync.topic.configs.enabled"))
        for topic in survey_topics(topics, self.context.selection, self.sides.source, self.sides.target, self.refused):
            self.findings += config_findings(topic, config_filter, is_synced)

    def _acls(self, chosen: WaveTopics) -> None:
        acls, lacking = survey_acls(chosen.names, self.context.selection, self.sides.source, self.sides.target)
        self.findings += lacking
        if acls is not None:
            is_synced = bool(self.flow.value("sync.topic.acls.enabled"))
            self.findings += acl_findings(acls, self.flow.source, self.flow.target, is_synced)

    def _earlier_fence(self, chosen: WaveTopics) -> None:
        opposite = opposite_flow(self.flow, chosen.names)
        self.findings += age_findings(opposite, self.flow, self.sides.source)
        fence = survey_opposite_fence(opposite, chosen.names, self.sides.source, self.sides.target)
        self.findings += fence.findings
        self.findings += [
            information("FenceGoes", f"{acl.topic}: {acl} on {self.flow.target}, set by an earlier wave, goes when this one opens.")
            for acl in fence.acls
        ]

    def _rights(self) -> None:
        self.findings += survey_rights(self.flow, self.sides.source, self.sides.target, self.refused)

    def _groups(self, chosen: WaveTopics, names: frozenset[str]) -> None:
        surveyed = survey_groups(self.flow, self.context, self.wave, chosen.names, names, self.sides)
        self.groups = surveyed.groups
        self.findings += find_in_groups(surveyed, self.flow.source, self.flow.target)

    def _writers(self, partitions: list[TopicPartition], watch: EndWatch) -> None:
        self.writers = survey_writers(self.flow, self.sides.source, partitions, watch, self.refused)
        self.findings += writer_findings(self.writers)

    def _ask(self, question: Callable[[], Result]) -> Result | None:
        """What the question brings; None if it failed, which stops the wave."""
        try:
            return question()
        except ConfigurationError:
            raise
        except MirrorError as error:
            self.findings.append(stop(error))
            return None


def step(move: Move, _notes: WaveNotes, _options: StepOptions) -> StepOutcome:
    """Asks both clusters everything that would stop the wave; notes the size of the wave. Raises ConfigurationError."""
    result = preflight(move.flow, move.wave)
    lag = sum(partition.lag or 0 for partition in result.partitions)
    sizes = {"topics": len(result.topics), "partitions": len(result.partitions), "groups": len(result.groups), "lag": lag}
    size = f"{len(result.topics)} topics with {len(result.partitions)} partitions, {len(result.groups)} groups."
    findings = tuple(finding for finding in result.findings if finding.kind != INFORMATION)
    information = tuple(finding.message for finding in result.findings if finding.kind == INFORMATION)
    return ended(PREFLIGHT, findings, (size, *information), sizes)
