"""What an audit reads of a flow's clusters: the digests of many partitions, of one side or of both, and the records of one partition."""

from collections.abc import Callable, Generator, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_mirror.audit.copied_ranges import AuditRange
from kafka_mirror.audit.digest import Digest, Digester, Piece
from kafka_mirror.config.resolved_flow import ResolvedFlow, resolved_flow
from kafka_mirror.errors import MirrorError, RecordUnreadable
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import Record, UnreadableHeaders, record_of
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.reader import Part, PartReader

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

_LEAST_SECONDS = 30.0

Found = TypeVar("Found")
Errors = MutableMapping[TopicPartition, MirrorError]
"""What keeps partitions of one side from being read."""
Read = Callable[[Mapping[TopicPartition, Part], Errors], dict[TopicPartition, Found]]


@dataclass(frozen=True)
class AuditContext(ResolvedFlow):
    """One flow's clusters as an audit reads them. It holds secrets: never log it, never store it."""

    show_payload: bool = False

    @property
    def seconds(self) -> float:
        """For how long a cluster may be silent."""
        return max(self.request_seconds, _LEAST_SECONDS)


def audit_context(flow: "Flow", show_payload: bool) -> AuditContext:
    """The flow's, with every reference resolved now. Raises ConfigurationError."""
    return AuditContext(**vars(resolved_flow(flow, writes=False)), show_payload=show_payload)


ReadListener = Callable[[int], None]
"""Gets how many more offsets were read; it must not raise."""


def no_listener(_offsets: int) -> None:
    """Ignores progress."""


class Side(PartReader):
    """A cluster whose partitions are audited. `on_read` gets how far the digests are."""

    def __init__(
        self,
        alias: str,
        settings: Mapping[str, Any],
        committed: bool,
        seconds: float,
        admin: Mapping[str, Any],
        on_read: ReadListener = no_listener,
    ) -> None:
        super().__init__(alias, settings, committed, seconds)
        self._committed = committed
        self._seconds = seconds
        self._admin = admin
        self._on_read = on_read

    def read_digests(self, parts: Mapping[TopicPartition, Part], errors: Errors) -> dict[TopicPartition, Digest]:
        """The digest of each partition; one that cannot be read is in `errors`. Raises what concerns the cluster."""
        digesters = {tp: Digester(timed=part.timed, skip=part.skip) for tp, part in parts.items()}
        positions = {tp: part.start for tp, part in parts.items()}
        for tp, messages in self.read_batches(parts, errors):
            position = messages[-1].offset + 1
            self._on_read(position - positions[tp])
            positions[tp] = position
            if tp not in errors:
                try:
                    digesters[tp].take(messages)
                except UnreadableHeaders as unreadable:
                    errors[tp] = RecordUnreadable(self.alias, *tp, unreadable.offset)
        return {tp: digester.digest() for tp, digester in digesters.items() if tp not in errors}

    def read_piece(self, tp: TopicPartition, part: Part, piece: Piece) -> Digest:
        """The blocks of a piece of what begins with `part`; reads no further than it has to. Raises what keeps it from being read."""
        errors: dict[TopicPartition, MirrorError] = {}
        digester = Digester(timed=part.timed, piece=piece)
        with closing(self.read_batches({tp: part}, errors)) as batches:
            for _, messages in batches:
                try:
                    digester.take(messages)
                except UnreadableHeaders as unreadable:
                    raise RecordUnreadable(self.alias, *tp, unreadable.offset) from None
                if digester.is_done:
                    break
        if errors:
            raise errors[tp]
        return digester.digest()

    def count_records(self, parts: Mapping[TopicPartition, Part], errors: Errors) -> dict[TopicPartition, int]:
        """How many records each partition has; as `read_digests` in the rest."""
        counted = dict.fromkeys(parts, 0)
        for tp, messages in self.read_batches(parts, errors):
            counted[tp] += len(messages)
        return {tp: number for tp, number in counted.items() if tp not in errors}

    def read_records(self, tp: TopicPartition, part: Part) -> Generator[Record, None, None]:
        """The records of one partition. Raises what keeps it from being read."""
        errors: dict[TopicPartition, MirrorError] = {}
        skip = part.skip
        with closing(self.read_batches({tp: part}, errors)) as batches:
            for _, messages in batches:
                try:
                    yield from (record_of(message) for message in messages[skip:])
                except UnreadableHeaders as unreadable:
                    raise RecordUnreadable(self.alias, *tp, unreadable.offset) from None
                skip -= min(skip, len(messages))
        if errors:
            raise errors[tp]

    def end(self, tp: TopicPartition) -> int:
        """How far a partition can be read now; 0 if no leader says it."""
        with Cluster(self.alias, self._admin, self._seconds) as cluster:
            return cluster.offsets([tp], "latest", committed=self._committed).get(tp, 0)


def sides_of(context: AuditContext, on_read: ReadListener = no_listener) -> tuple[Side, Side]:
    """The source and the target of an audit; `on_read` as in `Side`."""
    clients, seconds = context.clients, context.seconds
    return (
        Side(context.source, clients.source_consumer, context.read_committed, seconds, clients.source_admin, on_read=on_read),
        Side(context.target, clients.target_consumer, True, seconds, clients.target_admin, on_read=on_read),
    )


def parts_of(stretch: AuditRange, source_skip: int = 0, target_skip: int = 0) -> tuple[Part, Part]:
    """What is to be read of a stretch on both sides, without its first records."""
    return (
        Part(stretch.start, stretch.end, stretch.source_left, source_skip, stretch.timed),
        Part(stretch.target_start, stretch.target_read_end, stretch.target_left, target_skip, stretch.timed),
    )


def read_both(
    parts: Mapping[AuditRange, tuple[Part, Part]], reads: tuple[Read[Found], Read[Found]], errors: tuple[Errors, Errors]
) -> tuple[dict[TopicPartition, Found], dict[TopicPartition, Found]]:
    """What is read of these parts of both sides at the same time, by source partition and by remote partition."""
    source_parts = {stretch.source: source for stretch, (source, _) in parts.items()}
    target_parts = {stretch.remote: target for stretch, (_, target) in parts.items()}
    with ThreadPoolExecutor(2) as threads:
        source, target = threads.submit(reads[0], source_parts, errors[0]), threads.submit(reads[1], target_parts, errors[1])
        return source.result(), target.result()
