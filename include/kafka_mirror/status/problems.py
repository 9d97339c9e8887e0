"""A problem as one check sees it, and the alert that people get of it, which lasts until the problem is over."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kafka_mirror.errors import ErrorReport, NextStep
from kafka_mirror.errors.runbook import link
from kafka_mirror.errors.words import duration, first_lines


@dataclass(frozen=True)
class Alert:
    """One problem of one flow, in words for people and in fields for programs.

    `key` stays the same for as long as the problem lasts, over runs, retries and restarts: `east->west/SourceGap/orders`.
    """

    key: str
    kind: str
    """The code of an error (`SourceGap`), or a kind of the runbook's chapter on alerts (`NoProgress`)."""
    summary: str
    """One sentence, without a line break."""
    detail: str
    """Where, how far, since when: one line each. May be empty."""
    next: str
    """What a person does about it."""
    since: datetime
    """When the problem was first seen."""
    flow: str
    topic: str | None = None
    """The topic of the source; None if the problem is the whole flow's."""
    partition: int | None = None
    """The partition, if the problem has one alone."""
    severity: str = "error"
    """`critical`, `error`, `warning` or `info`; `info` asks for nothing."""
    commands: tuple[str, ...] = ()
    """What in `next` is to be typed, in its order."""

    @property
    def step(self) -> NextStep:
        """The next step with its commands."""
        return NextStep(self.next, self.commands)

    def write_title(self, cleared: bool) -> str:
        """The alert in one line, such as the subject of a mail."""
        over = "over: " if cleared and self.severity != "info" else ""
        return f"{self.flow}: {over}{' '.join(self.summary.split())}"

    def write_text(self, cleared: bool) -> str:
        """The alert in lines, such as the body of a mail."""
        lines = [self.write_title(cleared), ""]
        if not cleared:
            # At its end, what was so when it began would be read as what is so now.
            lines += [self.detail, ""] if self.detail else []
            lines += [f"Next: {self.next}", ""] if self.next else []
            lines += [f"Runbook: {address} in Airflow", ""] if (address := link(self.kind)) else []
        return "\n".join([*lines, f"{self.kind}, since {self.since:%Y-%m-%d %H:%M:%S} UTC ({self.key})"])


def key_of(flow: str, kind: str, what: str | None = None) -> str:
    """The key of a problem: of a flow, or of one thing in it, such as a topic, a cluster or a DAG."""
    return "/".join((flow, kind) if what is None else (flow, kind, what))


SHOWN = 10
"""How many places a message names; how many there are it says as well."""

TOPICS_ALONE = 10
"""With more topics than these, a problem of single topics is one alert of the flow: a hundred messages stay unread."""

MISSED = "DeadlineMissed"
"""The kind of a run that does not end in time."""

Where = tuple[str, int | None]
"""A partition of the source; with None: a topic as a whole."""


@dataclass(frozen=True)
class FlowProblem:
    """`opens`: whether it may become an alert. A problem that follows from another one only keeps an alert open that there is already."""

    kind: str
    summary: str
    detail: str
    next: NextStep
    for_seconds: float
    """For how many seconds it must last before it is an alert."""
    what: str | None = None
    """Which of its kind: a topic, a cluster, a DAG; None: the flow itself."""
    topic: str | None = None
    partition: int | None = None
    opens: bool = True
    severity: str = "error"
    size: float = 1.0
    """How big it is: how many places it has, or how many times what is allowed; 1 at least. Only problems of one key are compared."""
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
            next=self.next.text,
            commands=self.next.commands,
            since=since,
            flow=flow,
            topic=self.topic,
            partition=self.partition,
            severity=self.severity,
        )

    def report(self) -> ErrorReport:
        """The problem as an error, for a command that lists what is wrong."""
        return ErrorReport(self.kind, self.summary, self.topic, self.partition, next=self.next.text, commands=self.next.commands)


def report_late_run(dag_id: str, run_id: str, seconds: int, state: str) -> FlowProblem:
    """A run of a DAG that has not ended within this many seconds.

    Its key is the DAG's: while run after run is late, it is one problem.
    """
    return FlowProblem(
        MISSED,
        f"A run of {dag_id} did not end within {duration(seconds)}.",
        f"Run {run_id}, state {state}.",
        NextStep(
            f"Look at the run in Airflow: which of its tasks waits (for a slot, its pool, a retry) or hangs. {dag_id} begins no other run "
            "before this one has ended; a run that is marked as failed loses nothing."
        ),
        for_seconds=0,
        what=dag_id,
        severity="warning",
    )


@dataclass(frozen=True)
class CheckResult:
    """The problems of one check. `judged` says of a kind whether the absence of its problems means that there are none; not in the places
    that are `unseen`, whatever the kind."""

    problems: tuple[FlowProblem, ...] = ()
    judged: Callable[[str], bool] = lambda _kind: True
    unseen: frozenset[Where] = frozenset()


def shorten_lines(lines: Sequence[str]) -> str:
    """The first lines of a message, and how many more there are."""
    return "\n".join(first_lines(lines, SHOWN))


@dataclass(frozen=True)
class Place:
    """One partition (None: a topic as a whole) that has a problem, and the line that says so."""

    topic: str
    partition: int | None
    line: str


def group_problems(
    kind: str,
    places: Iterable[Place],
    *,
    said: str,
    next: Mapping[str, NextStep] | NextStep,
    patience: float,
    opens: bool = True,
    severity: str,
) -> list[FlowProblem]:
    """One problem for each topic, and one for the flow: with many topics only that one becomes an alert, and it lasts for as long as any
    topic has the problem, so that one that is mended does not make alerts of the rest.

    `said` is the sentence of the summary, in which `{}` stands for the place; `next` is the same for all, or by topic.
    """
    topics: dict[str, list[Place]] = {}
    for place in places:
        topics.setdefault(place.topic, []).append(place)
    many = len(topics) > TOPICS_ALONE

    def advice(topic: str) -> NextStep:
        return next if isinstance(next, NextStep) else next[topic]

    problems = [
        FlowProblem(
            kind,
            said.format(_name_places(topic, of_topic)),
            shorten_lines([place.line for place in of_topic]),
            advice(topic),
            patience,
            what=topic,
            topic=topic,
            partition=of_topic[0].partition if len(of_topic) == 1 else None,
            opens=opens and not many,
            severity=severity,
            size=len(of_topic),
            shared=True,
            places=frozenset((place.topic, place.partition) for place in of_topic),
        )
        for topic, of_topic in sorted(topics.items())
    ]
    if topics:
        first, lines = min(topics), [place.line for _, of_topic in sorted(topics.items()) for place in of_topic]
        where = f"{len(topics):,} topics" if len(topics) > 1 else _name_places(first, topics[first])
        alone = FlowProblem(kind, said.format(where), shorten_lines(lines), advice(first), patience, severity=severity)
        everywhere = frozenset[Where]().union(*(problem.places for problem in problems))
        problems.append(replace(alone, opens=opens and many, size=len(topics), places=everywhere))
    return problems


def _name_places(topic: str, places: Sequence[Place]) -> str:
    if len(places) > 1:
        return f"{len(places):,} partitions of {topic}"
    return topic if places[0].partition is None else f"{topic}-{places[0].partition}"
