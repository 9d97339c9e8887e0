"""A problem as one check sees it, before it is decided whether anybody is told."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mirror.alerts.model import Alert, key_of

SHOWN = 10
"""How many places a message names; how many there are it says as well."""

TOPICS_ALONE = 10
"""With more topics than these, a problem of single topics is one alert of the flow: nobody reads a hundred messages."""


Where = tuple[str, int | None]
"""A partition of the source; with None: a topic as a whole."""


@dataclass(frozen=True)
class Problem:
    """`opens`: whether it may become an alert. A problem that follows from another one only keeps an alert open that there is already."""

    kind: str
    summary: str
    detail: str
    next: str
    patience: float
    """For how many seconds it must last before it is an alert."""
    what: str | None = None
    """Which of its kind: a topic, a cluster, a DAG; None: the flow itself."""
    topic: str | None = None
    partition: int | None = None
    opens: bool = True
    severity: str = "error"
    told_elsewhere: bool = False
    """Whether its beginning is told by others, so that only its end is left to tell."""
    size: float = 1.0
    """How big it is: so many places, or so many times what is allowed; 1 at least. Only problems of one key are compared."""
    shared: bool = False
    """Whether an alert of the flow of the same kind, if one is open, tells of this problem too."""
    places: frozenset[Where] = frozenset()
    """Where it is; empty: it is in no single place."""

    def key(self, flow: str) -> str:
        """The key of its alert."""
        return key_of(flow, self.kind, self.what)

    def alert(self, flow: str, since: datetime) -> Alert:
        """The alert that it is, or would be."""
        return Alert(
            key=self.key(flow),
            kind=self.kind,
            summary=self.summary,
            detail=self.detail,
            next=self.next,
            since=since,
            flow=flow,
            topic=self.topic,
            partition=self.partition,
            severity=self.severity,
        )


@dataclass(frozen=True)
class Judgement:
    """The problems of one check. `judged` says of a kind whether the absence of its problems means that there are none; not in the places
    that are `unseen`, whatever the kind."""

    problems: tuple[Problem, ...] = ()
    judged: Callable[[str], bool] = lambda _kind: True
    unseen: frozenset[Where] = frozenset()


def listed(lines: Sequence[str]) -> str:
    """The first of the lines, and how many more there are."""
    more = [f"… and {len(lines) - SHOWN:,} more"] if len(lines) > SHOWN else []
    return "\n".join([*lines[:SHOWN], *more])


@dataclass(frozen=True)
class Place:
    """One partition (None: a topic as a whole) that has a problem, and the line that says so."""

    topic: str
    partition: int | None
    line: str


def by_topic(
    kind: str, places: Iterable[Place], *, said: str, next: Mapping[str, str] | str, patience: float, opens: bool = True, severity: str
) -> list[Problem]:
    """One problem for each topic, and one for the flow: with many topics only that one becomes an alert, and it lasts for as long as any
    topic has the problem, so that one that is mended does not make alerts of the rest.

    `said` is the sentence of the summary, in which `{}` stands for the place; `next` is the same for all, or by topic.
    """
    topics: dict[str, list[Place]] = {}
    for place in places:
        topics.setdefault(place.topic, []).append(place)
    many = len(topics) > TOPICS_ALONE

    def advice(topic: str) -> str:
        return next if isinstance(next, str) else next[topic]

    problems = [
        Problem(
            kind,
            said.format(_where(topic, found)),
            listed([place.line for place in found]),
            advice(topic),
            patience,
            what=topic,
            topic=topic,
            partition=found[0].partition if len(found) == 1 else None,
            opens=opens and not many,
            severity=severity,
            size=len(found),
            shared=True,
            places=frozenset((place.topic, place.partition) for place in found),
        )
        for topic, found in sorted(topics.items())
    ]
    if topics:
        first, lines = min(topics), [place.line for _, found in sorted(topics.items()) for place in found]
        where = f"{len(topics):,} topics" if len(topics) > 1 else _where(first, topics[first])
        alone = Problem(kind, said.format(where), listed(lines), advice(first), patience, severity=severity)
        everywhere = frozenset[Where]().union(*(each.places for each in problems))
        problems.append(replace(alone, opens=opens and many, size=len(topics), places=everywhere))
    return problems


def _where(topic: str, found: Sequence[Place]) -> str:
    if len(found) > 1:
        return f"{len(found):,} partitions of {topic}"
    return topic if found[0].partition is None else f"{topic}-{found[0].partition}"
