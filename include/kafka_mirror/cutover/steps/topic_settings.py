"""Where the topics of a wave differ from their remote topics: configs, partitions, readers and writers; and the rights that a move lacks.

The surveys ask both clusters, and the findings judge what these answered.
"""

from collections.abc import Collection, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_mirror.config.policies import replication_policy
from kafka_mirror.cutover.wave.findings import Finding, information, stop, warning
from kafka_mirror.errors import (
    AclsDiffer,
    AuthorizationRefused,
    ConfigsDiffer,
    MirrorError,
    PartitionsDiffer,
    ReadersWithoutAcl,
    RightMissing,
    WritersWithoutAcl,
)
from kafka_mirror.errors.words import first_few
from kafka_mirror.kafka.acls import pattern_acls
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import EVERYBODY, LITERAL, Acl, ConfigEntry, PatternAcl, Topic, may
from kafka_mirror.policy import ConfigPropertyFilter, TopicSelection
from kafka_mirror.topics.config_diff import compare_configs, select_configs_to_sync
from kafka_mirror.topics.topic_acls import remote_acls

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

_OWN = "DYNAMIC_TOPIC_CONFIG"
_CLUSTER, _INSTEAD = "the cluster", ", or do that by hand"

Entries = Mapping[str, ConfigEntry]


@dataclass(frozen=True)
class TopicSides:
    """A topic and its remote topic: names, numbers of partitions, configs. Configs that could not be read are empty."""

    topic: str
    remote: str
    partitions: int
    remote_partitions: int
    configs: Entries
    remote_configs: Entries


def report_configs(sides: TopicSides, config_filter: ConfigPropertyFilter, is_synced: bool) -> Iterator[Finding]:
    """What differs between the two. `is_synced`: whether the flow keeps configs the same (sync.topic.configs.enabled); then a difference is
    a step that was not run, and stops the wave."""
    if sides.remote_partitions > sides.partitions:
        yield warning(PartitionsDiffer(sides.topic, sides.remote, sides.partitions, sides.remote_partitions))
    if not sides.configs or not sides.remote_configs:
        return
    changes = compare_configs(select_configs_to_sync(sides.configs, config_filter), sides.remote_configs)
    if changes:
        error = ConfigsDiffer(sides.topic, sides.remote, first_few(changes))
        yield stop(error) if is_synced else warning(error)
    others = _differences(sides, {change.entry for change in changes})
    if others:
        said = f"{sides.remote}: these configs differ, and the flow leaves them alone: {first_few(others)}."
        yield information("ConfigsDiffer", said, topic=sides.topic)


def _differences(sides: TopicSides, named: Collection[str]) -> list[str]:
    """Entries that somebody set for one of the two topics, and that differ."""
    differences = []
    for name in sorted({*sides.configs, *sides.remote_configs} - set(named)):
        source, remote = sides.configs.get(name), sides.remote_configs.get(name)
        is_own = any(entry is not None and entry.source == _OWN for entry in (source, remote))
        values = [None if entry is None else entry.value for entry in (source, remote)]
        if is_own and values[0] != values[1]:
            differences.append(f"{name} {values[0]} (remote topic: {values[1]})")
    return differences


@dataclass(frozen=True)
class AclSides:
    """The ACLs of topics on both clusters; None where a cluster has no authorizer. `missing` are those that the flow's remote topics lack,
    each with its source topic; `remotes` are the remote names of the wave's topics."""

    source: frozenset[PatternAcl] | None
    target: frozenset[PatternAcl] | None
    missing: Mapping[Acl, str]
    remotes: Mapping[str, str]


def report_acls(acls: AclSides, source: str, target: str, is_synced: bool) -> Iterator[Finding]:
    """Who may read on the source and not on the target, and who may write there and not here. `is_synced`: whether the flow carries the
    ACLs of readers (sync.topic.acls.enabled)."""
    if acls.source is None:
        yield information("NoAuthorizer", f"{source} has no authorizer, so no ACL can hold its producers off: a person has to stop them.")
        return
    if acls.target is None:
        return
    for topic, remote in sorted(acls.remotes.items()):
        lacking = sorted(acl for acl, of_topic in acls.missing.items() if of_topic == topic)
        if lacking:
            error = AclsDiffer(topic, first_few([f"{acl.topic}: {acl}" for acl in lacking]))
            yield stop(error) if is_synced else warning(error)
        readers = _find_lacking(acls.source, acls.target, "READ", topic, remote, of_many=True)
        if readers:
            yield warning(ReadersWithoutAcl(topic, source, remote, target, readers))
        writers = _find_lacking(acls.source, acls.target, "WRITE", topic, topic)
        if writers:
            yield warning(WritersWithoutAcl(topic, source, target, writers))


def _find_lacking(
    source: Collection[PatternAcl], target: Collection[PatternAcl], operation: str, topic: str, other: str, of_many: bool = False
) -> str:
    """Everybody who may do something with a topic on the source and not with the `other` one on the target, with the ACL that says so
    there; `of_many`: only by an ACL of many topics. What denies everybody to write is left out: it may be a fence."""
    here = [binding for binding in source if binding.takes(topic) and not _is_fence(binding.acl)]
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


def _is_fence(acl: Acl) -> bool:
    return (acl.permission, acl.operation, acl.principal) == ("DENY", "WRITE", EVERYBODY)


Errors = MutableMapping[str, MirrorError]


def survey_topics(
    topics: Mapping[str, Topic], selection: TopicSelection, source: Cluster, target: Cluster, refused: Errors
) -> list[TopicSides]:
    """Topics beside their remote topics, where these are there. What a cluster does not show of one is in `refused`."""
    remotes = {name: selection.remote(name) for name in topics}
    there = target.topics(remotes.values(), refused)
    configs = source.configs(topics, refused)
    remote_configs = target.configs(there, refused)
    return [
        TopicSides(
            name,
            remote,
            len(topics[name].partitions),
            len(there[remote].partitions),
            configs.get(name, {}),
            remote_configs.get(remote, {}),
        )
        for name, remote in sorted(remotes.items())
        if remote in there
    ]


def survey_acls(
    topics: Collection[str], selection: TopicSelection, source: Cluster, target: Cluster
) -> tuple[AclSides | None, tuple[Finding, ...]]:
    """The ACLs of both clusters; None, and a warning of the right that is lacking, where one of them does not show its ACLs."""
    sides: list[frozenset[PatternAcl] | None] = []
    for cluster in (source, target):
        try:
            sides.append(pattern_acls(cluster))
        except AuthorizationRefused:
            lacking = RightMissing(cluster.alias, "DESCRIBE", _CLUSTER, "comparing the ACLs of both sides", _INSTEAD)
            return None, (warning(lacking),)
    of_source, of_target = sides
    there = {binding.acl for binding in of_target or () if binding.pattern == LITERAL}
    wanted = remote_acls(of_source or (), selection)
    missing = {acl: topic for acl, topic in wanted.items() if topic in topics and acl not in there}
    return AclSides(of_source, of_target, missing, {topic: selection.display_name(topic) for topic in topics}), ()


def survey_rights(flow: "Flow", source: Cluster, target: Cluster, refused: Errors) -> Iterator[Finding]:
    """A warning of each right that later steps would use, and that can be tested without writing. A control topic that may not be written
    is in `refused`."""
    operations = source.operations()
    if "DESCRIBE" not in operations:
        purpose = "seeing all consumer groups: those that it may not describe are not in this plan"
        yield warning(RightMissing(source.alias, "DESCRIBE", _CLUSTER, purpose, _INSTEAD))
    if "ALTER" not in operations:
        yield warning(RightMissing(source.alias, "ALTER", _CLUSTER, "a write fence by ACL", _INSTEAD))
    target.topics([replication_policy(flow).control_topic(flow.source)], refused, operation="WRITE")
