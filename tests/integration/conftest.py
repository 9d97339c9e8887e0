"""A flow between the shared clusters that is the test's alone, run in this process."""

from collections.abc import Callable, Mapping

import pytest

from kafka_mirror.config import load
from services.flow_in_process import Mirroring
from services.flows import ClusterPair
from services.oracle import Oracle
from services.waiting import ADMIN_TIMEOUT_MS
from tests.integration.access import allow, run, secure
from tests.integration.backfill_flow import backfilling
from tests.integration.decisions import answer, decide, inside_the_transaction, make_topic
from tests.integration.left_behind import left
from tests.integration.planter import planter

__all__ = ["allow", "answer", "backfilling", "decide", "inside_the_transaction", "left", "make_topic", "planter", "run", "secure"]


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
