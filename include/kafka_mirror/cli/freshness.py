"""`freshness`: what the freshness DAG judges, by hand and at this moment."""

import argparse
from textwrap import indent

from kafka_mirror.cli.answer import DONE, FAILED, Answer, Piece, table
from kafka_mirror.config import Flow
from kafka_mirror.config.deadlines import limits_of
from kafka_mirror.errors import MirrorError, UsageError
from kafka_mirror.errors.words import duration
from kafka_mirror.formats.documents import to_document
from kafka_mirror.status.alerts.audits import add_step_errors, ask_dry_runs
from kafka_mirror.status.alerts.channels import connections_of, send_by
from kafka_mirror.status.alerts.check import observe_for_alerts, test_alert
from kafka_mirror.status.judge import problems
from kafka_mirror.status.observation import LatePartition, with_waits

_HEAD = ("topic", "partition", "records", "waiting")
_SHOWN = 10


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Fails when something is over its limit. It remembers nothing: for how long something lasts is judged by records' timestamps and by
    the ledger alone, what only a step can see by dry runs of the steps that are cheap, and nothing is sent."""
    if options.test_alert:
        return _send_test(flow)
    observation = observe_for_alerts(flow)
    if observation.comparable:
        observation = add_step_errors(observation, ask_dry_runs(flow))
    observation = with_waits(observation, None)
    late, judgement = observation.late, problems(observation, limits_of(flow))
    alerts = [problem.alert(flow.name, observation.status.time) for problem in judgement.problems if problem.opens]
    lines: list[Piece] = ["\n".join(filter(None, (f"{alert.kind}: {alert.summary}", indent(alert.detail, "  ")))) for alert in alerts]
    lines += [f"Next: {next}" for next in dict.fromkeys(alert.next for alert in alerts)]
    if not alerts:
        lines = ["Nothing is over its limit."]
    if late and not alerts:
        lines += table(_HEAD, [_row(partition) for partition in late[:_SHOWN]])
    result = {
        "over": to_document(alerts),
        "behind": [dict(zip(_HEAD, _row(partition), strict=True)) for partition in late[:_SHOWN]],
    }
    return Answer(FAILED if alerts else DONE, result, (), lines)


def _send_test(flow: Flow) -> Answer:
    connections = connections_of(flow)
    if not connections:
        raise UsageError(
            f"{flow.name} sends alerts to no one.",
            next="Set mirror.alert.connections or mirror.alert.notifiers.",
        )
    alert = test_alert(flow.name)
    failed: dict[str, MirrorError] = send_by(connections, alert)
    failed |= send_by([connection for connection in connections if connection not in failed], alert, cleared=True)
    took = [connection for connection in connections if connection not in failed]
    lines = [f"{connection} took the test and its end" for connection in took]
    errors = tuple(error.report() for error in failed.values())
    return Answer(FAILED if failed else DONE, {"sent": took}, errors, "\n".join(lines))


def _row(partition: LatePartition) -> tuple[object, ...]:
    return (partition.status.topic, partition.status.partition, partition.records, duration(partition.seconds))
