"""The ACL bindings of a cluster's topics.

They are asked for over our own connections: librdkafka's client gives an empty list where a broker answers that it has no authorizer, or
that we may not see its ACLs. It changes them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import kafka.errors as errors
from confluent_kafka.admin import AclBinding, AclBindingFilter, AclOperation, AclPermissionType, ResourcePatternType, ResourceType
from kafka.protocol.admin import DescribeAclsRequest

from kafka_mirror.errors import MirrorError
from kafka_mirror.kafka.broker_pool import BrokerPool
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.connection_errors import raise_for
from kafka_mirror.kafka.model import Acl, PatternAcl

_OLDEST, _NEWEST = 1, 3


def topic_acls(cluster: Cluster) -> frozenset[Acl] | None:
    """All bindings of single topics, those of the name `*` included; None where the cluster has no authorizer. Raises AuthorizationRefused
    without the right to DESCRIBE the cluster."""
    acls = _describe(cluster, ResourcePatternType.LITERAL)
    return None if acls is None else frozenset(binding.acl for binding in acls)


def pattern_acls(cluster: Cluster) -> frozenset[PatternAcl] | None:
    """All bindings of topics, by whichever pattern. None and errors as in `topic_acls`."""
    return _describe(cluster, ResourcePatternType.ANY)


def _describe(cluster: Cluster, pattern: ResourcePatternType) -> frozenset[PatternAcl] | None:
    step = "reading ACLs"

    def question(pool: BrokerPool) -> frozenset[PatternAcl] | None:
        """Asks any broker; None where the cluster has no authorizer."""
        connection = pool.pick_connection()
        request = DescribeAclsRequest(
            version=connection.choose_version(DescribeAclsRequest.API_KEY, _NEWEST, _OLDEST),
            resource_type_filter=ResourceType.TOPIC.value,
            resource_name_filter=None,
            pattern_type_filter=pattern.value,
            principal_filter=None,
            host_filter=None,
            operation=AclOperation.ANY.value,
            permission_type=AclPermissionType.ANY.value,
        )
        code, acls = connection.ask(request, _read_bindings)
        if code == errors.SecurityDisabledError.errno:
            return None
        if code == errors.ClusterAuthorizationFailedError.errno:
            raise pool.errors.translate_code(code, step, operation="DESCRIBE", what="the cluster")
        raise_for(code)
        return frozenset(acls)

    return cluster.ask(step, question)


def _read_bindings(answer: Any) -> tuple[int, list[PatternAcl]]:
    """An answer's error code, and the bindings in it."""
    return int(answer.error_code), [
        PatternAcl(
            Acl(
                str(resource.resource_name),
                str(acl.principal),
                str(acl.host),
                AclOperation(acl.operation).name,
                AclPermissionType(acl.permission_type).name,
            ),
            ResourcePatternType(resource.pattern_type).name,
        )
        for resource in answer.resources
        for acl in resource.acls
    ]


def create_acls(cluster: Cluster, acls: Iterable[Acl]) -> dict[Acl, MirrorError | None]:
    """Creates bindings; the answer has, for each, what went wrong, or None. One that is there already is none the worse for it."""
    bindings = {acl: AclBinding(*_words(acl)) for acl in acls}
    return _change(cluster, "creating", bindings, lambda client, wanted, seconds: client.create_acls(wanted, request_timeout=seconds))


def delete_acls(cluster: Cluster, acls: Iterable[Acl]) -> dict[Acl, MirrorError | None]:
    """Takes bindings away; the answer has, for each, what went wrong, or None. One that is not there is none the worse for it."""
    filters = {acl: AclBindingFilter(*_words(acl)) for acl in acls}
    return _change(cluster, "taking away", filters, lambda client, wanted, seconds: client.delete_acls(wanted, request_timeout=seconds))


def _change(
    cluster: Cluster, verb: str, bindings: Mapping[Acl, Any], request: Callable[[Any, list[Any], float], Any]
) -> dict[Acl, MirrorError | None]:
    if not bindings:
        return {}
    answers = cluster.admin.send(f"{verb} ACLs", lambda client, seconds: request(client, list(bindings.values()), seconds))
    return {
        acl: cluster.admin.await_failure(answers[bound], f"{verb} an ACL of {acl.topic} ({acl})", "ALTER")
        for acl, bound in bindings.items()
    }


def _words(acl: Acl) -> tuple[Any, ...]:
    operation, permission = AclOperation[acl.operation], AclPermissionType[acl.permission]
    return (ResourceType.TOPIC, acl.topic, ResourcePatternType.LITERAL, acl.principal, acl.host, operation, permission)
