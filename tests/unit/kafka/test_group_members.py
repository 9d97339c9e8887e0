"""What is made of Kafka's descriptions of groups, of either protocol."""

import pytest
from kafka.protocol.admin import DescribeGroupsRequest

from kafka_mirror.errors import AuthorizationRefused, DeadlineExceeded, KafkaFailure
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import GroupDescription, describe_groups
from kafka_mirror.kafka.model import GroupMember
from kafka_mirror.kafka.schemas import ConsumerGroupDescribeRequest
from tests.unit.copy.batches.wire_protocol import KAFKA_2_1, KAFKA_2_8
from tests.unit.kafka.group_broker import GroupBroker

READ, DELETE, DESCRIBE = 3, 6, 8


@pytest.fixture
def broker():
    made = GroupBroker()
    yield made
    made.close()


@pytest.fixture
def cluster(broker):
    with Cluster("east", broker.settings, 10.0) as made:
        yield made


@pytest.mark.parametrize("kind", ["classic", "modern"])
@pytest.mark.parametrize(
    ("operations", "may_commit"), [({READ}, True), ({READ, DELETE}, True), ({DESCRIBE}, False), (None, True), (set(), True)]
)
def test_members_are_named_and_whether_we_may_commit_as_far_as_the_broker_tells(broker, cluster, kind, operations, may_commit):
    getattr(broker, kind)["billing"] = ["app", "other"]
    broker.operations = operations
    host, member = ("/10.0.0.7", "9f") if kind == "classic" else ("/10.0.0.8", "1a")
    members = tuple(GroupMember(name, host, f"{name}-{member}") for name in ("app", "other"))
    assert describe_groups(cluster, ["billing"], {}) == {"billing": GroupDescription(members, may_commit, "Stable")}


@pytest.mark.parametrize("versions", [KAFKA_2_8, KAFKA_2_1], ids=["2.8", "2.1"])
def test_older_brokers_know_groups_of_the_classic_protocol_alone(broker, cluster, versions):
    broker.versions.update(versions)
    broker.classic = {"billing": ["app"], "idle": []}
    broker.operations = {DESCRIBE}
    found = describe_groups(cluster, ["billing", "idle", "gone"], {})
    assert {name: (len(group.members), group.is_gone) for name, group in found.items()} == {
        "billing": (1, False),
        "idle": (0, True),
        "gone": (0, True),
    }
    assert {group.may_commit for group in found.values()} == {versions is KAFKA_2_1}, "from 2.3 on brokers say what we may do"


def test_of_a_group_that_does_not_exist_yet_it_is_said_what_we_may_do(broker, cluster):
    broker.operations = {READ}
    assert describe_groups(cluster, ["new"], {}) == {"new": GroupDescription((), True, "Dead")}
    assert {request.API_VERSION for request in broker.of(DescribeGroupsRequest)} == {5}, "later ones say only that it is not there"


def test_only_groups_that_are_not_of_the_classic_protocol_are_asked_for_twice(broker, cluster):
    broker.classic, broker.modern = {"billing": ["app"], "idle": []}, {"shipping": ["app"]}
    assert set(describe_groups(cluster, ["billing", "idle", "shipping"], {})) == {"billing", "idle", "shipping"}
    assert [request.group_ids for request in broker.of(ConsumerGroupDescribeRequest)] == [["shipping"]]


def test_a_group_that_is_refused_is_named_and_nobody_is_a_member_of_one_without_a_name(broker):
    broker.classic = {"billing": []}
    broker.codes = {"hidden": [30], "loading": [14, 14, 0], "lost": [15], "confused": [-1], "odd": [42], "": [24]}
    refused = {}
    with Cluster("east", broker.settings, 1.0) as cluster:
        assert set(describe_groups(cluster, ["billing", *broker.codes], refused)) == {"billing", "loading"}
    assert {name: type(error) for name, error in refused.items()} == {
        "hidden": AuthorizationRefused,
        "lost": DeadlineExceeded,
        "confused": KafkaFailure,
        "odd": KafkaFailure,
    }
    assert "the group hidden" in refused["hidden"].message
    assert refused["confused"].message == "Cluster 'east': describing the group confused failed: UNKNOWN."
    assert "when that broker is restarted" in refused["confused"].next


def test_no_groups_ask_nobody():
    assert describe_groups(None, [], {}) == {}
