"""How the lanes of a run share its budget: each gets the same, and what some leave over goes to those that were not done.

An idle lane is done in a second; a backlog may take all day. So each lane first has an equal share of the seconds and bytes, and as long as
something is left of these, the lanes that only the budget stopped get another share.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kafka_mirror.copy.model import LaneResult, LaneTask
from kafka_mirror.copy.plan.model import BEHIND, BLOCKED, Range
from kafka_mirror.copy.run_result import growth, together
from kafka_mirror.copy.throttle import shares

_SECONDS_WORTH_A_SHARE = 1.0

Copy = Callable[[Sequence[LaneTask]], Sequence[LaneResult]]
"""Copies lanes, a few side by side, and answers in their order."""


def copy_in_shares(tasks: Sequence[LaneTask], at_once: int, copy: Copy, now: Callable[[], float] = time.monotonic) -> list[LaneResult]:
    """Copies the lanes, `at_once` of them side by side. Each task comes with the budget of the whole run, which is the same for all."""
    if not tasks:
        return []
    deadline, max_bytes = now() + tasks[0].max_seconds, tasks[0].max_bytes
    results: dict[int, LaneResult] = {}
    while tasks:
        seconds = deadline - now()
        bytes_left = max(0, max_bytes - _bytes(results.values())) if max_bytes >= 0 else -1
        if results and (seconds < _SECONDS_WORTH_A_SHARE or bytes_left == 0):
            break
        answers = list(copy(_shared(tasks, at_once, seconds, bytes_left)))
        for answer in answers:
            results[answer.lane] = together(results[answer.lane], answer) if answer.lane in results else answer
        tasks = [replace(task, ranges=ranges) for task, answer in zip(tasks, answers, strict=True) if (ranges := unfinished(task, answer))]
    return list(results.values())


def unfinished(task: LaneTask, result: LaneResult) -> tuple[Range, ...]:
    """The ranges that nothing but the budget kept from being copied to their end."""
    if not result.transactions or result.ended_for or any(error.topic is None for error in result.errors):
        return ()
    failed = {(error.topic, error.partition) for error in result.errors}
    reached = {(mark.topic, mark.partition): mark.source_offset for mark in result.watermarks}
    copied = growth(result)
    ranges = []
    for planned in task.ranges:
        tp = planned.topic_partition
        if tp in failed or (tp.topic, None) in failed or reached.get(tp, planned.start) >= planned.end:
            continue
        planned = (
            replace(planned, records=planned.records + copied[tp][0], bytes=planned.bytes + copied[tp][1]) if tp in copied else planned
        )
        passed = planned.reason == BLOCKED and reached.get(tp, planned.start) > planned.start
        ranges.append(replace(planned, reason=BEHIND) if passed else planned)
    return tuple(ranges)


def _shared(tasks: Sequence[LaneTask], at_once: int, seconds: float, size: int) -> list[LaneTask]:
    turns = -(-len(tasks) // at_once)
    share = size // len(tasks) if size >= 0 else -1
    rates = shares([task.ranges for task in tasks], at_once)
    return [
        replace(task, max_seconds=seconds / turns, max_bytes=share, throttle_share=rate) for task, rate in zip(tasks, rates, strict=True)
    ]


def _bytes(results: Iterable[LaneResult]) -> int:
    return sum(mark.bytes for result in results for mark in result.watermarks)
