"""Finds the ranges that are equal on both sides, batch by batch, from batches that are fetched closed.

It finds no difference: a range that is not proven equal here is compared record by record from its beginning. A partition is asked for more
only when little of it waits, so a fast side does not fill the memory while the other one is slow.
"""

import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_mirror.audit.batch_comparison import BatchComparison, NotComparable
from kafka_mirror.audit.copied_ranges import AuditRange, Outcome
from kafka_mirror.audit.reader import AuditContext, Errors, ReadListener, Side, no_listener, parts_of, read_both, sides_of
from kafka_mirror.errors import DeadlineExceeded, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import OF_SOURCE
from kafka_mirror.kafka.broker_pool import BrokerPool, receive
from kafka_mirror.kafka.fetch import BatchFetcher, Cause, FetchFault, FetchLimits
from kafka_mirror.kafka.fetched_partition import FetchedPartition

RANGES_AT_ONCE = 32
_FETCH_BYTES = 4 * 1024 * 1024
_LEAST_BYTES = 128 * 1024
_MOST_SECONDS = 10.0
"""For how long nothing may come. It is less than an audit's patience: records can still be read one by one, and then that is waited for."""
_POLL_SECONDS = 0.1

log = logging.getLogger(__name__)


class AuditedCluster:
    """The batches of one cluster's partitions. Its methods raise errors of ours."""

    def __init__(self, alias: str, settings: Mapping[str, Any], committed: bool, seconds: float) -> None:
        self.pool = BrokerPool(alias, settings, seconds, OF_SOURCE, carries_batches=True)
        self.refused: dict[TopicPartition, str] = {}
        """Why nothing more can be had of a partition."""
        self._limits = FetchLimits.of(settings, _FETCH_BYTES, committed)
        self.fetcher = BatchFetcher(self.pool, None, self._refuse)

    def fetch(self, wanted: Mapping[TopicPartition, FetchedPartition]) -> None:
        """Asks for what follows of partitions of which little waits, at each leader that is not asked already."""
        for connection, partitions in self.fetcher.idle_leaders(wanted):
            share = max(self._limits.max_bytes // len(partitions), _LEAST_BYTES)
            if questions := {tp: fetched for tp, fetched in partitions.items() if fetched.bytes < share // 2}:
                limits = self._limits._replace(partition_bytes=min(self._limits.partition_bytes, share))
                self.fetcher.ask(connection, questions, limits)

    def _refuse(self, tp: TopicPartition, fault: FetchFault) -> None:
        if fault.cause is Cause.LEADER_MOVED:
            raise self.pool.errors.translate_code(fault.code, f"reading {tp}@{fault.position}")
        self.refused[tp] = fault.detail


class PairedReading:
    """One reading of ranges of both sides. `on_read` gets how many more offsets of either side were paired."""

    def __init__(self, context: AuditContext, stretches: Sequence[AuditRange], on_read: ReadListener) -> None:
        """No partition is in two of the ranges."""
        clients, self._seconds = context.clients, min(context.seconds, _MOST_SECONDS)
        self._source = AuditedCluster(context.source, clients.source_consumer, context.read_committed, self._seconds)
        self._target = AuditedCluster(context.target, clients.target_consumer, True, self._seconds)
        self._waiting = deque(stretches)
        self._open: list[BatchComparison] = []
        self._done: list[BatchComparison] = []
        self._on_read = on_read

    def run(self) -> list[BatchComparison]:
        """The ranges that were gone through to their end. What keeps others from it is logged, and they are for another way to read."""
        moved_at = 0.0
        try:
            while self._open or self._waiting:
                try:
                    self._begin_more()
                    self._step()
                except MirrorError as failure:
                    # A connection broke, or another broker leads now. It goes on where it was, as long as it gets further in between.
                    if self._heard_at <= moved_at or isinstance(failure, DeadlineExceeded):
                        raise
                    moved_at = self._heard_at
                    log.info("The audit connects again: %s", failure)
                    self._connect_again()
        except (MirrorError, NotComparable) as failure:
            unread = len(self._open) + len(self._waiting)
            log.info("Batches of %d ranges could not be compared closed, so their records are read: %s", unread, failure)
            self._on_read(-sum(pairing.offsets for pairing in self._open))
        finally:
            self._source.pool.close()
            self._target.pool.close()
        return self._done

    @property
    def _heard_at(self) -> float:
        return max(side.fetcher.dispatch.heard_at for side in (self._source, self._target))

    def _begin_more(self) -> None:
        room = RANGES_AT_ONCE - len(self._open)
        if not self._waiting or room < RANGES_AT_ONCE // 2:
            return
        begun = [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]
        try:
            sources = self._source.pool.find_leaders(stretch.source for stretch in begun)
            targets = self._target.pool.find_leaders(stretch.remote for stretch in begun)
        except BaseException:
            self._waiting.extendleft(reversed(begun))
            raise
        for stretch in begun:
            source = FetchedPartition(stretch.start, None, sources[stretch.source])
            target = FetchedPartition(stretch.target_start, None, targets[stretch.remote])
            self._open.append(BatchComparison(stretch, source, target))

    def _step(self) -> None:
        self._source.fetch({pairing.stretch.source: pairing.source.fetched for pairing in self._open if not pairing.source.has_ended})
        self._target.fetch({pairing.stretch.remote: pairing.target.fetched for pairing in self._open if not pairing.target.has_ended})
        pools = (self._source.pool, self._target.pool)
        if any(connection.in_flight for pool in pools for connection in pool.connections):
            receive(pools, _POLL_SECONDS)
        self._open = [pairing for pairing in self._open if self._is_going_on(pairing)]
        if self._open and time.monotonic() > self._heard_at + self._seconds:
            raise DeadlineExceeded(f"nothing came for {self._seconds:g} s.")

    def _is_going_on(self, pairing: BatchComparison) -> bool:
        """Pairs what is there of a range; whether more of it is needed."""
        before, stretch = pairing.offsets, pairing.stretch
        try:
            if refused := self._source.refused.get(stretch.source) or self._target.refused.get(stretch.remote):
                raise NotComparable(refused)
            pairing.pair()
        except NotComparable as why:
            log.info("Batches of %s could not be compared closed, so its records are read: %s.", stretch.source, why)
            self._on_read(-before)
            return False
        self._on_read(pairing.offsets - before)
        if (at := pairing.jumps_to) is not None:
            pairing.go_on(
                FetchedPartition(at.source, None, pairing.source.fetched.leader),
                FetchedPartition(at.target, None, pairing.target.fetched.leader),
            )
        if pairing.is_done:
            self._done.append(pairing)
        return not pairing.is_done

    def _connect_again(self) -> None:
        self._source.pool.close()
        self._target.pool.close()
        sources = self._source.pool.find_leaders(pairing.stretch.source for pairing in self._open)
        targets = self._target.pool.find_leaders(pairing.stretch.remote for pairing in self._open)
        for pairing in self._open:
            pairing.source.fetched.leader = sources[pairing.stretch.source]
            pairing.target.fetched.leader = targets[pairing.stretch.remote]


def equal_ranges(
    context: AuditContext, stretches: Sequence[AuditRange], on_read: ReadListener = no_listener, *, opens_all: bool = False
) -> dict[AuditRange, Outcome]:
    """The outcomes of ranges that are equal and were compared batch by batch, at least in part (with `opens_all` also those of which
    every record was read); they have no digests. No partition is in two of the ranges. Never raises an error of ours.

    What `on_read` got for other ranges it gets again as a negative number.
    """
    # Of these the beginning is known, and both sides keep all records.
    able = [stretch for stretch in stretches if not stretch.is_head and not stretch.compacted and stretch.offsets > 0]
    if not able:
        return {}
    try:
        reading = PairedReading(context, able, on_read)
    except (MirrorError, LookupError, ValueError) as failure:
        log.info("%s: every record is read, for batches cannot be fetched with this login: %s", context.flow, failure)
        return {}
    pairings = reading.run()
    paired = [pairing for pairing in pairings if pairing.equal_records or opens_all]
    outcomes = _compare_opened(sides_of(context), paired)
    on_read(-sum(pairing.offsets for pairing in pairings if pairing.stretch not in outcomes))
    closed = sum(pairing.equal_records for pairing in paired if pairing.stretch in outcomes)
    records = sum(outcome.source_records for outcome in outcomes.values())
    log.info(
        "%s: %d of %d ranges are equal; of their %d records %d were compared batch by batch.",
        *(context.flow, len(outcomes), len(stretches), records, closed),
    )
    return outcomes


def _compare_opened(sides: tuple[Side, Side], pairings: Sequence[BatchComparison]) -> dict[AuditRange, Outcome]:
    """The ranges of which everything is equal that needed opening."""
    records = {pairing.stretch: pairing.equal_records for pairing in pairings}
    waiting = {pairing.stretch: pairing.segments for pairing in pairings}
    while segments := {stretch: segments_ahead.pop() for stretch, segments_ahead in waiting.items() if segments_ahead}:
        equal = _count_equal_records(sides, list(segments.values()))
        for stretch, segment in segments.items():
            if segment in equal:
                records[stretch] += equal[segment]
            else:
                del waiting[stretch], records[stretch]
    return {stretch: Outcome(stretch, source_records=number, target_records=number) for stretch, number in records.items()}


def _count_equal_records(sides: tuple[Side, Side], segments: Sequence[AuditRange]) -> dict[AuditRange, int]:
    """How many records each segment has on both sides, of those that are equal."""
    parts = {segment: parts_of(segment) for segment in segments}
    errors: tuple[Errors, Errors] = ({}, {})
    try:
        of_source, of_target = read_both(parts, (sides[0].read_digests, sides[1].read_digests), errors)
    except MirrorError as error:
        log.info("What lies between equal batches could not be read, so whole ranges are: %s", error)
        return {}
    return {
        segment: of_source[segment.source].records
        for segment in segments
        if segment.source in of_source
        and segment.remote in of_target
        and of_source[segment.source].find_different_block(of_target[segment.remote]) is None
    }
