"""Puts groups of a wave on their positions while the wave is this run's, so that a run which another one replaced changes none of them.

All positions are committed in a transaction of those who write the control topic. Whoever takes the wave writes there, and with that the
transaction of the run that had it is fenced by the broker, wherever that run stands still.
"""

import random
import time
from collections.abc import Iterator, Mapping

from kafka_mirror.cutover.wave.step import PositionsTransaction, WaveNotes
from kafka_mirror.errors import DecidedMeanwhile, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_commit import positions_on
from kafka_mirror.groups.group_move import Positions, is_same
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.group_members import describe_groups
from kafka_mirror.kafka.group_transaction import Wanted
from kafka_mirror.kafka.groups import Groups
from kafka_mirror.kafka.model import Committed
from kafka_mirror.kafka.transactions import Fenced

_AT_ONCE = 200
"""Groups in one transaction, which is open for some round trips each."""
_PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0)
"""How long to wait before a transaction that others fenced is begun anew: they decided something, and the wave may still be ours."""

Expected = Mapping[str, Mapping[TopicPartition, int | None]]
"""The offsets at which groups stood when it was decided where they go; None: they had no position there."""
Reasons = dict[str, list[str]]


def place_groups(notes: WaveNotes, target: Cluster, groups: Groups, wanted: Wanted, expected: Expected) -> Reasons:
    """Commits where groups shall stand; gives what was refused, in words, by group. A group that has members, or stands elsewhere than was
    expected, stays as it is. Raises WaveRunElsewhere once another run has the wave: then nothing of the group was changed."""
    names = sorted(name for name, positions in wanted.items() if positions)
    reasons: Reasons = {}
    for first in range(0, len(names), _AT_ONCE):
        reasons |= _Placement(target, groups, expected).place(notes, {name: wanted[name] for name in names[first : first + _AT_ONCE]})
    return reasons


class _Placement:
    def __init__(self, target: Cluster, groups: Groups, expected: Expected) -> None:
        self._target = target
        self._groups = groups
        self._expected = expected
        self._reasons: Reasons = {}

    def place(self, notes: WaveNotes, wanted: Wanted) -> Reasons:
        """Begins anew without the groups that turn out to be in use, and where somebody decided anything meanwhile."""
        fenced, pauses = Fenced(), list(_PAUSES)
        while pauses:
            wanted = {name: positions for name, positions in wanted.items() if name not in self._reasons}
            if not wanted:
                return self._reasons
            try:
                if self._commit(notes.begin(), wanted):
                    return self._reasons
            except Fenced as other:
                fenced = other
                time.sleep(pauses.pop(0) * random.random())  # noqa: S311 — two that began together shall not do so again
        raise DecidedMeanwhile("the control topic") from fenced

    def _commit(self, transaction: PositionsTransaction, wanted: Wanted) -> bool:
        """Whether they are committed; if not, it is noted which groups are in use."""
        try:
            errors: dict[str, MirrorError] = {}
            refused = transaction.add(wanted, errors)
            used = self._used(wanted)
            if used:
                transaction.abort()
                self._reasons |= used
                return False
            transaction.commit()
        except BaseException:
            transaction.abort()
            raise
        for name, of_group in refused.items():
            self._reasons |= {name: [f"{tp} ({why})" for tp, why in sorted(of_group.items())]} if of_group else {}
        self._reasons |= {name: [error.message] for name, error in errors.items()}
        self._reasons |= {name: [f"{why}; they may have begun where it stood before"] for name, (why,) in self._members(wanted).items()}
        return True

    def _used(self, wanted: Wanted) -> Reasons:
        """Groups that have members, or that somebody else moved. Looked at behind the commit and in front of the end of the transaction:
        members that come in between wait for its end before they read."""
        moved = {}
        for name, there in positions_on(self._groups, wanted).items():
            places = list(self._elsewhere(name, wanted[name], there))
            if places:
                moved[name] = [f"moved meanwhile by somebody else: {', '.join(places)}"]
        return moved | self._members(wanted)

    def _elsewhere(self, name: str, wanted: Mapping[TopicPartition, Committed | None], there: Positions) -> Iterator[str]:
        """Where a group stands neither where it was expected nor where it shall stand: an earlier commit may have ended well unheard."""
        for tp, aim in sorted(wanted.items(), key=lambda pair: pair[0]):
            offset = there[tp].offset if tp in there else None
            if offset != self._expected[name].get(tp) and not is_same(there.get(tp), aim):
                yield f"{tp}@{'nothing' if offset is None else offset}"

    def _members(self, wanted: Wanted) -> Reasons:
        refused: dict[str, MirrorError] = {}
        described = describe_groups(self._target, wanted, refused)
        return {
            **{name: [f"it has {len(group.members)} members"] for name, group in described.items() if group.members},
            **{name: [error.message] for name, error in refused.items()},
        }
