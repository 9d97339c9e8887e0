"""Asking coordinators about groups and changing what they committed, over the wire: one bad group is told apart, and a coordinator that is
away is waited for once."""

import time
from types import SimpleNamespace

import pytest
from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from kafka_mirror.errors import AuthorizationRefused, ClusterUnreachable, DeadlineExceeded, KafkaFailure
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka import group_offsets
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Committed, Group, GroupDescription, Groups, _java_hash, describe_groups, may_be_unstable
from kafka_mirror.kafka.model import GroupMember, LogOffsets, Partition, Topic
from kafka_mirror.kafka.schemas import ConsumerGroupDescribeRequest
from tests.unit.copy.batches.wire_protocol import KAFKA_2_1, KAFKA_2_8
from tests.unit.kafka.group_broker import GroupBroker

ORDERS = TopicPartition("orders", 0)
LOADING, AWAY, MOVED, GROUP_DENIED, TOPIC_DENIED, CLUSTER_DENIED = 14, 15, 16, 30, 29, 31
UNKNOWN_MEMBER, BROKER_FAULT, NOT_EMPTY, UNKNOWN_TOPIC, INVALID_GROUP = 25, -1, 68, 3, 24


@pytest.fixture
def broker():
    made = GroupBroker()
    made.log("orders")
    yield made
    made.close()


@pytest.fixture
def cluster(broker):
    with Cluster("east", broker.settings, 10.0) as made:
        yield made


@pytest.fixture
def groups(cluster):
    return Groups(cluster)


@pytest.mark.parametrize("versions", [{}, KAFKA_2_8, KAFKA_2_1], ids=["4.3", "2.8", "2.1"])
def test_groups_are_listed_with_their_states_by_every_version(broker, groups, versions):
    broker.versions.update(versions)
    broker.classic = {"billing": ["app"], "idle": []}
    listed = groups.list_groups()
    assert {name: (group.is_idle, group.has_offsets) for name, group in listed.items()} == {"billing": (False, True), "idle": (True, True)}
    assert listed["billing"] == Group("billing", "" if versions else "classic", "consumer", "Stable")
    assert len(broker.of(DescribeGroupsRequest)) == (versions is KAFKA_2_1), "all of them in one request, where states are not listed"


def test_a_broker_that_still_loads_its_groups_is_asked_again_and_one_that_refuses_is_not(broker, groups):
    broker.classic, broker.codes = {"billing": []}, {"*": [LOADING, LOADING, 0]}
    assert set(groups.list_groups()) == {"billing"}
    assert len(broker.of(ListGroupsRequest)) == 3
    broker.codes = {"*": [CLUSTER_DENIED]}
    with pytest.raises(AuthorizationRefused, match="DESCRIBE on the cluster"):
        groups.list_groups()


@pytest.mark.parametrize("versions", [{}, KAFKA_2_8, KAFKA_2_1], ids=["4.3", "2.8", "2.1"])
def test_bad_groups_are_told_apart_and_the_others_answered(broker, groups, versions):
    broker.versions.update(versions)
    names = [*(f"good-{number}" for number in range(60)), "hidden", "odd"]
    broker.offsets = {name: {("orders", 0): (7, "", -1), ("orders", 1): (-1, "", 3), ("orders", 2): (9, "m", 4)} for name in names}
    broker.codes = {"hidden": [GROUP_DENIED], "odd": [INVALID_GROUP]}
    refused = {}
    found = groups.read_committed(names, refused)
    assert sorted(found) == sorted(names[:60])
    assert found["good-3"] == {ORDERS: Committed(7), TopicPartition("orders", 2): Committed(9, "m", 4)}, "a negative offset is none"
    assert {name: type(error) for name, error in refused.items()} == {"hidden": AuthorizationRefused, "odd": KafkaFailure}
    assert "DESCRIBE on the group hidden" in refused["hidden"].message
    assert refused["odd"].message == "Cluster 'east': listing offsets of the group odd failed: INVALID_GROUP_ID."
    assert len(broker.of(OffsetFetchRequest)) == (len(names) if versions else 1)


def test_a_group_without_any_has_an_empty_entry_also_if_there_is_no_such_group(broker, groups):
    broker.codes = {"gone": [69]}
    assert groups.read_committed(["gone", "new"], {}) == {"gone": {}, "new": {}}


def test_only_groups_whose_coordinator_moves_are_asked_for_again(broker, groups):
    broker.codes = {"loading": [LOADING, MOVED, 0]}
    assert set(groups.read_committed(["billing", "loading"], {})) == {"billing", "loading"}
    asked = [[group.group_id for group in request.groups] for request in broker.of(OffsetFetchRequest)]
    assert asked == [["billing", "loading"], ["loading"], ["loading"]]
    assert len(broker.of(FindCoordinatorRequest)) == 3, "another broker may be its coordinator by now"


def test_a_coordinator_that_stays_away_takes_the_deadline_once_whatever_the_number_of_groups(broker, monkeypatch):
    monkeypatch.setattr(group_offsets, "AT_ONCE", 10)
    broker.codes, refused = {f"away-{number}": [AWAY] for number in range(100)}, {}
    with Cluster("east", broker.settings, 0.3) as cluster:
        began = time.monotonic()
        assert Groups(cluster).read_committed(broker.codes, refused) == {}
        assert time.monotonic() - began < 3, "not for every one of the ten requests"
    assert set(refused) == set(broker.codes)
    assert isinstance(refused["away-99"], DeadlineExceeded)
    assert "COORDINATOR_NOT_AVAILABLE" in refused["away-99"].message
    assert "when that broker is restarted" in refused["away-99"].next


def test_one_coordinator_that_stays_away_keeps_nobody_else_waiting(broker):
    broker.codes, refused = {"away": [AWAY]}, {}
    with Cluster("east", broker.settings, 0.3) as cluster:
        assert set(Groups(cluster).read_committed(["away", "billing"], refused)) == {"billing"}
    assert set(refused) == {"away"}


@pytest.mark.parametrize("name", ["other", "billing"])
def test_an_answer_about_other_groups_or_about_too_few_is_none(broker, groups, monkeypatch, name):
    told = broker.answers[OffsetFetchRequest]

    def tell(request):
        answer = told(request)
        answer.groups[0].group_id = name
        answer.groups = answer.groups[:1]
        return answer

    broker.answers[OffsetFetchRequest] = tell
    with pytest.raises(KafkaFailure, match="other groups" if name == "other" else "leaves out groups"):
        groups.read_committed(["billing", "shipping"], {})


def test_a_broker_that_cannot_be_reached_is_named_with_the_address_that_it_advertises(broker):
    groups = Groups(Cluster("east", broker.settings, 0.5))
    broker.close()
    with pytest.raises(ClusterUnreachable, match=f"Connecting to '127.0.0.1:{broker.port}' failed") as unreachable:
        groups.read_committed(["billing"], {})
    assert "addresses they advertise" in unreachable.value.next


# ------------------------------------------------------------ offsets that are not stable


@pytest.mark.parametrize("versions", [{}, KAFKA_2_8], ids=["4.3", "2.8"])
def test_a_partition_for_which_a_transaction_commits_is_unstable_also_if_the_group_has_nothing_there(broker, groups, versions):
    broker.versions.update(versions)
    broker.offsets = {"billing": {("orders", 0): (7, "", -1)}}
    broker.unstable = {("billing", "orders", 1)}
    places = [TopicPartition("orders", number) for number in range(3)]
    assert groups.find_unstable({"billing": places, "idle": places}, {}) == {"billing": (TopicPartition("orders", 1),)}
    assert groups.tells_unstable()
    assert groups.read_committed(["billing"], {}) == {"billing": {ORDERS: Committed(7)}}, "who does not ask is not told"


def test_a_coordinator_that_is_too_old_to_tell_is_not_asked(broker, groups):
    broker.versions.update(KAFKA_2_1)
    broker.unstable = {("billing", "orders", 0)}
    assert groups.find_unstable({"billing": [ORDERS]}, {}) == {}
    assert not groups.tells_unstable()
    assert broker.of(OffsetFetchRequest) == []


# ------------------------------------------------------------ changes


@pytest.mark.parametrize("versions", [{}, KAFKA_2_8, KAFKA_2_1], ids=["4.3", "2.8", "2.1"])
def test_what_is_committed_is_what_is_read_back_byte_for_byte(broker, groups, versions):
    broker.versions.update(versions)
    wanted = {ORDERS: Committed(3, "by ä\x00"), TopicPartition("payments", 1): Committed(0, "", 5)}
    assert groups.commit({"billing": wanted}, {}) == {"billing": {}}
    assert groups.read_committed(["billing"], {}) == {"billing": wanted}


def test_what_a_broker_refuses_of_a_commit_is_said_by_partition(broker, groups):
    broker.codes = {"alive": [UNKNOWN_MEMBER], ("idle", "gone", 0): [UNKNOWN_TOPIC]}
    at = {ORDERS: Committed(3)}
    refused = groups.commit({"alive": at, "idle": at | {TopicPartition("gone", 0): Committed(1)}}, {})
    assert refused == {"alive": {ORDERS: "UNKNOWN_MEMBER_ID"}, "idle": {TopicPartition("gone", 0): "UNKNOWN_TOPIC_OR_PARTITION"}}


def test_a_commit_of_which_a_right_is_lacking_is_the_groups_error_and_one_that_a_coordinator_lost_is_sent_again(broker, groups):
    broker.codes = {"hidden": [GROUP_DENIED], "secret": [TOPIC_DENIED], "moving": [MOVED, 0]}
    errors = {}
    refused = groups.commit({name: {ORDERS: Committed(3)} for name in broker.codes}, errors)
    assert refused == {"moving": {}}
    assert "READ on the group hidden" in errors["hidden"].message
    assert "READ on topics that the group secret committed" in errors["secret"].message
    assert sorted(request.group_id for request in broker.of(OffsetCommitRequest)) == ["hidden", "moving", "moving", "secret"]


def test_offsets_are_deleted_and_a_group_that_is_gone_has_none(broker, groups):
    broker.offsets = {"billing": {("orders", 0): (7, "", -1), ("orders", 1): (8, "", -1)}, "busy": {("orders", 0): (1, "", -1)}}
    broker.codes, errors = {"busy": [NOT_EMPTY]}, {}
    assert groups.delete({"billing": [ORDERS], "gone": [ORDERS], "busy": [ORDERS]}, errors) == {"billing": {}, "gone": {}}
    assert set(broker.offsets["billing"]) == {("orders", 1)}
    assert errors["busy"].reason == "NON_EMPTY_GROUP"
    assert len(broker.of(OffsetDeleteRequest)) == 3


def test_brokers_that_know_no_deletion_say_so(broker, groups):
    broker.versions.update(KAFKA_2_1)
    with pytest.raises(KafkaFailure, match="deleting offsets of groups failed"):
        groups.delete({"billing": [ORDERS]}, {})


READ, DELETE, DESCRIBE = 3, 6, 8


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


HASHES = {
    "hello": 99162322,
    "polygenelubricants": 0,
    "a": 97,
    "\U0001f600": 1772899,
    "": 0,
    "The quick brown fox jumps over the lazy dog": 609428141,
}
"""As Java has them, without the sign: that of the second is the smallest number there is, and that of the last is negative."""


@pytest.mark.parametrize(("name", "code"), HASHES.items())
def test_a_group_has_its_partition_by_javas_hash_code(name, code):
    assert _java_hash(name) == code


def listing(logs):
    topic = Topic("__consumer_offsets", "id", tuple(Partition(number, 1, (1,), (1,)) for number in range(4)))
    return SimpleNamespace(
        topics=lambda _names, _refused: {topic.name: topic} if logs is not None else {},
        log_offsets=lambda partitions, _refused: {tp: LogOffsets(0, *logs[tp.partition], 0) for tp in partitions if tp.partition in logs},
    )


def test_only_where_a_transaction_is_open_or_nobody_tells_groups_are_asked_for():
    names = ["a", "b", "c", "d"]  # of the partitions 1, 2, 3 and 0
    assert may_be_unstable(listing({0: (9, 9), 1: (5, 9), 2: (9, 9), 3: (0, 0)}), names) == ["a"]
    assert may_be_unstable(listing({0: (9, 9), 1: (9, 9), 2: (-1, 9)}), names) == ["b", "c"]
    assert may_be_unstable(listing(None), names) == names
