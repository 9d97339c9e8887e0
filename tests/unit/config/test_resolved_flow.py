"""What a lane, an audit and a step for groups are given of a flow: the same values, and no more secrets than each needs."""

import pickle
from pathlib import Path

import pytest

from kafka_mirror.audit.reader import AuditContext, audit_context
from kafka_mirror.config import Flow, load
from kafka_mirror.config.resolved_flow import ResolvedFlow
from kafka_mirror.copy.model import LaneTask
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.run import lane_task
from kafka_mirror.errors import ConfigurationError
from kafka_mirror.groups.context import GroupContext, group_context

SECRET = "a-secret-of-a-reader"
PRODUCERS = "a-secret-of-a-producer"
FILE = f"""
clusters = east, west
east.bootstrap.servers = east-1:9092
west.bootstrap.servers = west-1:9092
east->west.enabled = true
east->west.topics = orders
east->west.mirror.lanes = 5
east->west.admin.timeout.ms = 12000
east.consumer.isolation.level = read_uncommitted
west.security.protocol = SASL_PLAINTEXT
west.sasl.mechanism = PLAIN
west.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{SECRET}";
west.producer.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="%s";
"""


def flow_of(tmp_path: Path, producers: str) -> Flow:
    file = tmp_path / "mm2.properties"
    file.write_text(FILE % producers)
    return load([file], {}).flow("east->west")


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    return flow_of(tmp_path, PRODUCERS)


@pytest.fixture
def task(flow: Flow) -> LaneTask:
    return lane_task(flow, Plan("east->west", config_hash=flow.config_hash), 3)


@pytest.fixture
def given(flow: Flow, task: LaneTask) -> dict[type, ResolvedFlow]:
    return {LaneTask: task, AuditContext: audit_context(flow, True), GroupContext: group_context(flow)}


def test_all_three_are_given_the_same_of_a_flow(given: dict[type, ResolvedFlow]) -> None:
    for kind, each in given.items():
        assert type(each) is kind
        assert (each.flow, each.source, each.target, each.lanes) == ("east->west", "east", "west", 5)
        assert (each.read_committed, each.request_seconds) == (False, 12.0)
        assert each.clients.source_admin["bootstrap.servers"] == "east-1:9092"
        assert each.clients.target_consumer["sasl.password"] == SECRET


def test_they_travel_to_a_worker_and_show_no_secret(given: dict[type, ResolvedFlow]) -> None:
    for each in given.values():
        assert pickle.loads(pickle.dumps(each)).clients == each.clients
        assert SECRET not in repr(each)
        assert PRODUCERS not in repr(each)


def test_an_audit_writes_nothing_and_is_given_no_producer_nor_what_it_needs(tmp_path: Path, flow: Flow) -> None:
    assert group_context(flow).clients.target_producer["sasl.password"] == PRODUCERS
    assert PRODUCERS.encode() not in pickle.dumps(audit_context(flow, False))
    missing = flow_of(tmp_path, "${file:/nowhere/at/all:password}")
    assert audit_context(missing, False).clients.target_producer == {}
    with pytest.raises(ConfigurationError):
        group_context(missing)


@pytest.mark.parametrize(("timeout", "seconds"), [("12000", 30.0), ("45000", 45.0)])
def test_an_audit_waits_half_a_minute_for_a_silent_cluster_at_least(tmp_path: Path, timeout: str, seconds: float) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text((FILE % "").replace("admin.timeout.ms = 12000", f"admin.timeout.ms = {timeout}"))
    assert audit_context(load([file], {}).flow("east->west"), False).seconds == seconds
