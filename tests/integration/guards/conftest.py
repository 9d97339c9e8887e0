"""What the tests of guards begin with."""

import pytest


@pytest.fixture
def topic(mirroring):
    """A source topic of two partitions with 100 records, copied."""
    name = mirroring.pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 2)
    mirroring.oracle.produce(mirroring.source, name, 100, seed=1)
    assert mirroring.copy().state == "done"
    return name
