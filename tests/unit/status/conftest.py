"""A cache of snapshots and the world that it looks at."""

import pytest

from kafka_mirror.status.snapshot_cache import SnapshotCache
from tests.unit.status.snapshot_world import World


@pytest.fixture
def world():
    return World()


@pytest.fixture
def make_cache(world):
    """A cache that stops looking when the test is over."""
    made = []

    def make(**options):
        made.append(SnapshotCache(world.configuration, world.taking, **{"idle_seconds": 30.0, "reload_seconds": 0.05, **options}))
        return made[-1]

    yield make
    for gate in world.gates.values():
        gate.set()
    for cache in made:
        cache._idle_seconds = -1.0
