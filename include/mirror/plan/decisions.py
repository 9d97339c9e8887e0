"""The decisions of a flow that count, as its control topic has them: about partitions, about the flow as a whole."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from mirror.formats.control import (
    ACCEPT_RECORDS,
    ADOPT_CLUSTER,
    BEGIN_LEDGER,
    HANDED_BACK,
    LEDGER,
    OF_A_PARTITION,
    PAUSE,
    RESUME,
    TAKE_OWNERSHIP,
    THROTTLE,
    Decision,
)
from mirror.formats.ledger import LedgerRecord
from mirror.offsets.partition import TopicPartition


class Decisions:
    """The decisions of a flow, as its control topic has them."""

    def __init__(self, decisions: Iterable[Decision] = ()) -> None:
        self.all = tuple(decisions)
        self._by_key = {each.key: each for each in self.all}

    @property
    def ledger_id(self) -> str | None:
        """The topic id of the flow's ledger; None if no plan has named one yet."""
        known = self._by_key.get((LEDGER, None, None))
        return known.ledger_id if known else None

    def of(self, tp: TopicPartition) -> tuple[Decision, ...]:
        """What was decided about one partition's offsets, in the order in which it is acted on.

        Of what was decided before the ledger was begun anew only accept-records is left, for it is about the target alone. A new ledger
        does not note what was acted on in the old one, and its watermarks come past the places where those stood.
        """
        begun = self._by_key.get((BEGIN_LEDGER, None, None))
        found = (self._by_key.get((word, tp.topic, tp.partition)) for word in OF_A_PARTITION)
        still = (each for each in found if each is not None)
        return tuple(each for each in still if begun is None or each.decision == ACCEPT_RECORDS or each.when > begun.when)

    def pause(self, tp: TopicPartition) -> Decision | None:
        """The decision by which a partition is paused. Of one about its topic and one about itself the newer counts."""
        found = [each for each in (self._by_key.get((PAUSE, tp.topic, number)) for number in (None, tp.partition)) if each is not None]
        newest = max(found, key=lambda each: each.when, default=None)
        return newest if newest is not None and newest.decision != RESUME else None

    def adopted(self, alias: str, cluster_id: str) -> Decision | None:
        """The decision by which records of another cluster are taken for those of this one."""
        found = self._by_key.get((ADOPT_CLUSTER, alias, None))
        return found if found is not None and found.cluster_id == cluster_id else None

    def ownership(self, installation: str) -> Decision | None:
        """The decision by which this installation may write where another one did."""
        found = self._by_key.get((TAKE_OWNERSHIP, None, None))
        return found if found is not None and found.installation == installation else None

    def lets_in(self, record: LedgerRecord, installation: str) -> Decision | None:
        """The decision by which this installation goes on behind a record of another one: it was written before that was decided."""
        found, writer = self.ownership(installation), record.writer
        if found is None or found.until is None or writer.installation in ("", installation):
            return None
        return found if writer.time <= found.until else None

    @property
    def throttle(self) -> Decision | None:
        """The decision about how fast the flow may copy; None if the properties say it."""
        found = self._by_key.get((THROTTLE, None, None))
        return found if found is not None and found.bytes_per_second is not None else None

    @property
    def handed_back(self) -> Decision | None:
        """The decision by which MirrorMaker 2 mirrors the flow again, unless it was taken over since."""
        found = self._by_key.get((HANDED_BACK, None, None))
        return found if found is not None and found.decision == HANDED_BACK else None

    def begins_ledger(self, found_id: str | None, gone_id: str | None = None) -> bool:
        """Whether the ledger that is gone (`gone_id`, else the flow's own) may be replaced by the one that stands there now, or by one to
        be created (None)."""
        found = self._by_key.get((BEGIN_LEDGER, None, None))
        return found is not None and (found.ledger_id, found.found_id) == (gone_id or self.ledger_id, found_id)


NO_DECISIONS = Decisions()


def moment_after(decisions: Decisions, records: Iterable[LedgerRecord], now: datetime) -> datetime:
    """When something is decided: `now`, to the millisecond, but later than all that was decided or acted on before, whatever the clock of
    whoever did that. A record notes only the newest decision that was acted on, and takes every older one for used up."""
    earlier = [each.when for each in decisions.all] + [record.decided.when for record in records if record.decided]
    newest = max(earlier, default=now - timedelta(seconds=1)) + timedelta(milliseconds=1)
    return max(now.replace(microsecond=now.microsecond // 1000 * 1000), newest)
