"""A lane's run: attempts at the protocol until its ranges are done, its budget is spent, or somebody else owns the lane."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from kafka_mirror.copy.follow_turn import SharedTurn
from kafka_mirror.copy.lane_log import error_text
from kafka_mirror.copy.lane_protocol import Attempt
from kafka_mirror.copy.lane_state import LaneState
from kafka_mirror.copy.model import NEWS, BatchRefused, LaneResult, LaneTask, NothingRead, PaceChanged, Watermark
from kafka_mirror.copy.plan.model import BEHIND, BLOCKED, Range
from kafka_mirror.errors import (
    AuthenticationFailed,
    ErrorReport,
    MirrorError,
    Overtaken,
    SourceUnreadable,
    StaleAnswer,
    TargetLostRecords,
    TransactionTooSlow,
    UnexpectedOffset,
)
from kafka_mirror.kafka.broker_pool import OF_ANOTHER_BROKER, connect_anew, servers

_MAX_FAILURES = 4
"""How many attempts in a row may end without a commit; then the lane is left to the next run."""


class LaneCopy:
    """Runs one lane. `run` never raises what belongs to a partition or to Kafka: it answers with errors as values."""

    def __init__(self, task: LaneTask, stop: threading.Event | None = None, shared: SharedTurn | None = None) -> None:
        """`stop`, `shared`: as in `LaneState`."""
        self._task = task
        self._state = LaneState(task, stop, shared)
        self._failures = 0
        self._reached = 0
        self._misled = 0
        self._turn = 0
        """Which bootstrap server of the target the next attempt begins at; 0: any of them."""
        self._lane_error: ErrorReport | None = None

    def run(self) -> LaneResult:
        """Copies what the budget allows and says how far each partition came."""
        started, state = time.monotonic(), self._state
        state.log.begin()
        try:
            self._copy()
        finally:
            state.leave()
        errors = [*state.errors.values(), *state.losses.values(), *([self._lane_error] if self._lane_error else [])]
        marks = [
            Watermark(tp.topic, tp.partition, record.watermark, record.target_next, *state.copied.get(tp, (0, 0)))
            for tp, record in sorted(state.written.items())
        ]
        if state.ended_for == NEWS:
            state.log.say(
                "no longer follows: since its plan somebody decided something or changed the configuration, or the source got other topics."
            )
        state.log.end(self._lane_error, len(state.errors), state.batches, state.rewritten)
        return LaneResult(
            lane=self._task.lane,
            watermarks=tuple(marks),
            errors=tuple(errors),
            transactions=state.transactions,
            seconds=time.monotonic() - started,
            skipped=tuple(state.skipped[tp] for tp in sorted(state.skipped)),
            ledger_end=state.ledger_end,
            copied_elsewhere=tuple(state.copied_elsewhere[tp] for tp in sorted(state.copied_elsewhere)),
            batches=state.batches,
            rewritten=state.rewritten,
            stopped=tuple(sorted(state.stopped | (state.unreached if self._lane_error else set()))),
            ended_for=state.ended_for,
        )

    def _copy(self) -> None:
        """First everything that is expected to go well together, then each partition that was stuck, by itself; one of these in any
        case."""
        well = [planned for planned in self._task.ranges if planned.reason != BLOCKED]
        stuck = [planned for planned in self._task.ranges if planned.reason == BLOCKED]
        follows = self._task.follow_seconds > 0 and not self._task.history
        go_on = not well or self._try_until_done(well, follows and not stuck)
        for number, planned in enumerate(stuck):
            if not go_on or (number and self._state.is_over()):
                break
            go_on = self._try_until_done([planned])
        if follows and stuck and go_on and not self._state.is_over():
            self._try_until_done([replace(planned, reason=BEHIND) for planned in self._task.ranges], follows)

    def _try_until_done(self, ranges: Sequence[Range], follows: bool = False) -> bool:
        """Attempts until the ranges are done, and no longer followed if the lane `follows` them. False: leave the lane alone for this
        run."""
        self._state.bisection.records.update({planned.topic_partition: 1 for planned in ranges if planned.reason == BLOCKED})
        while True:
            try:
                Attempt(self._task.with_first_server(self._turn), self._state, ranges, follows).run()
                if not follows or self._state.is_over() or not self._state.may_take_back():
                    return True
                self._state.take_back()
            except PaceChanged:
                continue  # no failure: the next attempt fetches as the new rate allows
            except BatchRefused as refusal:
                self._narrow(refusal)
            except NothingRead as silence:
                self._leave_out_silent_partitions(silence)
            except MirrorError as error:
                if not self._go_on(error):
                    return False

    def _narrow(self, refusal: BatchRefused) -> None:
        tp, state = refusal.source, self._state
        state.log.warn_of_next_try(f"the target refused records of {tp} from {refusal.first} on: {refusal.detail}")
        poison = state.bisection.narrow(refusal)
        if poison is not None:
            state.poisoned[tp] = (poison.offset, poison.as_error(tp, self._task.remote_topics[tp.topic]))

    def _leave_out_silent_partitions(self, silence: NothingRead) -> None:
        for tp in silence.partitions:
            error = SourceUnreadable(
                f"{tp}: nothing could be read from the source for {silence.seconds:g} s, though it has records there.",
                topic=tp.topic,
                partition=tp.partition,
                next="Look at the partition's leader on the source and at quotas; the next run goes on by itself.",
            )
            self._state.leave_out_partition(tp, error.report())

    def _go_on(self, error: MirrorError) -> bool:
        """What an error means for the lane: leave out a partition or a topic, make transactions smaller, try again later, or stop."""
        state = self._state
        follows = self._task.follow_seconds > 0
        if isinstance(error, Overtaken) and follows and not error.is_id_unknown:
            return state.hand_over()
        unacknowledged = isinstance(error, TransactionTooSlow) and not error.written
        if isinstance(error, OF_ANOTHER_BROKER) or unacknowledged or self._turn:
            self._turn += 1
            connect_anew()
        if isinstance(error, (UnexpectedOffset, StaleAnswer)):
            self._misled += 1
            error = error.with_count(self._misled) if isinstance(error, UnexpectedOffset) else error
            if self._misled < _MAX_FAILURES:  # it may name a topic, and is no error of it
                return self._try_again(error)
        if isinstance(error, TransactionTooSlow):
            if state.size.shrink(error.written):
                smaller = f"Its transactions are of {state.size.bytes:,} bytes at most from now on."
                state.log.warn_of_next_try(f"{error_text(error.report())} {smaller}")
                return True
        elif isinstance(error, TargetLostRecords) and error in [noted for _, noted in state.poisoned.values()]:
            state.log.warn_of_next_try(error_text(error.report()))
            return True  # the next attempt writes it into the ledger
        elif error.topic is not None and state.leave_out(error.report()):
            return True
        elif (isinstance(error, Overtaken) and not follows) or not (error.retriable or self._has_login_ended(error)):
            self._lane_error = error.report()
            return False
        return self._try_again(error)

    def _has_login_ended(self, error: MirrorError) -> bool:
        """Whether the refused login was taken until now: a token that ended while the lane was held up, or a password that is being
        replaced. The next attempt logs in again; if that is refused too, nothing was committed in between and the lane stops."""
        return isinstance(error, AuthenticationFailed) and self._state.progress > self._reached

    def _try_again(self, error: MirrorError) -> bool:
        """Waits for the next attempt, longer each time. False: there were enough of them. A lane that follows tries until its run is over:
        no other run is to come before that."""
        state = self._state
        if state.progress > self._reached:
            self._failures, self._reached = 0, state.progress
        self._failures += 1
        if state.is_over() if self._task.follow_seconds else self._failures >= _MAX_FAILURES or state.is_budget_spent():
            self._lane_error = error.report()
            return False
        seconds = min(0.25 * 2 ** min(self._failures, _MAX_FAILURES + 1), 5.0)
        elsewhere = bool(self._turn) and len(servers(self._task.clients.target_admin)) > 1
        state.log.warn_of_retry(self._failures, 0 if self._task.follow_seconds else _MAX_FAILURES, seconds, error, elsewhere)
        time.sleep(seconds)
        return True
