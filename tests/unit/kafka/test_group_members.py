"""What is made of Kafka's descriptions of groups and of the cluster."""

from concurrent.futures import Future
from types import SimpleNamespace as Answer

import pytest
from confluent_kafka.admin import AclOperation

from mirror.errors import AuthorizationRefused, KafkaFailure
from mirror.kafka.group_members import GroupDescription, cluster_operations, describe_groups
from mirror.kafka.model import GroupMember

FAILURES = {
    "hidden": AuthorizationRefused("east", "DESCRIBE", "the group"),
    "missing": KafkaFailure("no such group", reason="GROUP_ID_NOT_FOUND"),
    "loading": KafkaFailure("loading", reason="COORDINATOR_LOAD_IN_PROGRESS"),
    "confused": KafkaFailure("describing the group confused failed: UNKNOWN", reason="UNKNOWN", next="Look."),
    "odd": KafkaFailure("odd", reason="INVALID_REQUEST"),
    "": KafkaFailure("describing the group '' failed", reason="INVALID_GROUP_ID"),
}


def described(operations):
    return Answer(members=[Answer(client_id="app", host="/10.0.0.7", member_id="app-9f")], authorized_operations=operations)


class Admin:
    """Stands in for the cluster's admin client: `answers` by name, and the failures of FAILURES."""

    def __init__(self, answers):
        self.answers = answers
        self.calls = []

    def send(self, _step, request):
        return request(self, 1.0)

    def describe_consumer_groups(self, names, **_options):
        self.calls.append(names)
        late = len(self.calls) > 1
        return {name: _future(self.answers.get(f"{name}-later" if late else name, name)) for name in names}

    def describe_cluster(self, **_options):
        return _future(self.answers["cluster"])

    def failure(self, answer, _step, _operation):
        return FAILURES.get(answer.result(0)) if isinstance(answer.result(0), str) else None


def _future(value):
    future = Future()
    future.set_result(value)
    return future


def cluster(**answers):
    return Answer(alias="east", admin=Admin(answers), timeout=0.3)


@pytest.mark.parametrize(
    ("operations", "may_commit", "may_delete"),
    [
        ([AclOperation.READ], True, False),
        ([AclOperation.READ, AclOperation.DELETE], True, True),
        ([AclOperation.DESCRIBE], False, False),
        (None, True, True),
        ([], True, True),
    ],
)
def test_members_are_named_and_whether_we_may_commit_and_delete_as_far_as_the_broker_tells(operations, may_commit, may_delete):
    found = describe_groups(cluster(billing=described(operations)), ["billing"], {})
    assert found == {"billing": GroupDescription((GroupMember("app", "/10.0.0.7", "app-9f"),), may_commit, may_delete)}


def test_a_group_that_does_not_exist_is_absent_and_one_that_is_refused_is_named():
    refused = {}
    found = describe_groups(cluster(billing=described(None)), ["billing", *FAILURES], refused)
    assert set(found) == {"billing"}
    assert {name: type(error) for name, error in refused.items()} == {
        "hidden": AuthorizationRefused,
        "loading": KafkaFailure,
        "confused": KafkaFailure,
        "odd": KafkaFailure,
    }
    assert "the group hidden" in refused["hidden"].message


def test_a_group_whose_coordinator_still_loads_is_asked_for_again_and_the_others_are_not():
    asked, refused = cluster(billing=described(None), **{"loading-later": described(None)}), {}
    assert set(describe_groups(asked, ["billing", "loading", "odd"], refused)) == {"billing", "loading"}
    assert asked.admin.calls == [["billing", "loading", "odd"], ["loading"]]
    assert set(refused) == {"odd"}


def test_no_groups_ask_nobody():
    assert describe_groups(None, [], {}) == {}


def test_what_we_may_do_with_the_cluster_is_said_in_kafkas_words():
    assert cluster_operations(cluster(cluster=Answer(authorized_operations=[AclOperation.ALTER]))) == {"ALTER"}
    with pytest.raises(KafkaFailure):
        cluster_operations(cluster(cluster="odd"))


def test_a_group_that_its_broker_lost_track_of_says_what_mends_it():
    refused = {}
    assert describe_groups(cluster(), ["confused"], refused) == {}
    assert refused["confused"].message == "describing the group confused failed: UNKNOWN"
    assert "when that broker is restarted" in refused["confused"].next
