"""Where a consumer group goes on when its source is lost: its newest checkpoint, made better by what the ledger knows now. Pure.

The source cannot be asked any more, so a group stood where its newest checkpoint says (the checkpoint holds the source's offset too). What
the group read after that it reads again. The position is never late. Two answers lie at the first record that the group has not read, or
in front of it, and the later one of them is taken:

- the checkpoint's own position, while the target's log is the one that it was made for;
- what the offset map says of its source offset, while the source's log is the one that the group had read.

A topic that was created again is another log, and so is what a newer leader may have cut off. Where neither answer holds, the group begins
at the beginning.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kafka_mirror.cutover.failover.missing_records import show_moment
from kafka_mirror.cutover.wave.step import Finding, information, stop, warning
from kafka_mirror.errors import GroupFurtherOnTarget, GroupIncomplete, GroupNotExact, GroupWithoutAnswer
from kafka_mirror.errors.words import first_few, show
from kafka_mirror.formats.offsets.holes import EXACT_PLACE
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoint_rules import NotedCheckpoint, StoredCheckpoints, key_of
from kafka_mirror.groups.translation import EARLY, EXACT, INCOMPLETE, NONE, SourceState, TranslatedOffset, generation, no_answer, translate
from kafka_mirror.kafka.model import PartitionLog
from kafka_mirror.ledger.record import LedgerRecord

COMMITTED = "committed"
"""Of a group that stands further on on the target than anything that is known of it on the source: it stays there."""

Place = tuple[str, TopicPartition]
"""A group, and a partition of the target."""
_BEGINNING = TranslatedOffset(EARLY, 0, reason="its checkpoint is of logs that are gone, so it begins again")


@dataclass(frozen=True)
class FailoverPosition:
    """Where one group goes on in one partition of the target, by its newest checkpoint.

    The answer's `reread` counts records that it had read by the time of the checkpoint; all that it read since is among the offsets that
    are `following` the answer on the target.
    """

    noted: NotedCheckpoint
    answer: TranslatedOffset
    following: int = 0
    committed: int | None = None
    """What the group has on the target before anything is committed."""

    @property
    def key(self) -> Place:
        """The group, and the partition of the target."""
        return key_of(self.noted.checkpoint)

    def __str__(self) -> str:
        time, answer, (_, remote) = read_time(self.noted), self.answer, self.key
        place = f"offset {self.noted.checkpoint.upstream:,} of the source" + ("" if time is None else f" at {show_moment(time)}")
        if answer.target is None:
            return f"{remote} has no answer ({answer.reason}), {place}"
        reason = f" ({answer.reason})" if answer.reason and answer.kind == EARLY else ""
        count = "an unknown number of" if answer.reread is None else f"at most {answer.reread:,}"
        again = {EXACT: "exact", COMMITTED: "where it stands already"}.get(
            answer.kind, f"{answer.kind}{reason}, reads again {count} records"
        )
        return f"{remote}@{answer.target}: {again}, for {place}"


def read_time(noted: NotedCheckpoint) -> datetime | None:
    """When the group of a checkpoint was looked at; None if that is unknown."""
    return None if noted.time is None else datetime.fromtimestamp(noted.time / 1000, UTC)


def find_positions(
    checkpoints: StoredCheckpoints,
    records: Mapping[TopicPartition, LedgerRecord],
    logs: Mapping[TopicPartition, PartitionLog],
    committed: Mapping[Place, int],
    shared_ends: Mapping[Place, int],
) -> tuple[FailoverPosition, ...]:
    """The best position of each checkpoint's group and partition, in their order, by the ledger's records, the logs of remote partitions
    and what groups have committed there. `shared_ends`: up to where a remote log is still the one of the leader epoch that the checkpoint
    notes; absent: unknown."""
    by_remote = {TopicPartition(record.target_topic, tp.partition): record for tp, record in records.items()}
    return tuple(
        _find_position(noted, by_remote.get(key[1]), logs.get(key[1]), committed.get(key), shared_ends.get(key))
        for key, noted in sorted(checkpoints.items())
    )


def _find_position(
    noted: NotedCheckpoint, record: LedgerRecord | None, log: PartitionLog | None, committed: int | None, shared_end: int | None
) -> FailoverPosition:
    if log is None or log.log is None:
        return FailoverPosition(noted, no_answer("the target has no such partition, or no leader for it"), committed=committed)
    if record is None:
        answer = _answer_by_checkpoint(noted, find_own_position(noted, log.topic_id, shared_end))
    else:
        answer = choose_answer(noted, record, log.topic_id, shared_end)
    if answer.target is None:
        return FailoverPosition(noted, answer, committed=committed)
    start, end = log.log.start, log.log.end
    target = min(max(answer.target, start), end)
    if target > answer.target:
        said = f"the target's log starts at {start}, so what it had not read in front of that is gone there too"
        answer = replace(answer, kind=INCOMPLETE, reason=said)
    if committed is not None and target < committed <= end:
        answer, target = replace(answer, kind=COMMITTED, reread=None), committed
    return FailoverPosition(noted, replace(answer, target=target), end - target, committed)


def _answer_by_checkpoint(stored: NotedCheckpoint, own: int | None) -> TranslatedOffset:
    """Without a ledger record the checkpoint stands alone: of a topic that the source had from the target, or MirrorMaker 2's."""
    if own is None:
        return _BEGINNING
    is_exact = stored.place == EXACT_PLACE and own == stored.checkpoint.downstream
    return TranslatedOffset(EXACT if is_exact else EARLY, own, reread=0 if is_exact else None)


def find_own_position(stored: NotedCheckpoint, topic_id: str, shared_end: int | None) -> int | None:
    """The checkpoint's own position, if the target's log is the one that it was made for; None if it is another, or unknown.

    It is not late, whatever became of the source: what the group had not read then stands at it or after it, and all that was copied since
    stands further on. Where the target lost records since, others took their places, so it ends at `shared_end`.
    """
    if stored.logs is None:
        return stored.checkpoint.downstream
    if stored.logs.target.topic_id != topic_id or shared_end is None:
        return None
    return min(stored.checkpoint.downstream, shared_end)


def choose_answer(stored: NotedCheckpoint, record: LedgerRecord, topic_id: str, shared_end: int | None) -> TranslatedOffset:
    """The later one of the checkpoint's own position and of what the ledger says of its source offset now, of those that cannot be late.

    The ledger's answer cannot be while all that was copied is of the log that the group had read: of the same topic, and of no newer leader
    epoch, in which the source may have been cut off. `shared_end`: up to where the target's log is still that of the checkpoint's epoch.
    """
    checkpoint = stored.checkpoint
    state = SourceState(record.source_topic_id, max(checkpoint.upstream, record.watermark))
    answer = translate(checkpoint.upstream, record, state, topic_id)
    if answer.target is None:
        return answer
    own = find_own_position(stored, topic_id, shared_end)
    if stored.logs is None:
        return _answer_of_mirrormaker(checkpoint.downstream, answer, record)
    is_same_source = stored.logs.source.is_of(record.source_topic_id, record.leader_epoch)
    if own is None:
        return answer if is_same_source else _BEGINNING
    is_older = stored.generation != generation(record)
    if not is_same_source and (is_older or own < answer.target):
        return TranslatedOffset(EARLY, own)
    is_too_far = answer.at_most is not None and own > answer.at_most
    if is_older or is_too_far or own < answer.target or answer.kind == INCOMPLETE:
        return answer
    if stored.place == EXACT_PLACE:
        return replace(answer, kind=EXACT, target=own, reread=0)
    if answer.reread is None or answer.at_most is None or record.older is not None:
        return replace(answer, target=own)
    return replace(answer, target=own, reread=min(answer.reread, answer.at_most - own))


def _answer_of_mirrormaker(downstream: int, answer: TranslatedOffset, record: LedgerRecord) -> TranslatedOffset:
    """MirrorMaker 2 does not say of which logs its checkpoint is. It is of those that the ledger began with, until a person decides."""
    if record.decided is not None:
        return _BEGINNING
    assert answer.target is not None
    return answer if answer.target <= downstream else TranslatedOffset(EARLY, downstream)


def report_positions(positions: Iterable[FailoverPosition], target: str) -> Iterator[Finding]:
    """What is said of each group: no answer, records missing in front of its position, records that it reads again, what it used there."""
    groups: dict[str, list[FailoverPosition]] = {}
    for position in positions:
        groups.setdefault(position.key[0], []).append(position)
    for name, of_group in sorted(groups.items()):
        yield from _report_group(name, of_group, target)


def _report_group(name: str, positions: list[FailoverPosition], target: str) -> Iterator[Finding]:
    by_kind: dict[str, list[FailoverPosition]] = {}
    for position in positions:
        by_kind.setdefault(position.answer.kind, []).append(position)
    if none := by_kind.get(NONE):
        error = GroupWithoutAnswer(name, len(none), len(positions), first_few(none)).report()
        yield stop(error.with_next("Reset the group there by hand, by the time of the last record that it had read."), name)
    if incomplete := by_kind.get(INCOMPLETE):
        reasons = first_few([f"{position} ({position.answer.reason})" for position in incomplete])
        yield warning(GroupIncomplete(name, target, reasons))
    if early := [position for position in by_kind.get(EARLY, ()) if position.answer.reread != 0]:
        counts = [position.answer.reread for position in early]
        count = "an unknown number of" if None in counts else f"at most {sum(number or 0 for number in counts):,}"
        error = GroupNotExact(name, count, f"{len(early)} of {len(positions)} positions: {first_few(early)}").report()
        yield warning(error.with_next("Let its application pass over what it knows, or take that."), name)
    if there := by_kind.get(COMMITTED):
        error = GroupFurtherOnTarget(name, "checkpoint", first_few(there)).report()
        step = (
            "The mirror never moves a group back. If somebody only tried it there, reset it to its checkpoint before its consumers start."
        )
        yield warning(error.with_next(step), name)
    times = [time for position in positions if (time := read_time(position.noted)) is not None]
    if times:
        following = sum(position.following for position in positions)
        said = (
            f"{show(name)}: its offsets on the source are known as of {show_moment(min(times))} at the oldest. What it read after its "
            f"checkpoints it reads again; {following:,} offsets follow its positions in all."
        )
        yield information("GroupKnownUntil", said, group=name)
