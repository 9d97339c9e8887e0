"""Compares stretches: digests of both sides first, and where they differ the records themselves."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain, islice

from mirror.audit.compacted import CompactedComparison
from mirror.audit.compare import Comparison, Found, Rules, found_first
from mirror.audit.digest import Digest
from mirror.audit.model import CHANGED_TIMESTAMP, MISSING, TRUNCATED, Difference, LeftOut
from mirror.audit.record import LOG_APPEND_TIME, Record
from mirror.audit.shown import shown
from mirror.audit.side import Part, Side
from mirror.audit.stretches import TARGET_GONE, Stretch
from mirror.audit.work import AuditWork, Outcome
from mirror.errors import MirrorError
from mirror.offsets.partition import TopicPartition

STAMPED = "the target stamps its records when they are appended, so timestamps were not compared"
TOLERATED = "{} records of the target are no copies and may stand there; whether one of them is a copy too many cannot be told"
MISSED = "{} of the records in the intervals that were drawn together in the ledger were passed over"

_FIRST_RECORDS = 8

Errors = dict[TopicPartition, MirrorError]


def audit_stretches(work: AuditWork, stretches: Sequence[Stretch]) -> list[Outcome]:
    """The outcome of each stretch, in no order. Never raises an error of ours: in a Spark job, one part would end the job for all."""
    outcomes: list[Outcome] = []
    for group in _rounds(stretches):
        try:
            outcomes += _Round(work, group).run()
        except MirrorError as error:
            outcomes += [Outcome(stretch, error=error.report()) for stretch in group]
    return outcomes


def _rounds(stretches: Sequence[Stretch]) -> Iterator[list[Stretch]]:
    """In a round each partition of either side is read at one place only."""
    left = list(stretches)
    while left:
        taken: dict[tuple[str, TopicPartition], Stretch] = {}
        later: list[Stretch] = []
        for stretch in left:
            keys = (("source", stretch.source), ("target", stretch.remote))
            if any(key in taken for key in keys):
                later.append(stretch)
            else:
                taken.update(dict.fromkeys(keys, stretch))
        yield list(dict.fromkeys(taken.values()))
        left = later


class _Round:
    def __init__(self, work: AuditWork, stretches: Sequence[Stretch]) -> None:
        self._work = work
        self._stretches = stretches
        self._source = Side(work.source, work.source_consumer, work.committed, work.seconds)
        self._target = Side(work.target, work.target_consumer, True, work.seconds)

    def run(self) -> list[Outcome]:
        """Both sides of all stretches at once, then one by one those that differ."""
        self._source_errors: Errors = {}
        self._target_errors: Errors = {}
        skips = self._skips([stretch for stretch in self._stretches if stretch.is_head])
        parts = {each: _parts(each, *skips.get(each, (0, 0))) for each in self._stretches if self._error(each) is None}
        with ThreadPoolExecutor(2) as threads:
            sources = threads.submit(self._source.digests, {each.source: part for each, (part, _) in parts.items()}, self._source_errors)
            targets = threads.submit(self._target.digests, {each.remote: part for each, (_, part) in parts.items()}, self._target_errors)
            found = sources.result(), targets.result()
        outcomes = []
        for stretch in self._stretches:
            error = self._error(stretch)
            if error is None:
                outcomes.append(self._outcome(stretch, found[0][stretch.source], found[1][stretch.remote], skips.get(stretch, (0, 0))[0]))
            else:
                outcomes.append(Outcome(stretch, error=error.report()))
        return outcomes

    def _error(self, stretch: Stretch) -> MirrorError | None:
        return self._source_errors.get(stretch.source) or self._target_errors.get(stretch.remote)

    def _skips(self, heads: Sequence[Stretch]) -> Mapping[Stretch, tuple[int, int]]:
        """How many records in front of what both sides have each side has."""
        parts = {each: _parts(each) for each in heads}
        with ThreadPoolExecutor(2) as threads:
            sources = threads.submit(self._source.counts, {each.source: part for each, (part, _) in parts.items()}, self._source_errors)
            targets = threads.submit(self._target.counts, {each.remote: part for each, (_, part) in parts.items()}, self._target_errors)
            source, target = sources.result(), targets.result()
        skips: dict[Stretch, tuple[int, int]] = {}
        for head in heads:
            if self._error(head) is None:
                more = source[head.source] - target[head.remote]
                skips[head] = (max(more, 0) if head.source_ahead else 0, max(-more, 0) if head.target_ahead else 0)
        return skips

    def _outcome(self, stretch: Stretch, source: Digest, target: Digest, source_skip: int) -> Outcome:
        outcome = Outcome(stretch, source.records, target.records, source.text, target.text)
        if source_skip:
            first = source.blocks[0].first if source.blocks else stretch.end
            left = LeftOut(stretch.start, first, TARGET_GONE.format(stretch.remote, stretch.target_start))
            outcome = replace(outcome, left_out=(left,))
        block = source.differs_at(target)
        if block is None:
            return outcome
        try:
            if stretch.compacted:
                return self._compacted(outcome)
            places = (_place(source, block, stretch.end), _place(target, block, stretch.target_end))
            return self._located(outcome, places)
        except MirrorError as error:
            return Outcome(stretch, error=error.report())

    def _located(self, outcome: Outcome, places: tuple[int, int]) -> Outcome:
        """The first difference, behind offsets up to which both sides are equal; or none, where what differs may do so."""
        stretch = outcome.stretch
        rules = _rules(stretch)
        comparison, found = self._compare(stretch, places, rules)
        if found is not None and rules.timed and _stamped(found):
            outcome = replace(outcome, notes=(*outcome.notes, STAMPED), stretch=replace(stretch, timed=False))
            comparison, found = self._compare(stretch, places, replace(rules, timed=False))
        notes = list(outcome.notes)
        notes += [TOLERATED.format(comparison.tolerated)] if comparison.tolerated else []
        notes += [MISSED.format(comparison.missed)] if comparison.missed else []
        if found is not None and found.kind == TRUNCATED and (stretch.lenient or stretch.remote_goes_on):
            found = found._replace(kind=MISSING)
        difference = self._difference(stretch, found) if found is not None else None
        return replace(outcome, difference=difference, tolerated=comparison.tolerated, unpaired=comparison.missed, notes=tuple(notes))

    def _compare(self, stretch: Stretch, places: tuple[int, int], rules: Rules) -> tuple[Comparison, Found | None]:
        if stretch.is_head:
            compared = self._compare_head(stretch, rules)
            if compared is not None:
                return compared
        with self._records(stretch, *places) as (ours, theirs):
            comparison = Comparison(ours, theirs, rules)
            return comparison, comparison.first_difference()

    def _compare_head(self, stretch: Stretch, rules: Rules) -> tuple[Comparison, Found | None] | None:
        """A missing record moves all in front of it if they are counted from behind. So the beginning of one side is looked for in the
        other; None if it is not found."""
        with self._records(stretch, stretch.start, stretch.target_start) as (ours, theirs):
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
    def _records(self, stretch: Stretch, start: int, target_start: int) -> Iterator[tuple[Iterator[Record], Iterator[Record]]]:
        source, target = _parts(stretch)
        with (
            closing(self._source.records(stretch.source, source._replace(start=start))) as ours,
            closing(self._target.records(stretch.remote, target._replace(start=target_start))) as theirs,
        ):
            yield ours, theirs

    def _compacted(self, outcome: Outcome) -> Outcome:
        stretch, notes = outcome.stretch, outcome.notes
        compared = CompactedComparison(stretch, self._source, self._target)
        found = compared.first_difference()
        if found is not None and stretch.timed and _stamped(found):
            notes = (*notes, STAMPED)
            compared = CompactedComparison(replace(stretch, timed=False), self._source, self._target)
            found = compared.first_difference()
        difference = self._difference(stretch, found) if found is not None else None
        notes = (*notes, *compared.notes)
        return replace(outcome, source_digest="", target_digest="", difference=difference, unpaired=compared.unpaired, notes=notes)

    def _difference(self, stretch: Stretch, found: Found) -> Difference:
        payload = self._work.show_payload
        return Difference(
            found.kind,
            *stretch.source,
            stretch.remote.topic,
            found.source.offset if found.source else None,
            found.target.offset if found.target else None,
            shown(found.source, payload) if found.source else None,
            shown(found.target, payload) if found.target else None,
        )


def _parts(stretch: Stretch, source_skip: int = 0, target_skip: int = 0) -> tuple[Part, Part]:
    return (
        Part(stretch.start, stretch.end, stretch.source_left, source_skip, stretch.timed),
        Part(stretch.target_start, stretch.target_read_end, stretch.target_left, target_skip, stretch.timed),
    )


def _place(digest: Digest, block: int, end: int) -> int:
    """Where to read on to find a difference in a block: one block earlier, so that what stands in front of it is known."""
    if block > 0:
        return digest.blocks[block - 1].first
    return digest.blocks[0].first if digest.blocks else end


def _rules(stretch: Stretch) -> Rules:
    def unsure(record: Record) -> bool:
        return any(start <= record.offset < end for start, end in stretch.unsure)

    return Rules(
        timed=stretch.timed,
        may_miss=unsure if stretch.unsure else None,
        may_add=(lambda _record: True) if stretch.lenient else None,
        source_of=stretch.source_of,
    )


def _stamped(found: Found) -> bool:
    """Whether only the timestamps differ, because the target's topic puts its own."""
    return bool(found.kind == CHANGED_TIMESTAMP and found.target and found.target.timestamp_type == LOG_APPEND_TIME)
