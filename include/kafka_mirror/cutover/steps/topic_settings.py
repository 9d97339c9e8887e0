"""What the preflight asks about the settings of a wave's topics: configs, partitions, readers and writers on both sides; and rights."""

from collections.abc import Collection, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING

from kafka_mirror.config.policies import config_property_filter, replication_policy, topic_selection
from kafka_mirror.cutover.wave.step import Finding, information, stop, warning
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
from kafka_mirror.kafka.model import EVERYBODY, LITERAL, ConfigEntry, PatternAcl, Topic, may
from kafka_mirror.topics.config_diff import compare_configs, select_configs_to_sync
from kafka_mirror.topics.topic_acls import remote_acls

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

_OWN = "DYNAMIC_TOPIC_CONFIG"
_CLUSTER, _INSTEAD = "the cluster", ", or do that by hand"

Entries = Mapping[str, ConfigEntry]
Errors = MutableMapping[str, MirrorError]


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
