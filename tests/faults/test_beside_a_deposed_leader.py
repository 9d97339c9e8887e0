"""Copies to a target of which one broker of three is cut off from its cluster, and not from us; all three are named in bootstrap.servers.

A client that gets a false answer from it asks another broker next: no open connection of this process may lead there again.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_mirror.copy.run_result import DONE
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_pool import begin_at_server, servers
from kafka_mirror.kafka.cluster import Cluster
from services.kafka import KafkaCluster
from services.oracle import Oracle
from tests.faults.deposed_leader import Site, new_site

KEPT, MORE, COPIES = 50, 30, 3


@pytest.fixture
def site(east: KafkaCluster, separable: KafkaCluster, oracle: Oracle, tmp_path: Path) -> Iterator[Site]:
    extra = {"target.bootstrap.servers": separable.proxied_bootstrap}
    with new_site(east.bootstrap, separable, oracle, tmp_path, extra) as made:
        made.produce(KEPT, seed=1)
        assert made.mirroring.copy().state == DONE
        yield made


class Misleading(random.Random):
    """As long as it misleads, every new connection ends at the deposed leader, whomever it is meant for: a name of several addresses."""

    misleads = True

    def random(self) -> float:
        return 0.0 if self.misleads else 1.0


def copies(site: Site) -> int:
    """Copies more, several times; gives how many records both sides have then, equal by the witness."""
    for number in range(COPIES):
        site.produce(MORE, seed=2 + number)
        judged = site.mirroring.copy()
        assert judged.state == DONE, str(judged)
    return site.exact()


def test_copies_beside_a_broker_that_is_cut_off_end_green(site: Site) -> None:
    site.fault.lead()
    site.fault.inject()
    assert copies(site) == KEPT + COPIES * MORE


def test_connections_that_were_kept_lead_no_later_attempt_to_the_deposed_leader(site: Site) -> None:
    chance = Misleading()
    site.cut()
    site.fault.attract_clients(0.5, chance)
    settings, remote = site.flow.client("target", "admin"), TopicPartition(site.remote, 0)
    for turn in range(1, 1 + len(servers(settings))):
        with Cluster("south", begin_at_server(settings, turn)) as misled:
            assert remote in misled.offsets([remote], "latest")
    chance.misleads = False
    assert copies(site) == KEPT + COPIES * MORE
