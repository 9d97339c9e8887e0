"""`decide`: what only a person can decide, written where the next run finds it."""

import argparse

from kafka_mirror.cli.answer import DONE, Answer, table
from kafka_mirror.cli.arguments import LIST, request_of
from kafka_mirror.config import Flow
from kafka_mirror.decide.run import decide, decisions_of
from kafka_mirror.formats.documents import moment_text
from kafka_mirror.ledger.control_records import THROTTLE, Decision, as_document


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Takes one decision about one flow, or lists the decisions."""
    if options.decision == LIST:
        every = decisions_of(flow)
        rows = [
            (_describe_subject(decision), "in force" if counts else "used up", moment_text(decision.when), decision.who, decision.why)
            for decision, counts in every
        ]
        lines = table(("decision", "state", "when", "who", "why"), rows) or ["Nothing was decided."]
        return Answer(DONE, {"decisions": [{**as_document(decision), "in_force": counts} for decision, counts in every]}, text=lines)
    decisions = decide(flow, request_of(options), options.dry_run)
    verb = "would be decided" if options.dry_run else "decided"
    text = "\n".join(f"{_describe_subject(effect.decision)}: {verb}: {effect.effect}." for effect in decisions)
    if not options.dry_run and options.decision != THROTTLE:
        text += "\nThe next run of the copy acts on it."
    return Answer(DONE, {"decisions": [{**as_document(effect.decision), "effect": effect.effect} for effect in decisions]}, text=text)


def _describe_subject(decision: Decision) -> str:
    where = decision.alias if decision.topic is None else decision.topic
    return " ".join([decision.decision, *([where] if where else [])]) + (f"-{decision.partition}" if decision.partition is not None else "")
