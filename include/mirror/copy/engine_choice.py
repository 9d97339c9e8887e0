"""Which engine copies which range, where mirror.engine=auto leaves that to the lane.

Batches as they are cost the mirror next to nothing and the target's broker 60 to 90 us each, whatever their size: they are worth it from
what a producer fills with Kafka's default batch.size of 16 KB, which its batches stay below and its last ones far below.

Where there are few of them, encoding anew could merge next to none, and the engine for records costs more to open than it saves: four times
the CPU time for a lane of sixty partitions with ten records each. And a second engine costs an attempt of its own, which a range has to
save first:

    all partitions have batches that are worth it   batches
    the rest, or all of it, is a few batches        batches
    some are worth it, and save more than that      both, one after the other
    else                                            records

The look at the first batches costs little: the engine for batches goes on with what it has fetched.
"""

from collections.abc import Callable, Mapping, Sequence

from mirror.copy.engine import BatchSample
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import BLOCKED, Range

SMALLEST_BATCH_BYTES = 12 * 1024
FEWEST_RECORDS = 12
"""On average. With 1 KB records both engines and their brokers cost about the same at ten records."""

STUCK = "it was stuck at its first record"
FEW = "a few records"
SMALL = f"its batches have less than {SMALLEST_BATCH_BYTES:,} bytes or {FEWEST_RECORDS} records on average"
NOT_READ = "none of its batches could be looked at"
NOT_WORTH_IT = "what batches would save is less than a second engine costs"

_ATTEMPT_SECONDS = 0.05
"""An attempt with another engine is worth so much: it costs half of that in CPU time, and makes the lane wait."""
_FEW_BATCHES = 500
"""So many small batches cost the target's broker about what an attempt with the engine for records costs the mirror. Not counted is one of
each partition, which it would write too."""
_RECORD_SECONDS, _BYTE_SECONDS = 2.5e-6, 5e-9
"""What it costs to encode records anew: each, and for each of its bytes."""
_UNKNOWN_RECORD_BYTES = 1000

Sampler = Callable[[Sequence[Range]], Mapping[TopicPartition, BatchSample]]


def reasons_for_records(ranges: Sequence[Range], sample: Sampler) -> dict[TopicPartition, str]:
    """Why the records of some of the ranges are encoded anew; the others are copied in batches. `sample` looks at their first batches; it
    is asked once at most."""
    reasons = {planned.topic_partition: STUCK if planned.reason == BLOCKED else FEW for planned in ranges}
    candidates = [planned for planned in ranges if planned.reason != BLOCKED]
    if not candidates:
        return reasons
    samples = sample(candidates)
    reasons |= {planned.topic_partition: _unsuited(planned, samples.get(planned.topic_partition)) for planned in candidates}
    worth_it = [planned for planned in ranges if not reasons[planned.topic_partition]]
    small = [planned for planned in ranges if reasons[planned.topic_partition] in (FEW, SMALL)]
    if len(worth_it) + len(small) == len(ranges) and sum(_batches(planned, samples) - 1 for planned in small) <= _FEW_BATCHES:
        return {}
    if len(worth_it) < len(ranges) and _seconds(worth_it) < _ATTEMPT_SECONDS:
        reasons |= {planned.topic_partition: NOT_WORTH_IT for planned in worth_it}
    return {tp: reason for tp, reason in reasons.items() if reason}


def _unsuited(planned: Range, sample: BatchSample | None) -> str:
    if sample is None:
        return NOT_READ
    if sample.obstacle:
        return sample.obstacle
    if planned.offsets < FEWEST_RECORDS:
        return FEW
    if sample.bytes < SMALLEST_BATCH_BYTES * sample.batches or sample.records < FEWEST_RECORDS * sample.batches:
        return SMALL
    return ""


def _batches(planned: Range, samples: Mapping[TopicPartition, BatchSample]) -> float:
    """About how many batches a range has."""
    sample = samples.get(planned.topic_partition)
    return max(1.0, planned.offsets * sample.batches / sample.records) if sample and sample.records else planned.offsets


def _seconds(ranges: Sequence[Range]) -> float:
    """About how many seconds of CPU time it costs to encode the ranges anew. Records are of the size that those before had."""
    return sum(
        planned.offsets
        * (_RECORD_SECONDS + _BYTE_SECONDS * (planned.bytes / planned.records if planned.records else _UNKNOWN_RECORD_BYTES))
        for planned in ranges
    )
