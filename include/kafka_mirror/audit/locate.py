"""Finds the first difference of a stretch whose digests are not the same: the records themselves, from the first block that differs."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain, islice

from kafka_mirror.audit.compaction import CompactedComparison
from kafka_mirror.audit.compare import REMEMBERED, Comparison, FoundDifference, Rules, found_first
from kafka_mirror.audit.digest import Digest
from kafka_mirror.audit.model import MISSING, TRUNCATED, Difference, text_of_record
from kafka_mirror.audit.range import AuditRange, Outcome
from kafka_mirror.audit.reader import Side
from kafka_mirror.formats.record import LOG_APPEND_TIME, Record
from kafka_mirror.kafka.reader import Part

STAMPED = "the target stamps its records when they are appended, so timestamps were not compared"
TOLERATED = "{} records of the target are no copies and may stand there; whether one of them is a copy too many is unknown"
MISSED = "{} of the records in the intervals that were drawn together in the ledger were passed over"

_FIRST_RECORDS = 8


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
        # From a little earlier on, so that what stands in front of the difference is known: there both sides are equal.
        block = source.back_from(block, REMEMBERED)
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
            return comparison, comparison.first_difference()

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
            return comparison, comparison.first_difference()

    @contextmanager
    def _read_records(self, stretch: AuditRange, start: int, target_start: int) -> Iterator[tuple[Iterator[Record], Iterator[Record]]]:
        source, target = parts_of(stretch)
        with (
            closing(self._source.records(stretch.source, source._replace(start=start))) as ours,
            closing(self._target.records(stretch.remote, target._replace(start=target_start))) as theirs,
        ):
            yield ours, theirs

    def _compare_compacted(self, outcome: Outcome) -> Outcome:
        stretch, notes = outcome.stretch, outcome.notes
        compared = CompactedComparison(stretch, self._source, self._target)
        difference_found = compared.first_difference()
        if difference_found is not None and stretch.timed and _is_stamped(difference_found):
            notes = (*notes, STAMPED)
            compared = CompactedComparison(replace(stretch, timed=False), self._source, self._target)
            difference_found = compared.first_difference()
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


def parts_of(stretch: AuditRange, source_skip: int = 0, target_skip: int = 0) -> tuple[Part, Part]:
    """What is to be read of a stretch on both sides, without its first records."""
    return (
        Part(stretch.start, stretch.end, stretch.source_left, source_skip, stretch.timed),
        Part(stretch.target_start, stretch.target_read_end, stretch.target_left, target_skip, stretch.timed),
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
