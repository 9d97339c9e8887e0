"""One check of a flow's freshness: look, judge, remember, tell. Done by the freshness DAG again and again, and by hand without memory.

Looks at both clusters for a check: as `status` does, with the target's heartbeats beside it. Whatever goes wrong is an answer too.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kafka_mirror.config.deadlines import limits_of
from kafka_mirror.errors import MirrorError
from kafka_mirror.errors.next_step import mirror_command
from kafka_mirror.formats.documents import moment_text, to_document
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.status.alerts.audits import MISMATCH, Audits
from kafka_mirror.status.alerts.channels import Channel, channel, connections_of
from kafka_mirror.status.alerts.tracker import AlertState, deliver, open_alerts, track, with_more
from kafka_mirror.status.judge import NOT_COPYING, UNREACHABLE, problems
from kafka_mirror.status.observation import Beats, CheckObservation, LatePartition, pack_check, with_waits
from kafka_mirror.status.observe import beats_of, heartbeat_paths, observe
from kafka_mirror.status.problems import MISSED, Alert, CheckResult, FlowProblem
from kafka_mirror.status.status import PAUSED, Status, status_of

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


NO_AUDITS = Audits()

PAUSED_SHOWN = 50
"""How many paused partitions stand in XCom by name."""

SECONDS = 240.0
"""How long a check looks; usually it takes a second, and each question to a cluster has a deadline of its own."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FreshnessCheck:
    """The result of one check. `problems` are all present ones, notified or not."""

    observation: CheckObservation
    problems: tuple[FlowProblem, ...]
    state: AlertState

    @property
    def alerts(self) -> list[Alert]:
        """The alerts that are open."""
        return open_alerts(self.state.tracking.values())

    def write_document(self) -> dict[str, Any]:
        """What stands in XCom: figures for a curve, and what is open. `lag_records` counts what may be read; `lag_seconds` is how long the
        oldest of it waits. `behind_offsets` and `oldest_seconds` are what the status page shows: all that is missing, of paused partitions
        too, and the age of the oldest. None where it is not known. `seen` is for a page that reaches no broker:
        `read_check` reads it."""
        status, comparable = self.observation.status, self.observation.comparable
        paused = [str(partition.topic_partition) for partition in status.partitions if partition.state == PAUSED]
        return {
            "time": moment_text(status.time),
            "lag_records": sum(late.records for late in self.observation.late) if comparable else None,
            "lag_seconds": round(max((late.seconds for late in self.observation.late), default=0.0), 1) if comparable else None,
            "lag_bytes": _bytes(self.observation.late) if comparable else None,
            "behind_offsets": status.lag if comparable else None,
            "oldest_seconds": _round(status.oldest_seconds if status.lag else 0.0) if comparable and status.lag is not None else None,
            "watermark_records": status.records,
            "open": to_document(self.alerts),
            "of_steps": sorted(self.observation.of_steps),
            "paused": {"partitions": len(paused), "first": paused[:PAUSED_SHOWN]},
            "unsent": len(self.state.outbox),
            "seen": pack_check(self.observation),
        }


def check(
    flow: "Flow", observation: CheckObservation, before: AlertState, audits: Audits = NO_AUDITS, late_runs: Sequence[FlowProblem] = ()
) -> FreshnessCheck:
    """What is new and what is over by what was seen; nothing is sent yet: it is in the state's outbox.

    `audits` are what audits found, `late_runs` the runs that have missed their deadline.
    """
    limits = limits_of(flow)
    observation = with_waits(observation, before.memory)
    others = (*audits.drop_gone(observation).problems(flow.name, limits.for_seconds), *late_runs)
    judgement = _with_others(problems(observation, limits), others)
    connections = connections_of(flow)
    tracking, telling = track(
        before.tracking,
        judgement,
        flow=flow.name,
        now=observation.status.time,
        quiet_seconds=limits.for_seconds,
        connections=connections,
        repeat=limits.repeat,
        growth=limits.growth,
    )
    state = AlertState(observation.memory, tracking, with_more(before.outbox, telling, connections), observation.status.time)
    return FreshnessCheck(observation, judgement.problems, state)


def _with_others(result: CheckResult, others: Sequence[FlowProblem]) -> CheckResult:
    """With the problems of audits and runs."""
    causes = {problem.kind for problem in result.problems}
    others = [replace(other, opens=other.opens and not _follows(other, causes)) for other in others]
    return CheckResult((*result.problems, *others), lambda kind: kind in (MISMATCH, MISSED) or result.judged(kind), result.unseen)


def _follows(problem: FlowProblem, causes: Collection[str]) -> bool:
    """Whether a run is late because a cluster does not answer, or because nothing is copied, which has an alert of its own."""
    return problem.kind == MISSED and (UNREACHABLE in causes or (NOT_COPYING in causes and str(problem.what).endswith(".copy")))


def deliver_outbox(checked: FreshnessCheck, open_channel: Callable[[str], Channel] = channel) -> tuple[AlertState, dict[str, MirrorError]]:
    """Sends the outbox. Returns the state afterwards, and by connection the error that kept a notification back."""
    channels: dict[str, Channel] = {}

    def open_once(connection: str) -> Channel:
        if connection not in channels:
            channels[connection] = open_channel(connection)
        return channels[connection]

    undelivered, failed = deliver(
        checked.state.outbox, lambda notification: open_once(notification.connection).send(notification.as_sent, notification.cleared)
    )
    return replace(checked.state, outbox=undelivered), failed


def test_alert(flow: str) -> Alert:
    """An alert that tries the way to people."""
    return Alert(
        key=f"{flow}/Test",
        kind="Test",
        summary="This is a test: nothing is wrong.",
        detail=f"Somebody asked for it by: {mirror_command('freshness --test-alert')}",
        next="Nothing; its end follows at once.",
        since=datetime.now(UTC),
        flow=flow,
        severity="warning",
    )


def _bytes(late: Iterable[LatePartition]) -> int | None:
    """An estimate, by the mean size of what was copied of each partition; None if nothing was copied of any of them."""
    sizes = [
        partition.records * partition.status.bytes / partition.status.records
        for partition in late
        if partition.status.records and partition.status.bytes is not None
    ]
    return round(sum(sizes)) if sizes or not list(late) else None


def _round(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def observe_for_alerts(flow: "Flow", seconds: float = SECONDS) -> CheckObservation:
    """What there is to see of the flow now. Raises nothing: a check that cannot look, or takes longer, is a problem like any other.

    It looks in a thread that is left alone after that time: a client that hangs cannot be ended, and a check that waits for it alerts
    no one.
    """
    answers: list[CheckObservation] = []
    thread = threading.Thread(target=lambda: answers.append(_observe(flow)), name=f"mirror-look {flow.name}", daemon=True)
    thread.start()
    thread.join(seconds)
    if answers:
        return answers[0]
    return CheckObservation(
        Status(flow.name, datetime.now(UTC)), comparable=False, failure=f"Looking at both clusters took longer than {seconds:g} s."
    )


def _observe(flow: "Flow") -> CheckObservation:
    try:
        observation = observe(flow)
        beats = None if flow.target in observation.silent else _beats(flow)
        starts = {tp: partition.log_start for tp, partition in (observation.source or {}).items()}
        return CheckObservation(status_of(observation), observation.comparable, observation.silent, beats, starts)
    except MirrorError as error:
        return CheckObservation(Status(flow.name, datetime.now(UTC), errors=(error.report().with_flow(flow.name),)), comparable=False)
    except Exception as failure:
        log.exception("%s: the check failed unexpectedly", flow.name)
        return CheckObservation(Status(flow.name, datetime.now(UTC)), comparable=False, failure=f"{type(failure).__name__}: {failure}")


def _beats(flow: "Flow") -> tuple[Beats, ...] | None:
    """The newest heartbeat of each topic that has some: the flow's own, and those that it mirrors. None if one of them cannot be seen: it
    would be taken for one that never came, and an alert of it for over."""
    try:
        with Cluster(flow.target, flow.client("target", "admin"), flow.request_seconds) as target:
            paths = heartbeat_paths(flow, target)
    except MirrorError as error:
        log.warning("%s: its heartbeats cannot be read: %s", flow.name, error)
        return None
    return beats_of(flow, paths)
