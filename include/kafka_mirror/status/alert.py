"""An alert: one problem of a flow, from the moment it is told to the moment it is over."""

from dataclasses import dataclass
from datetime import datetime

from kafka_mirror.errors import NextStep
from kafka_mirror.errors.runbook import link


@dataclass(frozen=True)
class Alert:
    """One problem of one flow, in words for people and in fields for programs.

    `key` stays the same for as long as the problem lasts, over runs, retries and restarts: `east->west/SourceGap/orders`.
    """

    key: str
    kind: str
    """The code of an error (`SourceGap`), or one of `Behind`, `NoProgress`, `NotCopying`, `NothingMirrored`, `NoLeader`,
    `ClusterUnreachable`, `HeartbeatsStopped`, `AuditMismatch`, `DeadlineMissed`."""
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
    """`critical`, `error`, `warning` or `info`; `info` asks nobody to do anything."""
    commands: tuple[str, ...] = ()
    """What in `next` is to be typed, in its order."""

    @property
    def step(self) -> NextStep:
        """The next step with its commands."""
        return NextStep(self.next, self.commands)

    def title(self, cleared: bool) -> str:
        """The alert in one line, such as the subject of a mail."""
        over = "over: " if cleared and self.severity != "info" else ""
        return f"{self.flow}: {over}{' '.join(self.summary.split())}"

    def text(self, cleared: bool) -> str:
        """The alert in lines, such as the body of a mail."""
        lines = [self.title(cleared), ""]
        if not cleared:
            # At its end, what was so when it began would be read as what is so now.
            lines += [self.detail, ""] if self.detail else []
            lines += [f"Next: {self.next}", ""] if self.next else []
            lines += [f"Runbook: {address} in Airflow", ""] if (address := link(self.kind)) else []
        return "\n".join([*lines, f"{self.kind}, since {self.since:%Y-%m-%d %H:%M:%S} UTC ({self.key})"])


def key_of(flow: str, kind: str, what: str | None = None) -> str:
    """The key of a problem: of a flow, or of one thing in it, such as a topic, a cluster or a DAG."""
    return "/".join((flow, kind) if what is None else (flow, kind, what))
