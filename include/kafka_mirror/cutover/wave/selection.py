"""A wave: the topics and the consumer groups that move together, and what its patterns take of a cluster's names. Pure."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from kafka_mirror.policy import TopicSelection
from kafka_mirror.policy.java_regex import compile_java
from kafka_mirror.policy.replication import is_ledger_or_control_topic


@dataclass(frozen=True)
class Wave:
    """What a person asks to move. Patterns are Java's, as in the properties `topics` and `groups`, and each has to match a whole name.

    Without `groups` every group moves that has a position in a topic of the wave. `max_lag`: how many records a partition may be behind.
    """

    topics: tuple[str, ...]
    groups: tuple[str, ...] = ()
    max_lag: int | None = None


@dataclass(frozen=True)
class WaveTopics:
    """What the patterns take: topics to move, topics that the flow does not replicate, and patterns that match nothing."""

    names: tuple[str, ...]
    not_replicated: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()


def parse_patterns(text: str) -> tuple[str, ...]:
    """The patterns between the commas of a text. Raises ValueError for one that is no Java pattern, and where there is none."""
    members = tuple(filter(None, (member.strip() for member in text.split(","))))
    if not members:
        raise ValueError("it names no pattern")
    for member in members:
        try:
            compile_java(member)
        except ValueError as error:
            raise ValueError(f"{member!r} is no Java regular expression: {error}") from None
    return members


def match_names(members: Sequence[str], names: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The names that a pattern takes, and the patterns that take none."""
    names = tuple(names)
    by_member = {member: frozenset(filter(compile_java(member).matches, names)) for member in members}
    return frozenset[str]().union(*by_member.values()), tuple(member for member, taken in by_member.items() if not taken)


def select_topics(wave: Wave, names: Collection[str], selection: TopicSelection) -> WaveTopics:
    """What the wave takes of the source's topics.

    Topics of the mirrors themselves, heartbeats, and what the source has from the target stay where they are, whatever the patterns say.
    """
    policy = selection.policy
    movable = [
        name
        for name in names
        if not (is_ledger_or_control_topic(name) or policy.is_internal_topic(name) or policy.is_heartbeats_topic(name))
        and selection.from_target(name) is None
    ]
    taken, unmatched = match_names(wave.topics, movable)
    replicated = {name for name in taken if selection.should_replicate(name)}
    return WaveTopics(tuple(sorted(replicated)), tuple(sorted(taken - replicated)), unmatched)
