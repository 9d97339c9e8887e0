"""Brokers that take their time: transactions that do not get done, and quotas. All is copied, exactly, and without a person."""

import random
import socket
from dataclasses import replace

import pytest

from services.kafka import KafkaCluster
from services.oracle import Record

TIMEOUT_MS = 1000


@pytest.fixture(scope="module")
def quick_quotas(services_directory):
    """A cluster whose quotas look at the last two seconds alone, so that they bite soon and forget soon. It is both sides of a flow."""
    cluster = KafkaCluster(services_directory / "quotas", "quotas", properties={"quota.window.num": "2"})
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.discard()


@pytest.fixture
def mirroring(quick_quotas, make_pair, make_mirroring):
    """A flow of one lane with short transactions."""
    pair = make_pair(quick_quotas, quick_quotas)
    pair = replace(pair, source=f"from{pair.mark}", target=f"to{pair.mark}")
    extra = {"source->target.mirror.lanes": "1", "source->target.mirror.transaction.timeout.ms": str(TIMEOUT_MS)}
    return make_mirroring(pair, extra, topics=pair.topic("orders"))


def produced(mirroring, kilobytes):
    """A topic with so many incompressible records of 1 kB each."""
    name, chance = mirroring.pair.topic("orders"), random.Random(kilobytes)
    mirroring.oracle.create_topic(mirroring.source, name, 2)
    mirroring.oracle.produce_records(
        mirroring.source, name, [Record(b"%d" % n, chance.randbytes(1000), partition=n % 2) for n in range(kilobytes)]
    )
    return name


def quotas(mirroring, source=None, target=None):
    """Quotas for the clients that read records from the source, and that write them to the target."""
    pair = mirroring.pair
    if source:
        mirroring.oracle.alter_quotas(mirroring.source, f"{pair.flow}|mirror|source-consumer", source)
    if target:
        mirroring.oracle.alter_quotas(mirroring.target, f"{pair.flow}|lane-0@{socket.gethostname()}", target)


def test_a_transaction_that_is_too_slow_becomes_smaller_until_it_passes(mirroring):
    name = produced(mirroring, 1000)
    quotas(mirroring, target={"producer_byte_rate": 300_000})
    judged = mirroring.copy()
    assert (judged.state, judged.errors, judged.records, judged.owed) == ("done", (), 1000, 0)
    mirroring.assert_mirrored(name)
    written = sum(each.records for each in mirroring.oracle.count(mirroring.target, mirroring.pair.remote(name), "read_uncommitted"))
    assert written > 1000, "no transaction ran into its timeout, so nothing was shown"


def test_brokers_that_throttle_reading_writing_and_requests_only_delay_the_copy(mirroring):
    name = produced(mirroring, 600)
    quotas(
        mirroring,
        source={"consumer_byte_rate": 150_000},
        target={"producer_byte_rate": 500_000, "request_percentage": 2},
    )
    judged = mirroring.copy()
    assert (judged.state, judged.errors, judged.records, judged.owed) == ("done", (), 600, 0)
    mirroring.assert_mirrored(name)
