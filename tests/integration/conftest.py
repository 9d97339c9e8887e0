"""A flow between the shared clusters that is the test's alone, run in this process."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kafka_mirror.__main__ import main
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
def mirror(pair: ClusterPair, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    """`mirror("copy", "--without-spark")`: the command line on the pair's flow with four lanes; exit code, and the flow's part of the JSON
    document."""
    file = pair.properties(extra={"source->target.mirror.lanes": "4", "admin.timeout.ms": ADMIN_TIMEOUT_MS})

    def run(*arguments: str) -> tuple[int, Any]:
        code = main(["--config", str(file), *arguments, "--flow", pair.flow, "--json"])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return code, flow

    return run


@pytest.fixture
def topic(pair: ClusterPair, oracle: Oracle) -> str:
    """A source topic of two partitions with 60 records."""
    name = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, name, 2)
    oracle.produce(pair.source_bootstrap, name, 60, seed=1)
    return name
