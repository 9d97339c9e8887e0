"""Names that dashboards, runbooks, scripts and Airflow's database hold: errors, metrics, addresses, import paths."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from kafka_mirror.errors.base import CLASSES
from kafka_mirror.formats.offsets.partition import lane_of, transactional_id
from kafka_mirror.groups.mm2_topics import GENERATION
from kafka_mirror.policy import DefaultReplicationPolicy
from kafka_mirror.web import routes
from kafka_mirror.web.metric_names import FLOW_LABELS, METRICS
from kafka_mirror.web.metrics import metrics_router
from kafka_mirror.web.rendering import PREFIX
from tests.unit.surface.snapshots import expect

IMPORTED_BY_OTHERS = {
    "kafka_mirror.policy": (
        *("ReplicationPolicy", "DefaultReplicationPolicy", "IdentityReplicationPolicy"),
        *("TopicFilter", "GroupFilter", "ConfigPropertyFilter", "TopicSelection"),
    ),
    "kafka_mirror.client": ("MirrorClient", "OffsetAndMetadata", "translate_offsets"),
    "kafka_mirror.errors": ("MirrorError", "ConfigurationError", "ErrorReport"),
    "kafka_mirror.airflow.operators": (
        *("MirrorAuditOperator", "MirrorBackfillOperator", "MirrorCompleteSensor"),
        *("MirrorCopyOperator", "MirrorCutoverOperator", "MirrorHook"),
    ),
    "kafka_mirror.airflow.complete_trigger": ("MirrorCompleteTrigger",),
    "kafka_mirror.airflow.webhook_notifier": ("WebhookNotifier",),
    "kafka_mirror.airflow.heartbeat_trigger": ("HeartbeatTrigger",),
    "kafka_mirror.airflow.deadlines": ("tell_missed_run",),
}
"""By people's own code and settings; the triggers and the last one stand serialized in Airflow's database, so a running
deferral or deadline needs them."""


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in IMPORTED_BY_OTHERS.items() for name in names])
def test_import_path_stays(module: str, name: str) -> None:
    """In a process of its own: Airflow reads its settings when it is first imported, and other tests of this process set them later."""
    found = subprocess.run(
        [sys.executable, "-c", f"from {module} import {name}"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "include"}
    )
    assert found.returncode == 0, found.stderr


def test_error_codes() -> None:
    lines = [f"{name}{' retriable' if each.retriable else ''}" for name, each in sorted(CLASSES.items())]
    expect("errors", "\n".join(lines))


def test_metrics() -> None:
    labels = [f"{each.sample} {each.type} {' '.join((*FLOW_LABELS, *each.labels))}" for each in METRICS]
    expect("metrics", "\n".join(labels))


def test_names_on_clusters() -> None:
    """Of topics, producers and headers. Who writes under others does not find what an earlier version left."""
    policy = DefaultReplicationPolicy({})
    topics = (policy.heartbeats_topic(), policy.offset_syncs_topic("east"), policy.checkpoints_topic("east"))
    own = (policy.ledger_topic("east"), policy.control_topic("east"))
    lines = [*topics, *own, policy.format_remote_topic("east", "orders"), transactional_id("east", 16, 3), GENERATION]
    lines += [f"lane of {topic}-{partition}: {lane_of(topic, partition, 16)}" for topic, partition in LANES]
    expect("clusters", "\n".join(lines))


LANES = (("orders", 0), ("orders", 1), ("orders", 17), ("payments", 0), ("grüße", 3), ("", 0))


def test_addresses() -> None:
    metrics = metrics_router(SimpleNamespace(flows=None), {})
    routers = (routes.router, metrics)
    lines = sorted(f"{' '.join(sorted(route.methods))} {PREFIX}{route.path}" for router in routers for route in router.routes)
    expect("addresses", "\n".join(lines))
