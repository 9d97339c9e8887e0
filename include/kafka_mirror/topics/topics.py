"""Which topics of the source a flow mirrors, what its remote topics lack, and bringing these up to date (`refresh-topics`)."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kafka_mirror.config.policies import config_property_filter
from kafka_mirror.errors import ErrorReport, KafkaFailure, MirrorError, RemoteNameUnusable, RemoteTopicRefused
from kafka_mirror.errors.words import count_text
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import NewTopic, Topic
from kafka_mirror.kafka.polling import poll_until
from kafka_mirror.ledger.clusters import clusters_of_step, current_selection, ledger_of, renamed_topics
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.policy import IdleMembers, TopicSelection
from kafka_mirror.policy.selection import unusable
from kafka_mirror.topics.config_diff import advise_exclusion, select_configs_to_create

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.kafka.cluster import Cluster


# What a broker calls it when another run was faster.
_OVERTAKEN = {"TOPIC_ALREADY_EXISTS", "INVALID_PARTITIONS"}

# What a broker answers again and again, with what a person can do about it.
_REFUSALS = {
    "INVALID_REPLICATION_FACTOR": "Set replication.factor to no more than the number of the target's brokers, or to -1 for their default.",
    "POLICY_VIOLATION": "Change the named setting of the source topic, or the create.topic.policy of the target.",
    "TOPIC_EXCEPTION": "Choose another remote name (replication.policy.*); Kafka takes '.' and '_' in names for the same.",
    "INVALID_REQUEST": "Create the remote topic by hand; the next run takes it as it is.",
}

_LED_WITHIN_SECONDS = 30.0
_VISIBLE_WITHIN_SECONDS = 5.0
_SECONDS_A_PARTITION = 0.01
_ASKED_AT_ONCE = 200
"""Thousands of new partitions are as many logs for the brokers to open: a busy one took 4 ms for each, and showed none before its turn."""


UNCHECKED = (
    "The brokers of '{}' were not asked whether they would take this: of their release it is not known that they only check a request that "
    "says so, and some create what they are to check."
)
"""What is said of a dry run beside brokers before Kafka 3.3 in KRaft, or whose release is not known."""


@dataclass(frozen=True)
class SourceTopics:
    """The selected topics by name, the names of all that the source shows us, and what it refuses to tell of single topics."""

    topics: Mapping[str, Topic]
    names: frozenset[str]
    errors: Mapping[str, MirrorError] = field(default_factory=dict)
    idle: IdleMembers | None = None
    """The members of `topics` that take none of them."""


def discover(selection: TopicSelection, source: "Cluster") -> SourceTopics:
    """Lists the source, applies the selection, and describes what is left.

    A cluster leaves out of its list what we may not see. So topics that the configuration spells out are asked for by name: then a
    missing permission is an error that names the topic, instead of a topic that is silently not mirrored.
    """
    names = source.listing().names
    names_asked = names | set(selection.topic_filter.literal_names)
    wanted = {name for name in names_asked if selection.should_replicate(name)}
    refused: dict[str, MirrorError] = {name: error for name in names_asked if (error := selection.refusal(name)) is not None}
    topics = source.find_listed_topics(wanted, refused)
    return SourceTopics(topics, names, refused, selection.idle_members(names | refused.keys()))


@dataclass(frozen=True)
class TopicChange:
    """A remote topic with the number of partitions that it is to have."""

    topic: str
    remote: str
    partitions: int


@dataclass(frozen=True)
class TopicDiff:
    """Selected source topics beside their remote topics. A topic with an error is in nothing else."""

    existing: Mapping[str, Topic]
    """The remote topics that exist, by source topic."""
    create: tuple[TopicChange, ...]
    extend: tuple[TopicChange, ...]
    unchanged: tuple[str, ...]
    """The names of remote topics that are as they should be."""
    errors: Mapping[str, MirrorError]
    """By source topic."""


def plan_topics(source_topics: Mapping[str, Topic], target_topics: Mapping[str, Topic], remote_names: Mapping[str, str]) -> TopicDiff:
    """Compares the selected source topics with the remote topics that exist; `remote_names` has the remote name of each.

    Partitions are only ever added, and a remote topic with more of them than its source stays so, as in MirrorMaker 2.
    """
    create: list[TopicChange] = []
    extend: list[TopicChange] = []
    unchanged: list[str] = []
    existing: dict[str, Topic] = {}
    errors: dict[str, MirrorError] = {}
    for name, topic in sorted(source_topics.items()):
        remote = remote_names[name]
        wanted = TopicChange(name, remote, len(topic.partitions))
        if complaint := unusable(remote):
            errors[name] = RemoteNameUnusable(name, remote, complaint)
        elif remote not in target_topics:
            create.append(wanted)
        else:
            there = existing[name] = target_topics[remote]
            if len(there.partitions) < wanted.partitions:
                extend.append(wanted)
            else:
                unchanged.append(remote)
    return TopicDiff(existing, tuple(create), tuple(extend), tuple(unchanged), errors)


def find_orphans(selection: TopicSelection, source_names: Collection[str], target_names: Collection[str]) -> dict[str, str]:
    """Remote topics of this flow whose upstream topic the source does not show, with the upstream's name.

    Where a policy keeps the name, nothing on the target says that a topic came from the source, so it is not listed. Neither is what the
    flow would not mirror anyway.
    """
    upstreams = {remote: selection.upstream(remote) for remote in sorted(target_names)}
    return {remote: name for remote, name in upstreams.items() if name is not None and name != remote and name not in source_names}


def compare_topics(flow: "Flow", selection: TopicSelection, topics: Mapping[str, Topic], target: "Cluster") -> TopicDiff:
    """Looks for the remote topics of selected source topics. What the target hides is an error of that topic, and so is a remote name that
    another topic has too, unless the ledger has the topic: the right to create topics stops none that is mirrored."""
    names = {name: selection.remote(name) for name in topics}
    shared = selection.with_shared_remote_name(topics)
    if shared:
        ledger = ledger_of(flow, target)
        in_ledger = {tp.topic for tp in ledger.read().records} if ledger.topic_id() is not None else set()
        shared = selection.with_shared_remote_name(topics, in_ledger)
    refused: dict[str, MirrorError] = {}
    there = target.topics(names.values(), refused)
    left_out = {**shared, **{name: refused[remote] for name, remote in names.items() if remote in refused}}
    diff = plan_topics({name: topic for name, topic in topics.items() if name not in left_out}, there, names)
    return replace(diff, errors={**left_out, **diff.errors})


@dataclass(frozen=True)
class RefreshTopicsResult:
    """What was done on the target (or would be, in a dry run). All names are remote names."""

    created: Mapping[str, int]
    """New remote topics with their partition counts."""
    extended: Mapping[str, int]
    """Remote topics that got more partitions, with the new counts."""
    deleted_at_source: tuple[str, ...]
    """Remote topics whose upstream is gone. They are only reported: nothing is ever deleted."""
    unchanged: tuple[str, ...]
    errors: tuple[ErrorReport, ...]
    idle: IdleMembers | None = None
    """The members of `topics` that take no topic."""
    unchecked: str = ""
    """The alias of the target, where a dry run did not ask its brokers: they would have done what they are asked to check."""


def step(flow: "Flow", dry_run: bool = False) -> StepResult:
    """`refresh-topics` as a step. Raises as `refresh_topics`."""
    with clusters_of_step(flow) as (source, target):
        done = refresh_topics(flow, source, target, dry_run)
    changed = {"created": dict(done.created), "extended": dict(done.extended), "deleted_at_source": list(done.deleted_at_source)}
    totals = {what: len(topics) for what, topics in changed.items()}
    result = {**changed, "unchanged": len(done.unchanged), "idle": list(done.idle.members) if done.idle else []}
    is_idle = done.idle is not None and done.idle.is_whole_list
    return StepResult(result, totals, tuple(_write_lines(done, dry_run)), done.errors, is_idle)


def refresh_topics(flow: "Flow", source: "Cluster", target: "Cluster", dry_run: bool = False) -> RefreshTopicsResult:
    """Creates missing remote topics and adds missing partitions; what concerns one topic is in `errors` and does not stop the others.

    With `dry_run` nothing is written: the target's brokers check the requests and the answer is the same. May run twice at once. Raises
    what concerns a whole cluster, and ConfigurationError.
    """
    return _Refresh(flow, source, target, dry_run).run()


def refusals(
    flow: "Flow",
    source: "Cluster",
    target: "Cluster",
    selection: TopicSelection,
    missing: Iterable[TopicChange],
    there: Container[str],
) -> dict[str, ErrorReport]:
    """Why `refresh-topics` could not make these remote topics, or extend those that are `there` (by source topic): what the target answers
    when it is asked and nothing is written. An error that may pass by itself is left to `refresh-topics`."""
    return _Refresh(flow, source, target, True, selection).refusals(list(missing), there)


class _Refresh:
    """One pass over a flow's topics, collecting what was done and the errors by source topic."""

    def __init__(self, flow: "Flow", source: "Cluster", target: "Cluster", dry_run: bool, selection: TopicSelection | None = None) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._dry_run = dry_run
        self._selection = selection or current_selection(flow, target)
        self._errors: dict[str, MirrorError] = {}
        self._carried: dict[str, Collection[str]] = {}
        """The configs that each new remote topic is to get."""

    def run(self) -> RefreshTopicsResult:
        """Looks at both clusters, writes, and looks again where another run was faster."""
        source_topics = discover(self._selection, self._source)
        changes = compare_topics(self._flow, self._selection, source_topics.topics, self._target)
        self._errors |= {**source_topics.errors, **changes.errors}
        renamed = renamed_topics(self._flow, self._target, {change.topic: change.remote for change in (*changes.create, *changes.extend)})
        self._errors |= renamed
        to_create, to_extend = (
            [change for change in of_kind if change.topic not in renamed] for of_kind in (changes.create, changes.extend)
        )
        deleted = self._find_deleted(source_topics)
        created, overtaken = self._settle(to_create, self._create(to_create))
        extended, also_overtaken = self._settle(to_extend, self._extend(to_extend))
        caught_up = self._look_again((*created, *extended), {**overtaken, **also_overtaken})
        self._await_leaders((*created, *extended))
        return RefreshTopicsResult(
            created={change.remote: change.partitions for change in created},
            extended={change.remote: change.partitions for change in extended},
            deleted_at_source=deleted,
            unchanged=tuple(sorted((*changes.unchanged, *caught_up))),
            errors=tuple(replace(error.report(), topic=name) for name, error in sorted(self._errors.items())),
            idle=source_topics.idle,
            unchecked=self._target.alias if self._dry_run and (created or extended) and not self._target.only_checks else "",
        )

    def refusals(self, changes: Sequence[TopicChange], there: Container[str]) -> dict[str, ErrorReport]:
        """What creating or extending would end with, by source topic."""
        create, extend = [[change for change in changes if (change.topic in there) is old] for old in (False, True)]
        if create:
            self._settle(create, self._create(create))
        if extend:
            self._settle(extend, self._extend(extend))
        return {name: replace(error.report(), topic=name) for name, error in self._errors.items() if not error.retriable}

    def _find_deleted(self, topics: SourceTopics) -> tuple[str, ...]:
        """Remote topics without upstream. The source does not list what it hides either, so it is asked for each of them by name."""
        candidates = find_orphans(self._selection, topics.names, self._target.names())
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
        new = [
            NewTopic(change.remote, change.partitions, factor, select_configs_to_create(configs[change.topic], config_filter))
            for change in changes
            if change.topic in configs
        ]
        self._carried |= {topic.name: topic.configs.keys() for topic in new}
        return self._target.create_topics(new, self._dry_run)

    def _extend(self, changes: Iterable[TopicChange]) -> dict[str, MirrorError | None]:
        return self._target.create_partitions({change.remote: change.partitions for change in changes}, self._dry_run)

    def _settle(
        self, changes: Iterable[TopicChange], outcomes: Mapping[str, MirrorError | None]
    ) -> tuple[list[TopicChange], dict[TopicChange, MirrorError]]:
        """The changes that were made, and those in which another run was faster; what failed is kept as an error."""
        created: list[TopicChange] = []
        overtaken: dict[TopicChange, MirrorError] = {}
        for change in changes:
            if change.remote not in outcomes:
                continue
            error = outcomes[change.remote]
            reason = error.reason if isinstance(error, KafkaFailure) else ""
            if error is None:
                created.append(change)
            elif reason in _OVERTAKEN:
                overtaken[change] = error
            elif reason == "INVALID_CONFIG" or reason in _REFUSALS:
                advice = _REFUSALS.get(reason) or advise_exclusion(self._flow, self._carried.get(change.remote, ()), error.message)
                self._errors[change.topic] = RemoteTopicRefused(change.topic, change.remote, error.message, advice)
            else:
                self._errors[change.topic] = error
        return created, overtaken

    def _look_again(self, created: Iterable[TopicChange], overtaken: Mapping[TopicChange, MirrorError]) -> list[str]:
        """Waits until the brokers show what was written, so that a copy may follow at once; gives what another run made as it should be."""
        waiting = {*overtaken} if self._dry_run else {*created, *overtaken}

        def are_all_shown() -> bool:
            """Whether the brokers show all of them with all their partitions; those that they show are no longer waited for."""
            shown_topics = self._target.topics([change.remote for change in waiting], {})
            waiting.difference_update(
                change
                for change in [*waiting]
                if change.remote in shown_topics and len(shown_topics[change.remote].partitions) >= change.partitions
            )
            return not waiting

        if waiting:
            partitions = sum(change.partitions for change in waiting)
            poll_until(are_all_shown, _VISIBLE_WITHIN_SECONDS + _SECONDS_A_PARTITION * partitions, every=0.1)
        self._errors |= {change.topic: error for change, error in overtaken.items() if change in waiting}
        return [change.remote for change in overtaken if change not in waiting]

    def _await_leaders(self, created: Iterable[TopicChange]) -> None:
        """Waits until the brokers lead what was written: metadata names a leader before that broker knows of it.

        With thousands of new partitions this takes seconds. What is not led by then is the copy's to say, partition by partition.
        """
        waiting = set() if self._dry_run else {TopicPartition(change.remote, n) for change in created for n in range(change.partitions)}

        def are_all_led() -> bool:
            """Asks for a few at a time: for those after them only when these are led."""
            while portion := sorted(waiting)[:_ASKED_AT_ONCE]:
                waiting.difference_update(led := self._target.find_led(portion))
                if len(led) < len(portion):
                    return False
            return True

        if waiting:
            poll_until(are_all_led, _LED_WITHIN_SECONDS + _SECONDS_A_PARTITION * len(waiting), every=0.05)


def _write_lines(done: RefreshTopicsResult, dry_run: bool) -> Iterator[str]:
    verb = "would be " if dry_run else ""
    for name, count in sorted(done.created.items()):
        yield f"{name}: {verb}created with {count_text(count, 'partition')}"
    for name, count in sorted(done.extended.items()):
        yield f"{name}: {verb}extended to {count_text(count, 'partition')}"
    for name in done.deleted_at_source:
        yield f"{name}: its topic no longer exists on the source; it stays as it is"
    if done.unchecked:
        yield UNCHECKED.format(done.unchecked)
    if done.idle is not None:
        yield str(done.idle)
    if not done.created and not done.extended and not (done.idle and done.idle.is_whole_list):
        yield f"Nothing to create; {len(done.unchanged)} remote topics are as they should be."
