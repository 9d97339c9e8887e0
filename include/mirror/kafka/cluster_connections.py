"""What a cluster says of itself over a few connections of our own: the cheap way to ask, beside librdkafka's admin client.

A client of librdkafka is five threads and as many connections, and a Python object for every partition of each answer. A lane with ten
records to copy pays more for that than for the records. So `Cluster` asks here first.

Only a clean answer counts. A login or a broker that is refused, an error code, an answer in an unknown form, silence: for each of them
librdkafka's client asks again, which knows how to wait, and whose errors say what is wrong.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from mirror.formats.batch_records import StoredRecord
from mirror.kafka import cluster_answers as answers
from mirror.kafka.cluster_answers import DescribedTopic, ListedOffset, Metadata
from mirror.kafka.log_fetch import NotClean, committed_records, fetch_to_ends
from mirror.kafka.log_memory import MEMORY, LogKey, LogState
from mirror.kafka.model import ConfigEntry, End
from mirror.offsets.partition import TopicPartition

if TYPE_CHECKING:
    from mirror.kafka.broker_connection import BrokerConnection

_SECONDS = 3.0
"""How long an answer may take until librdkafka's client is asked instead, which waits as long as the user wants."""
_MOST_FAILURES = 2
_TOPIC = 2
_SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    8: "GROUP_CONFIG",
}
"""Where a config's value is from, by the broker's number, in the words of librdkafka's client."""
_EPOCHS_OLDEST, _EPOCHS_NEWEST = 3, 4
"""Versions of OffsetForLeaderEpoch; the older one is of Kafka 2.3."""
_CONSUMER = -1
"""As which replica a consumer asks."""
_FETCH_BYTES = 8 * 1024 * 1024
_FETCH_WAIT_MS = 10

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class OffsetQuestion(NamedTuple):
    """An offset of each partition: `timestamp` as Kafka has it, `committed` as a reader of committed records sees the end."""

    timestamp: int
    committed: bool = False


class ClusterConnections:
    """Asks over one connection a broker. Safe for several threads, which take turns. No method raises: None means that it has no clean
    answer."""

    def __init__(self, alias: str, settings: Mapping[str, Any], seconds: float) -> None:
        self._alias = alias
        self._settings = settings
        self._seconds = min(seconds, _SECONDS)
        self._lock = threading.Lock()
        self._pool: Any = None
        self._failures = 0
        self.last_cluster_id = ""
        """As the newest metadata have it; '': there were none."""
        self._described: dict[str, DescribedTopic] = {}
        """As the newest metadata has them."""

    def close(self) -> None:
        """Lets go of the connections."""
        with self._lock:
            if self._pool is not None:
                self._pool.release()

    def cluster_id(self) -> str | None:
        """The cluster's own id."""
        return self._clean("the cluster's id", lambda: self._metadata([]).cluster_id or None)

    def only_checks(self) -> bool | None:
        """Whether the brokers only check a request that says so."""
        return self._clean("the brokers' versions", lambda: self._opened().some().only_checks)

    @property
    def advertised(self) -> list[tuple[str, int]]:
        """Host and port of each broker that metadata told of so far."""
        return [] if self._pool is None else list(self._pool.brokers.values())

    def advertised_cluster_id(self) -> str | None:
        """The cluster's id as one of the brokers tells it whose addresses it advertises."""
        return self._clean("the cluster's id", lambda: self._advertised_cluster_id() or None)

    def open_ahead(self) -> None:
        """Begins to connect, and comes back at once: the first question has to wait for the rest alone."""
        threading.Thread(target=self._clean, args=("a connection", lambda: self._opened().some()), name="connecting", daemon=True).start()

    def topics(self, names: Sequence[str] | None) -> list[DescribedTopic] | None:
        """These topics, or all that we may describe, the brokers' internal ones too. No clean answer if any of them has an error."""
        return self._clean("topics", lambda: self._clean_topics(names))

    def configs(self, names: Sequence[str], entries: Collection[str] | None) -> dict[str, dict[str, ConfigEntry]] | None:
        """The configs of topics, or these `entries` of them."""
        return self._clean("topic configs", lambda: self._configs(names, entries))

    def offsets(self, partitions: Iterable[TopicPartition], questions: Sequence[OffsetQuestion]) -> list[dict[TopicPartition, End]] | None:
        """What each question asks for, of those partitions whose leaders answer it; asked in this order, all at once."""
        wanted = list(partitions)
        return self._clean("offsets", lambda: self._offsets(wanted, questions)) if wanted else [{} for _ in questions]

    def epoch_ends(self, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, int] | None:
        """Where a leader epoch ends in the log of each partition, of those whose leaders answer; see `Cluster.epoch_ends`."""
        return self._clean("ends of leader epochs", lambda: self._epoch_ends(epochs)) if epochs else {}

    def records(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> list[StoredRecord] | None:
        """The committed records in `[start, end)` of each partition, in order within each."""
        return self._clean("records", lambda: self._records({tp: bounds for tp, bounds in ranges.items() if bounds[0] < bounds[1]}))

    def newest(self, ends: Mapping[TopicPartition, int]) -> list[StoredRecord] | None:
        """The newest committed record of each key in front of these ends, in the order in which they were written in each partition. What
        this process has read of a log before is not read again."""
        return self._clean("records", lambda: self._newest({tp: end for tp, end in ends.items() if end > 0}))

    # ------------------------------------------------------------ inside

    def _clean(self, what: str, ask: Callable[[], Result | None]) -> Result | None:
        with self._lock:
            if self._failures >= _MOST_FAILURES:
                return None
            try:
                return ask()
            except ModuleNotFoundError:
                self._failures = _MOST_FAILURES
            except NotClean as why:
                log.debug("Cluster '%s': %s are asked for by librdkafka: %s", self._alias, what, why)
            except Exception as failure:  # noqa: BLE001 — whatever a broker answered, librdkafka's client asks again
                self._failures += 1
                self._close()
                log.debug("Cluster '%s': %s are asked for by librdkafka, for %s: %s", self._alias, what, type(failure).__name__, failure)
            except BaseException:
                self._close()
                raise
            return None

    def _close(self) -> None:
        if self._pool is not None:
            self._pool.close()

    def _opened(self) -> Any:
        if self._pool is None:
            from mirror.kafka.broker_pool import BrokerPool

            self._pool = BrokerPool(self._alias, self._settings, self._seconds, patience=0.0)
        return self._pool

    def _version(self, connection: "BrokerConnection", key: int, oldest: int, newest: int) -> int:
        version = connection.version(key, newest)
        if version < oldest:
            raise NotClean("the brokers are older than Kafka 2.8")
        return version

    # ------------------------------------------------------------ metadata

    def _metadata(self, names: Sequence[str] | None) -> Metadata:
        from mirror.kafka.broker_pool import ask_metadata

        pool = self._opened()
        answer: Metadata = ask_metadata(pool.some(), names)
        pool.learn(answer.brokers)
        self.last_cluster_id = answer.cluster_id
        self._described.update({described.name: described for described in answer.topics})
        return answer

    def _advertised_cluster_id(self) -> str:
        from mirror.kafka.broker_pool import ask_metadata

        pool = self._opened()
        if not pool.brokers:
            self._metadata([])
        if not pool.brokers or pool.some().address in pool.brokers.values():
            return self.last_cluster_id
        advertised: Metadata = ask_metadata(pool.to(min(pool.brokers)), [])
        return advertised.cluster_id

    def _clean_topics(self, names: Sequence[str] | None) -> list[DescribedTopic]:
        described = self._metadata(names).topics
        for topic in described:
            if topic.error_code:
                raise NotClean(f"topic {topic.name} has the error code {topic.error_code}")
        if names is not None and {topic.name for topic in described} != set(names):
            raise NotClean("the answer is about other topics")
        return described

    def _configs(self, names: Sequence[str], entries: Collection[str] | None) -> dict[str, dict[str, ConfigEntry]]:
        from kafka.protocol.admin import DescribeConfigsRequest

        connection = self._opened().some()
        keys = None if entries is None else sorted(entries)
        resources = [
            DescribeConfigsRequest.DescribeConfigsResource(resource_type=_TOPIC, resource_name=name, configuration_keys=keys)
            for name in names
        ]
        version = self._version(connection, DescribeConfigsRequest.API_KEY, 1, 4)
        answer = connection.ask(DescribeConfigsRequest(version=version, resources=resources))
        configs = {}
        for result in answer.results:
            if result.error_code:
                raise NotClean(f"the configs of {result.resource_name} have the error code {result.error_code}")
            configs[result.resource_name] = {
                entry.name: ConfigEntry(
                    entry.name, entry.value, _SOURCES[entry.config_source], bool(entry.read_only), bool(entry.is_sensitive)
                )
                for entry in result.configs
            }
        if configs.keys() != set(names):
            raise NotClean("the answer is about other topics")
        return configs

    # ------------------------------------------------------------ offsets and records

    def _by_node(self, partitions: Iterable[TopicPartition]) -> dict[int, dict[TopicPartition, int]]:
        """The partitions with their leader epochs, by the node that leads them; without those that nobody leads."""
        wanted = list(partitions)
        unknown = {tp.topic for tp in wanted} - self._described.keys()
        if unknown:
            self._metadata(sorted(unknown))
        by_node: dict[int, dict[TopicPartition, int]] = {}
        unled: set[str] = set()
        for tp in wanted:
            node, epoch = self._described[tp.topic].leaders.get(tp.partition, (-1, -1))
            if node >= 0:
                by_node.setdefault(node, {})[tp] = epoch
            else:
                unled.add(tp.topic)
        for topic in unled:
            del self._described[topic]  # it may have leaders when somebody asks again
        return by_node

    def _offsets(self, wanted: Sequence[TopicPartition], questions: Sequence[OffsetQuestion]) -> list[dict[TopicPartition, End]]:
        listed: list[dict[TopicPartition, ListedOffset]] = [{} for _ in questions]
        connections = []
        for node, leaders in self._by_node(wanted).items():
            connection = self._opened().to(node)
            version = self._version(connection, answers.LIST_OFFSETS, answers.LIST_OFFSETS_OLDEST, answers.LIST_OFFSETS_NEWEST)
            for question, into in zip(questions, listed, strict=True):
                body = answers.offsets_request(leaders, question.timestamp, question.committed)
                connection.queue_parts(
                    answers.LIST_OFFSETS, version, [body], answers.listed_offsets, lambda answer, into=into: into.update(answer.partitions)
                )
            connection.flush()
            connections.append(connection)
        for connection in connections:
            while connection.in_flight:
                connection.receive()
        return [self._led(answer) for answer in listed]

    def _epoch_ends(self, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        from kafka.protocol.consumer import OffsetForLeaderEpochRequest as Request

        ends = {}
        for node, leaders in self._by_node(epochs).items():
            connection = self._opened().to(node)
            topics: dict[str, list[Any]] = {}
            for tp, current in leaders.items():
                topics.setdefault(tp.topic, []).append(
                    Request.OffsetForLeaderTopic.OffsetForLeaderPartition(
                        partition=tp.partition, current_leader_epoch=current, leader_epoch=epochs[tp]
                    )
                )
            questions = [Request.OffsetForLeaderTopic(topic=name, partitions=partitions) for name, partitions in topics.items()]
            version = self._version(connection, Request.API_KEY, _EPOCHS_OLDEST, _EPOCHS_NEWEST)
            answer = connection.ask(Request(version=version, replica_id=_CONSUMER, topics=questions))
            for topic in answer.topics:
                for partition in topic.partitions:
                    if partition.error_code:
                        self._described.pop(topic.topic, None)  # another broker leads by now
                    else:
                        ends[TopicPartition(topic.topic, partition.partition)] = max(0, partition.end_offset)
        return ends

    def _led(self, listed: Mapping[TopicPartition, ListedOffset]) -> dict[TopicPartition, End]:
        ends = {}
        for tp, (code, offset, epoch) in listed.items():
            if code:
                self._described.pop(tp.topic, None)  # another broker leads by now
            else:
                ends[tp] = End(offset, epoch if epoch >= 0 else None)
        return ends

    def _records(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> list[StoredRecord]:
        fetched = self._fetched(ranges, {})
        return [record for tp, there in fetched.items() for record in committed_records(tp, there, *ranges[tp])]

    def _newest(self, ends: Mapping[TopicPartition, int]) -> list[StoredRecord]:
        self._by_node(ends)
        logs = {tp: (self._described[tp.topic].id, tp.partition) for tp in ends}
        states = {tp: state for tp, end in ends.items() if (state := MEMORY.state(logs[tp], end)) is not None}
        try:
            return self._newest_behind(ends, logs, states)
        except NotClean as why:
            if not states:
                raise
            log.debug("Cluster '%s': all of it is read anew: %s", self._alias, why)
            for tp in states:
                MEMORY.forget(logs[tp])
            return self._newest_behind(ends, logs, {})

    def _newest_behind(
        self, ends: Mapping[TopicPartition, int], logs: Mapping[TopicPartition, LogKey], states: Mapping[TopicPartition, LogState]
    ) -> list[StoredRecord]:
        """Goes on behind what is remembered, once the leader has said that it is still the same log."""
        ranges = {tp: (states[tp].position if tp in states else 0, end) for tp, end in ends.items()}
        records: list[StoredRecord] = []
        for tp, there in self._fetched(ranges, {tp: state.epoch for tp, state in states.items()}).items():
            newest = dict(states[tp].newest) if tp in states else {}
            for record in committed_records(tp, there, *ranges[tp]):
                newest.pop(record.key, None)  # it stands where it was written last
                newest[record.key] = record
            whole = [batch for batch, _ in there.batches if batch.next_offset <= ends[tp]]
            if whole:
                MEMORY.keep(logs[tp], LogState(whole[-1].next_offset, whole[-1].leader_epoch, newest))
            records += newest.values()
        return records

    def _fetched(self, ranges: Mapping[TopicPartition, tuple[int, int]], epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, Any]:
        """What is in the ranges. Where a leader epoch is given, of the record in front of a range, the leader is asked in any case whether
        it has that record."""
        from mirror.kafka.batch_fetch import FetchedPartition, FetchLimits
        from mirror.kafka.broker_pool import Leader

        by_node = self._by_node(ranges)
        if sum(map(len, by_node.values())) < len(ranges):
            raise NotClean("a partition has no leader")
        everything: dict[TopicPartition, Any] = {}
        limits = FetchLimits(_FETCH_BYTES, _FETCH_BYTES, _FETCH_WAIT_MS, committed=True)
        for node, leader_epochs in by_node.items():
            fetched = {tp: FetchedPartition(ranges[tp][0], epochs.get(tp), Leader(node, epoch)) for tp, epoch in leader_epochs.items()}
            ends = {tp: ranges[tp][1] for tp in fetched}
            fetch_to_ends(self._opened().to(node), fetched, ends, limits, {tp for tp in fetched if tp in epochs})
            everything |= fetched
        return everything
