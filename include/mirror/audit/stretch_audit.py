"""Compares stretches: digests of both sides first, and where they differ the records themselves."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from mirror.audit.digest import Digest
from mirror.audit.locate import Locator, parts_of
from mirror.audit.model import LeftOut
from mirror.audit.side import Side
from mirror.audit.stretch import Stretch
from mirror.audit.stretches import TARGET_GONE
from mirror.audit.work import AuditWork, Outcome
from mirror.errors import MirrorError
from mirror.offsets.partition import TopicPartition

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


def compared(work: AuditWork, stretch: Stretch, source: Digest, target: Digest) -> Outcome:
    """The outcome of a stretch whose digests are known. Raises nothing of ours."""
    return _outcome(Locator(*sides_of(work), work.show_payload), stretch, source, target)


def sides_of(work: AuditWork) -> tuple[Side, Side]:
    """The source and the target of an audit."""
    return (
        Side(work.source, work.source_consumer, work.committed, work.seconds, work.source_admin),
        Side(work.target, work.target_consumer, True, work.seconds, work.target_admin),
    )


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
        self._stretches = stretches
        self._source, self._target = sides_of(work)
        self._locator = Locator(self._source, self._target, work.show_payload)

    def run(self) -> list[Outcome]:
        """Both sides of all stretches at once, then one by one those that differ."""
        self._source_errors: Errors = {}
        self._target_errors: Errors = {}
        skips = self._skips([stretch for stretch in self._stretches if stretch.is_head])
        parts = {each: parts_of(each, *skips.get(each, (0, 0))) for each in self._stretches if self._error(each) is None}
        with ThreadPoolExecutor(2) as threads:
            sources = threads.submit(self._source.digests, {each.source: part for each, (part, _) in parts.items()}, self._source_errors)
            targets = threads.submit(self._target.digests, {each.remote: part for each, (_, part) in parts.items()}, self._target_errors)
            found = sources.result(), targets.result()
        outcomes = []
        for stretch in self._stretches:
            error = self._error(stretch)
            if error is None:
                digests = found[0][stretch.source], found[1][stretch.remote]
                outcomes.append(_outcome(self._locator, stretch, *digests, skips.get(stretch, (0, 0))[0]))
            else:
                outcomes.append(Outcome(stretch, error=error.report()))
        return outcomes

    def _error(self, stretch: Stretch) -> MirrorError | None:
        return self._source_errors.get(stretch.source) or self._target_errors.get(stretch.remote)

    def _skips(self, heads: Sequence[Stretch]) -> Mapping[Stretch, tuple[int, int]]:
        """How many records in front of what both sides have each side has."""
        parts = {each: parts_of(each) for each in heads}
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


def _outcome(locator: Locator, stretch: Stretch, source: Digest, target: Digest, source_skip: int = 0) -> Outcome:
    outcome = Outcome(stretch, source.records, target.records, source.text, target.text)
    if source_skip:
        first = source.blocks[0].first if source.blocks else stretch.end
        left = LeftOut(stretch.start, first, TARGET_GONE.format(stretch.remote, stretch.target_start))
        outcome = replace(outcome, left_out=(left,))
    block = source.differs_at(target)
    if block is None:
        return outcome
    try:
        return locator.located(outcome, source, target, block)
    except MirrorError as error:
        return Outcome(stretch, error=error.report())
