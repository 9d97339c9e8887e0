"""What consumer groups say against a wave: positions without an exact answer, members, topics that the wave leaves behind. Pure."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kafka_mirror.cutover.findings import Finding, information, stop, warning
from kafka_mirror.errors.display import show
from kafka_mirror.errors.next_step import Command, Part, of_the_flow
from kafka_mirror.errors.words import count_text, first_few
from kafka_mirror.kafka.model import GroupMember
from kafka_mirror.offsets.partition import TopicPartition
from kafka_mirror.translation.translate import EARLY, EXACT, TranslatedOffset

LEFT_BEHIND = (
    "A member that was killed, or whose broker was when it left, counts until its session ends (45 s by default). One that nobody runs and "
    "that stays longer is known to its broker alone, as seen of Kafka 4.3 after a crash: restart the broker that coordinates the group."
)
"""Which members end without anybody's doing, and how those end that do not."""
STOP_MEMBERS = f"Stop them until the wave is open. {LEFT_BEHIND}"
"""What to do about members of a group on the target."""


@dataclass(frozen=True)
class WavePosition:
    """What a group committed for a partition, where it would go on on the target, and what it has committed there."""

    topic: str
    partition: int
    offset: int
    answer: TranslatedOffset
    target_offset: int | None = None
    remote_topic: str = ""
    metadata: str = ""
    """What the group committed beside the position."""

    @property
    def remote(self) -> TopicPartition:
        """The partition on the target where the group would go on."""
        return TopicPartition(self.remote_topic, self.partition)

    @property
    def is_exact(self) -> bool:
        """Whether the group would miss nothing and read nothing again."""
        return self.answer.kind == EXACT or (self.answer.kind == EARLY and self.answer.reread == 0)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"


@dataclass(frozen=True)
class WaveGroup:
    """One group of a wave as both clusters show it. `outside` are topics of the source on which it has positions and which stay."""

    name: str
    positions: tuple[WavePosition, ...]
    outside: tuple[str, ...] = ()
    members: tuple[GroupMember, ...] = ()
    target_members: tuple[GroupMember, ...] = ()
    has_checkpoints: bool = True
    """Whether the flow's property `groups` takes it."""
    left_out: tuple[str, ...] = ()
    """Topics with positions of it that the source has from the target, and that the flow's property `topics` leaves out."""
    unstable: tuple[TopicPartition, ...] = ()
    """Where a transaction that is still open commits offsets for it."""
    is_streams: bool = False
    """Whether it is a group of Kafka Streams' own protocol."""

    @property
    def label(self) -> str:
        """Its name in messages."""
        return show(self.name)

    @property
    def unanswered(self) -> tuple[WavePosition, ...]:
        """Positions for which there is none on the target, or one behind which records are missing."""
        return tuple(position for position in self.positions if position.answer.kind not in (EXACT, EARLY))

    @property
    def early(self) -> tuple[WavePosition, ...]:
        """Positions from which it would read records again."""
        return tuple(position for position in self.positions if position.answer.kind == EARLY and not position.is_exact)

    @property
    def reread(self) -> int | None:
        """How many records it would read again, at most; None if nobody knows."""
        counts = [position.answer.reread for position in self.early]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def ahead(self) -> int:
        """Offsets that it has read and that the copy has yet to bring."""
        return sum(position.answer.ahead for position in self.positions)


@dataclass(frozen=True)
class WaveGroups:
    """The groups of a wave, patterns that match none, the share groups of the source that `--groups` takes, and groups that it leaves out
    though they have positions on the wave's topics. Of the `doubtful` the source is too old to tell whether an open transaction commits."""

    groups: tuple[WaveGroup, ...] = ()
    unmatched: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()


def group_findings(wave_groups: WaveGroups, source: str, target: str) -> Iterator[Finding]:
    """What is said of all groups of a wave."""
    for pattern in wave_groups.unmatched:
        said = f"--groups {show(pattern)} matches no consumer group with a position in a topic of the wave."
        yield stop("pattern-matches-nothing", said, "Name groups as ", of_the_flow("refresh-groups"), " lists them.")
    if wave_groups.shares:
        names = first_few(list(map(show, wave_groups.shares)))
        said = f"Share groups of {source} have no positions that could be moved, and may read topics of the wave: {names}."
        look = Command(f"kafka-share-groups.sh --bootstrap-server <source> --describe --group {shlex.quote(wave_groups.shares[0])}")
        yield warning("group-of-another-kind", said, "See which topics each of them reads: ", look, ". Move their applications by hand.")
    if wave_groups.left_out:
        names = first_few(list(map(show, wave_groups.left_out)))
        said = f"--groups leaves out groups with positions in topics of the wave, which are not moved: {names}."
        yield warning("groups-left-out", said, "Take them into --groups unless nobody uses them any more.")
    if wave_groups.doubtful:
        names = first_few(list(map(show, wave_groups.doubtful)))
        said = f"A transaction is open that may commit offsets of {names}. {source} is older than Kafka 2.5 and does not tell."
        step = "Stop the applications that commit offsets in transactions, and let these end, before the positions are moved."
        yield warning("group-stability-untold", said, step)
    if not wave_groups.groups and not wave_groups.unmatched:
        yield information("no-groups", "No consumer group has a position in a topic of the wave.")
    for group in wave_groups.groups:
        yield from _positions(group)
        yield from _members(group, source, target)
        yield from _topics(group)


def _positions(group: WaveGroup) -> Iterator[Finding]:
    total = len(group.positions)
    translate = of_the_flow("translate", f"--group {shlex.quote(group.name)}")
    if group.unanswered:
        reasons = first_few([f"{position} ({position.answer.reason or position.answer.kind})" for position in group.unanswered])
        said = f"{group.label}: {len(group.unanswered)} of {total} positions have no answer on the target, or records missing: {reasons}."
        yield stop("group-without-answer", said, translate, " shows each; mend what it names, or reset the group.", group=group.name)
    if group.early:
        count = "an unknown number of" if group.reread is None else f"at most {group.reread:,}"
        said = f"{group.label}: it would read {count} records again, from {len(group.early)} of {total} positions."
        step = (
            "Let it read on until it is near the end, or raise mirror.translation.count.max.bytes; ",
            translate,
            " says why it is not exact.",
        )
        yield stop("group-not-exact", said, *step, group=group.name)
    if group.ahead:
        said = f"{group.label}: it has read {group.ahead:,} offsets that the copy has yet to bring; the last copy brings them."
        yield information("group-ahead-of-copy", said, group=group.name)
    further = [
        position
        for position in group.positions
        if position.target_offset is not None and position.answer.target is not None and position.target_offset > position.answer.target
    ]
    if further:
        said = f"{group.label}: on the target it stands behind its translated position in {first_few(further)}, so it was used there."
        step = "group-offsets never moves a group back: delete it on the target, or reset it there by what ", translate, " says."
        yield warning("group-further-on-target", said, *step, group=group.name)


def _members(group: WaveGroup, source: str, target: str) -> Iterator[Finding]:
    if group.members:
        said = f"{group.label}: it has {_people(group.members)} on {source}."
        yield warning("group-active", said, "Stop them behind the write fence, before its positions are moved.", group=group.name)
    if group.unstable:
        yield warning("group-unstable", _unstable(group), "It has to end before the positions are moved.", group=group.name)
    if group.target_members:
        said = f"{group.label}: it has {_people(group.target_members)} on {target}, so no position can be committed there."
        yield stop("group-active-on-target", said, STOP_MEMBERS, group=group.name)


def _topics(group: WaveGroup) -> Iterator[Finding]:
    if group.outside:
        said = f"{group.label}: it also has positions in topics that stay behind: {first_few(group.outside)}."
        step: tuple[Part, ...] = (
            "Take them into --topics; if it reads them no more, delete its positions there: ",
            Command(f"kafka-consumer-groups.sh --delete-offsets --group {shlex.quote(group.name)} --topic {shlex.quote(group.outside[0])}"),
            ".",
        )
        if not group.name:
            step = ("Take them into --topics, or leave it out with --groups '.+': Kafka deletes no positions of a group without a name.",)
        yield stop("group-split", said, *step, group=group.name)
    if group.left_out:
        topics = first_few(group.left_out)
        said = f"{group.label}: it has positions in topics from the target that the flow's property topics leaves out: {topics}."
        upstream = "Take them into topics: then it goes on in the topics that they are copies of. Or delete its positions there."
        yield stop("group-topic-left-out", said, upstream, group=group.name)
    if group.is_streams:
        said = f"{group.label}: it is a streams group, for which no checkpoints are written; a failover would find no position."
        state = "Take the internal topics of its application into the wave, if its state is to move with it."
        yield warning("group-without-checkpoints", said, state, group=group.name)
    elif not group.has_checkpoints:
        said = f"{group.label}: the flow's property groups leaves it out, so no checkpoints are written for it."
        step = "Take it into groups, and run ", of_the_flow("checkpoints"), "; a failover in between would find no position."
        yield warning("group-without-checkpoints", said, *step, group=group.name)


def unstable_group(group: WaveGroup) -> Finding:
    """A stop for a group for which an open transaction still commits offsets."""
    step = (
        "Let its producer commit or abort it; it ends by itself after its transaction.timeout.ms. Brokers of Kafka 3.0 or newer tell who "
        "holds it: ",
        Command("kafka-transactions.sh --bootstrap-server <source> list"),
        ". Then run the wave again.",
    )
    return stop("group-unstable", _unstable(group), *step, group=group.name)


def _unstable(group: WaveGroup) -> str:
    return f"{group.label}: a transaction that is still open commits offsets for it in {first_few(group.unstable)}."


def _people(members: Sequence[GroupMember]) -> str:
    return f"{count_text(len(members), 'member')} ({first_few(members)})"
