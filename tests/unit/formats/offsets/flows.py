"""Flows of any scale that offset maps grow from: what a copy's transactions bring, how a group reads again by the map of it, and the map's
texts in a ledger record."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from kafka_mirror.formats.offsets.map import OffsetMap, Run, decode_map
from kafka_mirror.formats.offsets.map_bytes import Pairs, Runs

PAIRED = OffsetMap.of(
    Runs((Run(0, 0, 100), Run(2000, 2030, 10, True))), Pairs((Run(512, 520, 1, True), Run(1024, 1040, 1, True))), thinned_behind=False
)
"""A map with pairs in its hole."""


def reread(built: OffsetMap) -> OffsetMap:
    """The map as whoever reads the ledger record has it."""
    text, pairs = built.encode()
    return decode_map(text, pairs, built.thinned_behind)


def text_length(built: OffsetMap) -> int:
    """How many characters both of its texts have."""
    return sum(len(text) for text in built.encode() if text)


@dataclass
class Flow:
    """One partition. Each transaction of the copy has up to `of_the_source` transactions of the source (always so many if `even`) of up to
    `largest` records each; behind each stands `marker` offsets of the source, behind all of them one of the target.

        source   records marker records marker          records marker
        target   records        records        marker   records        marker
    """

    random: Random
    largest: int
    of_the_source: int = 1
    marker: int = 0
    even: bool = False
    source: int = 0
    target: int = 0
    span: int = 0
    """How many source offsets the largest transaction has had."""

    def transaction(self) -> list[Run]:
        """The runs of the next one."""
        runs, begun = [], self.source
        for _ in range(self._up_to(self.of_the_source)):
            length = self._up_to(self.largest)
            runs.append(Run(self.source, self.target, length))
            self.source, self.target = self.source + length + self.marker, self.target + length
        self.target += 1
        self.span = max(self.span, self.source - begun)
        return runs

    def transactions(self, count: int) -> list[Run]:
        """The runs of so many."""
        return [run for _ in range(count) for run in self.transaction()]

    def grown(self, transactions: int, at_once: int) -> Iterator[OffsetMap]:
        """The map as it grows by so many transactions, some at once, read back from its texts at every step."""
        built = OffsetMap()
        for first in range(0, transactions, at_once):
            built = reread(built.with_runs(self.transactions(min(at_once, transactions - first))))
            yield built

    def _up_to(self, most: int) -> int:
        return most if self.even else self.random.randint(1, most)


def holes(built: OffsetMap) -> Iterator[tuple[int, int]]:
    """What a group reads again at most, in offsets of the source, and how far it lags behind, at the end of each hole."""
    for before, behind in pairwise(built.runs):
        if behind.thinned:
            yield behind.source - before.source - before.length, built.source_end - behind.source


def too_wide(built: OffsetMap, flow: Flow, part: float = 0.02) -> list[tuple[int, int]]:
    """The holes that are wider than a part of the lag and one transaction."""
    return [(again, lag) for again, lag in holes(built) if again > part * lag + flow.span]
