"""A broker on this machine's loopback. A file that wants more of it derives its own `broker` from this one."""

import pytest

from tests.unit.copy.batches.wire_broker import WireBroker


@pytest.fixture
def broker():
    made = WireBroker()
    yield made
    made.close()
