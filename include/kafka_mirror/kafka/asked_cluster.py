"""A cluster that is asked of itself and of its logs, over one connection a broker (`broker_pool`).

A client of librdkafka is five threads and as many connections, and a Python object for every partition of each answer. A lane with ten
records to copy would pay more for that than for the records.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

import kafka.errors as errors
from kafka.protocol.admin import DescribeConfigsRequest
from kafka.protocol.metadata import MetadataRequest

from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import OF_TARGET, Needs
from kafka_mirror.kafka.broker_pool import BrokerPool, Leader, ask_metadata
from kafka_mirror.kafka.cluster_answers import EARLIEST, LATEST, DescribedTopic, Metadata
from kafka_mirror.kafka.connection_errors import UNKNOWN_TOPIC, ConnectionErrors, is_retriable, raise_for
from kafka_mirror.kafka.model import OPERATIONS, ConfigEntry, End
from kafka_mirror.kafka.offset_questions import LEADER_MOVES, EpochEnd, OffsetQuestion, ask_epoch_ends, ask_leaders

_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)
"""How long to wait before leaders that move are asked again, in seconds; then a partition counts as without one."""
_TOPIC = 2
_SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    8: "GROUP_CONFIG",
}
"""Where a config's value is from, by the broker's number, in Kafka's words."""
_CONFIGS_OLDEST, _CONFIGS_NEWEST = 1, 4
_RIGHTS_OLDEST, _RIGHTS_NEWEST = 8, 10
"""Versions of metadata that tell what we may do with the cluster."""
_NOBODY = (-1, -1)

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class Offsets(NamedTuple):
    """What each question brought, by partition, and the error code of the topics that were refused."""

    answers: list[dict[TopicPartition, End]]
    refused: dict[str, int]


class AskedCluster:
    """Asks over one connection a broker. Safe for several threads, which take turns. Raises the errors of `kafka_mirror.errors`."""

    def __init__(self, alias: str, settings: Mapping[str, Any], timeout: float = 30.0, needs: Needs | None = None) -> None:
        """`settings` are librdkafka's; `timeout`: how many seconds a question may take; `needs`: what every broker must take. The first
        question raises ClusterTooOld for one that does not."""
        self.alias = alias
        self.timeout = timeout
        self.settings = settings
        self._needs = needs
        self._only_checks: bool | None = None
        self._lock = threading.Lock()
        self._pool: BrokerPool | None = None
        self.errors = ConnectionErrors(alias, settings, timeout)
        self._cluster_id = ""
        """As the newest metadata have it; '': there were none."""
        self._described: dict[str, DescribedTopic] = {}
        """As the newest metadata has them."""

    def close(self) -> None:
        """Lets go of the connections."""
        with self._lock:
            if self._pool is not None:
                self._pool.release()

    def ask(self, step: str, question: Callable[[BrokerPool], Result]) -> Result:
        """What the question gives, in turn with those of other threads."""

        def once(pool: BrokerPool) -> Result:
            try:
                return question(pool)
            except BaseException:
                self._described.clear()  # other brokers may lead by now
                raise

        with self._lock:
            return self._open().ask(step, once)

    def cluster_id(self) -> str:
        """The cluster's own id, which comes with every answer about topics; else the cheapest question there is, so it also probes
        reachability and credentials."""
        return self._cluster_id or self.ask("asking for the cluster's id", lambda pool: self._ask_metadata(pool, []).cluster_id)

    def find_ids(self) -> frozenset[str]:
        """The cluster's id as the bootstrap server tells it, and as a broker does that it advertises. Two: they are of different clusters,
        and clients end at the advertised one."""
        return frozenset((self.cluster_id(), self.ask("asking for the cluster's id", self._ask_advertised_id)))

    @property
    def takes_batches(self) -> bool:
        """Whether the mirror can write to the cluster, which needs Kafka 2.8."""
        return self.ask("asking for the brokers' versions", lambda pool: pool.pick_connection().takes_all(OF_TARGET))

    @property
    def only_checks(self) -> bool:
        """Whether it is known that the brokers only check a request that says so (`dry_run`). Others are not sent one."""
        if self._only_checks is None:
            self._only_checks = self.ask("asking for the brokers' versions", lambda pool: pool.pick_connection().only_checks)
        return self._only_checks

    def open_ahead(self) -> None:
        """Begins to connect, and comes back at once: a far cluster is asked later, and then answers sooner."""

        def connect() -> None:
            with suppress(MirrorError):
                self.ask("connecting", lambda pool: pool.pick_connection())

        threading.Thread(target=connect, name="connecting", daemon=True).start()

    def describe_topics(self, names: Sequence[str] | None, operations: bool = False) -> list[DescribedTopic]:
        """These topics, or all that we may describe, the brokers' internal ones too, each with its error code; with `operations` with what
        we may do with them too. A topic with an error that passes is asked for again."""

        def ask(pool: BrokerPool) -> list[DescribedTopic]:
            """Raises kafka-python's error for a topic whose error passes."""
            described = self._ask_metadata(pool, names, operations).topics
            for topic in described:
                if topic.error_code not in UNKNOWN_TOPIC and is_retriable(topic.error_code):
                    raise_for(topic.error_code)
            if names is not None and {topic.name for topic in described} != set(names):
                raise errors.KafkaProtocolError("the answer is about other topics")
            return described

        return self.ask("describing topics", ask)

    def list_operations(self) -> frozenset[str]:
        """What we may do with the cluster itself, in the words of Kafka's ACLs; everything where the brokers do not tell, or there is no
        authorizer."""

        def ask(pool: BrokerPool) -> set[int] | None:
            """Asks for the metadata of no topic, with our rights."""
            connection = pool.pick_connection()
            version = connection.choose_version(MetadataRequest.API_KEY, _RIGHTS_NEWEST)
            if version < _RIGHTS_OLDEST:
                return None
            request = MetadataRequest(
                version=version, topics=[], allow_auto_topic_creation=False, include_cluster_authorized_operations=True
            )
            operations: set[int] | None = connection.ask(request).authorized_operations
            return operations

        operations = self.ask("asking what we may do", ask)
        return frozenset(name for name, number in OPERATIONS.items() if operations is None or number in operations)

    def describe_configs(
        self, names: Sequence[str], entries: Collection[str] | None
    ) -> tuple[dict[str, dict[str, ConfigEntry]], dict[str, int]]:
        """The configs of topics, or these `entries` of them; and the error codes of topics that have none for us."""

        def read(answer: Any) -> tuple[dict[str, dict[str, ConfigEntry]], dict[str, int]]:
            """Raises ValueError for an answer about other topics, and kafka-python's error for a refusal that passes."""
            configs, codes = {}, {}
            for result in answer.results:
                if result.error_code:
                    codes[result.resource_name] = result.error_code
                    continue
                configs[result.resource_name] = {
                    entry.name: ConfigEntry(
                        entry.name,
                        entry.value,
                        _SOURCES.get(entry.config_source, "UNKNOWN"),
                        bool(entry.read_only),
                        bool(entry.is_sensitive),
                    )
                    for entry in result.configs
                }
            if configs.keys() | codes.keys() != set(names):
                raise ValueError("it is about other topics")
            for code in codes.values():
                if code not in UNKNOWN_TOPIC and is_retriable(code):
                    raise_for(code)
            return configs, codes

        def ask(pool: BrokerPool) -> tuple[dict[str, dict[str, ConfigEntry]], dict[str, int]]:
            connection, keys = pool.pick_connection(), None if entries is None else sorted(entries)
            of_topic = DescribeConfigsRequest.DescribeConfigsResource
            resources = [of_topic(resource_type=_TOPIC, resource_name=name, configuration_keys=keys) for name in names]
            version = connection.choose_version(DescribeConfigsRequest.API_KEY, _CONFIGS_NEWEST, _CONFIGS_OLDEST)
            answer = connection.ask(DescribeConfigsRequest(version=version, resources=resources), read)
            return cast("tuple[dict[str, dict[str, ConfigEntry]], dict[str, int]]", answer)

        return self.ask("reading topic configs", ask)

    def list_offsets(self, partitions: Iterable[TopicPartition], questions: Sequence[OffsetQuestion], patient: bool = True) -> Offsets:
        """What each question asks for, asked in this order, all at once. A partition that is gone, or still without leader after some
        patience, is absent; of one that lacks a single answer everything is asked again."""
        waiting, lost = list(dict.fromkeys(partitions)), None
        listed = Offsets([{} for _ in questions], {})
        for pause in (0.0, *(_PAUSES if patient else ())):
            if waiting:
                time.sleep(pause)
                ask = partial(self._ask_offsets, wanted=waiting, questions=questions, into=listed)
                waiting, lost = self.ask("listing offsets", ask)
        if waiting and lost is not None and not any(listed.answers):
            raise self.errors.translate(lost, "listing offsets", self._open().last)
        return listed

    def find_epoch_ends(self, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, EpochEnd]:
        """What the leader of each partition says of this leader epoch; absent are those whose leaders do not answer."""

        def ask(pool: BrokerPool) -> dict[TopicPartition, EpochEnd]:
            ends = ask_epoch_ends(pool, self._group_by_node(pool, epochs), epochs)
            for tp, end in ends.items():
                if end.error_code:
                    self.forget(tp.topic)
            return {tp: end for tp, end in ends.items() if not end.error_code}

        if epochs:
            with suppress(MirrorError):
                return self.ask("asking for the ends of leader epochs", ask)
        return {}

    # ------------------------------------------------------------ inside

    def _open(self) -> BrokerPool:
        if self._pool is None:
            self._pool = BrokerPool(self.alias, self.settings, self.timeout, self._needs)
        return self._pool

    # ------------------------------------------------------------ metadata

    def _ask_metadata(self, pool: BrokerPool, names: Sequence[str] | None, operations: bool = False) -> Metadata:
        answer = ask_metadata(pool.pick_connection(), names, operations)
        pool.learn(answer.brokers)
        self._cluster_id = answer.cluster_id
        self._described.update({described.name: described for described in answer.topics})
        return answer

    def _ask_advertised_id(self, pool: BrokerPool) -> str:
        if not pool.brokers:
            self._ask_metadata(pool, [])
        if not pool.brokers or pool.pick_connection().address in pool.brokers.values():
            return self._cluster_id
        return ask_metadata(pool.connect(min(pool.brokers)), []).cluster_id

    # ------------------------------------------------------------ offsets

    def find_leaders(self, pool: BrokerPool, wanted: Collection[TopicPartition]) -> tuple[dict[TopicPartition, Leader], dict[str, int]]:
        """Who leads each partition that has a leader, and the error codes of their topics: a part of a question."""
        by_node = self._group_by_node(pool, wanted)
        leaders = {tp: Leader(node, epoch, self._described[tp.topic].id) for node, there in by_node.items() for tp, epoch in there.items()}
        return leaders, {tp.topic: self._described[tp.topic].error_code for tp in wanted if self._described[tp.topic].error_code}

    def forget(self, topic: str) -> None:
        """Forgets who leads a topic's partitions: the next question about them looks for the leaders first."""
        self._described.pop(topic, None)

    def find_bounds(
        self, pool: BrokerPool, wanted: Sequence[TopicPartition]
    ) -> tuple[dict[TopicPartition, End], dict[TopicPartition, End]]:
        """Where the logs begin and end, of the partitions whose leaders tell: a part of a question."""
        listed = Offsets([{}, {}], {})
        self._ask_offsets(pool, wanted, [OffsetQuestion(EARLIEST), OffsetQuestion(LATEST)], into=listed)
        begins, ends = listed.answers
        return begins, ends

    def _group_by_node(self, pool: BrokerPool, wanted: Collection[TopicPartition]) -> dict[int, dict[TopicPartition, int]]:
        """The partitions with their leader epochs, by the node that leads them; without those that have no leader."""
        by_node, unled = self._look_up_leaders(pool, wanted)
        if unled:
            self._ask_metadata(pool, sorted(unled))
            by_node, _ = self._look_up_leaders(pool, wanted)
        return by_node

    def _look_up_leaders(self, pool: BrokerPool, wanted: Iterable[TopicPartition]) -> tuple[dict[int, dict[TopicPartition, int]], set[str]]:
        """As far as it is known, and the topics of the other partitions."""
        by_node: dict[int, dict[TopicPartition, int]] = {}
        unled: set[str] = set()
        for tp in wanted:
            described = self._described.get(tp.topic)
            node, epoch = _NOBODY if described is None else described.leaders.get(tp.partition, _NOBODY)
            if node in pool.brokers:
                by_node.setdefault(node, {})[tp] = epoch
            else:
                unled.add(tp.topic)
        return by_node, unled

    def _ask_offsets(
        self, pool: BrokerPool, wanted: Sequence[TopicPartition], questions: Sequence[OffsetQuestion], into: Offsets
    ) -> tuple[list[TopicPartition], OSError | None]:
        """Puts what the leaders say into `into`; gives the partitions to ask for again, and why a leader could not be reached."""
        listed, lost = ask_leaders(pool, self._group_by_node(pool, wanted), questions)
        for answer, rows in zip(into.answers, listed, strict=True):
            for tp in wanted if answer else ():
                answer.pop(tp, None)
            answer |= {tp: End(offset, epoch if epoch >= 0 else None) for tp, (code, offset, epoch) in rows.items() if not code}
        waiting = []
        answered = set(into.answers[0]).intersection(*into.answers[1:])
        for tp in [tp for tp in wanted if tp not in answered]:
            described = self._described.get(tp.topic)
            codes = [*(rows[tp].error_code for rows in listed if tp in rows), described.error_code if described is not None else 0]
            if refused := [code for code in codes if code and code not in LEADER_MOVES]:
                into.refused[tp.topic] = refused[0]
            elif described is not None and described.error_code not in UNKNOWN_TOPIC and tp.partition in described.leaders:
                waiting.append(tp)  # the newest metadata have it, be it without leader
        for tp in waiting:
            self.forget(tp.topic)  # another broker leads by now
        return waiting, lost
