"""What is found out about a wave: errors that stop it, errors that warn of something, and information. Pure.

A stop or a warning is one of the mirror's errors, so the runbook has a section about it. Information asks for nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kafka_mirror.cutover.wave.selection import Wave, WaveTopics
from kafka_mirror.errors import ErrorReport, MirrorError, PatternMatchesNothing, TopicNotReplicated
from kafka_mirror.errors.words import visible

STOP, WARNING, INFORMATION = "stop", "warning", "information"
"""A stop keeps the wave from moving. A warning names what a person does before or during the move, or loses by it. The rest informs."""
KINDS = (STOP, WARNING, INFORMATION)


@dataclass(frozen=True)
class Finding:
    """One error or one sentence about a wave, and how much it weighs."""

    kind: str
    error: ErrorReport
    group: str | None = None

    @property
    def code(self) -> str:
        """The name of the error's class, or of the information: stable, for programs."""
        return self.error.code

    @property
    def message(self) -> str:
        """What is said."""
        return self.error.message

    @property
    def topic(self) -> str | None:
        """The topic that it is about, if it is about one."""
        return self.error.topic

    def of_flow(self, name: str) -> "Finding":
        """The finding with the flow's name in the commands to run next."""
        return replace(self, error=self.error.of_flow(name))

    def as_document(self) -> dict[str, Any]:
        """The finding as `--json` has it."""
        error = self.error
        where = {"topic": error.topic, "partition": error.partition, "group": self.group}
        what = {"kind": self.kind, "code": error.code, "message": error.message}
        return {**what, **where, "next": error.next, "commands": list(error.commands)}

    def __str__(self) -> str:
        next_step = f" Next: {self.error.next}" if self.error.next else ""
        return visible(f"{self.kind} {self.code}: {self.message}{next_step}", keep="")


def stop(error: MirrorError | ErrorReport, group: str | None = None) -> Finding:
    """A finding that stops the wave. `group`: which one it is about, where the error does not say it."""
    return _make_finding(STOP, error, group)


def warning(error: MirrorError | ErrorReport, group: str | None = None) -> Finding:
    """A finding that a person must know before the move. `group`: which one it is about, where the error does not say it."""
    return _make_finding(WARNING, error, group)


def information(code: str, message: str, *, topic: str | None = None, group: str | None = None) -> Finding:
    """A finding that asks for nothing."""
    return Finding(INFORMATION, ErrorReport(code, message, topic), group)


def read_code(line: str) -> str:
    """The code of a stop or a warning, from its line in a wave's notes; empty for another line."""
    kind, _, rest = line.partition(" ")
    code, colon, _ = rest.partition(": ")
    return code if colon and kind in (STOP, WARNING) and code.isidentifier() else ""


def has_stop(findings: Iterable[Finding]) -> bool:
    """Whether one of them stops the wave."""
    return any(finding.kind == STOP for finding in findings)


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once, stops first."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: KINDS.index(finding.kind)))


def with_flow(findings: Iterable[Finding], name: str) -> tuple[Finding, ...]:
    """The findings with the flow's name in their commands."""
    return tuple(finding.of_flow(name) for finding in findings)


def report_wave_topics(wave: Wave, topics: WaveTopics) -> Iterable[Finding]:
    """What is wrong with the wave's topics themselves."""
    for pattern in topics.unmatched:
        yield stop(PatternMatchesNothing("--topics", pattern, "topic that the source shows"))
    for topic in topics.not_replicated:
        yield stop(TopicNotReplicated(topic, ",".join(wave.topics)))


def _make_finding(kind: str, error: MirrorError | ErrorReport, group: str | None) -> Finding:
    report = error if isinstance(error, ErrorReport) else error.report()
    if not report.next:
        report = report.with_next("Look at the brokers, and ask again.")
    return Finding(kind, report, group if group is not None else getattr(error, "group", None))
