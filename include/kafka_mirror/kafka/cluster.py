"""One cluster: its id, its topics and their configs and offsets, and changing them. Every call has a deadline.

What is only asked goes over connections of our own (`asked_cluster`); librdkafka's admin client, which is opened when it is needed,
does all that changes anything.
"""

import operator
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from confluent_kafka.admin import AlterConfigOpType, ConfigResource, NewPartitions
from confluent_kafka.admin import ConfigEntry as ClientConfigEntry
from confluent_kafka.admin import NewTopic as ClientNewTopic

from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.admin import Admin
from kafka_mirror.kafka.asked_cluster import AskedCluster
from kafka_mirror.kafka.broker_connection import Needs
from kafka_mirror.kafka.broker_pool import begin_at_server, connect_anew, servers
from kafka_mirror.kafka.client_login import keep_secret
from kafka_mirror.kafka.cluster_answers import EARLIEST, LATEST, DescribedTopic
from kafka_mirror.kafka.connection_errors import TOPIC_DENIED, UNKNOWN_TOPIC, Errors, collect_refusal
from kafka_mirror.kafka.model import OPERATIONS, ConfigEntry, End, LogOffsets, LogPosition, NewTopic, Topic
from kafka_mirror.kafka.offset_questions import EpochEnd, OffsetQuestion
from kafka_mirror.kafka.polling import poll_until
from kafka_mirror.policy.selection import unusable

Partitions = Iterable[TopicPartition]
Item = TypeVar("Item")
Result = TypeVar("Result")

_PARTITIONS_A_REQUEST = 2_000
"""Kafka's controller refuses a request that makes more than 10,000 records of its own (POLICY_VIOLATION): topics, their configs and
partitions together."""
_EPOCH_POLL_SECONDS = 0.2
_SERVER_SECONDS = 5.0
"""How long one server may take: most clusters that are asked server by server have a broker that does not answer."""
_SEVERAL = 2


class TopicListing(NamedTuple):
    """The names that a cluster lists, and what it said of their topics, but for those with an error."""

    names: frozenset[str]
    described: Mapping[str, DescribedTopic]


class Cluster(AskedCluster):
    """The admin's view of one cluster. Raises the errors of `kafka_mirror.errors`, with the alias in their messages."""

    def __init__(self, alias: str, settings: Mapping[str, Any], timeout: float = 30.0, needs: Needs | None = None) -> None:
        """As AskedCluster; the secrets among the settings are in no line of a log."""
        super().__init__(alias, settings, timeout, needs)
        keep_secret(settings)
        self._admin: Admin | None = None
        self._opening = threading.Lock()
        self._listing: TopicListing | None = None

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the clients."""
        super().close()
        if self._admin is not None:
            self._admin.close()

    @property
    def admin(self) -> Admin:
        """librdkafka's admin client, for what changes the cluster."""
        with self._opening:
            if self._admin is None:
                self._admin = Admin(self.alias, self.settings, self.timeout)
            return self._admin

    def ask_each_server(self, ask: Callable[["Cluster"], Result]) -> tuple[dict[str, Result], dict[str, MirrorError]]:
        """What each bootstrap server alone answers, and why the others gave no answer, by server. One that is cut off from its cluster,
        and not from us, answers as the leader that it was, and only another one shows that."""
        names = servers(self.settings)
        if len(names) < _SEVERAL:
            return {name: ask(self) for name in names}, {}

        connect_anew()

        def ask_one(turn: int) -> Result | MirrorError:
            try:
                with Cluster(self.alias, begin_at_server(self.settings, turn), min(self.timeout, _SERVER_SECONDS)) as cluster:
                    return ask(cluster)
            except MirrorError as error:
                return error

        with ThreadPoolExecutor(len(names)) as threads:
            answers = dict(zip(names, threads.map(ask_one, range(len(names), 2 * len(names))), strict=True))
        clean = {name: answer for name, answer in answers.items() if not isinstance(answer, MirrorError)}
        return clean, {name: answer for name, answer in answers.items() if isinstance(answer, MirrorError)}

    def names(self) -> list[str]:
        """The names of all topics that we may describe and that are not internal to the brokers."""
        return sorted(described.name for described in self.describe_topics(None) if not described.name.startswith("__"))

    def listing(self) -> "TopicListing":
        """All topics that we may describe and that are not internal to the brokers, as of the first time that this was asked: a plan goes
        by one listing, and a far cluster is asked once."""
        if self._listing is None:
            answer = self.describe_topics(None)
            described = {topic.name: topic for topic in answer if not topic.error_code}
            self._listing = TopicListing(frozenset(topic.name for topic in answer if not topic.name.startswith("__")), described)
        return self._listing

    def find_listed_topics(self, names: Iterable[str], errors: Errors = None) -> dict[str, Topic]:
        """These topics by name. It asks only for those that are not in the listing: a cluster does not list what it hides from us."""
        wanted, listed = set(names), self.listing().described
        topics = {name: listed[name].topic for name in wanted & listed.keys()}
        return topics | self.topics(wanted - listed.keys(), errors)

    def topics(self, names: Iterable[str] | None = None, errors: Errors = None, operation: str = "DESCRIBE") -> dict[str, Topic]:
        """Topics by name, with ids; those that do not exist are absent, as are names that no topic can have. Without names: all that are
        not internal to the brokers.

        What a broker refuses of one topic alone goes into `errors` by topic if it is given, and is raised otherwise. So does a topic
        on which we may not do `operation`, in the words of Kafka's ACLs.
        """
        return {described.name: described.topic for described in self._topics(names, errors, operation)}

    def topic_ids(self, names: Iterable[str], errors: Errors = None) -> dict[str, str]:
        """The ids of topics by name; as `topics`, for a small part of its CPU where topics have many partitions."""
        return {described.name: described.id for described in self._topics(names, errors, "DESCRIBE")}

    def _topics(self, names: Iterable[str] | None, errors: Errors, operation: str) -> list[DescribedTopic]:
        wanted = None if names is None else _possible(names)
        if wanted == []:
            return []
        answer = [topic for topic in self.describe_topics(wanted, operation != "DESCRIBE") if wanted is not None or not topic.is_internal]
        denied = {topic.name for topic in answer if not topic.error_code and not topic.permits(OPERATIONS[operation])}
        codes = {topic.name: topic.error_code for topic in answer if topic.error_code} | dict.fromkeys(denied, TOPIC_DENIED)
        self._refuse(codes, "describing topics", operation, errors)
        return [topic for topic in answer if topic.name not in codes]

    def _refuse(self, codes: Mapping[str, int], step: str, operation: str, errors: Errors) -> None:
        """Puts what was refused of topics into `errors`, or raises it; a topic that does not exist is no error."""
        for topic, code in codes.items():
            if code not in UNKNOWN_TOPIC:
                failure = self.errors.translate_code(code, step, topic=topic, operation=operation, what=f"topic {topic}")
                if not collect_refusal(failure, errors):
                    raise failure

    def configs(
        self, names: Iterable[str], errors: Errors = None, entries: Collection[str] | None = None
    ) -> dict[str, dict[str, ConfigEntry]]:
        """Every config entry of the given topics, by topic and entry name, or at least these `entries`; a missing topic is absent. `errors`
        as in `topics`."""
        possible = _possible(names)
        if not possible:
            return {}
        configs, codes = self.describe_configs(possible, entries)
        self._refuse(codes, "reading topic configs", "DESCRIBE_CONFIGS", errors)
        return configs

    def create_topics(self, topics: Iterable[NewTopic], dry_run: bool = False) -> dict[str, MirrorError | None]:
        """Creates topics; the answer has, for each name, what went wrong, or None. With `dry_run` the brokers only check the request, if it
        is known that they do; else nothing is asked, and nothing goes wrong."""
        if dry_run and not self.only_checks:
            return {topic.name: None for topic in topics}

        def create(portion: Sequence[NewTopic]) -> dict[str, MirrorError | None]:
            new = [ClientNewTopic(t.name, t.partitions, t.replication_factor, config=dict(t.configs)) for t in portion]
            answers = self.admin.send(
                "creating topics", lambda client, seconds: client.create_topics(new, request_timeout=seconds, validate_only=dry_run)
            )
            return self.admin.await_outcomes(answers, "creating the topic", "CREATE")

        return _change_in_portions(list(topics), lambda topic: topic.partitions, create)

    def create_partitions(self, counts: Mapping[str, int], dry_run: bool = False) -> dict[str, MirrorError | None]:
        """Raises topics to the given partition counts; answer and `dry_run` as in `create_topics`."""
        if dry_run and not self.only_checks:
            return dict.fromkeys(counts)

        def extend(portion: Sequence[tuple[str, int]]) -> dict[str, MirrorError | None]:
            new = [NewPartitions(name, count) for name, count in portion]
            answers = self.admin.send(
                "adding partitions", lambda client, seconds: client.create_partitions(new, request_timeout=seconds, validate_only=dry_run)
            )
            return self.admin.await_outcomes(answers, "adding partitions to the topic", "ALTER")

        return _change_in_portions(sorted(counts.items()), lambda topic: topic[1], extend)

    def alter_configs(self, changes: Mapping[str, Mapping[str, str | None]], dry_run: bool = False) -> dict[str, MirrorError | None]:
        """Sets config entries of topics; one that is None goes back to the cluster's default. A topic's entries are changed all or none.

        Answer and `dry_run` as in `create_topics`.
        """
        if dry_run and not self.only_checks:
            return dict.fromkeys(changes)
        reset, put = AlterConfigOpType.DELETE, AlterConfigOpType.SET
        altered = {
            topic: [
                ClientConfigEntry(*entry, incremental_operation=reset if entry[1] is None else put) for entry in sorted(entries.items())
            ]
            for topic, entries in sorted(changes.items())
        }
        resources = [ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=of_topic) for topic, of_topic in altered.items()]
        if not resources:
            return {}
        answers = self.admin.send(
            "changing topic configs",
            lambda client, seconds: client.incremental_alter_configs(resources, request_timeout=seconds, validate_only=dry_run),
        )
        by_topic = {resource.name: answer for resource, answer in answers.items()}
        return self.admin.await_outcomes(by_topic, "changing the configs of the topic", "ALTER_CONFIGS")

    def offsets(self, partitions: Partitions, at: str, committed: bool = False, errors: Errors = None) -> dict[TopicPartition, int]:
        """Log start (`at='earliest'`) or end (`'latest'`) of each partition; with `committed`, the end is the last stable offset.

        A partition that is gone or without leader is absent; `errors` as in `topics`.
        """
        (listed,) = self._list(partitions, [OffsetQuestion(EARLIEST if at == "earliest" else LATEST, committed)], errors)
        return {tp: end.offset for tp, end in listed.items() if end.offset >= 0}

    def find_led(self, partitions: Partitions) -> set[TopicPartition]:
        """Those of the partitions whose leaders answer for them just now; to wait for the others, ask again."""
        return set(self.list_offsets(_usable(partitions), [OffsetQuestion(LATEST)], patient=False).answers[0])

    def ends(
        self, partitions: Partitions, errors: Errors = None, committed: bool = False, patient: bool = True
    ) -> dict[TopicPartition, End]:
        """The end of each partition with the leader epoch, uncommitted records included unless only `committed` ones are meant; absent and
        `errors` as in `offsets`. Unless `patient`, one that has no leader just now is not asked for again."""
        (listed,) = self._list(partitions, [OffsetQuestion(LATEST, committed)], errors, patient)
        return {tp: end for tp, end in listed.items() if end.offset >= 0}

    def log_offsets(self, partitions: Partitions, errors: Errors = None, committed: bool = True) -> dict[TopicPartition, LogOffsets]:
        """Log start, last stable offset and end of each partition, the end asked for last: it never lies in front of the others. Without
        `committed` the end of all records stands for the last stable one. Absent, but for a part that alone could not be had (-1), and
        `errors` as in `offsets`."""
        wanted = _usable(partitions)
        questions = [OffsetQuestion(EARLIEST), *([OffsetQuestion(LATEST, True)] if committed else []), OffsetQuestion(LATEST)]
        answers = self._list(wanted, questions, errors)
        nowhere = End(-1, None)
        offsets = {}
        for tp in wanted:
            ends = [answer.get(tp, nowhere) for answer in answers]
            if any(end.offset >= 0 for end in ends):
                offsets[tp] = LogOffsets(ends[0].offset, ends[-2 if committed else -1].offset, ends[-1].offset, ends[-1].leader_epoch)
        return offsets

    def find_shared_ends(self, positions: Iterable[LogPosition], seconds: float) -> dict[LogPosition, int]:
        """Up to where the log of each position's partition is still the one in which the position was taken (KIP-101, KIP-320). A replica
        that becomes leader without every record goes on with records of its own in a newer epoch:

            read in epoch 4    ── epoch 3 ──┬── epoch 4 ──┤ position
            the log now        ── epoch 3 ──┴──── epoch 5 ───────
                                            └─ the end of epoch 3, and of what both share

        A leader tells where the newest epoch ends that is not newer. If that is another one and ends after the position, as after two such
        elections, the logs part inside that epoch: what both share for certain ends where it begins. 0 where the leader knows nothing of
        the epoch. Absent is a position whose leader did not answer within `seconds`.
        """
        next_epochs = {position: position.leader_epoch for position in positions}
        ends: dict[LogPosition, int] = {}
        while next_epochs:
            # A request takes one epoch of each partition.
            epochs = {position.partition: epoch for position, epoch in sorted(next_epochs.items(), reverse=True)}
            answers = self._ends_of_epochs(epochs, seconds)
            for position, epoch in list(next_epochs.items()):
                answer = answers.get(position.partition)
                if answer is None:
                    del next_epochs[position]
                elif epoch == epochs[position.partition]:
                    next_epochs[position] = min(answer.leader_epoch, epoch) - 1
                    is_shared = answer.leader_epoch == position.leader_epoch or answer.offset < position.offset
                    if is_shared or next_epochs[position] < 0:
                        ends[position] = max(0, answer.offset) if is_shared else 0
                        del next_epochs[position]
        return ends

    def _ends_of_epochs(self, epochs: Mapping[TopicPartition, int], seconds: float) -> dict[TopicPartition, EpochEnd]:
        """What the leaders say that answer within `seconds`."""
        ends: dict[TopicPartition, EpochEnd] = {}

        def list_unanswered() -> set[TopicPartition]:
            ends.update(self.find_epoch_ends({tp: epoch for tp, epoch in epochs.items() if tp not in ends}))
            return epochs.keys() - ends.keys()

        poll_until(list_unanswered, seconds, _EPOCH_POLL_SECONDS, enough=operator.not_)
        return ends

    def offsets_for_time(self, partitions: Partitions, timestamp_ms: int, errors: Errors = None) -> dict[TopicPartition, int | None]:
        """The first offset whose record is stamped at or after `timestamp_ms` (Unix milliseconds); None where there is none."""
        (listed,) = self._list(partitions, [OffsetQuestion(timestamp_ms)], errors)
        return {tp: end.offset if end.offset >= 0 else None for tp, end in listed.items()}

    def _list(
        self, partitions: Partitions, questions: Sequence[OffsetQuestion], errors: Errors, patient: bool = True
    ) -> list[dict[TopicPartition, End]]:
        answers, refused = self.list_offsets(_usable(partitions), questions, patient)
        self._refuse(refused, "listing offsets", "DESCRIBE", errors)
        return answers


def _change_in_portions(
    topics: Sequence[Item], partitions: Callable[[Item], int], change: Callable[[Sequence[Item]], dict[str, MirrorError | None]]
) -> dict[str, MirrorError | None]:
    """The outcomes of a change, asked for in requests that a controller takes. A topic of very many partitions has one to itself."""
    outcomes: dict[str, MirrorError | None] = {}
    first = size = 0
    for number, topic in enumerate(topics):
        if number > first and size + max(1, partitions(topic)) > _PARTITIONS_A_REQUEST:
            outcomes |= change(topics[first:number])
            first, size = number, 0
        size += max(1, partitions(topic))
    return outcomes | change(topics[first:]) if topics else outcomes


def _possible(names: Iterable[str]) -> list[str]:
    """The names that a topic can have. A request that has another one among them may fail as a whole."""
    return sorted(name for name in set(names) if not unusable(name))


def _usable(partitions: Partitions) -> list[TopicPartition]:
    """The partitions of topics that there can be."""
    wanted = list(partitions)
    impossible = {topic for topic in {tp.topic for tp in wanted} if unusable(topic)}
    return [tp for tp in wanted if tp.topic not in impossible]
