"""Flows of a made-up world, at which a cache of snapshots looks."""

from datetime import UTC, datetime

from kafka_mirror.config.flow import Configuration
from kafka_mirror.errors import ClusterUnreachable, ConfigurationError, Problem
from kafka_mirror.status.snapshot import FlowSnapshot
from kafka_mirror.status.status import Status
from services.waiting import PATIENCE

AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
BROKEN = ConfigurationError([Problem("topics", "is wrong")])


class MadeUpFlow:
    """The part of a flow that the cache asks."""

    def __init__(self, name, config_hash="1", refresh=0.02):
        self.name, self.config_hash, self.refresh = name, config_hash, refresh

    def value(self, name):
        assert name == "mirror.status.refresh.seconds"
        if isinstance(self.refresh, Exception):
            raise self.refresh
        return self.refresh


class World:
    """Flows that answer when they are allowed to; `looks` has every look at one."""

    def __init__(self):
        self.flows = [MadeUpFlow("east->west")]
        self.invalid = ()
        self.failure = None
        self.answers = {}
        self.looks = []
        self.groups = []
        self.gates = {}
        self.loads = 0

    def configuration(self):
        self.loads += 1
        if self.failure:
            raise self.failure
        return Configuration(tuple(self.flows), self.invalid, ())

    def taking(self, flow):
        world = self

        class Taking:
            def take(self):
                world.looks.append(flow.name)
                if (gate := world.gates.get(flow.name)) is not None:
                    assert gate.wait(PATIENCE)
                answer = world.answers.get(flow.name, good)
                return answer(flow.name)

            def with_groups(self, snapshot):
                world.groups.append(flow.name)
                return snapshot

            def from_check(self, check, failed):
                return FlowSnapshot(flow.name, check.status.time, check.status, comparable=True, not_reached=failed.errors[0])

        return Taking()


def good(name):
    return FlowSnapshot(name, datetime.now(UTC), Status(name, AT), comparable=True)


def bad(name):
    error = ClusterUnreachable("west", "127.0.0.1:1", 1.0).report()
    return FlowSnapshot(name, datetime.now(UTC), Status(name, AT, errors=(error,)))


def the_only(cache):
    (snapshot,) = cache.get().flows
    return snapshot
