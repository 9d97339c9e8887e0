"""What a lane says of itself while it runs: which work it begins, from where, each retry, and how it ended.

One line an event, none a record: at INFO what everybody wants to read, at WARNING what was tried and failed, at DEBUG each transaction.
Names, offsets and counts only; never a key, a value, a header or a setting.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from kafka_mirror.copy.model import BatchShare, CopiedElsewhere, LaneTask, PartitionProgress, RewriteReason, batches_text
from kafka_mirror.errors import ErrorReport, MirrorError
from kafka_mirror.errors.words import count_text, first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.control_records import UNLIMITED
from kafka_mirror.ledger.record import LedgerRecord

PROGRESS_SECONDS = 30.0
"""How often a lane that is busy says how far it is."""
_SHOWN = 8

log = logging.getLogger("kafka_mirror.copy.lane")


class LaneLog:
    """The words of one lane; kept over the attempts of one run."""

    def __init__(self, task: LaneTask, now: Callable[[], float] = time.monotonic) -> None:
        self._lane = f"lane {task.lane}"
        self._task = task
        self._now = now
        self._begun = self._said = now()
        self._since = datetime.now(UTC)
        self._ends = {planned.topic_partition: planned.end for planned in task.ranges}
        self._at = {planned.topic_partition: planned.start for planned in task.ranges}
        self._records = self._bytes = self._transactions = 0
        self._unsaid = ""
        self._ways = ""

    def begin(self) -> None:
        """What the lane is to do, before it asks anybody. It is said with the next line, so that a lane that goes well says two in all."""
        task, rate = self._task, self._task.max_bytes_per_second
        parts = (f"{planned.topic_partition} [{planned.start}, {planned.end}) {planned.reason}" for planned in task.ranges)
        throttle = "" if rate == UNLIMITED else f", the flow's throttle is {rate:,} bytes a second"
        partitions = count_text(len(task.ranges), "partition")
        offsets = count_text(sum(planned.offsets for planned in task.ranges), "offset")
        self._unsaid = (
            f"{self._lane} begins: {partitions}, {offsets}: {first_few(parts, _SHOWN)}; for {task.max_seconds:.0f} s at most{throttle}."
        )

    def _say_begun(self) -> None:
        """Says what `begin` has left to the next line."""
        if self._unsaid:
            log.info("%s", self._unsaid)
        self._unsaid = ""

    def say(self, what: str) -> None:
        """What the lane does, in words that follow its name."""
        self._say_begun()
        log.info("%s %s", self._lane, what)

    def tell_fence(self, ledger_end: int, records: Mapping[TopicPartition, LedgerRecord]) -> None:
        """Earlier attempts are ended, and the lane's own ledger is read: its records say where the partitions go on."""
        begun = {tp: records[tp] for tp in self._at if tp in records}
        if not self._task.history:
            self._at.update({tp: record.watermark for tp, record in begun.items()})
        starts = [f"{tp}@{record.watermark} -> {record.target_topic}@{record.target_next}" for tp, record in sorted(begun.items())]
        starts += [f"{tp} is new" for tp in sorted(self._at) if tp not in begun]
        subject, self._unsaid = f"{self._unsaid} It" if self._unsaid else self._lane, ""
        log.info(
            "%s has fenced earlier attempts (%s) and read its ledger %s-%d up to %d; watermarks: %s%s.",
            *(subject, self._task.transactional_id, self._task.ledger_topic, self._task.lane, ledger_end, first_few(starts, _SHOWN)),
            self._describe_written(begun),
        )

    def _describe_written(self, records: Mapping[TopicPartition, LedgerRecord]) -> str:
        """Who wrote to the lane's part of the ledger before, and when."""
        newest = max((record.writer for record in records.values()), key=lambda writer: writer.time, default=None)
        if newest is None or newest.time >= self._since:
            return ""
        return f"; written last at {newest.time:%Y-%m-%d %H:%M:%S} UTC on {newest.host} by {newest.run or 'a run without a name'}"

    def tell_copied_elsewhere(self, copied: CopiedElsewhere) -> None:
        """Another run was faster with a part of the work."""
        name = copied.run or "one that has no name (by hand)"
        log.info(
            "%s: %s-%d: %s had been copied since the plan by another run: %s.",
            *(self._lane, copied.topic, copied.partition, count_text(copied.records, "record"), name),
        )

    def tell_commit(self, progress: Sequence[PartitionProgress], seconds: float) -> None:
        """After each transaction."""
        self._transactions += 1
        records, size = sum(moved.records for moved in progress), sum(moved.bytes for moved in progress)
        self._records += records
        self._bytes += size
        self._at.update({moved.source: moved.next_offset for moved in progress})
        if log.isEnabledFor(logging.DEBUG):
            reached = first_few((f"{moved.source}@{moved.next_offset}" for moved in progress), _SHOWN)
            log.debug(
                "%s: transaction %d is committed: %s, %s bytes in %.2f s; %s.",
                *(self._lane, self._transactions, count_text(records, "record"), f"{size:,}", seconds, reached or "the ledger alone"),
            )
        if self._now() - self._said >= PROGRESS_SECONDS:
            self._said = self._now()
            log.info("%s goes on: %s; %s.", self._lane, self._describe_figures(), self._describe_rest())

    def warn_of_retry(self, attempt: int, most: int, seconds: float, error: MirrorError, elsewhere: bool) -> None:
        """An attempt failed, and the next one begins after a pause. `most`: how many there are; 0: as many as it takes."""
        self._say_begun()
        number, place = f"{attempt} of {most}" if most else f"{attempt}", ", at another bootstrap server" if elsewhere else ""
        why = error_text(error.report())
        log.warning("%s: attempt %s failed, the next begins in %g s%s: %s", self._lane, number, seconds, place, why)

    def warn_of_next_try(self, why: str) -> None:
        """An attempt ended for a reason that the next one gets around; it begins at once."""
        self._say_begun()
        log.warning("%s tries again at once: %s", self._lane, why)

    def tell_rate(self, bytes_per_second: int) -> None:
        """People, or the end of a decision, changed the throttle."""
        rate = "no limit" if bytes_per_second == UNLIMITED else f"{bytes_per_second:,} bytes a second"
        log.info("%s: its share of the flow's throttle is now: %s.", self._lane, rate)

    def warn_of_left_out(self, tp: TopicPartition, error: ErrorReport) -> None:
        """A partition is not copied any further in this run; the others are."""
        self._say_begun()
        log.warning("%s: %s is left out at %d, the lane's others go on: %s", self._lane, tp, self._at.get(tp, 0), error_text(error))

    def follow_to(self, ends: Mapping[TopicPartition, int]) -> None:
        """How far a turn of following is to copy partitions."""
        self._ends.update(ends)

    def end(
        self, error: ErrorReport | None, left_out: int, batches: Sequence[BatchShare] = (), rewritten: Sequence[RewriteReason] = ()
    ) -> None:
        """How the lane's run ended, and why; and how the source's batches went."""
        self._say_begun()
        self._ways = "".join(f"; {sentence}" for sentence in batches_text(batches, rewritten))
        if error is not None:
            log.warning("%s gave up: %s; %s. Why: %s", self._lane, self._describe_figures(), self._describe_rest(), error_text(error))
        elif left_out:
            rest = f"{self._describe_rest()}; {count_text(left_out, 'partition')} left out"
            log.warning("%s ended: %s; %s.", self._lane, self._describe_figures(), rest)
        else:
            rest = self._describe_rest("the run's budget is spent, so the next run goes on there")
            log.info("%s ended: %s; %s.", self._lane, self._describe_figures(), rest)

    def _describe_figures(self) -> str:
        return (
            f"{count_text(self._records, 'record')}, {self._bytes:,} bytes in {count_text(self._transactions, 'transaction')}, "
            f"{self._now() - self._begun:.1f} s{self._ways}"
        )

    def _describe_rest(self, why: str = "") -> str:
        if self._task.history:
            return "how much history is left says the ledger"
        missing = {tp: end - self._at[tp] for tp, end in self._ends.items() if end > self._at[tp]}
        if not missing:
            return "all that was planned is reached"
        places = first_few((f"{tp}@{self._at[tp]} of {self._ends[tp]}" for tp in missing), _SHOWN)
        return f"left: {count_text(sum(missing.values()), 'offset')} ({places}){f'; {why}' if why else ''}"


def error_text(error: ErrorReport) -> str:
    """An error in one line, without what to do next: that is said once, where the task ends."""
    return f"{error.code}: {error.message}"
