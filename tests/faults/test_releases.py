"""Every step of a flow, from and to brokers of other releases than those that `make test` starts."""

import pytest

from services.java import broker_jars
from services.kafka import KafkaCluster
from services.zookeeper import ZooKeeperCluster
from tests.integration.whole_flow import assert_carried
from tests.session import running

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("heartbeats_removed")]

SOURCES_ALONE = ("2.4.1",)
RELEASES = ("3.3.2", "3.5.2", "4.4.0")


@pytest.fixture(scope="module")
def other(request, services_directory):
    """A broker of the release, with the ZooKeeper of that time before KRaft."""
    kind = ZooKeeperCluster if request.param.startswith("2.") else KafkaCluster
    cluster = kind(services_directory / request.param, f"kafka-{request.param}", jars=broker_jars(request.param))
    with running(cluster):
        yield cluster


@pytest.mark.parametrize("other", SOURCES_ALONE + RELEASES, indirect=True)
def test_every_step_works_from_a_cluster_of_another_release(other, west, make_pair, oracle, capfd):
    assert_carried(make_pair(other, west), oracle, capfd)


@pytest.mark.parametrize("other", RELEASES, indirect=True)
def test_every_step_works_to_a_cluster_of_another_release(other, east, make_pair, oracle, capfd):
    assert_carried(make_pair(east, other), oracle, capfd)
