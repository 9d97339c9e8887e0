"""Compares stretches: closed batches first, then digests of both sides, and where they differ the records themselves.

The records are read from the first block on that differs, and a little earlier, so that what stands in front of the difference is known.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain, islice

from kafka_mirror.audit.batch_reader import equal_ranges
from kafka_mirror.audit.compaction import CompactedComparison
from kafka_mirror.audit.compare import REMEMBERED, Comparison, FoundDifference, Rules, found_first
from kafka_mirror.audit.copied_ranges import TARGET_GONE, AuditRange, Outcome
from kafka_mirror.audit.digest import Digest
from kafka_mirror.audit.model import MISSING, TRUNCATED, Difference, LeftOut, text_of_record
from kafka_mirror.audit.reader import AuditContext, Errors, ReadListener, Side, no_listener, parts_of, read_both, sides_of
from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.batches.batch_records import LOG_APPEND_TIME
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import Record

STAMPED = "the target stamps its records when they are appended, so timestamps were not compared"
TOLERATED = "{} records of the target are no copies and may stand there; whether one of them is a copy too many is unknown"
MISSED = "{} of the records in the intervals that were drawn together in the ledger were passed over"

_FIRST_RECORDS = 8


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


def outcome_of_digests(context: AuditContext, stretch: AuditRange, source: Digest, target: Digest) -> Outcome:
    """Returns the outcome of a range by its two digests. Raises no MirrorError."""
    return _judge(Locator(*sides_of(context), context.show_payload), stretch, source, target)


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
        self._errors: tuple[Errors, Errors] = ({}, {})

    def run(self) -> list[Outcome]:
        """Both sides of all stretches at once, then one by one those that differ."""
        skips = self._find_skips([stretch for stretch in self._stretches if stretch.is_head])
        parts = {
            stretch: parts_of(stretch, *skips.get(stretch, (0, 0))) for stretch in self._stretches if self._find_error(stretch) is None
        }
        source, target = read_both(parts, (self._source.read_digests, self._target.read_digests), self._errors)
        outcomes = []
        for stretch in self._stretches:
            if (error := self._find_error(stretch)) is not None:
                outcomes.append(Outcome(stretch, error=error.report()))
            else:
                digests = source[stretch.source], target[stretch.remote]
                outcomes.append(_judge(self._locator, stretch, *digests, skips.get(stretch, (0, 0))[0]))
        return outcomes

    def _find_error(self, stretch: AuditRange) -> MirrorError | None:
        return self._errors[0].get(stretch.source) or self._errors[1].get(stretch.remote)

    def _find_skips(self, heads: Sequence[AuditRange]) -> Mapping[AuditRange, tuple[int, int]]:
        """How many records in front of what both sides have each side has."""
        source, target = read_both(
            {head: parts_of(head) for head in heads}, (self._source.count_records, self._target.count_records), self._errors
        )
        skips: dict[AuditRange, tuple[int, int]] = {}
        for head in heads:
            if self._find_error(head) is None:
                more = source[head.source] - target[head.remote]
                skips[head] = (max(more, 0) if head.source_ahead else 0, max(-more, 0) if head.target_ahead else 0)
        return skips


def _judge(locator: "Locator", stretch: AuditRange, source: Digest, target: Digest, source_skip: int = 0) -> Outcome:
    outcome = Outcome.of(stretch, source, target)
    if source_skip:
        first = source.blocks[0].first if source.blocks else stretch.end
        front = LeftOut(stretch.start, first, TARGET_GONE.format(stretch.remote, stretch.target_start))
        outcome = replace(outcome, left_out=(front,))
    block = source.find_different_block(target)
    if block is None:
        return outcome
    try:
        return locator.locate(outcome, source, target, block)
    except MirrorError as error:
        return Outcome(stretch, error=error.report())


class Locator:
    """Reads both sides of stretches one by one. Raises what keeps a side from being read."""

    def __init__(self, source: Side, target: Side, show_payload: bool) -> None:
        self._source = source
        self._target = target
        self._show_payload = show_payload

    def locate(self, outcome: Outcome, source: Digest, target: Digest, block: int) -> Outcome:
        """The outcome with the first difference, from the first `block` on that is not the same; without one where what differs may."""
        stretch = outcome.stretch
        if stretch.compacted:
            return self._compare_compacted(outcome)
        block = source.find_block_before(block, REMEMBERED)
        return self._locate_exactly(outcome, (_find_place(source, block, stretch.end), _find_place(target, block, stretch.target_end)))

    # ------------------------------------------------------------ inside

    def _locate_exactly(self, outcome: Outcome, places: tuple[int, int]) -> Outcome:
        stretch = outcome.stretch
        rules = _choose_rules(stretch)
        comparison, difference_found = self._compare(stretch, places, rules)
        if difference_found is not None and rules.timed and _is_stamped(difference_found):
            outcome = replace(outcome, notes=(*outcome.notes, STAMPED), stretch=replace(stretch, timed=False))
            comparison, difference_found = self._compare(stretch, places, replace(rules, timed=False))
        notes = list(outcome.notes)
        notes += [TOLERATED.format(comparison.tolerated)] if comparison.tolerated else []
        notes += [MISSED.format(comparison.missed)] if comparison.missed else []
        if difference_found is not None and difference_found.kind == TRUNCATED and (stretch.lenient or stretch.remote_goes_on):
            difference_found = difference_found._replace(kind=MISSING)
        if difference_found is None:  # what is not the same may differ, so digests prove nothing
            outcome = replace(outcome, source_digest="", target_digest="")
        difference = self._describe(stretch, difference_found) if difference_found is not None else None
        return replace(outcome, difference=difference, tolerated=comparison.tolerated, unpaired=comparison.missed, notes=tuple(notes))

    def _compare(self, stretch: AuditRange, places: tuple[int, int], rules: Rules) -> tuple[Comparison, FoundDifference | None]:
        if stretch.is_head:
            compared = self._compare_head(stretch, rules)
            if compared is not None:
                return compared
        with self._read_records(stretch, *places) as (ours, theirs):
            comparison = Comparison(ours, theirs, rules)
            return comparison, comparison.find_first_difference()

    def _compare_head(self, stretch: AuditRange, rules: Rules) -> tuple[Comparison, FoundDifference | None] | None:
        """A missing record moves all in front of it if they are counted from the end. So the beginning of one side is looked for in the
        other; None if it is not found."""
        with self._read_records(stretch, stretch.start, stretch.target_start) as (ours, theirs):
            later, earlier = (ours, theirs) if stretch.target_ahead else (theirs, ours)
            first = list(islice(later, _FIRST_RECORDS))
            aligned = found_first(earlier, first, rules) if first else None
            if aligned is None:
                return None
            whole = chain(first, later)
            source, target = (whole, aligned) if stretch.target_ahead else (aligned, whole)
            comparison = Comparison(source, target, rules)
            return comparison, comparison.find_first_difference()

    @contextmanager
    def _read_records(self, stretch: AuditRange, start: int, target_start: int) -> Iterator[tuple[Iterator[Record], Iterator[Record]]]:
        source, target = parts_of(stretch)
        with (
            closing(self._source.read_records(stretch.source, source._replace(start=start))) as ours,
            closing(self._target.read_records(stretch.remote, target._replace(start=target_start))) as theirs,
        ):
            yield ours, theirs

    def _compare_compacted(self, outcome: Outcome) -> Outcome:
        stretch, notes = outcome.stretch, outcome.notes
        compared = CompactedComparison(stretch, self._source, self._target)
        difference_found = compared.find_first_difference()
        if difference_found is not None and stretch.timed and _is_stamped(difference_found):
            notes = (*notes, STAMPED)
            compared = CompactedComparison(replace(stretch, timed=False), self._source, self._target)
            difference_found = compared.find_first_difference()
        difference = self._describe(stretch, difference_found) if difference_found is not None else None
        notes = (*notes, *compared.notes)
        return replace(outcome, source_digest="", target_digest="", difference=difference, unpaired=compared.unpaired, notes=notes)

    def _describe(self, stretch: AuditRange, difference_found: FoundDifference) -> Difference:
        payload = self._show_payload
        return Difference(
            difference_found.kind,
            *stretch.source,
            stretch.remote.topic,
            difference_found.source.offset if difference_found.source else None,
            difference_found.target.offset if difference_found.target else None,
            text_of_record(difference_found.source, payload) if difference_found.source else None,
            text_of_record(difference_found.target, payload) if difference_found.target else None,
        )


def _find_place(digest: Digest, block: int, end: int) -> int:
    return digest.blocks[block].first if block < len(digest.blocks) else end


def _choose_rules(stretch: AuditRange) -> Rules:
    def unsure(record: Record) -> bool:
        return any(start <= record.offset < end for start, end in stretch.unsure)

    return Rules(
        timed=stretch.timed,
        may_miss=unsure if stretch.unsure else None,
        most_missed=stretch.most_unsure,
        may_add=(lambda _record: True) if stretch.lenient else None,
        source_of=stretch.source_of,
    )


def _is_stamped(difference: FoundDifference) -> bool:
    """Whether the timestamps differ because the target's topic puts its own: they say nothing then, whatever else differs."""
    source, target = difference.source, difference.target
    return bool(source and target and target.timestamp_type == LOG_APPEND_TIME and source.timestamp != target.timestamp)
