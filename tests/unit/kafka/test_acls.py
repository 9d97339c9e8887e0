"""The ACLs of topics as a broker tells them."""

import pytest
from kafka.protocol.admin import DescribeAclsRequest, DescribeAclsResponse

from kafka_mirror.errors import AuthorizationRefused, KafkaFailure
from kafka_mirror.kafka.acls import pattern_acls, topic_acls
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Acl, PatternAcl
from tests.unit.copy.batches.wire_protocol import KAFKA_2_1

SECURITY_DISABLED, CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_SERVER_ERROR = 54, 31, -1
READ, ALLOW, LITERAL, TOPIC = 3, 3, 3, 2


@pytest.fixture
def cluster(broker):
    with Cluster("east", broker.settings, 2.0) as made:
        yield made


def telling(code=0, operation=READ):
    of_topic = DescribeAclsResponse.DescribeAclsResource
    acl = of_topic.AclDescription(principal="User:a", host="*", operation=operation, permission_type=ALLOW)
    resource = of_topic(resource_type=TOPIC, resource_name="orders", pattern_type=LITERAL, acls=[acl])
    return lambda _request: DescribeAclsResponse(error_code=code, error_message=None, resources=[resource])


@pytest.mark.parametrize("versions", [{}, KAFKA_2_1])
def test_bindings_are_told_in_kafkas_words(cluster, broker, versions):
    broker.versions.update(versions)
    broker.answers[DescribeAclsRequest] = telling()
    acl = Acl("orders", "User:a", "*", "READ", "ALLOW")
    assert topic_acls(cluster) == {acl}
    assert pattern_acls(cluster) == {PatternAcl(acl, "LITERAL")}
    of_single, of_any = broker.of(DescribeAclsRequest)
    assert [request.pattern_type_filter for request in (of_single, of_any)] == [LITERAL, 1]
    assert (of_any.resource_type_filter, of_any.resource_name_filter, of_any.operation, of_any.permission_type) == (TOPIC, None, 1, 1)


def test_a_cluster_without_authorizer_has_none(cluster, broker):
    broker.answers[DescribeAclsRequest] = telling(SECURITY_DISABLED)
    assert topic_acls(cluster) is None


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (telling(CLUSTER_AUTHORIZATION_FAILED), AuthorizationRefused),
        (telling(UNKNOWN_SERVER_ERROR), KafkaFailure),
        (telling(operation=99), KafkaFailure),
        (lambda _request: DescribeAclsResponse(error_code=0, error_message=None, resources=None), KafkaFailure),
    ],
)
def test_what_a_broker_refuses_or_nobody_understands_is_an_error_of_ours(cluster, broker, answer, kind):
    broker.answers[DescribeAclsRequest] = answer
    with pytest.raises(kind, match=r"Cluster 'east'"):
        topic_acls(cluster)
