"""One cluster, seen through the admin client: metadata, configs, offsets, creation. Every call has a deadline."""

import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from concurrent import futures
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as ClientTopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, AlterConfigOpType, ConfigResource, ConfigSource, NewPartitions, OffsetSpec
from confluent_kafka.admin import ConfigEntry as ClientConfigEntry
from confluent_kafka.admin import NewTopic as ClientNewTopic

from mirror.errors import AuthorizationRefused, MirrorError
from mirror.kafka.failures import Complaints, kafka_error, patiently, settings_with, translated
from mirror.kafka.model import ConfigEntry, End, NewTopic, Partition, Topic
from mirror.offsets.partition import TopicPartition

_URL_SAFE = str.maketrans("+/", "-_")
_LEADER_MOVES = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
}
_LEADER_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)
"""How long to wait before asking again, in seconds; a partition whose leader is still moving then counts as without one."""
_LOOK_EVERY_SECONDS = 0.25
Partitions = Iterable[TopicPartition]
Errors = MutableMapping[str, MirrorError] | None
_MISSING = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._NOENT,
    KafkaError.UNKNOWN_TOPIC_ID,
}


class Cluster:
    """The admin's view of one cluster. Raises the errors of `mirror.errors`, with the alias in their messages."""

    def __init__(self, alias: str, settings: Mapping[str, Any], timeout: float = 30.0) -> None:
        self.alias = alias
        self.timeout = timeout
        self._bootstrap = str(settings.get("bootstrap.servers", ""))
        self._complaints = Complaints()
        self._admin = AdminClient(settings_with(settings, self._complaints))
        self._cluster_id: str | None = None

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the client; pending calls are over by then, for each of them was waited for."""
        self._admin.poll(0)

    def cluster_id(self) -> str:
        """The cluster's own id; the cheapest question there is, so it also probes reachability and credentials."""
        if self._cluster_id is None:
            self._cluster_id = str(self._metadata().cluster_id)
        return self._cluster_id

    def names(self) -> list[str]:
        """The names of all topics that we may describe and that are not internal to the brokers."""
        return sorted(name for name in self._metadata().topics if not name.startswith("__"))

    def topics(self, names: Iterable[str] | None = None, errors: Errors = None, operation: str = "DESCRIBE") -> dict[str, Topic]:
        """Topics by name, with ids; those that do not exist are absent. Without names: all that are not internal to the brokers.

        What fails for one topic alone (authorization) goes into `errors` by topic if it is given, and is raised otherwise. So does a topic
        on which we may not do `operation`, in the words of Kafka's ACLs.
        """
        wanted = sorted(set(names)) if names is not None else self.names()
        if not wanted:
            return {}
        permissions = operation != "DESCRIBE"
        answers = self._asked(
            "describing topics",
            lambda: self._admin.describe_topics(
                TopicCollection(wanted), request_timeout=self.timeout, include_authorized_operations=permissions
            ),
        )
        found: dict[str, Topic] = {}
        for name, answer in answers.items():
            described = self._result(answer, "describing a topic", name, errors, operation)
            if described is None or (names is None and described.is_internal):
                continue
            if permissions and AclOperation[operation] not in (described.authorized_operations or (AclOperation[operation],)):
                refused = AuthorizationRefused(self.alias, operation, f"topic {name}", topic=name)
                if errors is None:
                    raise refused
                errors[name] = refused
                continue
            found[name] = _topic(described)
        return found

    def configs(self, names: Iterable[str], errors: Errors = None) -> dict[str, dict[str, ConfigEntry]]:
        """Every config entry of the given topics, by topic and entry name; a missing topic is absent. `errors` as in `topics`."""
        resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in sorted(set(names))]
        if not resources:
            return {}
        answers = self._asked("reading topic configs", lambda: self._admin.describe_configs(resources, request_timeout=self.timeout))
        found: dict[str, dict[str, ConfigEntry]] = {}
        for resource, answer in answers.items():
            entries = self._result(answer, "reading topic configs", resource.name, errors, operation="DESCRIBE_CONFIGS")
            if entries is not None:
                found[resource.name] = {name: _entry(entry) for name, entry in entries.items()}
        return found

    def create_topics(self, topics: Iterable[NewTopic], dry_run: bool = False) -> dict[str, MirrorError | None]:
        """Creates topics; the answer has, for each name, what went wrong, or None. With `dry_run` the brokers only check the request."""
        new = [ClientNewTopic(t.name, t.partitions, t.replication_factor, config=dict(t.configs)) for t in topics]
        if not new:
            return {}
        answers = self._asked(
            "creating topics", lambda: self._admin.create_topics(new, request_timeout=self.timeout, validate_only=dry_run)
        )
        return self._outcomes(answers, "creating the topic", "CREATE")

    def create_partitions(self, counts: Mapping[str, int], dry_run: bool = False) -> dict[str, MirrorError | None]:
        """Raises topics to the given partition counts; answer and `dry_run` as in `create_topics`."""
        new = [NewPartitions(name, count) for name, count in sorted(counts.items())]
        if not new:
            return {}
        answers = self._asked(
            "adding partitions", lambda: self._admin.create_partitions(new, request_timeout=self.timeout, validate_only=dry_run)
        )
        return self._outcomes(answers, "adding partitions to the topic", "ALTER")

    def alter_configs(self, changes: Mapping[str, Mapping[str, str | None]], dry_run: bool = False) -> dict[str, MirrorError | None]:
        """Sets config entries of topics; one that is None goes back to the cluster's default. A topic's entries are changed all or none.

        Answer and `dry_run` as in `create_topics`.
        """
        resources = [
            ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[_alteration(*entry) for entry in sorted(entries.items())])
            for topic, entries in sorted(changes.items())
        ]
        if not resources:
            return {}
        answers = self.send(
            "changing topic configs",
            lambda admin, seconds: admin.incremental_alter_configs(resources, request_timeout=seconds, validate_only=dry_run),
        )
        return self._outcomes(
            {resource.name: answer for resource, answer in answers.items()}, "changing the configs of the topic", "ALTER_CONFIGS"
        )

    def offsets(self, partitions: Partitions, at: str, committed: bool = False, errors: Errors = None) -> dict[TopicPartition, int]:
        """Log start (`at='earliest'`) or end (`'latest'`) of each partition; with `committed`, the end is the last stable offset.

        A partition that is gone or without leader is absent; `errors` as in `topics`.
        """
        spec = OffsetSpec.earliest() if at == "earliest" else OffsetSpec.latest()
        return {tp: listed.offset for tp, listed in self._offsets(partitions, spec, committed, errors).items() if listed.offset >= 0}

    def ends(self, partitions: Partitions, errors: Errors = None) -> dict[TopicPartition, End]:
        """The end of each partition, uncommitted records included, with the leader epoch; absent and `errors` as in `offsets`."""
        return {tp: listed for tp, listed in self._offsets(partitions, OffsetSpec.latest(), False, errors).items() if listed.offset >= 0}

    def offsets_for_time(self, partitions: Partitions, timestamp_ms: int, errors: Errors = None) -> dict[TopicPartition, int | None]:
        """The first offset whose record is stamped at or after `timestamp_ms` (Unix milliseconds); None where there is none."""
        listed = self._offsets(partitions, OffsetSpec.for_timestamp(timestamp_ms), False, errors)
        return {tp: found.offset if found.offset >= 0 else None for tp, found in listed.items()}

    # ------------------------------------------------------------ for adapters of one subject each

    def send(self, step: str, request: Callable[[AdminClient, float], Any]) -> Any:
        """Sends an administrative request, `request(client, seconds)`, and gives its futures, which `failure` waits for."""
        return self._asked(step, lambda: request(self._admin, self.timeout))

    def failure(self, answer: "Future[Any]", step: str, operation: str, topic: str | None = None) -> MirrorError | None:
        """Waits for an answer within the deadline, and says what went wrong, if anything did."""
        self._wait(answer)
        try:
            answer.result(0)
        except (KafkaException, TimeoutError) as failure:
            return self._translated(failure, step, topic=topic, operation=operation)
        return None

    # ------------------------------------------------------------ inside

    def _offsets(self, partitions: Partitions, spec: Any, committed: bool, errors: Errors) -> dict[TopicPartition, End]:
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        wanted = list(partitions)
        found: dict[TopicPartition, End] = {}
        for pause in _LEADER_PAUSES:
            wanted = self._offsets_once(wanted, spec, isolation, errors, found)
            if not wanted:
                break
            time.sleep(pause)
        return found

    def _offsets_once(
        self, wanted: list[TopicPartition], spec: Any, isolation: IsolationLevel, errors: Errors, found: dict[TopicPartition, End]
    ) -> list[TopicPartition]:
        """Puts what the leaders say into `found`; gives the partitions whose leader is moving just now."""
        request = {ClientTopicPartition(tp.topic, tp.partition): spec for tp in wanted}
        if not request:
            return []
        answers = self._asked(
            "listing offsets", lambda: self._admin.list_offsets(request, isolation_level=isolation, request_timeout=self.timeout)
        )
        moving: list[TopicPartition] = []
        for asked, answer in answers.items():
            tp = TopicPartition(asked.topic, asked.partition)
            self._wait(answer)
            try:
                listed = answer.result(0)
            except Exception as failure:
                error = kafka_error(failure)
                if error is not None and error.code() in _LEADER_MOVES:
                    moving.append(tp)
                elif unexpected := self._unexpected(failure, "listing offsets", tp.topic, errors, operation="DESCRIBE"):
                    raise unexpected from failure
                continue
            found[tp] = End(int(listed.offset), listed.leader_epoch)
        return moving

    def _metadata(self) -> Any:
        return self._asked("asking for metadata", self._list_topics)

    def _list_topics(self) -> Any:
        def ask(seconds: float) -> Any:
            try:
                return self._admin.list_topics(timeout=seconds)
            finally:
                self._admin.poll(0)

        return patiently(ask, self.timeout, self._complaints, self.alias, self._bootstrap)

    def _wait(self, answer: "Future[Any]") -> None:
        """Waits for an answer, within the deadline. The client goes on asking a cluster that refuses our credentials; this does not."""
        if answer.done():
            return
        deadline = time.monotonic() + self.timeout + 5
        while not answer.done() and time.monotonic() < deadline:
            futures.wait((answer,), timeout=_LOOK_EVERY_SECONDS)
            self._admin.poll(0)
            self._complaints.raise_refusal(self.alias, self._bootstrap)

    def _asked(self, step: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except MirrorError:
            raise
        except Exception as failure:
            raise self._translated(failure, step) from failure

    def _result(self, answer: "Future[Any]", step: str, topic: str, errors: Errors, operation: str) -> Any:
        """What a future brings; None for something that does not exist, and for a refusal of this topic alone that `errors` takes."""
        self._wait(answer)
        try:
            return answer.result(0)
        except Exception as failure:
            if unexpected := self._unexpected(failure, step, topic, errors, operation):
                raise unexpected from failure
            return None

    def _unexpected(self, failure: Exception, step: str, topic: str, errors: Errors, operation: str) -> MirrorError | None:
        """A failure as an error of ours; None if it only says that there is no such thing, or is a refusal that `errors` takes."""
        error = kafka_error(failure)
        if error is not None and error.code() in _MISSING:
            return None
        ours = self._translated(failure, step, topic=topic, operation=operation)
        if errors is None or not isinstance(ours, AuthorizationRefused):
            return ours
        errors[topic] = ours
        return None

    def _outcomes(self, answers: Mapping[str, "Future[Any]"], step: str, operation: str) -> dict[str, MirrorError | None]:
        return {name: self.failure(answer, f"{step} {name}", operation, name) for name, answer in answers.items()}

    def _translated(self, failure: BaseException, step: str, topic: str | None = None, operation: str | None = None) -> MirrorError:
        self._admin.poll(0)
        return translated(
            failure,
            cluster=self.alias,
            bootstrap=self._bootstrap,
            step=step,
            seconds=self.timeout,
            complaints=self._complaints,
            topic=topic,
            operation=operation,
        )


def _topic(described: Any) -> Topic:
    partitions = tuple(
        Partition(
            number=p.id,
            leader=p.leader.id if p.leader is not None and p.leader.id >= 0 else None,
            replicas=tuple(node.id for node in p.replicas),
            isr=tuple(node.id for node in p.isr),
        )
        for p in sorted(described.partitions, key=lambda p: p.id)
    )
    return Topic(described.name, kafka_uuid(str(described.topic_id)), partitions)


def kafka_uuid(text: str) -> str:
    """A topic id as Kafka's own tools write it: URL-safe base64 (org.apache.kafka.common.Uuid). The client has the standard alphabet, whose
    `+` and `/` stand where Kafka has `-` and `_`."""
    return text.translate(_URL_SAFE)


def _alteration(name: str, value: str | None) -> ClientConfigEntry:
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    return ClientConfigEntry(name, value, incremental_operation=operation)


def _entry(entry: Any) -> ConfigEntry:
    return ConfigEntry(entry.name, entry.value, ConfigSource(entry.source).name, bool(entry.is_read_only), bool(entry.is_sensitive))
