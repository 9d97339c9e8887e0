"""`decide`: what only a person can decide, written where the next run finds it."""

import argparse
from typing import Any

from kafka_mirror.cli.answer import DONE, Answer, table
from kafka_mirror.cli.arguments import LIST, request_of
from kafka_mirror.config import Flow
from kafka_mirror.decide.binding import DecisionWithEffect
from kafka_mirror.decide.run import decide, decisions_of
from kafka_mirror.formats.documents import moment_text
from kafka_mirror.ledger.control_records import THROTTLE, Decision, as_document


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Takes one decision about one flow, or lists the decisions."""
    if options.decision == LIST:
        return _list_decisions(decisions_of(flow))
    decisions = decide(flow, request_of(options), options.dry_run)
    verb = "would be decided" if options.dry_run else "decided"
    lines = [f"{_describe_subject(effect.decision)}: {verb}: {effect.effect}." for effect in decisions]
    if not options.dry_run and options.decision != THROTTLE:
        lines.append("The next run of the copy acts on it.")
    return Answer(DONE, {"decisions": [_document(effect) for effect in decisions]}, text="\n".join(lines))


def _list_decisions(decisions: list[tuple[Decision, bool]]) -> Answer:
    rows = [
        (_describe_subject(decision), "in force" if counts else "used up", moment_text(decision.when), decision.who, decision.why)
        for decision, counts in decisions
    ]
    lines = table(("decision", "state", "when", "who", "why"), rows) or ["Nothing was decided."]
    documents = [{**as_document(decision), "in_force": counts} for decision, counts in decisions]
    return Answer(DONE, {"decisions": documents}, text=lines)


def _document(decision: DecisionWithEffect) -> dict[str, Any]:
    return {**as_document(decision.decision), "effect": decision.effect}


def _describe_subject(decision: Decision) -> str:
    where = decision.alias if decision.topic is None else decision.topic
    return " ".join([decision.decision, *([where] if where else [])]) + (f"-{decision.partition}" if decision.partition is not None else "")
