"""The ACL bindings of a cluster's topics."""

from collections.abc import Iterable
from typing import Any

from confluent_kafka.admin import AclBinding, AclBindingFilter, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from mirror.errors import KafkaFailure, MirrorError
from mirror.kafka.cluster import Cluster
from mirror.kafka.model import Acl

_ANYTHING: Any = None
_BY_NAME = AclBindingFilter(
    ResourceType.TOPIC, _ANYTHING, ResourcePatternType.LITERAL, _ANYTHING, _ANYTHING, AclOperation.ANY, AclPermissionType.ANY
)


def topic_acls(cluster: Cluster) -> frozenset[Acl] | None:
    """All bindings of single topics, those of the name `*` included; None where the cluster has no authorizer.

    Raises AuthorizationRefused without the right to DESCRIBE the cluster.
    """
    answer = cluster.send("reading ACLs", lambda admin, seconds: admin.describe_acls(_BY_NAME, request_timeout=seconds))
    failure = cluster.failure(answer, "reading ACLs", "DESCRIBE")
    if isinstance(failure, KafkaFailure) and failure.reason == "SECURITY_DISABLED":
        return None
    if failure is not None:
        raise failure
    return frozenset(
        Acl(found.name, found.principal, found.host, found.operation.name, found.permission_type.name) for found in answer.result(0)
    )


def create_acls(cluster: Cluster, acls: Iterable[Acl]) -> dict[Acl, MirrorError | None]:
    """Creates bindings; the answer has, for each, what went wrong, or None. One that is there already is none the worse for it."""
    bindings = {acl: _binding(acl) for acl in acls}
    if not bindings:
        return {}
    answers = cluster.send("creating ACLs", lambda admin, seconds: admin.create_acls(list(bindings.values()), request_timeout=seconds))
    return {acl: cluster.failure(answers[bound], f"creating an ACL of {acl.topic} ({acl})", "ALTER") for acl, bound in bindings.items()}


def _binding(acl: Acl) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        acl.topic,
        ResourcePatternType.LITERAL,
        acl.principal,
        acl.host,
        AclOperation[acl.operation],
        AclPermissionType[acl.permission],
    )
