"""Keeps the configs of a flow's remote topics as those of their source topics (`topic-configs`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka_mirror.config.policies import config_property_filter
from kafka_mirror.errors import ErrorReport, KafkaFailure, MirrorError, RemoteConfigRefused
from kafka_mirror.errors.words import count_text
from kafka_mirror.formats.documents import columns
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.clusters import clusters_of_step, current_selection, renamed_topics
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.topics.config_diff import (
    MIN_INSYNC,
    ConfigChange,
    Entries,
    KeptOverride,
    advise_exclusion,
    compare_configs,
    find_kept_overrides,
    select_configs_to_sync,
)
from kafka_mirror.topics.topics import compare_topics, discover

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.kafka.cluster import Cluster

# What a broker answers again and again, with what a person can do about it.
_REFUSALS = {
    "POLICY_VIOLATION": "Change the named setting of the source topic, or the alter.config.policy of the target.",
}

_NOT_TAKEN = frozenset({"INVALID_CONFIG", "INVALID_REQUEST"})
"""What it calls a config that it does not know, or not in this way."""


@dataclass(frozen=True)
class TopicConfigsResult:
    """What was done on the target (or would be, in a dry run), by remote topic."""

    changed: Mapping[str, tuple[ConfigChange, ...]]
    overrides: Mapping[str, tuple[KeptOverride, ...]]
    """What was set for the remote topic alone and stays: reported, and never taken away."""
    unchanged: int
    """How many remote topics were as they should be."""
    errors: tuple[ErrorReport, ...]


def step(flow: "Flow", dry_run: bool = False) -> StepResult:
    """`topic-configs` as a step. Raises as `sync_topic_configs`."""
    with clusters_of_step(flow) as (source, target):
        done = sync_topic_configs(flow, source, target, dry_run)
    changed = [(remote, change.entry, change.old, change.new) for remote, changes in done.changed.items() for change in changes]
    overrides = [
        (remote, override.entry, override.target, override.source, override.why)
        for remote, of_remote in done.overrides.items()
        for override in of_remote
    ]
    result = {
        "changed": columns(("topic", "entry", "old", "new"), changed),
        "drift": columns(("topic", "entry", "target", "source", "why"), overrides),
        "unchanged": done.unchanged,
    }
    totals = {**result, "changed": len(changed), "drift": len(overrides)}
    return StepResult(result, totals, tuple(_write_lines(done, dry_run)), done.errors)


def sync_topic_configs(flow: "Flow", source: "Cluster", target: "Cluster", dry_run: bool = False) -> TopicConfigsResult:
    """Sets what differs; what concerns one topic is in `errors` and does not stop the others. A remote topic that does not exist yet is
    `refresh-topics`' business.

    With `dry_run` nothing is written: the target's brokers check the requests and the answer is the same. Raises what concerns a whole
    cluster, and ConfigurationError.
    """
    return _Sync(flow, source, target, dry_run).run()


class _Sync:
    """One pass over a flow's topics, collecting the errors by source topic."""

    def __init__(self, flow: "Flow", source: "Cluster", target: "Cluster", dry_run: bool) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._dry_run = dry_run
        self._selection = current_selection(flow, target)
        self._filter = config_property_filter(flow)
        self._errors: dict[str, MirrorError] = {}

    def run(self) -> TopicConfigsResult:
        """Looks at both clusters and writes."""
        source_topics = discover(self._selection, self._source)
        both = compare_topics(self._flow, self._selection, source_topics.topics, self._target)
        self._errors |= {**source_topics.errors, **both.errors}
        sources, targets = self._read_entries(both.existing)
        changes = {
            name: compare_configs(self._find_wanted(name, both.existing[name], sources[name]), targets[name])
            for name in both.existing
            if name in sources and name in targets
        }
        renamed = renamed_topics(self._flow, self._target, {name: both.existing[name].name for name, entries in changes.items() if entries})
        self._errors |= renamed
        altered = self._alter({name: entries for name, entries in changes.items() if entries and name not in renamed}, both.existing)
        overrides_of = {name: find_kept_overrides(sources[name], targets[name], self._filter) for name in changes}
        return TopicConfigsResult(
            changed={both.existing[name].name: entries for name, entries in sorted(altered.items())},
            overrides={both.existing[name].name: overrides for name, overrides in sorted(overrides_of.items()) if overrides},
            unchanged=sum(not entries for entries in changes.values()),
            errors=tuple(replace(error.report(), topic=name) for name, error in sorted(self._errors.items())),
        )

    def _read_entries(self, existing: Mapping[str, Topic]) -> tuple[Mapping[str, Entries], Mapping[str, Entries]]:
        """Both sides' configs by source topic. What one side refuses to show is an error of that topic."""
        refused: dict[str, MirrorError] = {}
        sources = self._source.configs(existing, refused)
        self._errors |= refused
        hidden: dict[str, MirrorError] = {}
        remotes = self._target.configs([topic.name for topic in existing.values()], hidden)
        self._errors |= {name: hidden[topic.name] for name, topic in existing.items() if topic.name in hidden}
        return sources, {name: remotes[topic.name] for name, topic in existing.items() if topic.name in remotes}

    def _find_wanted(self, name: str, remote: Topic, source: Entries) -> dict[str, str | None]:
        """What the remote topic is to have, but for a min.insync.replicas that it has not replicas enough for: all writing would stop."""
        wanted = select_configs_to_sync(source, self._filter)
        replicas = min(len(partition.replicas) for partition in remote.partitions)
        needed = wanted.get(MIN_INSYNC)
        if needed is not None and int(needed) > replicas:
            del wanted[MIN_INSYNC]
            self._errors[name] = RemoteConfigRefused(
                name,
                remote.name,
                f"With {MIN_INSYNC}={needed} nothing could be written to it, for it has {count_text(replicas, 'replica')}. "
                "That entry was left as it is; the others are carried.",
                "Give the remote topic more replicas (kafka-reassign-partitions.sh) and raise replication.factor. "
                + advise_exclusion(self._flow, [MIN_INSYNC], MIN_INSYNC),
            )
        return wanted

    def _alter(self, changes: Mapping[str, tuple[ConfigChange, ...]], existing: Mapping[str, Topic]) -> dict[str, tuple[ConfigChange, ...]]:
        """Writes the changes of all topics in one request; gives those that were made, and keeps the errors of the others."""
        entries = {existing[name].name: {change.entry: change.new for change in changed} for name, changed in changes.items()}
        outcomes = self._target.alter_configs(entries, self._dry_run)
        altered = {}
        for name, changed in changes.items():
            remote = existing[name].name
            error = outcomes[remote]
            reason = error.reason if isinstance(error, KafkaFailure) else ""
            if error is None:
                altered[name] = changed
            elif reason in _NOT_TAKEN or reason in _REFUSALS:
                detail = f"{error.message} None of its entries was changed."
                advice = _REFUSALS.get(reason) or advise_exclusion(self._flow, entries[remote], error.message)
                self._errors[name] = RemoteConfigRefused(name, remote, detail, advice)
            else:
                self._errors[name] = error
        return altered


def _write_lines(done: TopicConfigsResult, dry_run: bool) -> Iterator[str]:
    for remote, changes in done.changed.items():
        yield f"{remote}: {'would be ' if dry_run else ''}changed: {', '.join(map(str, changes))}"
    for remote, overrides in done.overrides.items():
        yield f"{remote}: stays as it was set on the target: {', '.join(map(str, overrides))}"
    if not done.changed:
        yield f"Nothing to change; the configs of {done.unchanged} remote topics are as they should be."
