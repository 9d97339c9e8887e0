"""The preflight of a wave: asks everything that could stop it, and says all of it at once. Writes nothing."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from kafka_mirror.config.policies import config_property_filter
from kafka_mirror.cutover.groups.findings import WaveGroup, find_in_groups
from kafka_mirror.cutover.groups.survey import GroupClusters, survey_groups
from kafka_mirror.cutover.steps.flow_settings import flow_findings, right_findings
from kafka_mirror.cutover.steps.opposite_fence import survey_opposite_fence
from kafka_mirror.cutover.steps.opposite_flow import age_findings, opposite_flow
from kafka_mirror.cutover.steps.partitions import partition_findings
from kafka_mirror.cutover.steps.topic_settings import acl_findings, config_findings
from kafka_mirror.cutover.steps.topic_survey import readable_topics, survey_acls, survey_rights, survey_topics
from kafka_mirror.cutover.steps.writer_survey import EndWatch, survey_writers
from kafka_mirror.cutover.steps.writers import Writers, writer_findings
from kafka_mirror.cutover.wave.findings import STOP, Finding, in_order, information, stop, wave_findings
from kafka_mirror.cutover.wave.move import clusters_of
from kafka_mirror.cutover.wave.selection import Wave, WaveTopics, select_topics
from kafka_mirror.errors import ConfigurationError, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import GroupContext, group_context
from kafka_mirror.kafka.model import Topic
from kafka_mirror.status.observe import observe
from kafka_mirror.status.status import Observation, PartitionStatus, Status, status_of

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


Result = TypeVar("Result")


@dataclass(frozen=True)
class Preflight:
    """What a preflight saw, and what it says. `writers` is None if nobody could be asked."""

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
        self._ask(lambda: self._rights())
        self._ask(lambda: self._groups(chosen, frozenset(names)))
        self._ask(lambda: self._writers(partitions, watch))

    def _settings(self, topics: Mapping[str, Topic]) -> None:
        config_filter, is_synced = config_property_filter(self.flow), bool(self.flow.value("sync.topic.configs.enabled"))
        for topic in survey_topics(topics, self.context.selection, self.sides.source, self.sides.target, self.refused):
            self.findings += config_findings(topic, config_filter, is_synced)

    def _acls(self, chosen: WaveTopics) -> None:
        acls, lacking = survey_acls(chosen.names, self.context.selection, self.sides.source, self.sides.target)
        self.findings += right_findings(lacking)
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
        self.findings += right_findings(survey_rights(self.flow, self.sides.source, self.sides.target, self.refused))

    def _groups(self, chosen: WaveTopics, names: frozenset[str]) -> None:
        survey = survey_groups(self.flow, self.context, self.wave, chosen.names, names, self.sides)
        self.groups = survey.groups.groups
        self.findings += find_in_groups(survey.groups, self.flow.source, self.flow.target)
        self.findings += right_findings(survey.rights)
        self.findings += map(stop, survey.errors)

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
