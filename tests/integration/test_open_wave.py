"""`open` on real brokers: each record exactly once on both sides and in order, forth and back, with names kept and with remote names."""

import pytest

from mirror.copy.run import copy_in_process
from mirror.plan.run import plan
from mirror.status.observe import status
from mirror.status.status import MOVED
from tests.integration.moving_waves import both_ways


@pytest.fixture
def ways(pair, oracle):
    return both_ways(pair, oracle)


@pytest.fixture
def orders(pair, oracle):
    """A topic of three partitions on the source."""
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic, 3)
    return topic


def produced(mirroring, topic, seed, records=60):
    mirroring.oracle.produce(mirroring.source, topic, records, seed=seed, transactions=5, abort_percent=30)


def values(mirroring, topic):
    """Key and value of all committed records of a topic on the flow's source, by partition, in their order."""
    rows = {}
    for record in mirroring.oracle.dump(mirroring.source, topic):
        rows.setdefault(record.partition, []).append((record.key, record.value))
    return rows


def test_with_names_kept_a_topic_moves_forth_and_back_and_each_record_stands_once_on_both_sides(ways, orders):
    ways.there.refresh()
    here, there = ways.there, ways.back
    for turn in range(4):
        produced(here, orders, seed=turn)
        assert here.copy().errors == ()
        old = plan(here.flow)
        outcome = ways.open(here, orders)
        assert (outcome.is_done, outcome.findings) == (True, ()), outcome
        assert {row.state for row in status(here.flow).partitions if row.topic == orders} == {MOVED}
        assert copy_in_process(here.flow, old) == [] or old.has_work
        assert values(here, orders) == values(there, orders)
        assert here.copy().records == there.copy().records == 0
        here, there = there, here
    produced(here, orders, seed=9)
    assert here.copy().errors == ()
    assert there.copy().records == 0
    assert values(here, orders) == values(there, orders)
    here.assert_mirrored(orders, orders)
