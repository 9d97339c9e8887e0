"""A flow between the shared clusters that is the test's alone, run in this process."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.copy.run_result import RunResult
from kafka_mirror.copy.verdict import Verdict, publish_and_judge
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.clusters import clusters, ledger_of
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import LedgerView
from kafka_mirror.topics.topics import RefreshTopicsResult, refresh_topics
from services.comparison import Comparison
from services.flows import ClusterPair
from services.oracle import Oracle, Side
from services.waiting import ADMIN_TIMEOUT_MS
from tests.integration.access import allow, run, secure
from tests.integration.backfill_flow import backfilling
from tests.integration.decisions import answer, decide, inside_the_transaction, make_topic
from tests.integration.left_behind import left
from tests.integration.planter import planter

__all__ = ["allow", "answer", "backfilling", "decide", "inside_the_transaction", "left", "make_topic", "planter", "run", "secure"]


@dataclass
class Mirroring:
    """What an operator does with one flow, and what the witness says about it."""

    pair: ClusterPair
    oracle: Oracle
    flow: Flow

    @property
    def source(self) -> str:
        return self.pair.source_bootstrap

    @property
    def target(self) -> str:
        return self.pair.target_bootstrap

    def plan(self) -> Plan:
        return plan(self.flow, dry_run=True)

    def refresh(self) -> RefreshTopicsResult:
        with clusters(self.flow) as (source, target):
            return refresh_topics(self.flow, source, target)

    def copy(self, by_person: bool = False) -> Verdict:
        planned = plan(self.flow, by_person=by_person)
        return publish_and_judge(self.flow, RunResult(planned, tuple(copy_in_process(self.flow, planned))))

    def ledger(self) -> Mapping[TopicPartition, LedgerRecord]:
        return self.ledger_view().records

    def ledger_view(self) -> LedgerView:
        """The ledger with the lanes that could not be read just now."""
        with clusters(self.flow) as (_, target):
            return ledger_of(self.flow, target).read()

    def assert_mirrored(self, topic: str, remote: str | None = None, **source: Mapping[int, int]) -> Comparison:
        """The witness compares the topic with its mirror record by record; committed records only."""
        return self.oracle.assert_mirrored(Side(self.source, topic, **source), Side(self.target, remote or self.pair.remote(topic)))


@pytest.fixture
def make_mirroring(oracle: Oracle) -> Callable[..., Mirroring]:
    """A flow over a given pair: `make_mirroring(pair, {"source->target.mirror.lanes": "4"})`."""

    def make(pair: ClusterPair, extra: Mapping[str, str] | None = None, topics: str | None = None) -> Mirroring:
        file = pair.properties(topics, {"source->target.mirror.lanes": "4", "admin.timeout.ms": ADMIN_TIMEOUT_MS, **(extra or {})})
        return Mirroring(pair, oracle, load([file]).flow(pair.flow))

    return make


@pytest.fixture
def mirroring(pair: ClusterPair, make_mirroring: Callable[..., Mirroring]) -> Mirroring:
    """The flow of this test with four lanes."""
    return make_mirroring(pair)


@pytest.fixture
def topic(pair: ClusterPair, oracle: Oracle) -> str:
    """A source topic of two partitions with 60 records."""
    name = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, name, 2)
    oracle.produce(pair.source_bootstrap, name, 60, seed=1)
    return name
