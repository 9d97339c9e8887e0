"""Compares stretches: closed batches first, then digests of both sides, and where they differ the records themselves."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from kafka_mirror.audit.copied_ranges import TARGET_GONE
from kafka_mirror.audit.digest import Digest
from kafka_mirror.audit.locate import Locator, parts_of
from kafka_mirror.audit.model import LeftOut
from kafka_mirror.audit.range import AuditRange, Outcome
from kafka_mirror.audit.reader import AuditContext, ReadListener, Side, no_listener
from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition

log = logging.getLogger(__name__)

Errors = dict[TopicPartition, MirrorError]


def compare_audit_ranges(context: AuditContext, stretches: Sequence[AuditRange], on_read: ReadListener = no_listener) -> list[Outcome]:
    """The outcome of each stretch, in no order. Never raises an error of ours: in a Spark job, one part would end the job for all.

    `on_read` gets how many more offsets of either side were read.
    """
    outcomes: list[Outcome] = []
    for group in _plan_rounds(stretches):
        equal = equal_ranges(context, group, on_read)
        outcomes += equal.values()
        rest = [stretch for stretch in group if stretch not in equal]
        try:
            outcomes += _Round(context, rest, on_read).run() if rest else []
        except MirrorError as error:
            outcomes += [Outcome(stretch, error=error.report()) for stretch in rest]
    return outcomes


def equal_ranges(
    context: AuditContext, stretches: Sequence[AuditRange], on_read: ReadListener = no_listener, *, opens_all: bool = False
) -> dict[AuditRange, Outcome]:
    """The outcomes of the stretches that are equal by their closed batches (`equal_by_batches`); none where batches cannot be compared."""
    try:
        from kafka_mirror.audit.batch_reader import equal_by_batches
    except ImportError as missing:
        log.info("%s: every record is read, for the package %s is not there to compare closed batches.", context.flow, missing.name)
        return {}
    return equal_by_batches(context, sides_of(context), stretches, on_read, opens_all=opens_all)


def outcome_of_digests(context: AuditContext, stretch: AuditRange, source: Digest, target: Digest) -> Outcome:
    """Returns the outcome of a range by its two digests. Raises no MirrorError."""
    return _judge(Locator(*sides_of(context), context.show_payload), stretch, source, target)


def sides_of(context: AuditContext, on_read: ReadListener = no_listener) -> tuple[Side, Side]:
    """The source and the target of an audit; `on_read` as in `Side`."""
    clients, seconds = context.clients, context.seconds
    return (
        Side(context.source, clients.source_consumer, context.read_committed, seconds, clients.source_admin, on_read=on_read),
        Side(context.target, clients.target_consumer, True, seconds, clients.target_admin, on_read=on_read),
    )


def _plan_rounds(stretches: Sequence[AuditRange]) -> Iterator[list[AuditRange]]:
    """In a round each partition of either side is read at one place only."""
    waiting = list(stretches)
    while waiting:
        taken: dict[tuple[str, TopicPartition], AuditRange] = {}
        later: list[AuditRange] = []
        for stretch in waiting:
            keys = (("source", stretch.source), ("target", stretch.remote))
            if any(key in taken for key in keys):
                later.append(stretch)
            else:
                taken.update(dict.fromkeys(keys, stretch))
        yield list(dict.fromkeys(taken.values()))
        waiting = later


class _Round:
    def __init__(self, context: AuditContext, stretches: Sequence[AuditRange], on_read: ReadListener) -> None:
        self._stretches = stretches
        self._source, self._target = sides_of(context, on_read)
        self._locator = Locator(self._source, self._target, context.show_payload)

    def run(self) -> list[Outcome]:
        """Both sides of all stretches at once, then one by one those that differ."""
        self._source_errors: Errors = {}
        self._target_errors: Errors = {}
        skips = self._find_skips([stretch for stretch in self._stretches if stretch.is_head])
        parts = {
            audit_range: parts_of(audit_range, *skips.get(audit_range, (0, 0)))
            for audit_range in self._stretches
            if self._find_error(audit_range) is None
        }
        with ThreadPoolExecutor(2) as threads:
            sources = threads.submit(
                self._source.digests, {audit_range.source: part for audit_range, (part, _) in parts.items()}, self._source_errors
            )
            targets = threads.submit(
                self._target.digests, {audit_range.remote: part for audit_range, (_, part) in parts.items()}, self._target_errors
            )
            digests_of_sides = sources.result(), targets.result()
        outcomes = []
        for stretch in self._stretches:
            error = self._find_error(stretch)
            if error is None:
                digests = digests_of_sides[0][stretch.source], digests_of_sides[1][stretch.remote]
                outcomes.append(_judge(self._locator, stretch, *digests, skips.get(stretch, (0, 0))[0]))
            else:
                outcomes.append(Outcome(stretch, error=error.report()))
        return outcomes

    def _find_error(self, stretch: AuditRange) -> MirrorError | None:
        return self._source_errors.get(stretch.source) or self._target_errors.get(stretch.remote)

    def _find_skips(self, heads: Sequence[AuditRange]) -> Mapping[AuditRange, tuple[int, int]]:
        """How many records in front of what both sides have each side has."""
        parts = {audit_range: parts_of(audit_range) for audit_range in heads}
        with ThreadPoolExecutor(2) as threads:
            sources = threads.submit(
                self._source.counts, {audit_range.source: part for audit_range, (part, _) in parts.items()}, self._source_errors
            )
            targets = threads.submit(
                self._target.counts, {audit_range.remote: part for audit_range, (_, part) in parts.items()}, self._target_errors
            )
            source, target = sources.result(), targets.result()
        skips: dict[AuditRange, tuple[int, int]] = {}
        for head in heads:
            if self._find_error(head) is None:
                more = source[head.source] - target[head.remote]
                skips[head] = (max(more, 0) if head.source_ahead else 0, max(-more, 0) if head.target_ahead else 0)
        return skips


def _judge(locator: Locator, stretch: AuditRange, source: Digest, target: Digest, source_skip: int = 0) -> Outcome:
    outcome = Outcome.of(stretch, source, target)
    if source_skip:
        first = source.blocks[0].first if source.blocks else stretch.end
        front = LeftOut(stretch.start, first, TARGET_GONE.format(stretch.remote, stretch.target_start))
        outcome = replace(outcome, left_out=(front,))
    block = source.first_different_block(target)
    if block is None:
        return outcome
    try:
        return locator.locate(outcome, source, target, block)
    except MirrorError as error:
        return Outcome(stretch, error=error.report())
