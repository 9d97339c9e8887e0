"""The ACL bindings of a cluster's topics.

They are read through kafka-python: librdkafka's client gives an empty list where a broker answers that it has no authorizer, or that we
may not see its ACLs.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import kafka.errors as errors
from confluent_kafka.admin import AclBinding, AclBindingFilter, AclOperation, AclPermissionType, ResourcePatternType, ResourceType
from kafka import KafkaAdminClient
from kafka import admin as python

from mirror.errors import AuthorizationRefused, ClusterUnreachable, KafkaFailure, MirrorError
from mirror.kafka.cluster import Cluster
from mirror.kafka.kafka_python import LOOK_SECONDS, python_settings, unreachable_broker
from mirror.kafka.model import Acl, PatternAcl

_LITERAL, _ANY = python.ACLResourcePatternType.LITERAL, python.ACLResourcePatternType.ANY


def topic_acls(cluster: Cluster, settings: Mapping[str, Any]) -> frozenset[Acl] | None:
    """All bindings of single topics, those of the name `*` included; None where the cluster has no authorizer.

    `settings` are librdkafka's, of an admin client of that cluster. Raises AuthorizationRefused without the right to DESCRIBE the cluster.
    """
    acls = _described(cluster, settings, _LITERAL)
    return None if acls is None else frozenset(binding.acl for binding in acls)


def pattern_acls(cluster: Cluster, settings: Mapping[str, Any]) -> frozenset[PatternAcl] | None:
    """All bindings of topics, by whichever pattern. `settings`, None and errors as in `topic_acls`."""
    return _described(cluster, settings, _ANY)


def _described(cluster: Cluster, settings: Mapping[str, Any], pattern: python.ACLResourcePatternType) -> frozenset[PatternAcl] | None:
    cluster.cluster_id()  # librdkafka's client says in one sentence why a cluster cannot be reached
    limit = int(cluster.timeout * 1000)
    wanted = python.ResourcePatternFilter(python.ResourceType.TOPIC, None, pattern)
    of_topics = python.ACLFilter(None, None, python.ACLOperation.ANY, python.ACLPermissionType.ANY, wanted)
    client = None
    try:
        client = KafkaAdminClient(**python_settings(settings), bootstrap_timeout_ms=limit, request_timeout_ms=limit)
        return frozenset(
            PatternAcl(_acl(binding), binding.resource_pattern.pattern_type.name) for binding in client.describe_acls(of_topics)[0]
        )
    except errors.SecurityDisabledError:
        return None
    except errors.ClusterAuthorizationFailedError:
        raise AuthorizationRefused(cluster.alias, "DESCRIBE", "the cluster") from None
    except errors.KafkaConnectionError as failure:
        detail = unreachable_broker(cluster.advertised, min(cluster.timeout, LOOK_SECONDS)) or str(failure)
        raise ClusterUnreachable(cluster.alias, str(settings["bootstrap.servers"]), cluster.timeout, f"reading ACLs: {detail}") from failure
    except errors.KafkaError as failure:
        reason = type(failure).__name__
        raise KafkaFailure(f"Cluster '{cluster.alias}': reading ACLs failed: {reason}: {failure}.", reason=reason) from failure
    finally:
        if client is not None:
            client.close()


def create_acls(cluster: Cluster, acls: Iterable[Acl]) -> dict[Acl, MirrorError | None]:
    """Creates bindings; the answer has, for each, what went wrong, or None. One that is there already is none the worse for it."""
    bindings = {acl: _binding(acl) for acl in acls}
    if not bindings:
        return {}
    answers = cluster.admin.send(
        "creating ACLs", lambda client, seconds: client.create_acls(list(bindings.values()), request_timeout=seconds)
    )
    return {
        acl: cluster.admin.failure(answers[bound], f"creating an ACL of {acl.topic} ({acl})", "ALTER") for acl, bound in bindings.items()
    }


def delete_acls(cluster: Cluster, acls: Iterable[Acl]) -> dict[Acl, MirrorError | None]:
    """Takes bindings away; the answer has, for each, what went wrong, or None. One that is not there is none the worse for it."""
    filters = {acl: _filter(acl) for acl in acls}
    if not filters:
        return {}
    answers = cluster.admin.send(
        "taking ACLs away", lambda client, seconds: client.delete_acls(list(filters.values()), request_timeout=seconds)
    )
    return {
        acl: cluster.admin.failure(answers[wanted], f"taking away an ACL of {acl.topic} ({acl})", "ALTER")
        for acl, wanted in filters.items()
    }


def _acl(binding: Any) -> Acl:
    return Acl(
        binding.resource_pattern.resource_name, binding.principal, binding.host, binding.operation.name, binding.permission_type.name
    )


def _binding(acl: Acl) -> AclBinding:
    return AclBinding(*_words(acl))


def _filter(acl: Acl) -> AclBindingFilter:
    return AclBindingFilter(*_words(acl))


def _words(acl: Acl) -> tuple[Any, ...]:
    operation, permission = AclOperation[acl.operation], AclPermissionType[acl.permission]
    return (ResourceType.TOPIC, acl.topic, ResourcePatternType.LITERAL, acl.principal, acl.host, operation, permission)
