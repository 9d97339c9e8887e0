"""Where the topics of a wave differ from their remote topics: configs, partitions, and who may read and write. Pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kafka_mirror.cutover.wave.findings import Finding, information, stop, warning
from kafka_mirror.errors import AclsDiffer, ConfigsDiffer, PartitionsDiffer, ReadersWithoutAcl, WritersWithoutAcl
from kafka_mirror.errors.words import first_few
from kafka_mirror.kafka.model import EVERYBODY, Acl, ConfigEntry, PatternAcl, may
from kafka_mirror.policy import ConfigPropertyFilter
from kafka_mirror.topics.config_diff import compare_configs, select_configs_to_sync

_OWN = "DYNAMIC_TOPIC_CONFIG"

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


def config_findings(sides: TopicSides, config_filter: ConfigPropertyFilter, is_synced: bool) -> Iterator[Finding]:
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


def acl_findings(acls: AclSides, source: str, target: str, is_synced: bool) -> Iterator[Finding]:
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
        readers = _lacking(acls.source, acls.target, "READ", topic, remote, of_many=True)
        if readers:
            yield warning(ReadersWithoutAcl(topic, source, remote, target, readers))
        writers = _lacking(acls.source, acls.target, "WRITE", topic, topic)
        if writers:
            yield warning(WritersWithoutAcl(topic, source, target, writers))


def _lacking(
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
