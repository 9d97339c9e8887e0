"""What an audit reads: the clusters of a flow, the digests of many partitions of one side, and the records of one partition."""

import math
from collections.abc import Callable, Generator, Mapping, MutableMapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
        ends_at: float = math.inf,
        on_read: ReadListener = no_listener,
    ) -> None:
        super().__init__(alias, settings, committed, seconds, ends_at)
        self._committed = committed
        self._seconds = seconds
        self._admin = admin
        self._on_read = on_read

    def digests(
        self, parts: Mapping[TopicPartition, Part], errors: MutableMapping[TopicPartition, MirrorError]
    ) -> dict[TopicPartition, Digest]:
        """The digest of each partition; one that cannot be read is in `errors`. Raises what concerns the cluster."""
        digesters = {tp: Digester(timed=part.timed, skip=part.skip) for tp, part in parts.items()}
        positions = {tp: part.start for tp, part in parts.items()}
        for tp, messages in self.batches(parts, errors):
            position = messages[-1].offset() + 1
            self._on_read(position - positions[tp])
            positions[tp] = position
            if tp not in errors:
                try:
                    digesters[tp].take(messages)
                except UnreadableHeaders as unreadable:
                    errors[tp] = RecordUnreadable(self.alias, *tp, unreadable.offset)
        return {tp: digester.digest() for tp, digester in digesters.items() if tp not in errors}

    def piece(self, tp: TopicPartition, part: Part, piece: Piece) -> Digest:
        """The blocks of a piece of what begins with `part`; reads no further than it has to. Raises what keeps it from being read."""
        errors: dict[TopicPartition, MirrorError] = {}
        digester = Digester(timed=part.timed, piece=piece)
        with closing(self.batches({tp: part}, errors)) as batches:
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

    def counts(
        self, parts: Mapping[TopicPartition, Part], errors: MutableMapping[TopicPartition, MirrorError]
    ) -> dict[TopicPartition, int]:
        """How many records each partition has; as `digests` in the rest."""
        counted = dict.fromkeys(parts, 0)
        for tp, messages in self.batches(parts, errors):
            counted[tp] += len(messages)
        return {tp: number for tp, number in counted.items() if tp not in errors}

    def records(self, tp: TopicPartition, part: Part) -> Generator[Record, None, None]:
        """The records of one partition. Raises what keeps it from being read."""
        errors: dict[TopicPartition, MirrorError] = {}
        skip = part.skip
        with closing(self.batches({tp: part}, errors)) as batches:
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
