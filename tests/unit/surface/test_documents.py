"""What stands in XCom, in Airflow's variables and in `--json`: every key and column, of examples with every field set.

They outlive a deployment: a run may read in XCom what an older version left there.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, get_type_hints

import pytest

from kafka_mirror.airflow.tasks import to_xcom
from kafka_mirror.airflow.work import copy
from kafka_mirror.audit.model import AuditResult
from kafka_mirror.backfill.model import BackfillPart, BackfillSummary, Resolution
from kafka_mirror.cli.answer import Answer
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.run_result import Verdict
from kafka_mirror.formats.documents import to_document
from kafka_mirror.groups import checkpoints, find, group_offsets
from kafka_mirror.ledger.control_records import encode, encode_key
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.status import status as partition_states
from kafka_mirror.status.alerts.audits import Audits
from kafka_mirror.status.alerts.tracker import TrackedProblem
from kafka_mirror.status.problems import Alert
from kafka_mirror.status.steps import STEPS, step_of
from kafka_mirror.topics import heartbeats, topic_acls, topic_configs, topics
from tests.unit.decision_records import decision
from tests.unit.surface.examples import example
from tests.unit.surface.snapshots import expect


def keys(document: Any, path: str) -> list[str]:
    """Every leaf of the document with the way to it: `ranges.topic[]: "text"`."""
    if isinstance(document, dict) and document:
        return [line for name in sorted(document) for line in keys(document[name], f"{path}.{name}")]
    if isinstance(document, list | tuple) and document:
        return [line for each in document for line in keys(each, f"{path}[]")]
    return [f"{path}: {json.dumps(document)}"]


DOCUMENTS: dict[str, Callable[[], Any]] = {
    "copy.plan": lambda: copy.plan_to_xcom(example(Plan)),
    "copy.verdict": lambda: copy.verdict_to_xcom(example(Verdict)),
    "audit": lambda: example(AuditResult).as_document(),
    "audit.totals": lambda: example(AuditResult).totals,
    "backfill.resolve": lambda: example(Resolution).as_document(),
    "backfill.resolve.totals": lambda: example(Resolution).totals,
    "backfill.part": lambda: to_document(example(BackfillPart)),
    "backfill.summary": lambda: example(BackfillSummary).as_document(),
    "packed": lambda: sorted(to_xcom({"x": "".join(map(str, range(50_000)))}, {})),
    "command": lambda: example(Answer).as_document("east->west"),
    "alert": lambda: to_document(example(Alert)),
    "alerts.tracked": lambda: to_document(example(TrackedProblem)),
    "alerts.audits": lambda: to_document(example(Audits)),
}


def test_documents_keep_their_keys() -> None:
    expect("documents", "\n".join(line for name, made in DOCUMENTS.items() for line in keys(made(), name)))


def test_decisions_keep_their_bytes() -> None:
    """As they stand in the control topic."""
    at = datetime(2026, 11, 21, 8, tzinfo=UTC)
    made = [decision(word, who="ana@ops", why="because", when=at, until=at) for word in WORDS]
    expect("decisions", "\n".join(f"{encode_key(each).decode()} {encode(each).decode()}" for each in made))


WORDS = (
    *("accept-gap", "skip-record", "restart", "accept-records", "pause", "resume", "adopt-cluster", "take-ownership", "begin-ledger"),
    *("ledger", "throttle", "handed-back", "taken-over"),
)


class FlowOfNothing:
    """What a step asks of its flow where the cluster's answer is an example."""

    name, source, target, config_hash = "east->west", "east", "west", "hash"


HEART = SimpleNamespace(topic="heartbeats", prepare=lambda _: True, beat=lambda: SimpleNamespace(timestamp=7))


def results_of_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, StepResult]]:
    """What the steps answer where what they do is an example of what it gives."""

    @contextmanager
    def clusters(_: object) -> Iterator[tuple[None, None]]:
        yield None, None

    modules = {topics: "refresh_topics", topic_configs: "sync_topic_configs", topic_acls: "sync_topic_acls", find: "find_groups"}
    for module, work in modules.items():
        made = example(get_type_hints(getattr(module, work), localns={"Flow": object, "Cluster": object})["return"])
        monkeypatch.setattr(module, work, lambda *_, made=made: made)
        for opening in ("clusters", "clusters_of_step"):
            monkeypatch.setattr(module, opening, clusters, raising=False)
        monkeypatch.setattr(module, "moment_text", lambda _: "now", raising=False)
        yield module.__name__, module.step(FlowOfNothing())
    for step, module in (("checkpoints", checkpoints), ("group-offsets", group_offsets)):
        yield step, module.step_result(example(next(iter(get_type_hints(module.step_result).values()))), False)
    monkeypatch.setattr(heartbeats, "Heart", lambda _: HEART)
    yield heartbeats.__name__, heartbeats.step(FlowOfNothing())


def test_results_of_steps_keep_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = []
    for name, done in results_of_steps(monkeypatch):
        step = name if name in STEPS else next(step for step in STEPS if step_of(step).__module__ == name)
        lines += [*keys(done.result, step), *keys(done.totals, f"{step} (totals)")]
    expect("steps", "\n".join(lines))


def test_states_of_partitions_keep_their_words() -> None:
    expect(
        "partition_states", "\n".join(value for name, value in vars(partition_states).items() if name.isupper() and isinstance(value, str))
    )
