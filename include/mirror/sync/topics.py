"""Brings the remote topics of a flow up to date: creates them, adds partitions, reports what was deleted (`refresh-topics`)."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mirror.errors import ErrorReport, KafkaFailure, MirrorError, RemoteTopicRefused
from mirror.kafka.connect import clusters
from mirror.kafka.model import NewTopic
from mirror.offsets.partition import TopicPartition
from mirror.plan.discover import SourceTopics, discover
from mirror.policy import config_property_filter, topic_selection
from mirror.sync.config_changes import configs_to_create
from mirror.sync.remote_topics import compared
from mirror.sync.step import Done
from mirror.sync.topic_changes import TopicChange, orphans

if TYPE_CHECKING:
    from mirror.config import Flow
    from mirror.kafka.cluster import Cluster

# What a broker calls it when another run was faster.
_OVERTAKEN = {"TOPIC_ALREADY_EXISTS", "INVALID_PARTITIONS"}

# What a broker answers again and again, with what a person can do about it.
_REFUSALS = {
    "INVALID_REPLICATION_FACTOR": "Set replication.factor to no more than the number of the target's brokers, or to -1 for their default.",
    "INVALID_CONFIG": "Put the named config into config.properties.exclude, or correct it on the source topic.",
    "POLICY_VIOLATION": "Change the named setting of the source topic, or the create.topic.policy of the target.",
    "TOPIC_EXCEPTION": "Choose another remote name (replication.policy.*); Kafka takes '.' and '_' in names for the same.",
    "INVALID_REQUEST": "Create the remote topic by hand; the next run takes it as it is.",
}

_LED_WITHIN_SECONDS = 30.0
_VISIBLE_WITHIN_SECONDS = 5.0


@dataclass(frozen=True)
class TopicsRefreshed:
    """What was done on the target (or would be, in a dry run). All names are remote names."""

    created: Mapping[str, int]
    """New remote topics with their partition counts."""
    extended: Mapping[str, int]
    """Remote topics that got more partitions, with the new counts."""
    deleted_at_source: tuple[str, ...]
    """Remote topics whose upstream is gone. They are only reported: nothing is ever deleted."""
    unchanged: tuple[str, ...]
    errors: tuple[ErrorReport, ...]


def step(flow: "Flow", dry_run: bool = False) -> Done:
    """`refresh-topics` as a step. Raises as `refresh_topics`."""
    with clusters(flow) as (source, target):
        done = refresh_topics(flow, source, target, dry_run)
    changed = {"created": dict(done.created), "extended": dict(done.extended), "deleted_at_source": list(done.deleted_at_source)}
    totals = {what: len(topics) for what, topics in changed.items()}
    return Done({**changed, "unchanged": len(done.unchanged)}, totals, tuple(_lines(done, dry_run)), done.errors)


def refresh_topics(flow: "Flow", source: "Cluster", target: "Cluster", dry_run: bool = False) -> TopicsRefreshed:
    """Creates missing remote topics and adds missing partitions; what concerns one topic is in `errors` and does not stop the others.

    With `dry_run` nothing is written: the target's brokers check the requests and the answer is the same. May run twice at once. Raises
    what concerns a whole cluster, and ConfigurationError.
    """
    return _Refresh(flow, source, target, dry_run).run()


class _Refresh:
    """One pass over a flow's topics, collecting what was done and the errors by source topic."""

    def __init__(self, flow: "Flow", source: "Cluster", target: "Cluster", dry_run: bool) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._dry_run = dry_run
        self._selection = topic_selection(flow)
        self._errors: dict[str, MirrorError] = {}

    def run(self) -> TopicsRefreshed:
        """Looks at both clusters, writes, and looks again where another run was faster."""
        found = discover(self._selection, self._source)
        changes = compared(self._flow, self._selection, found.topics, self._target).changes
        self._errors |= {**found.errors, **changes.errors}
        deleted = self._deleted(found)
        created, overtaken = self._settled(changes.create, self._create(changes.create))
        extended, also_overtaken = self._settled(changes.extend, self._extend(changes.extend))
        caught_up = self._look_again((*created, *extended), {**overtaken, **also_overtaken})
        self._await_leaders((*created, *extended))
        return TopicsRefreshed(
            created={change.remote: change.partitions for change in created},
            extended={change.remote: change.partitions for change in extended},
            deleted_at_source=deleted,
            unchanged=tuple(sorted((*changes.unchanged, *caught_up))),
            errors=tuple(replace(error.report(), topic=name) for name, error in sorted(self._errors.items())),
        )

    def _deleted(self, found: SourceTopics) -> tuple[str, ...]:
        """Remote topics without upstream. The source does not list what it hides either, so it is asked for each of them by name."""
        candidates = orphans(self._selection, found.names, self._target.names())
        refused: dict[str, MirrorError] = {}
        hidden_or_new = self._source.topics(candidates.values(), refused)
        self._errors |= refused
        return tuple(remote for remote, upstream in candidates.items() if upstream not in hidden_or_new and upstream not in refused)

    def _create(self, changes: Iterable[TopicChange]) -> dict[str, MirrorError | None]:
        refused: dict[str, MirrorError] = {}
        configs = self._source.configs([change.topic for change in changes], refused)
        self._errors |= refused
        config_filter = config_property_filter(self._flow)
        factor = self._flow.value("replication.factor")
        return self._target.create_topics(
            [
                NewTopic(change.remote, change.partitions, factor, configs_to_create(configs[change.topic], config_filter))
                for change in changes
                if change.topic in configs
            ],
            self._dry_run,
        )

    def _extend(self, changes: Iterable[TopicChange]) -> dict[str, MirrorError | None]:
        return self._target.create_partitions({change.remote: change.partitions for change in changes}, self._dry_run)

    def _settled(
        self, changes: Iterable[TopicChange], outcomes: Mapping[str, MirrorError | None]
    ) -> tuple[list[TopicChange], dict[TopicChange, MirrorError]]:
        """The changes that were made, and those in which another run was faster; what failed is kept as an error."""
        made: list[TopicChange] = []
        overtaken: dict[TopicChange, MirrorError] = {}
        for change in changes:
            if change.remote not in outcomes:
                continue
            error = outcomes[change.remote]
            reason = error.reason if isinstance(error, KafkaFailure) else ""
            if error is None:
                made.append(change)
            elif reason in _OVERTAKEN:
                overtaken[change] = error
            elif reason in _REFUSALS:
                self._errors[change.topic] = RemoteTopicRefused(change.topic, change.remote, error.message, _REFUSALS[reason])
            else:
                self._errors[change.topic] = error
        return made, overtaken

    def _look_again(self, made: Iterable[TopicChange], overtaken: Mapping[TopicChange, MirrorError]) -> list[str]:
        """Waits until the brokers show what was written, so that a copy may follow at once; gives what another run made as it should be."""
        waiting = {*overtaken} if self._dry_run else {*made, *overtaken}
        deadline = time.monotonic() + _VISIBLE_WITHIN_SECONDS
        while waiting:
            seen = self._target.topics([change.remote for change in waiting], {})
            waiting = {change for change in waiting if change.remote not in seen or len(seen[change.remote].partitions) < change.partitions}
            if not waiting or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        self._errors |= {change.topic: error for change, error in overtaken.items() if change in waiting}
        return [change.remote for change in overtaken if change not in waiting]

    def _await_leaders(self, made: Iterable[TopicChange]) -> None:
        """Waits until the brokers lead what was written: metadata names a leader before that broker knows of it.

        With thousands of new partitions this takes seconds. What is not led by then is the copy's to say, partition by partition.
        """
        waiting = [] if self._dry_run else [TopicPartition(change.remote, number) for change in made for number in range(change.partitions)]
        deadline = time.monotonic() + _LED_WITHIN_SECONDS
        while waiting and time.monotonic() < deadline:
            led = self._target.offsets(waiting, "latest", errors={})
            waiting = [tp for tp in waiting if tp not in led]
            if waiting:
                time.sleep(0.05)


def _lines(done: TopicsRefreshed, dry_run: bool) -> Iterator[str]:
    verb = "would be " if dry_run else ""
    for name, count in sorted(done.created.items()):
        yield f"{name}: {verb}created with {_partitions(count)}"
    for name, count in sorted(done.extended.items()):
        yield f"{name}: {verb}extended to {_partitions(count)}"
    for name in done.deleted_at_source:
        yield f"{name}: its topic no longer exists on the source; it stays as it is"
    if not done.created and not done.extended:
        yield f"Nothing to create; {len(done.unchanged)} remote topics are as they should be."


def _partitions(count: int) -> str:
    return f"{count} partition{'' if count == 1 else 's'}"
