"""The decisions of a flow that count, as its control topic has them: about partitions, about the flow as a whole.

Which decisions still count: those that the next run acts on, or that hold until they are taken back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.control_records import (
    ACCEPT_GAP,
    ACCEPT_RECORDS,
    ADOPT_CLUSTER,
    BEGIN_LEDGER,
    CLOSED,
    HANDED_BACK,
    LEDGER,
    MOVED,
    NOTES,
    OF_A_PARTITION,
    PAUSE,
    REOPENED,
    RESTART,
    RESUME,
    RETURNED,
    SKIP_RECORD,
    TAKE_OWNERSHIP,
    THROTTLE,
    Decision,
)
from kafka_mirror.ledger.record import LedgerRecord


class Decisions:
    """The decisions of a flow, as its control topic has them."""

    def __init__(self, decisions: Iterable[Decision] = ()) -> None:
        self.all = tuple(decisions)
        self._by_key = {decision.key: decision for decision in self.all}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was decided, or could have been: there is no control topic yet."""
        return not self.all

    @property
    def ledger_id(self) -> str | None:
        """The topic id of the flow's ledger; None if no plan has named one yet."""
        decision = self._by_key.get((LEDGER, None, None))
        return decision.ledger_id if decision else None

    def select(self, tp: TopicPartition) -> tuple[Decision, ...]:
        """Returns the decisions about one partition's offsets, in the order in which they are applied.

        Of what was decided before the ledger was begun again only accept-records is left, for it is about the target alone. A new ledger
        does not note what was acted on in the old one, and its watermarks come past the places where those stood.
        """
        begun = self._by_key.get((BEGIN_LEDGER, None, None))
        decisions = (self._by_key.get((word, tp.topic, tp.partition)) for word in OF_A_PARTITION)
        still = (decision for decision in decisions if decision is not None)
        return tuple(decision for decision in still if begun is None or decision.decision == ACCEPT_RECORDS or decision.when > begun.when)

    def find_pause(self, tp: TopicPartition) -> Decision | None:
        """The decision by which a partition is paused. Of one about its topic and one about itself the newer counts."""
        pauses = [
            decision
            for decision in (self._by_key.get((PAUSE, tp.topic, number)) for number in (None, tp.partition))
            if decision is not None
        ]
        newest = max(pauses, key=lambda decision: decision.when, default=None)
        return newest if newest is not None and newest.decision != RESUME else None

    def find_moved(self, topic: str) -> Decision | None:
        """The decision by which a cutover moved a topic to the flow's target, unless the topic returned since."""
        return self.moved_topics.get(topic)

    @cached_property
    def moved_topics(self) -> Mapping[str, Decision]:
        """The topics that are written on the flow's target since a cutover, each with the decision that says so."""
        return self._sort_by_name(MOVED)

    @cached_property
    def returned_topics(self) -> Mapping[str, Decision]:
        """The topics that a cutover of the opposite flow moved to the flow's source, with the decision that moved each."""
        return self._sort_by_name(RETURNED)

    def list_notes(self, kind: str) -> Mapping[str, Decision]:
        """What the mirror noted for itself of this kind (WAVE, WAVE_GROUP, GROUP_OFFSETS), by name."""
        return self._sort_by_name(kind)

    def _sort_by_name(self, word: str) -> dict[str, Decision]:
        return {decision.topic: decision for decision in self._by_key.values() if decision.decision == word and decision.topic is not None}

    def _find_about_flow(self, key: str, word: str) -> Decision | None:
        """The decision about the flow as a whole under this key, if it has this word."""
        decision = self._by_key.get((key, None, None))
        return decision if decision is not None and decision.decision == word else None

    def find_adoption(self, alias: str, cluster_id: str) -> Decision | None:
        """The decision by which records of another cluster are taken for those of this one."""
        decision = self._by_key.get((ADOPT_CLUSTER, alias, None))
        return decision if decision is not None and decision.cluster_id == cluster_id else None

    def find_ownership(self, installation: str) -> Decision | None:
        """The decision by which this installation may write where another one did."""
        decision = self._by_key.get((TAKE_OWNERSHIP, None, None))
        return decision if decision is not None and decision.installation == installation else None

    def find_ownership_after(self, record: LedgerRecord, installation: str) -> Decision | None:
        """The decision by which this installation goes on after a record of another one: it was written before that was decided."""
        decision, writer = self.find_ownership(installation), record.writer
        if decision is None or decision.until is None or writer.installation in ("", installation):
            return None
        return decision if writer.time <= decision.until else None

    @property
    def throttle(self) -> Decision | None:
        """The decision about how fast the flow may copy; None if the properties say it."""
        decision = self._by_key.get((THROTTLE, None, None))
        return decision if decision is not None and decision.bytes_per_second is not None else None

    @property
    def handed_back(self) -> Decision | None:
        """The decision by which MirrorMaker 2 mirrors the flow again, unless it was taken over since."""
        return self._find_about_flow(HANDED_BACK, HANDED_BACK)

    @property
    def closed(self) -> Decision | None:
        """The decision by which the flow copies nothing since a failover, unless it was reopened since."""
        return self._find_about_flow(CLOSED, CLOSED)

    @property
    def reopened(self) -> Decision | None:
        """The decision by which a flow that was closed copies again."""
        return self._find_about_flow(CLOSED, REOPENED)

    def may_begin_ledger(self, found_id: str | None, gone_id: str | None = None) -> bool:
        """Whether the ledger that is gone (`gone_id`, else the flow's own) may be replaced by the one that stands there now, or by one to
        be created (None)."""
        decision = self._by_key.get((BEGIN_LEDGER, None, None))
        return decision is not None and (decision.ledger_id, decision.found_id) == (gone_id or self.ledger_id, found_id)


NO_DECISIONS = Decisions()


def moment_after(decisions: Decisions, records: Iterable[LedgerRecord], now: datetime) -> datetime:
    """When something is decided: `now`, to the millisecond, but later than all that was decided or acted on before, whatever the clock of
    the decider. A record notes only the newest decision that was acted on, and takes every older one for used up."""
    earlier = [decision.when for decision in decisions.all] + [record.decided.when for record in records if record.decided]
    newest = max(earlier, default=now - timedelta(seconds=1)) + timedelta(milliseconds=1)
    return max(now.replace(microsecond=now.microsecond // 1000 * 1000), newest)


@dataclass(frozen=True)
class Present:
    """What decisions are held against here: the ledger, its topic id, and the clusters that the aliases lead to."""

    records: Mapping[TopicPartition, LedgerRecord]
    ledger_id: str | None
    cluster_ids: Mapping[str, str]


def list_decisions(decisions: Decisions, present: Present) -> list[tuple[Decision, bool]]:
    """Lists the decisions that no newer one replaced, oldest first, each with whether it still counts."""
    in_order = sorted((decision for decision in decisions.all if decision.decision not in NOTES), key=lambda decision: decision.when)
    return [(decision, is_still_in_force(decision, decisions, present)) for decision in in_order]


def is_still_in_force(decision: Decision, decisions: Decisions, present: Present) -> bool:
    """Whether a decision still counts, as far as the ledger shows: a run looks at the clusters too."""
    if decision.decision in (PAUSE, RESUME):
        numbers = (decision.partition,) if decision.partition is not None else (-1,)
        return any(decisions.find_pause(TopicPartition(decision.topic or "", number)) == decision for number in numbers)
    if decision.decision == THROTTLE:
        return decisions.throttle == decision
    if decision.decision == ADOPT_CLUSTER:
        return present.cluster_ids.get(decision.alias or "") == decision.cluster_id
    if decision.decision == BEGIN_LEDGER:
        return decision.ledger_id == (decisions.ledger_id or decision.ledger_id) and decision.found_id == present.ledger_id
    if decision.topic is None or decision.partition is None:
        return True
    if decision not in decisions.select(TopicPartition(decision.topic, decision.partition)):
        return False
    record = present.records.get(TopicPartition(decision.topic, decision.partition))
    if record is None:
        return decision.decision == ACCEPT_RECORDS
    return (record.decided is None or record.decided.when < decision.when) and _is_waiting(decision, record)


def _is_waiting(decision: Decision, record: LedgerRecord) -> bool:
    if decision.decision in (ACCEPT_GAP, RESTART):
        return record.watermark == decision.watermark
    if decision.decision == SKIP_RECORD:
        return record.watermark == decision.offset
    return decision.target_end is not None and record.target_next < decision.target_end
