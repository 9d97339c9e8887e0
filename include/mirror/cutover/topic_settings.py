"""Where the topics of a wave differ from their remote topics: configs, partitions, and who may read and write. Pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from mirror.cutover.findings import Finding, information, some, stop, warning
from mirror.errors.next_step import of_the_flow
from mirror.kafka.model import Acl, ConfigEntry
from mirror.policy import ConfigPropertyFilter
from mirror.sync.config_diff import config_changes, configs_to_sync

_OWN = "DYNAMIC_TOPIC_CONFIG"
_WRITES = ("WRITE", "ALL")

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
        said = f"{sides.topic} has {sides.partitions} partitions and {sides.remote} has {sides.remote_partitions}."
        step = "Producers that choose partitions by key will choose others there; add partitions to the source topic first if that matters."
        yield warning("partitions-differ", said, step, topic=sides.topic)
    if not sides.configs or not sides.remote_configs:
        return
    changes = config_changes(configs_to_sync(sides.configs, config_filter), sides.remote_configs)
    if changes:
        said = f"{sides.remote}: its configs are not those of {sides.topic}: {some(changes)}."
        say = stop if is_synced else warning
        yield say("configs-differ", said, of_the_flow("topic-configs"), topic=sides.topic)
    others = _differences(sides, {change.entry for change in changes})
    if others:
        said = f"{sides.remote}: these configs differ, and the flow leaves them alone: {some(others)}."
        yield information("configs-differ", said, topic=sides.topic)


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
    """The ACLs of single topics on both clusters; None where a cluster has no authorizer. `missing` are those that the flow's remote topics
    lack, each with its source topic."""

    source: frozenset[Acl] | None
    target: frozenset[Acl] | None
    missing: Mapping[Acl, str]


def acl_findings(acls: AclSides, topics: Collection[str], source: str, target: str, is_synced: bool) -> Iterator[Finding]:
    """Who may read on the source and not on the target, and who may write there and not here. `is_synced`: whether the flow carries the
    ACLs of readers (sync.topic.acls.enabled)."""
    if acls.source is None:
        yield information("no-authorizer", f"{source} has no authorizer, so no ACL can hold its producers off: a person has to stop them.")
        return
    if acls.target is None:
        return
    for topic in sorted({*acls.missing.values()} & set(topics)):
        lacking = sorted(acl for acl, of_topic in acls.missing.items() if of_topic == topic)
        said = f"{topic}: its remote topic lacks ACLs: {some([f'{acl.topic}: {acl}' for acl in lacking])}."
        yield (stop if is_synced else warning)("acls-differ", said, of_the_flow("topic-acls"), topic=topic)
    for topic in sorted(topics):
        writers = sorted({acl.principal for acl in acls.source if acl.topic == topic and _may_write(acl)})
        lacking_writers = [principal for principal in writers if not _writes(principal, topic, acls.target)]
        if lacking_writers:
            said = f"{topic}: {some(lacking_writers)} may write to it on {source}, and no ACL of a topic of that name says so on {target}."
            step = f"Give them WRITE on {target} before producers move; the flow never carries it."
            yield warning("writers-without-acl", said, step, topic=topic)


def _may_write(acl: Acl) -> bool:
    return acl.permission == "ALLOW" and acl.operation in _WRITES


def _writes(principal: str, topic: str, acls: Collection[Acl]) -> bool:
    return any(_may_write(acl) and acl.topic in (topic, "*") and acl.principal in (principal, "User:*") for acl in acls)
