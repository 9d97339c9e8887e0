"""Ranges whose copies are equal, found batch by batch: those that are the same on both sides are not opened.

It finds no difference: a range that is not proven equal here is compared record by record from its beginning on.
"""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from kafka_mirror.audit.batch_comparison import BatchComparison
from kafka_mirror.audit.batch_reader import PairedReading
from kafka_mirror.audit.context import AuditContext
from kafka_mirror.audit.locate import parts_of
from kafka_mirror.audit.range import AuditRange, Outcome
from kafka_mirror.audit.reader import ReadListener, Side
from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition

log = logging.getLogger(__name__)


def equal_by_batches(
    context: AuditContext, sides: tuple[Side, Side], stretches: Sequence[AuditRange], on_read: ReadListener, *, opens_all: bool = False
) -> dict[AuditRange, Outcome]:
    """The outcomes of ranges that are equal and were compared batch by batch, at least in part (with `opens_all` also those of which
    every record was read); they have no digests. No partition is in two of the ranges. Never raises an error of ours.

    What `on_read` got for other ranges it gets again as a negative number.
    """
    able = [stretch for stretch in stretches if may_be_compared(stretch)]
    if not able:
        return {}
    try:
        reading = PairedReading(context, able, on_read)
    except (MirrorError, LookupError, ValueError) as failure:
        log.info("%s: every record is read, for batches cannot be fetched with this login: %s", context.flow, failure)
        return {}
    pairings = reading.run()
    paired = [pairing for pairing in pairings if pairing.equal_records or opens_all]
    outcomes = _compare_opened(sides, paired)
    on_read(-sum(pairing.offsets for pairing in pairings if pairing.stretch not in outcomes))
    closed = sum(pairing.equal_records for pairing in paired if pairing.stretch in outcomes)
    records = sum(outcome.source_records for outcome in outcomes.values())
    log.info(
        "%s: %d of %d ranges are equal; of their %d records %d were compared batch by batch.",
        *(context.flow, len(outcomes), len(stretches), records, closed),
    )
    return outcomes


def may_be_compared(stretch: AuditRange) -> bool:
    """Whether a range is worth trying: its beginning is known, and both sides keep all records."""
    return not stretch.is_head and not stretch.compacted and stretch.offsets > 0


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
    source_errors: dict[TopicPartition, MirrorError] = {}
    target_errors: dict[TopicPartition, MirrorError] = {}
    try:
        with ThreadPoolExecutor(2) as threads:
            sources = threads.submit(sides[0].digests, {segment.source: part for segment, (part, _) in parts.items()}, source_errors)
            targets = threads.submit(sides[1].digests, {segment.remote: part for segment, (_, part) in parts.items()}, target_errors)
            of_source, of_target = sources.result(), targets.result()
    except MirrorError as error:
        log.info("What lies between equal batches could not be read, so whole ranges are: %s", error)
        return {}
    return {
        segment: of_source[segment.source].records
        for segment in segments
        if segment.source in of_source
        and segment.remote in of_target
        and of_source[segment.source].first_different_block(of_target[segment.remote]) is None
    }
