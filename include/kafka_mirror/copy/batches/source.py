"""The source side of a copy: fetches the lane's partitions from their leaders, and decides what becomes of each batch.

What is read ahead stays closed and small, so it may wait for the next transaction of its partition.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from kafka_mirror.copy.batches.partition import InFlightBatches
from kafka_mirror.copy.model import RECORDS, REWRITTEN, LaneTask, PartitionAssignment, PoisonRecord
from kafka_mirror.errors import SourceRepeated, SourceTruncated, SourceUnreadable
from kafka_mirror.formats.batches.batch_records import NotIntact, Record, has_key, read_records
from kafka_mirror.formats.batches.batch_rewrite import STRETCH_BYTES, is_small
from kafka_mirror.formats.batches.compression import has_packer
from kafka_mirror.formats.batches.record_batch import RecordBatch
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import OF_SOURCE
from kafka_mirror.kafka.broker_pool import BrokerPool
from kafka_mirror.kafka.fetch import BatchFetcher, Cause, FetchFault, FetchLimits
from kafka_mirror.kafka.fetched_partition import NOBODY_KNOWS, FetchedPartition

_FETCH_BYTES = 8 * 1024 * 1024
_AHEAD_BYTES = _FETCH_BYTES // 2
"""As long as so much waits in memory, nothing more is fetched. The answer to the next fetch comes on top, and what is under way to the
target: half of an answer lasts until the next one comes, and a whole one would be 4 MB more for each lane, without being any faster."""
_ANSWERS_BYTES = 4 * _FETCH_BYTES
"""From so large answers on, batches in them no longer wait for a later transaction: the smallest one keeps its whole answer in memory."""


class PassedOver(NotIntact):
    """The source gives nothing between an offset and the end of its log, so no reader can see what is damaged there."""

    def __init__(self, offset: int, end: int) -> None:
        ValueError.__init__(self, f"the source gives nothing from {offset} on, though its log ends at {end}: a header there is damaged")


class BatchSource:
    """Reads between two offsets, partition by partition; one fetch at a time is under way at each leader."""

    def __init__(self, task: LaneTask) -> None:
        settings = task.clients.source_consumer
        self.limits = FetchLimits.of(settings, task.fetch_bytes or _FETCH_BYTES, task.read_committed)
        """How much is fetched at a time."""
        self.pool = BrokerPool(task.source, settings, task.request_seconds, OF_SOURCE, carries_batches=True)
        """The connections to the source."""
        self._largest = task.unpacked_max_bytes
        self._rewrites_all = task.engine == RECORDS
        self._fetched: dict[TopicPartition, FetchedPartition] = {}
        self._in_flight: dict[TopicPartition, InFlightBatches] = {}
        self._fetcher = BatchFetcher(self.pool, self._largest, self._refuse, self._is_wanted)

    @property
    def heard_at(self) -> float:
        """When (time.monotonic) the source was last heard of, though by no record; while it holds us back, until when."""
        return self._fetcher.dispatch.heard_at

    def assign(self, work: Sequence[PartitionAssignment]) -> list[InFlightBatches]:
        """Makes the given work what is read, each partition at its start, and returns the partitions in the same order."""
        self._in_flight = {assignment.source: InFlightBatches(assignment) for assignment in work}
        if self._count_waiting(self._fetched) >= _AHEAD_BYTES or self._count_answers() >= _ANSWERS_BYTES:
            self._fetched = {tp: fetched for tp, fetched in self._fetched.items() if tp in self._in_flight}
        new = {}
        for assignment in work:
            there = self._fetched.get(assignment.source)
            if there is None or not there.continues_at(assignment.start, assignment.leader_epoch):
                new[assignment.source] = assignment
        for tp in new:
            self._fetched.pop(tp, None)  # an answer that comes while the leaders are looked for is about another place
        for tp, leader in self.pool.find_leaders(new).items():
            self._fetched[tp] = FetchedPartition(new[tp].start, new[tp].leader_epoch, leader)
        return list(self._in_flight.values())

    def has_work(self) -> bool:
        """Whether any partition has not reached its end."""
        return any(not in_flight.stopped for in_flight in self._in_flight.values())

    def fetch(self) -> None:
        """Asks each leader that is not asked for what is wanted of it and not there."""
        going_on = self._find_unfinished()
        if self._count_waiting(going_on) >= _AHEAD_BYTES:
            return
        wanted = {tp: self._fetched[tp] for tp in going_on if self._fetched[tp].position < self._in_flight[tp].work.end}
        for connection, questions in self._fetcher.idle_leaders(wanted):
            self._fetcher.ask(connection, questions, self.limits)

    def hand_over(self, room: int) -> int:
        """Lets partitions take what is there, at most about `room` bytes; gives how many they took. They take turns, for a request to the
        target has one batch of a partition, and the more partitions it has, the less each batch costs."""
        taken = 0
        there = self._find_unfinished()
        while there and taken < room:
            behind = []
            for tp in there:
                in_flight, fetched = self._in_flight[tp], self._fetched[tp]
                if fetched.first is not None and taken < room:
                    taken += self._hand_over_one(in_flight, fetched, *fetched.first, room - taken)
                if not in_flight.stopped and fetched.first is None:
                    _end_fetched(in_flight, fetched)
                if in_flight.stopped:
                    del self._fetched[tp]  # what was fetched past its end is not needed
                elif fetched.first is not None:
                    behind.append(tp)
            there = behind
        return taken

    def stop_at_passed_over(self) -> None:
        """Stops the partitions whose leaders give nothing, though their logs end further on: by its damaged header the last batch ends
        in front of the position, so a leader passes over it."""
        for tp in self._find_unfinished():
            in_flight, fetched = self._in_flight[tp], self._fetched[tp]
            if in_flight.next_offset == fetched.position < fetched.passed_over_to:
                in_flight.hold_up(fetched.passed_over_to, -1, PassedOver(fetched.position, fetched.passed_over_to))

    def close(self) -> None:
        """Lets go of the connections."""
        self.pool.release()

    def _find_unfinished(self) -> list[TopicPartition]:
        return [tp for tp, in_flight in self._in_flight.items() if not in_flight.stopped]

    def _count_waiting(self, partitions: Iterable[TopicPartition]) -> int:
        return sum(self._fetched[tp].bytes for tp in partitions)

    def _count_answers(self) -> int:
        """How large all the answers are in which batches wait."""
        waiting = [answer for fetched in self._fetched.values() for answer in fetched.list_buffers()]
        return sum(len(answer) for answer in {id(answer): answer for answer in waiting}.values() if isinstance(answer, (bytes, bytearray)))

    def _is_wanted(self, tp: TopicPartition, fetched: FetchedPartition) -> bool:
        """Whether the work was neither given up nor set back since the question."""
        return self._fetched.get(tp) is fetched and tp in self._in_flight

    def _hand_over_one(self, in_flight: InFlightBatches, fetched: FetchedPartition, batch: RecordBatch, is_copied: bool, room: int) -> int:
        """Lets a partition take the first batch, or a stretch that begins with it; gives how many bytes it took."""
        work = in_flight.work
        if fetched.follows < batch.next_offset and batch.is_intact:
            raise SourceRepeated(*work.source, fetched.follows, batch.next_offset)
        if batch.base_offset >= work.end:
            in_flight.pass_over(work.end, batch.leader_epoch)
            in_flight.stop()
            return 0
        before = in_flight.bytes
        if not is_copied:
            in_flight.pass_over(batch.next_offset, batch.leader_epoch)
            fetched.pop()
        elif not self._take(batch, in_flight, fetched, min(room, STRETCH_BYTES)):
            return 0
        if in_flight.next_offset >= work.end:
            in_flight.stop()
        elif fetched.first is None:
            in_flight.flush()  # what follows may be long in coming
        return in_flight.bytes - before

    def _take(self, batch: RecordBatch, in_flight: InFlightBatches, fetched: FetchedPartition, room: int) -> bool:
        """Lets the partition take a batch, or a stretch of small ones; whether it goes on after it."""
        work = in_flight.work
        is_repeated = batch.base_offset < in_flight.next_offset and in_flight.next_offset > work.start
        if (is_repeated or batch.next_offset <= work.start) and batch.is_intact:
            raise SourceRepeated(*work.source, batch.base_offset, in_flight.next_offset)
        try:
            if reason := "mirror.engine=records" if self._rewrites_all else reason_to_rewrite(batch, work):
                records, before = list[Record](), in_flight.added
                read_records(batch, records, self._largest)
                _add_allowed(records, batch, in_flight)
                in_flight.count(REWRITTEN, 1, in_flight.added - before, reason)
            elif is_small(batch) and self._join(batch, in_flight, fetched, room):
                return True
            elif batch.is_intact:
                in_flight.take(batch)
            else:
                raise NotIntact
        except ValueError as why:
            end = _find_damaged_end(batch, in_flight, fetched) if isinstance(why, NotIntact) else batch.next_offset
            if end > in_flight.next_offset:
                in_flight.hold_up(end, batch.leader_epoch, why)
        if not in_flight.stopped:
            fetched.pop()
        return not in_flight.stopped

    def _join(self, batch: RecordBatch, in_flight: InFlightBatches, fetched: FetchedPartition, room: int) -> bool:
        """Lets the partition take small batches that could be forwarded, record by record, about `room` bytes; false if the first one has
        no neighbour to join, or cannot be opened: nothing is taken then."""
        joined = fetched.hand_over(partial(in_flight.join, batch.codec, room, self._largest), room)
        return joined is not None and joined.bytes > 0

    def _refuse(self, tp: TopicPartition, fault: FetchFault) -> None:
        work, at = self._in_flight[tp].work, fault.position
        match fault.cause:
            case Cause.DIVERGED if fault.diverged_at is not None and fault.diverged_at < work.start:
                raise SourceTruncated(tp.topic, tp.partition, work.start, work.end, fault.diverged_at)
            case Cause.DIVERGED:
                raise _report_unreadable(tp, at, f"the source's log was cut off at {fault.diverged_at} while it was read")
            case Cause.OUT_OF_RANGE:
                raise _report_unreadable(tp, at, "the source no longer has this offset")
            case Cause.CORRUPT:
                raise _report_unreadable(tp, at, f"the source cannot read its own log: {fault.detail}")
            case Cause.NO_BATCHES:
                raise _report_unreadable(tp, at, f"the source sent no record batch: {fault.detail}")
            case Cause.DENIED:
                raise self.pool.errors.translate_code(fault.code, "", topic=tp.topic, operation="READ", what=f"topic {tp.topic}")
        raise self.pool.errors.translate_code(fault.code, f"reading {tp}@{at}")


def _end_fetched(in_flight: InFlightBatches, fetched: FetchedPartition) -> None:
    if (closed := fetched.closed) is not None and fetched.position < in_flight.work.end:
        in_flight.hold_up(closed.end, -1, closed.why)
        fetched.pass_over(closed.end)
    if not in_flight.stopped and fetched.position >= in_flight.work.end:
        in_flight.pass_over(in_flight.work.end, fetched.epoch)
        in_flight.stop()


def _find_damaged_end(batch: RecordBatch, in_flight: InFlightBatches, fetched: FetchedPartition) -> int:
    """Where a batch ends that is not intact: what it says itself may be what is damaged, and a decision passes over all up to there. So the
    next batch says it; if none came along, the nearest of what may be. A batch that says it has what was read already is in front of it."""
    if batch.base_offset < fetched.follows < NOBODY_KNOWS:
        return fetched.follows
    said = (batch.next_offset, batch.base_offset + batch.record_count)
    return min((end for end in said if end > in_flight.next_offset), default=in_flight.next_offset + 1)


def _add_allowed(records: Sequence[Record], batch: RecordBatch, in_flight: InFlightBatches) -> None:
    """Lets a partition take the records of a batch that lie in its work: none that the target has refused, and no more than it may have."""
    work, codec = in_flight.work, codec_for(batch, in_flight.work)
    allowed: list[Record] = []
    for record in records:
        offset, timestamp, _, rest = record
        if not in_flight.next_offset <= offset < work.end:
            continue
        refused = work.refused.get(offset)
        if refused is not None and (refused.timestamp, refused.has_key) == (timestamp, has_key(rest)):
            in_flight.add(allowed, batch, codec, offset)
            allowed = []
            if not in_flight.refuse(PoisonRecord(offset, refused.detail)):
                return
            in_flight.pass_over(offset + 1, batch.leader_epoch)
            continue
        allowed.append(record)
        if work.max_records is not None and in_flight.added + len(allowed) >= work.max_records:
            in_flight.add(allowed, batch, codec, offset + 1)
            in_flight.stop()
            return
    in_flight.add(allowed, batch, codec, batch.next_offset)


def reason_to_rewrite(batch: RecordBatch, work: PartitionAssignment) -> str:
    """Why a batch cannot be forwarded as it is, here and to this target; '' if it can."""
    if batch.base_offset < work.start:
        return "its range begins inside a batch"
    if batch.next_offset > work.end:
        return "its range ends inside a batch"
    if (obstacle := batch.find_obstacle()) is not None:
        return obstacle
    if batch.size > work.limits.max_message_bytes:
        return f"a batch is larger than the remote topic's max.message.bytes={work.limits.max_message_bytes}"
    if work.max_records is not None or any(batch.base_offset <= offset < batch.next_offset for offset in work.refused):
        return "the target refused a record of it"
    if batch.base_offset < work.joined_to:
        return "the target refused a record near it"
    if codec_for(batch, work) != batch.codec:
        return f"the remote topic's compression.type is {work.limits.compression}, and a batch is {batch.codec}"
    return ""


def codec_for(batch: RecordBatch, work: PartitionAssignment) -> str:
    """What packs the records of a batch where they are re-encoded: what the remote topic wants, as far as we have it."""
    wanted = work.limits.compression
    return batch.codec if wanted == "producer" or not has_packer(wanted) else wanted


def _report_unreadable(tp: TopicPartition, offset: int, why: str) -> SourceUnreadable:
    return SourceUnreadable(
        f"{tp}@{offset}: {why}.",
        topic=tp.topic,
        partition=tp.partition,
        offset=offset,
        next="The next run compares it with the log's start and end, and says which.",
    )
