"""The real MirrorMaker 2 beside the mirror, for the tests in which they take turns with one flow."""

import pytest

from kafka_mirror.errors import MirrorMakerRunning
from kafka_mirror.migration.take_over import TakeOverRequest, take_over
from services.mirrormaker import MirrorMaker
from services.oracle import Side
from services.waiting import eventually

OFTEN = {"refresh.topics.interval.seconds": "2", "emit.checkpoints.enabled": "false", "emit.heartbeats.enabled": "false"}
NEVER_FLUSHED = {"target.offset.flush.interval.ms": "600000"}
"""Kafka Connect keeps offsets when a worker is stopped in order, and at no other time."""


@pytest.fixture
def make_maker(pair):
    made = []

    def make(extra=None):
        maker = MirrorMaker(pair, {**OFTEN, **(extra or {})})
        made.append(maker)
        return maker

    yield make
    for maker in made:
        maker.kill()


def arrived(mirroring, topic, records, isolation="read_uncommitted"):
    """Waits until so many records of the topic stand on the target."""

    def enough():
        try:
            counted = mirroring.oracle.count(mirroring.target, mirroring.pair.remote(topic), isolation)
        except Exception:  # noqa: BLE001 — the topic is not there yet
            return False
        return sum(each.records for each in counted) >= records

    eventually(enough, f"{records} records of {topic}")


def taken_over(mirroring, **options):
    """Takes over, once MirrorMaker 2 has left its group: a worker that was killed stays in it for a while."""

    def done():
        try:
            return take_over(mirroring.flow, TakeOverRequest("a test", **options))
        except MirrorMakerRunning:
            return None

    return eventually(done, "the end of the worker in its group")


def exact(mirroring, topic):
    """The witness compares record by record, and counts: nothing lost, doubled, foreign or out of order."""
    mirroring.assert_mirrored(topic)
    remote = Side(mirroring.target, mirroring.pair.remote(topic))
    for account in mirroring.oracle.account(Side(mirroring.source, topic), remote):
        assert (account.lost, account.doubled, account.foreign, account.disordered) == (0, 0, 0, 0)
