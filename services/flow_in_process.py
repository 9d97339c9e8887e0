"""One flow as a test or a trial uses it, in this process: planned, copied, and compared by the witness."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_mirror.config import Flow
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.copy.run_result import RunResult, Verdict, publish_and_judge
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.clusters import clusters, ledger_of
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import LedgerView
from kafka_mirror.topics.topics import RefreshTopicsResult, refresh_topics
from services.comparison import Comparison
from services.flows import ClusterPair
from services.oracle import Oracle, Side


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

    def assert_mirrored(self, topic: str, remote: str | None = None, **source: Any) -> Comparison:
        """The witness compares the topic with its mirror record by record; committed records only."""
        return self.oracle.assert_mirrored(Side(self.source, topic, **source), Side(self.target, remote or self.pair.remote(topic)))
