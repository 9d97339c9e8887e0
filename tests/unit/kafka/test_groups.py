"""What the client for groups says, as our errors: one bad group is told apart, and a coordinator that is away is waited for once."""

import time

import kafka.errors as errors
import pytest
from kafka import TopicPartition as PythonTopicPartition
from kafka.structs import OffsetAndMetadata

from mirror.errors import AuthorizationRefused, ClusterUnreachable, DeadlineExceeded, KafkaFailure
from mirror.kafka.groups import Committed, Groups
from mirror.offsets.partition import TopicPartition


class Reachable:
    """Stands in for a cluster that answers."""

    alias = "east"
    timeout = 0.5
    advertised = (("127.0.0.1", 1),)

    def cluster_id(self):
        return "id"


class Client:
    """Stands in for the client library; each kind of group has its own way to fail."""

    def __init__(self):
        self.asked = []
        self.closed = 0

    def list_group_offsets(self, names):
        self.asked.append(len(names))
        for name in names:
            if name.startswith("hidden"):
                raise errors.GroupAuthorizationFailedError
            if name.startswith("odd"):
                raise errors.InvalidGroupIdError
            if name.startswith("unreached"):
                raise errors.KafkaConnectionError("DNS Resolution failure")
            if name.startswith("away"):
                raise errors.CoordinatorNotAvailableError
        offsets = {
            PythonTopicPartition("orders", 0): OffsetAndMetadata(7, None, -1),
            PythonTopicPartition("orders", 1): OffsetAndMetadata(-1, "", 3),
        }
        return dict.fromkeys(names, offsets)

    def alter_group_offsets(self, group, offsets):
        return dict.fromkeys(offsets, errors.UnknownMemberIdError if group.startswith("alive") else errors.NoError)

    def close(self):
        self.closed += 1


@pytest.fixture
def client(monkeypatch):
    made = Client()
    monkeypatch.setattr("mirror.kafka.groups.KafkaAdminClient", lambda **_: made)
    return made


@pytest.fixture
def groups(client):
    with Groups(Reachable(), {"bootstrap.servers": "127.0.0.1:1"}) as groups:
        yield groups


def test_bad_groups_are_told_apart_and_the_others_answered(groups, client):
    names = [*(f"good-{number}" for number in range(60)), "hidden", "odd"]
    refused = {}
    found = groups.committed(names, refused)
    assert sorted(found) == sorted(names[:60])
    assert found["good-3"] == {TopicPartition("orders", 0): Committed(7)}, "a negative offset is none"
    assert {name: type(error) for name, error in refused.items()} == {"hidden": AuthorizationRefused, "odd": KafkaFailure}
    assert len(client.asked) < 40, "not each of them by itself"


def test_a_coordinator_that_stays_away_takes_the_deadline_once_whatever_the_number_of_groups(groups, client):
    began = time.monotonic()
    with pytest.raises(DeadlineExceeded, match=r"CoordinatorNotAvailable.*when that broker is restarted"):
        groups.committed([f"away-{number}" for number in range(100)], {})
    assert time.monotonic() - began < 50 * Reachable.timeout, "not for every one of the hundred groups again"
    assert client.closed > 1, "each try over a new connection"


def test_what_a_broker_refuses_of_a_commit_is_said_by_partition(groups):
    at = {TopicPartition("orders", 0): Committed(3)}
    assert groups.commit({"alive": at, "idle": at}, {}) == {"alive": {TopicPartition("orders", 0): "UNKNOWN_MEMBER_ID"}, "idle": {}}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (("broker-1.example.invalid", 9092), "Failed to resolve 'broker-1.example.invalid:9092'"),
        (("127.0.0.1", 1), "Connecting to '127.0.0.1:1' failed: .*refused"),
    ],
)
def test_a_broker_whose_advertised_address_leads_nowhere_is_named_as_the_other_client_names_it(groups, monkeypatch, address, said):
    monkeypatch.setattr(Reachable, "advertised", (address,))
    with pytest.raises(ClusterUnreachable, match=said) as unreachable:
        groups.committed(["unreached"], {})
    assert "addresses they advertise" in unreachable.value.next
