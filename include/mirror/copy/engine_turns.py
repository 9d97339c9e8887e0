"""Whose turn it is where a lane has two engines: one that carries the source's batches as they are, and one that encodes each record anew.

batches    copies all that it can, and says of each partition from where and how far it cannot
records    copies that, in an attempt of its own: the next producer epoch of the same transactional id
batches    goes on behind it

With mirror.engine=auto partitions may begin with either engine (`mirror.copy.engine_choice`), and a partition goes over to batches at the
first record that the other engine cannot carry:

    watermark          the record        end of its batch
        │ copied, aborted │                     │
        ╰───────────────── batches from here on ╯

What of it the engine for batches cannot carry either goes back, and only there such a record is an error, or is passed over: so it ends.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from mirror.copy.engine import Reencoding
from mirror.copy.model import AUTO, BATCHES, RECORDS
from mirror.offsets.partition import TopicPartition

_MOST_RETURNS = 8
"""So often in a run a partition that is batches' for a record in it is given back for single batches; the next time for good."""


class EngineTurns:
    """Who copies what; kept over the attempts of one run. A lane with one engine has one turn."""

    def __init__(self, engine: str = RECORDS) -> None:
        """`engine` is mirror.engine."""
        self.is_auto = engine == AUTO
        self.has_batches = engine != RECORDS
        """Whether batches are carried at all."""
        self.is_chosen = engine != AUTO
        """Whether the partitions of this turn have their engines."""
        self.turn = BATCHES if self.has_batches else RECORDS
        """The engine of the next attempt."""
        self.reasons: dict[TopicPartition, str] = {}
        """Why partitions were encoded anew, or a part of them; the first reason of each."""
        self._records: set[TopicPartition] = set()
        """Partitions that began with the engine that encodes anew."""
        self._returns: dict[TopicPartition, int] = {}
        """Partitions with a record that only batches carry, and how often a batch of theirs was given back."""
        self._reencodings: dict[TopicPartition, Reencoding] = {}
        self._closed: set[TopicPartition] = set()
        """Partitions of which no batch can be handed on any more, nor a part of one."""
        self._is_for_good = engine != AUTO
        """Whether no later run is going to carry batches that this one does not."""
        self._new: set[str] = set()
        """The engines that have something to do, and have not had their turn since."""

    def begin(self) -> None:
        """Before other ranges of the lane."""
        self.turn = BATCHES if self.has_batches else RECORDS
        self.is_chosen = not self.is_auto or not self.has_batches
        self._new.clear()

    def choose(self, partitions: Collection[TopicPartition], reasons: Mapping[TopicPartition, str]) -> None:
        """Begins with these partitions, of which those with a reason are encoded anew."""
        self._records.difference_update(partitions)
        self._records.update(reasons)
        for tp, reason in reasons.items():
            self.reasons.setdefault(tp, reason)
        owners = {self._owner(tp) for tp in partitions}
        # With nothing to copy, for the ledger's records alone, the one that costs less.
        self.turn = RECORDS if owners == {RECORDS} else BATCHES
        self._new = owners - {self.turn}
        self.is_chosen = True

    def do_without_batches(self, why: str, partitions: Collection[TopicPartition], *, for_good: bool = True) -> None:
        """Leaves everything to the engine that encodes anew, for this run, or (`for_good`) for later ones too."""
        self._is_for_good = for_good
        self.has_batches, self.is_chosen, self.turn = False, True, RECORDS
        for tp in partitions:
            self.reasons.setdefault(tp, why)
        self._records.update(partitions)
        self._reencodings.clear()
        self._returns.clear()
        self._new.clear()

    def hand_over(self, tp: TopicPartition, reencoding: Reencoding) -> Reencoding:
        """Leaves offsets of a partition to the engine that encodes anew; gives how far that is."""
        if tp in self._returns:
            if reencoding.until is None:
                self._closed.add(tp)
            self._returns[tp] += 1
            if self._returns[tp] > _MOST_RETURNS:
                reencoding = replace(reencoding, until=None)
        self._reencodings[tp] = reencoding
        self.reasons.setdefault(tp, reencoding.reason)
        self._new.add(RECORDS)
        return reencoding

    def may_take_batches(self, tp: TopicPartition) -> bool:
        """Whether a record that this turn's engine cannot carry leads its partition to the engine for batches: not in that one's own turn,
        nor where it has given back the very batch, or all that follow."""
        reencoding = self._reencodings.get(tp)
        is_refused = tp in self._closed or (reencoding is not None and reencoding.until is not None)
        return self.is_auto and self.has_batches and self.turn == RECORDS and not is_refused

    def keeps(self, tp: TopicPartition) -> bool:
        """Whether such a record is not passed over: batches may still carry it, now or in a later run."""
        return self.may_take_batches(tp) if self.has_batches else not self._is_for_good

    def take_batches(self, tp: TopicPartition) -> None:
        """Leaves a partition to the engine for batches, from its watermark on."""
        self._records.discard(tp)
        self._reencodings.pop(tp, None)
        self._returns[tp] = 0
        self._new.add(BATCHES)

    def needs_batches(self, tp: TopicPartition) -> bool:
        """Whether a partition has a record that only batches carry."""
        return tp in self._returns

    def end(self, tp: TopicPartition, end: int, watermark: int) -> int:
        """How far a partition that stands at its watermark, and has work up to `end`, may be copied in this turn."""
        if self._owner(tp) != self.turn:
            return watermark
        reencoding = self._reencodings.get(tp)
        return end if reencoding is None or reencoding.until is None else max(min(end, reencoding.until), watermark)

    def next(self, given_up: Collection[TopicPartition] = ()) -> bool:
        """After an attempt that did all it could in this turn: goes on to the next one. False: nothing is left for the other engine, of
        partitions that are not `given_up` for this run."""
        if self.turn == RECORDS:
            ended = [tp for tp, reencoding in self._reencodings.items() if reencoding.until is not None and tp not in given_up]
            for tp in ended:
                del self._reencodings[tp]
                self._new.add(BATCHES)
        other = RECORDS if self.turn == BATCHES else BATCHES
        if other not in self._new:
            return False
        self._new.discard(other)
        self.turn = other
        return True

    def _owner(self, tp: TopicPartition) -> str:
        return RECORDS if not self.has_batches or tp in self._records or tp in self._reencodings else BATCHES
