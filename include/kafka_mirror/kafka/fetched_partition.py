"""What was fetched of one partition: closed batches, their order, and what of them a reader of committed records skips."""

import sys
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

from kafka_mirror.formats.batches.batch_rewrite import JoinedStretch
from kafka_mirror.formats.batches.record_batch import AbortedTransactions, OldMagic, RecordBatch, batches_in, require_batch, span_of
from kafka_mirror.kafka.broker_pool import Leader
from kafka_mirror.kafka.fetch_response import PartitionData
from kafka_mirror.kafka.old_messages import ClosedMessage, first_message

_OFFSET_BYTES = 8
NOBODY_KNOWS = sys.maxsize
"""Where a batch begins that has not come."""
_BELIEVED = 2
"""How many answers in which a batch ends past its log are believed: by the second one the leader knows what was written meanwhile."""


class _ClosedAnswer:
    """Batches of one answer, one after the other, of which those from `at` on are not read yet; `rest` is what follows them there."""

    __slots__ = ("_rest", "aborted", "at", "data")

    def __init__(self, data: memoryview, rest: memoryview, aborted: AbortedTransactions | None) -> None:
        self.data = data
        self.at = 0
        self.aborted = aborted
        self._rest = rest

    @property
    def follows(self) -> int:
        """The offset at which the next batch of the answer begins; `NOBODY_KNOWS` if it has no more."""
        begin = self.data[self.at : self.at + _OFFSET_BYTES] or self._rest[:_OFFSET_BYTES]
        return int.from_bytes(begin, "big", signed=True) if len(begin) == _OFFSET_BYTES else NOBODY_KNOWS


class FetchedPartition:
    """What was fetched of one partition and not handed over. Batches are read when somebody asks for them."""

    __slots__ = (
        "_answers",
        "_beyond",
        "_confirmed_by",
        "_head",
        "_rest",
        "_start",
        "_there",
        "bytes",
        "closed",
        "epoch",
        "follows",
        "leader",
        "next_offset",
        "old",
        "passed_over_to",
        "position",
    )

    def __init__(self, start: int, epoch: int | None, leader: Leader) -> None:
        self.leader = leader
        self._start = (start, epoch)
        self.next_offset = start
        """The offset after what was handed over."""
        self.position = start
        """Where to fetch next."""
        self.epoch = -1 if epoch is None else epoch
        self._answers: deque[_ClosedAnswer] = deque()
        self._there: deque[tuple[RecordBatch, bool]] = deque()
        """What was read, in front of the answers."""
        self._head: _ClosedAnswer | None = None
        """Of which the first of them is, if no other one was read."""
        self.follows = NOBODY_KNOWS
        """Where the batch begins that follows the one that was read last."""
        self.bytes = 0
        self.old: OldMagic | None = None
        """Where messages of an older format begin: at the position, until somebody has them read."""
        self.closed: ClosedMessage | None = None
        """The message of an older format at the position, if it cannot be read: nothing after it is here."""
        self.passed_over_to = 0
        """Where its log ends, if the leader gave nothing in its last answer though there was room in it."""
        self._rest = memoryview(b"")
        self._confirmed_by: Leader | None = None
        self._beyond = 0
        """How often nothing came but a batch that ends past its log."""

    def continues_at(self, start: int, epoch: int | None) -> bool:
        """Whether what is here follows the record in front of `start`, which is of this leader epoch: the broker was asked with it whether
        it has that record (KIP-320), or what stands in front was handed over from here."""
        return self.next_offset == start and (start != self._start[0] or epoch == self._start[1])

    @property
    def is_confirmed(self) -> bool:
        """Whether its leader has said that it has the record in front of the position; or nothing is known of that record."""
        return self.epoch < 0 or self._confirmed_by == self.leader

    @property
    def batches(self) -> deque[tuple[RecordBatch, bool]]:
        """All of them, each with whether it belongs to the copy: markers, aborted and empty batches do not."""
        while self._answers:
            self._read_some(sys.maxsize)
        return self._there

    @property
    def first(self) -> tuple[RecordBatch, bool] | None:
        """The first of them."""
        while self._answers and not self._there:
            self._head = self._answers[0]
            self._read_some(1)
        return self._there[0] if self._there else None

    def list_buffers(self) -> list[Any]:
        """The memory in which batches wait."""
        return [answer.data.obj for answer in self._answers] + [batch.data.obj for batch, _ in self._there]

    def add(self, data: PartitionData) -> None:
        """Takes what its leader answered. Raises ValueError for bytes that are no batches, and for a batch that ends past its log."""
        self._confirmed_by = self.leader
        before = self.position
        end = self._add(memoryview(data.records), AbortedTransactions(data.aborted) if data.aborted else None, data.high_watermark)
        self._beyond = self._beyond + 1 if end and self.position == before else 0
        if self._beyond >= _BELIEVED:
            raise ValueError(f"a batch says that it ends at {end}, and its log ends at {data.high_watermark}")

    def read_old(self, largest: int) -> None:
        """Reads the messages of an older format that were met, and what follows them, up to one that is `closed`."""
        while self.old is not None:
            self.old = None
            try:
                messages, rest = first_message(self._rest, largest, self.position)
            except ClosedMessage as closed:
                self.closed = closed
                return
            self._add(memoryview(b"".join(batch.data for batch in messages)), None)
            self._add(rest, None)

    def pass_over(self, end: int) -> None:
        """Goes on after a message that cannot be read, and of which nothing is here."""
        self.closed = None
        self.position = self.next_offset = end

    def pop(self) -> None:
        """The first batch is handed over."""
        batch, _ = self._there.popleft()
        self.bytes -= len(batch.data)
        self.next_offset = batch.next_offset

    def pop_all(self) -> list[tuple[RecordBatch, bool]]:
        """Hands over all batches."""
        batches = list(self.batches)
        for _ in batches:
            self.pop()
        return batches

    def hand_over(self, join: Callable[[bytes, AbortedTransactions | None], JoinedStretch], room: int) -> JoinedStretch | None:
        """Lets `join` take batches as they stand in the answer, from the first one on, which was looked at: about `room` bytes, and two of
        such batches at least. None if others were looked at too."""
        answer, batch = self._head, self._there[0][0]
        if answer is None or len(self._there) > 1 or answer.data.obj is not batch.data.obj:
            return None
        size = len(batch.data)
        begin = answer.at - size
        joined = join(bytes(answer.data[begin : begin + max(room, 2 * size)]), answer.aborted)
        if joined.bytes:
            self._there.clear()
            self.bytes -= joined.bytes
            self.next_offset = joined.next_offset
            answer.at = begin + joined.bytes
            self._drop_empty()
        return joined

    # ------------------------------------------------------------ inside

    def _add(self, data: memoryview, aborted: AbortedTransactions | None, log_end: int = NOBODY_KNOWS) -> int:
        """Goes along the batches. What they hold is read when they are handed over. An intact one that ends past its log is left out, and
        where it says that it ends is given; 0: there is none. No checksum covers where a batch begins, and nothing follows the last one
        that would show the damage. It is asked for again: a leader reads its log a moment after it has looked where that ends."""
        span, beyond = span_of(data, self.position), 0
        if span.last >= 0 and span.next_offset > log_end and next(batches_in(data[span.last :])).is_intact:
            beyond, data = span.next_offset, data[: span.last]
            span = span_of(data, self.position)
        if span.last >= 0:
            self._answers.append(_ClosedAnswer(data[span.begin : span.end], data[span.end :], aborted))
            self.bytes += span.end - span.begin
            self.position, self.epoch = span.next_offset, next(batches_in(data[span.last :])).leader_epoch
        try:
            require_batch(data[span.end :])
        except OldMagic as old:
            self.old, self._rest = old, data[span.end :]
        return beyond

    def _read_some(self, most: int) -> None:
        """Reads batches of the first answer."""
        answer = self._answers[0]
        for batch in islice(batches_in(answer.data[answer.at :]), most):
            answer.at += len(batch.data)
            is_dropped = batch.is_control or not batch.record_count
            # A marker that is damaged ends no transaction: it may be a batch in front of the position that says it reaches further.
            if answer.aborted is not None and (not batch.is_control or batch.is_intact):
                is_dropped |= answer.aborted.hold(min(batch.next_offset, answer.follows), batch.producer_id, batch.attributes)
            # A header that is damaged leaves nothing out.
            self._there.append((batch, not (is_dropped and batch.is_intact)))
        self.follows = answer.follows
        self._drop_empty()

    def _drop_empty(self) -> None:
        if self._answers and self._answers[0].at >= len(self._answers[0].data):
            self._answers.popleft()
