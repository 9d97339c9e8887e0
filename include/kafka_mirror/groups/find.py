"""Finds the groups whose offsets are translated (`refresh-groups`)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kafka_mirror.config.policies import group_filter, topic_selection
from kafka_mirror.errors import ErrorReport, MirrorError
from kafka_mirror.errors.words import show
from kafka_mirror.formats.documents import moment_text
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups
from kafka_mirror.kafka.model import Committed
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.policy import GroupFilter, IdleMembers, TopicFilter
from kafka_mirror.policy.filters import DefaultGroupFilter, idle_members

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


@dataclass(frozen=True)
class SelectedGroups:
    """The groups with what they committed, by group and partition, and what is wrong with single groups."""

    offsets: Mapping[str, Mapping[TopicPartition, Committed]]
    errors: tuple[ErrorReport, ...] = ()
    idle: IdleMembers | None = None
    """The members of `groups` that take none of the source's groups."""

    @property
    def partitions(self) -> int:
        """How many group-partitions."""
        return sum(len(offset) for offset in self.offsets.values())


@dataclass(frozen=True)
class KnownGroups:
    """Groups that were found before, how many group-partitions they have, and what was wrong with others."""

    names: tuple[str, ...]
    partitions: int
    errors: tuple[ErrorReport, ...] = ()


def recall_groups(result: Mapping[str, Any], config_hash: str, now: datetime, longest_seconds: float) -> KnownGroups | None:
    """What an earlier `refresh-groups` gave as its result; None if it was made with another configuration, or too long ago."""
    age = (now - datetime.fromisoformat(result["time"])).total_seconds()
    if result["config"] != config_hash or age > longest_seconds:
        return None
    return KnownGroups(tuple(result["group"]), sum(result["partitions"]))


def step(flow: "Flow", dry_run: bool = False) -> StepResult:  # noqa: ARG001 — it writes nothing anyway
    """`refresh-groups` as a step. Raises what concerns the source as a whole."""
    selected = find_groups(flow)
    names = sorted(selected.offsets)
    counts = [len(selected.offsets[name]) for name in names]
    result = {"time": moment_text(datetime.now(UTC)), "config": flow.config_hash, "group": names, "partitions": counts}
    totals = {"groups": len(names), "partitions": selected.partitions}
    lines = [f"{show(name)}: {count} partitions" for name, count in zip(names, counts, strict=True)]
    lines.append(f"{len(names)} groups with {selected.partitions} partitions are translated.")
    if selected.idle is not None:
        lines.append(str(selected.idle))
    is_idle = selected.idle is not None and selected.idle.is_whole_list
    return StepResult(result, totals, tuple(lines), selected.errors, is_idle)


def find_groups(flow: "Flow") -> SelectedGroups:
    """The source's groups by type, `groups`, `groups.exclude`, `group.filter.class`, and with a topic that the topic filter takes."""
    settings = flow.client("source", "admin")
    with Cluster(flow.source, settings, flow.request_seconds) as source:
        groups, chosen = Groups(source), group_filter(flow)
        names = select_groups(groups, chosen)
        selected = read_group_offsets(groups, names, topic_selection(flow).topic_filter)
    name = "groups" if isinstance(chosen, DefaultGroupFilter) else "group.filter.class"
    return replace(selected, idle=idle_members(name, chosen.members, "group", flow.source, frozenset(names), chosen.should_replicate))


def known_groups(flow: "Flow") -> KnownGroups:
    """The groups that the source has now. Raises what concerns the source as a whole."""
    selected = find_groups(flow)
    return KnownGroups(tuple(sorted(selected.offsets)), selected.partitions, selected.errors)


def select_groups(groups: Groups, by: GroupFilter) -> list[str]:
    """Returns the consumer groups that the filter takes."""
    return sorted(name for name, group in groups.list_groups().items() if group.has_offsets and by.should_replicate(name))


def read_group_offsets(groups: Groups, names: Collection[str], takes: TopicFilter) -> SelectedGroups:
    """Those of the groups that committed for a topic that the filter takes; as in MirrorMaker 2, whether it is mirrored is not asked."""
    errors: dict[str, MirrorError] = {}
    offsets = groups.read_committed(names, errors)
    topics = {topic: takes.should_replicate(topic) for topic in {tp.topic for offset in offsets.values() for tp in offset}}
    with_mirrored_topics = {name: committed for name, committed in offsets.items() if any(topics[tp.topic] for tp in committed)}
    return SelectedGroups(with_mirrored_topics, tuple(error.report() for _, error in sorted(errors.items())))
