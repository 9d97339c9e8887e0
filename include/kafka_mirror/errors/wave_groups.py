"""What is found out about the consumer groups of a wave. A finding stops the wave, or warns of what a person has to know."""

import shlex
from collections.abc import Sequence

from kafka_mirror.errors.base import DeclaredError, GroupError
from kafka_mirror.errors.next_step import Command, Part

LEFT_BEHIND = (
    "A member that was killed, or whose broker was when it left, counts until its session ends (45 s by default). One that does not run "
    "and stays longer is known to its broker alone, as seen of Kafka 4.3 after a crash: restart the broker that coordinates the group."
)
"""Which members end without anybody's doing, and how those end that do not."""


class NoCheckpoints(DeclaredError):
    """A flow with consumer groups in a wave writes no checkpoints, so a failover in the middle of it would find no position."""

    flow: str
    target: str
    text = (
        "{flow} writes no checkpoints (emit.checkpoints.enabled=false), so groups have no position on {target} if it comes to a failover "
        "in the middle of the wave."
    )
    next_text = "Set `emit.checkpoints.enabled=true`, unpause the DAG of checkpoints, and let it run once."


class GroupOffsetsBySchedule(DeclaredError):
    """The flow commits translated positions by schedule, also for groups that were taken back after a move."""

    flow: str
    target: str
    dag: str
    text = (
        "{flow} commits translated positions on {target} by schedule (sync.group.offsets.enabled=true), also for groups that were taken "
        "back after a move."
    )
    next_text = "Pause the DAG `{dag}` from the write fence until the wave is open or taken back."


class NoGroups(DeclaredError):
    """No consumer group has a checkpoint in a topic of a failover's wave."""

    checkpoints: str
    text = "No consumer group has a checkpoint in a topic of the wave, in {checkpoints}."
    lost = "No, but it is unknown where groups stood."
    next_text = "Reset groups on the target by hand, by the time of the last record that they had read."


class GroupsLeftOut(DeclaredError):
    """`--groups` leaves out consumer groups that have positions in topics of the wave."""

    groups: str
    text = "--groups leaves out groups with positions in topics of the wave, which are not moved: {groups}."
    next_text = "Take them into `--groups` unless they are no longer in use."


class GroupOfAnotherKind(DeclaredError):
    """Share groups have no positions that could be moved, and Kafka does not tell cheaply which topics they read."""

    cluster: str
    groups: str
    first: str
    text = "Share groups of {cluster} have no positions that could be moved, and may read topics of the wave: {groups}."
    next_text = (
        "See which topics each of them reads: {shell:kafka-share-groups.sh --bootstrap-server <source> --describe --group {first!q}}. Move "
        "their applications by hand."
    )
    do = "See which topics each of them reads, and move their applications by hand."


class GroupStabilityUntold(DeclaredError):
    """A transaction is open that may commit offsets of groups, and brokers older than Kafka 2.5 do not tell."""

    groups: str
    cluster: str
    text = "A transaction is open that may commit offsets of {groups}. {cluster} is older than Kafka 2.5 and does not tell."
    next_text = "Stop the applications that commit offsets in transactions, and let these end, before the positions are moved."


class GroupWithoutAnswer(GroupError):
    """Positions of a group have no answer on the target, or records are missing there after them."""

    count: int
    total: int
    reasons: str
    text = "{group!r}: {count} of {total} positions have no answer on the target, or records missing: {reasons}."
    next_text = "{mirror:translate --flow '<flow>' --group {group!q}} shows each; mend what it names, or reset the group."
    do = "Mend what `translate` names, or reset the group there by hand. In a failover, by the time of the last record that it had read."


class GroupNotExact(GroupError):
    """A group would read records again that it has read."""

    records: str
    positions: str
    text = "{group!r}: it reads {records} records again, from {positions}."
    next_text = (
        "Let it read on until it is near the end, or raise `mirror.translation.count.max.bytes`; "
        "{mirror:translate --flow '<flow>' --group {group!q}} says why it is not exact."
    )
    more = "In a failover it is a warning: let its application pass over what it knows."


class GroupFurtherOnTarget(GroupError):
    """On the target a group is already ahead of its translated position, or of its checkpoint: somebody used it there."""

    translated: str
    places: str
    text = "{group!r}: on the target it is already ahead of its {translated} in {places}, so it was used there."
    next_text = (
        "group-offsets never moves a group back: delete it on the target, or reset it there by what "
        "{mirror:translate --flow '<flow>' --group {group!q}} says."
    )
    do = "If somebody only tried it there, delete the group on the target, or reset it there by what `translate` says."


class GroupActive(GroupError):
    """A group has members on the source, or where a roll back would move it."""

    members: str
    cluster: str
    text = "{group!r}: it has {members} on {cluster}."
    next_text = f"Stop them before its positions are moved. {LEFT_BEHIND} Then run the wave again."
    do = "Stop its members before the positions are moved. One that was killed counts until its session ends."
    more = "The preflight warns of it, and `move-groups` waits."


class GroupActiveOnTarget(GroupError):
    """A group has members on the target, so no position can be committed there."""

    members: str
    cluster: str
    text = "{group!r}: it has {members} on {cluster}, so no position can be committed there."
    next_text = f"Stop them until the wave is open. {LEFT_BEHIND}"
    do = "Stop its members there until the wave is open. One that was killed counts until its session ends."


class GroupUnstable(GroupError):
    """A transaction that is still open commits offsets of a group."""

    places: str
    text = "{group!r}: a transaction that is still open commits offsets for it in {places}."
    next_text = (
        "Let its producer commit or abort it before the positions are moved; it ends by itself after its `transaction.timeout.ms`. Brokers "
        "of Kafka 3.0 or newer tell who holds it: {shell:kafka-transactions.sh --bootstrap-server <source> list}. Then run the wave again."
    )


class GroupSplit(GroupError):
    """A group also has positions in topics that stay on the source."""

    topics: Sequence[str]
    text = "{group!r}: it also has positions in topics that stay on the source: {topics}."
    do = "Take these topics into the wave. If the group reads them no more, delete its positions there."

    def _advise(self) -> Sequence[Part]:
        if not self.group:
            return ("Take them into --topics, or leave it out with --groups '.+': Kafka deletes no positions of a group without a name.",)
        where = f"--group {shlex.quote(self.group)} --topic {shlex.quote(self.topics[0])}"
        delete = Command(f"kafka-consumer-groups.sh --delete-offsets {where}")
        return "Take them into --topics; if it reads them no more, delete its positions there: ", delete, "."


class GroupTopicLeftOut(GroupError):
    """A group has positions in topics that the source has from the target, and the flow's property `topics` leaves these out."""

    topics: Sequence[str]
    text = "{group!r}: it has positions in topics from the target that the flow's property topics leaves out: {topics}."
    next_text = "Take them into `topics`: then it goes on in the topics that they are copies of. Or delete its positions there."


class GroupWithoutCheckpoints(GroupError):
    """No checkpoints are written for a group, so a failover in the middle of the wave would find no position of it."""

    is_streams: bool
    do = "Take the group into the property `groups`, and run `checkpoints`. A streams group has none: it moves all the same."

    def _describe(self) -> str:
        why = "it is a streams group" if self.is_streams else "the flow's property groups leaves it out"
        return "".join(map(str, self._fill(f"{{group!r}}: {why}, so no checkpoints are written for it.")))

    def _advise(self) -> Sequence[Part]:
        if self.is_streams:
            return ("Take the internal topics of its application into the wave, if its state is to move with it.",)
        step = "Take it into groups, and run {mirror:checkpoints --flow '<flow>'}; a failover in between would find no position."
        return tuple(self._fill(step))


class GroupAheadOfCopy(GroupError):
    """A group has read what the copy has yet to bring, so it would read that again."""

    offsets: int
    text = "{group!r}: it has read {offsets:,} offsets that the copy has yet to bring, so it would read them again."
    next_text = "{mirror:copy --flow '<flow>'}. Then run the wave again."
    do = "Let the flow copy, and run the wave again."


class GroupRecordsGone(GroupError):
    """Records that a group has not read are gone from the target, and are not from the source."""

    places: str
    target: str
    text = "{group!r}: records that it has not read are gone from {target}, and are not from the source: {places}."
    next_text = (
        "Let it read them on the source, or raise the remote topics' retention before they are copied again. Then run the wave again."
    )
    lost = "On the target: its retention took them. The source has them."


class GroupGoesBack(GroupError):
    """On the target a group was further on than it is on the source, and the move puts it back."""

    places: str
    target: str
    text = "{group!r}: it was further on on {target}, and goes back to where it is on the source: {places}."
    next_text = "What was there is noted; a roll back puts it back."


class GroupWithoutPosition(GroupError):
    """A group has no position in some partitions of its topics, so none is committed there."""

    partitions: str
    text = "{group!r}: it has no position in {partitions}, so none is committed there."
    next_text = "On the target its auto.offset.reset counts there, as on the source: latest skips what was copied."
    do = "See what `auto.offset.reset` its application has: `latest` skips what was copied."


class GroupUsedOnTarget(GroupError):
    """Somebody used or reset a group on the target since the wave noted it. Nothing of it was changed."""

    places: str
    topic: str
    cluster: str
    text = "{group!r}: since the wave noted it, somebody else moved it on {cluster}: {places}. Nothing of it was changed."
    next_text = (
        "Find out who reads with it there. If its position there is not wanted, delete it: "
        "{shell:kafka-consumer-groups.sh --delete-offsets --group {group!q} --topic {topic!q}}. Then run the wave again."
    )
    more = "In a roll back it is a warning: what the wave did not commit stays."


class GroupReadOn(GroupError):
    """A group read on from the source after its positions were read there, so what was committed for it is out of date."""

    places: str
    cluster: str
    text = "{group!r}: it committed on {cluster} after its positions were read, so what was committed for it is out of date: {places}."
    next_text = "Stop its members. Then run the wave again."


class GroupNotMoved(GroupError):
    """The target refused positions of a group, or shows others than those that were committed."""

    reasons: str
    cluster: str
    text = "{group!r}: not all its positions stand on {cluster}: {reasons}."
    next_text = "Look at the group there, and stop its members. Then run the wave again."


class GroupNotTakenBack(GroupError):
    """A roll back could not put back all positions of a group."""

    reasons: str
    cluster: str
    wave: str
    text = "{group!r}: not all its positions on {cluster} could be put back: {reasons}."
    next_text = "Mend that; then {mirror:cutover rollback --flow '<flow>' --wave {wave!q}} again."
