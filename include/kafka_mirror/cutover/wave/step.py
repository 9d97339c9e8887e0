"""The steps of a cutover in their order, how each runs, what it answers, and what it finds out about a wave. Pure.

A finding is an error that stops the wave, an error that warns of something, or information, which asks for nothing. The errors are the
mirror's own, so the runbook has a section about each.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_mirror.cutover.wave.selection import Wave, WaveTopics
from kafka_mirror.errors import ErrorReport, MirrorError, PatternMatchesNothing, TopicNotReplicated
from kafka_mirror.errors.words import visible

PREFLIGHT, CATCH_UP, FENCE, LAST_COPY = "preflight", "catch-up", "fence", "last-copy"
AUDIT_GATE, MOVE_GROUPS, OPEN = "audit-gate", "move-groups", "open"
STEPS = (PREFLIGHT, CATCH_UP, FENCE, LAST_COPY, AUDIT_GATE, MOVE_GROUPS, OPEN)
"""A planned wave's, in the order in which they run."""
FAILOVER_STEPS = (PREFLIGHT, MOVE_GROUPS, OPEN)
"""Those of a wave whose source is lost: no producer can be fenced there, and nothing copied."""

PLANNED, FAILOVER = "planned", "failover"
MODES = (PLANNED, FAILOVER)
"""A planned move of both clusters that serve, or one away from a source that is lost, or that a person declares lost."""

BY_HAND, BY_ACL, BY_CHECK = "hand", "acl", "read-only-check"
FENCES = (BY_HAND, BY_ACL, BY_CHECK)
"""Who keeps producers from the wave's source topics: people, for whom the step waits; a DENY of WRITE that the mirror sets; or neither, and
the step looks only once."""


def list_steps(mode: str) -> tuple[str, ...]:
    """The steps of a wave of this mode, in their order."""
    return FAILOVER_STEPS if mode == FAILOVER else STEPS


# ------------------------------------------------------------ findings


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
    return tuple(replace(finding, error=finding.error.with_flow(name)) for finding in findings)


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


# ------------------------------------------------------------ what a step answers


DONE, WAITING, STOPPED = "done", "waiting", "stopped"
"""How a step ended: it is done; it waits for people or for the clusters, and is run again as it is; or a person must act first."""
_IN_A_DRY_RUN = {DONE: "would do", WAITING: "would wait", STOPPED: "would stop"}


def show_state(state: str, dry_run: bool) -> str:
    """The state as people read it: a dry run did nothing."""
    return _IN_A_DRY_RUN[state] if dry_run else state


@dataclass(frozen=True)
class StepOutcome:
    """What a step of a cutover did.

    `facts` is what the wave's record keeps of it, as JSON takes it: what a roll back takes back, and what the report says. They stand in
    the place of what the step noted while it worked; without any, that stays. `lines` say the same to people.
    """

    step: str
    state: str
    lines: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        """Whether the next step may begin."""
        return self.state == DONE

    def as_document(self) -> dict[str, Any]:
        """The outcome as `--json` and XCom have it."""
        findings = [finding.as_document() for finding in self.findings]
        return {"step": self.step, "state": self.state, "lines": list(self.lines), "findings": findings, "facts": dict(self.facts)}


def make_outcome(
    step: str, findings: Iterable[Finding] = (), lines: tuple[str, ...] = (), facts: Mapping[str, Any] | None = None
) -> StepOutcome:
    """The outcome of a step that did what it could: stopped if any of its findings is a stop, else done."""
    findings = sort_findings(findings)
    return StepOutcome(step, STOPPED if has_stop(findings) else DONE, lines, findings, facts or {})


def discard_progress(line: str) -> None:
    """Ignores what a step says about its progress."""


@dataclass(frozen=True)
class StepOptions:
    """How the steps of one wave run. Every step gets the same, and reads what concerns it.

    With `dry_run` a step reads, says what it would do, and changes nothing: no note, no ACL, no record, no position.
    """

    wave: str
    """The wave's name, under which the control topic keeps it; what `open` notes of a moved topic."""
    who: str
    """Who runs the step, as the control topic notes it."""
    reason: str
    """Why, in a person's words."""
    mode: str = PLANNED
    dry_run: bool = True
    max_lag: int = 1000
    """How many records a partition of the wave may be behind when `catch-up` is done."""
    by: str = BY_HAND
    quiet_seconds: float = 5.0
    """How long the ends of a fenced partition have to stand still."""
    full_audit: bool = False
    """Whether the gate audits the wave whole, instead of since its last good audit."""
    timeout: float = 600.0
    """For how many seconds a step works or waits before it ends WAITING. A write pause is on: a step says each thing it waits for."""
    progress: Callable[[str], None] = discard_progress
    """Takes one sentence about what a step does just now."""


LAST_WRITE_MS, QUIET_SINCE_MS, EMPTY_SINCE_MS, RECORDS = "last_write_ms", "quiet_since_ms", "empty_since_ms", "records"
"""Names of facts of which the report makes its figures, times in milliseconds UTC: of the fence, when the last record was written and since
when the ends stand still; of `move-groups`, since when no group has members on the source; of the audit gate, how many it compared."""
REREAD, KNOWN_MS = "reread", "known_ms"
"""Names of facts of a group after a failover: how many records it reads again at most, `{topic: {partition: records}}` (null:
unknown; absent: none), and the time of its oldest checkpoint: what it read after its checkpoints it reads again as well."""
