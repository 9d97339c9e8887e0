"""What has to change on the target so that every mirrored topic has its remote topic. Pure: it only compares."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from mirror.errors import MirrorError, RemoteNameUnusable
from mirror.kafka.model import ConfigEntry, Topic
from mirror.policy import ConfigPropertyFilter, TopicSelection, is_ledger_or_control_topic

_LONGEST_NAME = 249
_ILLEGAL = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True)
class TopicChange:
    """A remote topic that is to have so many partitions."""

    topic: str
    remote: str
    partitions: int


@dataclass(frozen=True)
class TopicChanges:
    """The outcome of the comparison; `unchanged` holds remote names, `errors` are by source topic."""

    create: tuple[TopicChange, ...]
    extend: tuple[TopicChange, ...]
    unchanged: tuple[str, ...]
    errors: Mapping[str, MirrorError]


def plan_topics(source_topics: Mapping[str, Topic], target_topics: Mapping[str, Topic], remote_names: Mapping[str, str]) -> TopicChanges:
    """Compares the selected source topics with the remote topics that exist; `remote_names` has the remote name of each.

    Partitions are only ever added, and a remote topic with more of them than its source stays so, as in MirrorMaker 2.
    """
    create: list[TopicChange] = []
    extend: list[TopicChange] = []
    unchanged: list[str] = []
    errors: dict[str, MirrorError] = {}
    taken = Counter(remote_names[name] for name in source_topics)
    for name, topic in sorted(source_topics.items()):
        remote = remote_names[name]
        complaint = "is the remote name of another topic too" if taken[remote] > 1 else unusable(remote)
        wanted = TopicChange(name, remote, len(topic.partitions))
        if complaint:
            errors[name] = RemoteNameUnusable(name, remote, complaint)
        elif remote not in target_topics:
            create.append(wanted)
        elif len(target_topics[remote].partitions) < wanted.partitions:
            extend.append(wanted)
        else:
            unchanged.append(remote)
    return TopicChanges(tuple(create), tuple(extend), tuple(unchanged), errors)


def orphans(selection: TopicSelection, source_names: Collection[str], target_names: Collection[str]) -> dict[str, str]:
    """Remote topics of this flow whose upstream topic the source does not show, with the upstream's name.

    Where a policy keeps the name, nothing on the target says that a topic came from the source, so it is not listed. Neither is what the
    flow would not mirror anyway.
    """
    policy = selection.policy
    found: dict[str, str] = {}
    for remote in sorted(target_names):
        if policy.is_internal_topic(remote) or is_ledger_or_control_topic(remote) or policy.topic_source(remote) != selection.source:
            continue
        upstream = policy.upstream_topic(remote)
        if upstream is not None and upstream != remote and upstream not in source_names and selection.should_replicate(upstream):
            found[remote] = upstream
    return found


def configs_to_create(entries: Mapping[str, ConfigEntry], config_filter: ConfigPropertyFilter) -> dict[str, str]:
    """The configs that a new remote topic gets: what was set for the source topic, or dynamically on its brokers.

    As in MirrorMaker 2, what stands in the source brokers' own files is not carried, and defaults only with `use.defaults.from=source`.
    """
    return {
        name: entry.value
        for name, entry in sorted(entries.items())
        if entry.value is not None
        and not entry.read_only
        and not entry.sensitive
        and entry.source != "STATIC_BROKER_CONFIG"
        and (not entry.is_default or config_filter.use_defaults_from_source)
        and config_filter.should_replicate(name)
    }


def unusable(remote: str) -> str:
    """Why Kafka would not take this as a topic's name; empty if it would."""
    if len(remote) > _LONGEST_NAME:
        return f"has {len(remote)} characters, and Kafka takes {_LONGEST_NAME} at most"
    illegal = sorted(set(_ILLEGAL.findall(remote)))
    if illegal:
        shown = ", ".join(repr(character) for character in illegal)
        return f"contains {shown}, and Kafka takes letters, digits, '.', '_' and '-' only"
    return "cannot be a topic's name" if remote in ("", ".", "..") else ""
