"""What a lane asks of a cluster's admin and hands to its target, for the worlds in memory that the lane's tests are made of."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_pool import servers
from kafka_mirror.kafka.model import ConfigEntry, End, LogOffsets, Partition, Topic

PARTITIONS = tuple(Partition(number, 1, (1,), (1,)) for number in range(4))


class QuietCluster:
    """The part of Cluster that says nothing of offsets: every topic has four partitions and no configs."""

    def open_ahead(self) -> None:
        """There is nothing to open."""

    def __init__(self, alias: str, settings: Mapping[str, object], timeout: float) -> None:
        self.alias = alias
        self.settings = settings
        self.server = str(settings.get("bootstrap.servers", ""))

    def __enter__(self) -> "QuietCluster":
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def ask_each_server(self, ask: Callable[["QuietCluster"], Any]) -> tuple[dict[str, Any], dict[str, MirrorError]]:
        """As `Cluster` has it."""
        answers: dict[str, Any] = {}
        silent: dict[str, MirrorError] = {}
        for server in servers(self.settings):
            try:
                answers[server] = ask(type(self)(self.alias, {**self.settings, "bootstrap.servers": server}, 1.0))
            except MirrorError as error:
                silent[server] = error
        return answers, silent

    def topic_id(self, name: str) -> str:
        """The id that a topic has."""
        return f"id-{name}"

    def topics(self, names: Iterable[str], errors: dict[str, Exception] | None = None, operation: str = "DESCRIBE") -> dict[str, Topic]:
        return {name: Topic(name, self.topic_id(name), PARTITIONS) for name in names}

    def topic_ids(self, names: Iterable[str], errors: dict[str, Exception] | None = None) -> dict[str, str]:
        return {name: topic.id for name, topic in self.topics(names, errors).items()}

    def offsets(self, partitions: Iterable[TopicPartition], at: str, committed: bool = False, errors: object = None) -> dict[Any, int]:
        """What the world in memory says; it has to say it if a test gets so far."""
        raise AssertionError(f"{self.alias}: nobody says where {partitions} begin and end")

    def log_offsets(
        self, partitions: Iterable[TopicPartition], errors: object = None, committed: bool = True
    ) -> dict[TopicPartition, LogOffsets]:
        there = list(partitions)
        starts, stable = self.offsets(there, "earliest", False, errors), self.offsets(there, "latest", committed, errors)
        ends = self.offsets(there, "latest", False, errors)
        return {tp: LogOffsets(starts[tp], stable[tp], ends[tp], None) for tp in there}

    def ends(
        self, partitions: Iterable[TopicPartition], errors: object = None, committed: bool = False, patient: bool = True
    ) -> dict[TopicPartition, End]:
        """How far each log goes, by `log_offsets`."""
        logs = self.log_offsets(partitions, errors, committed)
        return {tp: End(log.stable if committed else log.end, log.leader_epoch) for tp, log in logs.items()}

    def find_shared_ends(self, positions: Iterable[Any], seconds: float) -> dict[Any, int]:
        """Nobody asks where leader epochs do not change."""
        return {}

    def configs(self, names: Iterable[str], errors: object, entries: object = None) -> dict[str, dict[str, ConfigEntry]]:
        return {name: {} for name in names}


class TakingTarget:
    """Takes records, counts each as a byte, and remembers (topic, partition, offset) of each."""

    alias = "west"

    def __init__(self) -> None:
        self.bytes = 0
        self.sent: list[tuple[str, int, int]] = []

    def send(self, flow: Any, message: Any, offset: int, timestamp: int, headers: object) -> None:
        self.bytes += 1
        self.sent.append((message.topic(), message.partition(), message.offset()))
