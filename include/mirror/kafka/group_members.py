"""The members of consumer groups of either protocol, and what we may do with the groups.

Through librdkafka: kafka-python describes groups of the classic protocol only.
"""

from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass

from confluent_kafka.admin import AclOperation

from mirror.errors import AuthorizationRefused, KafkaFailure, MirrorError
from mirror.errors.display import show
from mirror.kafka.cluster import Cluster
from mirror.kafka.coordinator_faults import LOST_TRACK_NEXT
from mirror.kafka.model import GroupMember
from mirror.kafka.polling import until

_WITHOUT_MEMBERS = ("GROUP_ID_NOT_FOUND", "INVALID_GROUP_ID")
"""There is no such group, or nobody can be a member of it: old clients committed under an empty id (KIP-289)."""
_COORDINATOR_MOVES = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
_BROKER_FAULT = "UNKNOWN"
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True)
class GroupDescription:
    """The members of a group, and whether we may commit for it (READ) and delete what it committed (DELETE), as far as its coordinator
    tells."""

    members: tuple[GroupMember, ...] = ()
    may_commit: bool = True
    may_delete: bool = True


def describe_groups(cluster: Cluster, names: Iterable[str], refused: MutableMapping[str, MirrorError]) -> dict[str, GroupDescription]:
    """The groups by name; one that does not exist has no members, or is absent. What fails for one group is in `refused` by its name.

    A group whose coordinator moves is asked for again, within the cluster's deadline.
    """
    waiting = set(names)
    groups: dict[str, GroupDescription] = {}
    failures: dict[str, MirrorError] = {}

    def all_answered() -> bool:
        """Whether no group waits for its coordinator any more."""
        failures.clear()
        groups.update(_described(cluster, waiting, failures))
        waiting.intersection_update(name for name, failure in failures.items() if _reason(failure) in _COORDINATOR_MOVES)
        refused.update({name: failure for name, failure in failures.items() if name not in waiting})
        return not waiting

    if waiting and not until(all_answered, cluster.timeout, every=_PAUSE_SECONDS):
        refused.update(failures)
    return groups


def _described(cluster: Cluster, names: Iterable[str], refused: MutableMapping[str, MirrorError]) -> dict[str, GroupDescription]:
    step, wanted = "describing groups", sorted(names)
    answers = cluster.admin.send(
        step,
        lambda client, seconds: client.describe_consumer_groups(wanted, include_authorized_operations=True, request_timeout=seconds),
    )
    groups: dict[str, GroupDescription] = {}
    for name, answer in answers.items():
        failure = cluster.admin.failure(answer, f"describing the group {show(name)}", "DESCRIBE")
        if failure is None:
            described = answer.result(0)
            members = tuple(GroupMember(member.client_id, member.host, member.member_id) for member in described.members)
            operations = described.authorized_operations
            may_commit, may_delete = (not operations or operation in operations for operation in (AclOperation.READ, AclOperation.DELETE))
            groups[name] = GroupDescription(members, may_commit, may_delete)
        elif isinstance(failure, AuthorizationRefused):
            refused[name] = AuthorizationRefused(cluster.alias, "DESCRIBE", f"the group {show(name)}")
        elif _reason(failure) == _BROKER_FAULT:
            refused[name] = KafkaFailure(failure.message, reason=_BROKER_FAULT, next=LOST_TRACK_NEXT)
        elif _reason(failure) not in _WITHOUT_MEMBERS:
            refused[name] = failure
    return groups


def _reason(failure: MirrorError) -> str:
    return failure.reason if isinstance(failure, KafkaFailure) else ""


def cluster_operations(cluster: Cluster) -> frozenset[str]:
    """What we may do with the cluster itself, in the words of Kafka's ACLs; everything where there is no authorizer. Raises MirrorError."""
    step = "asking what we may do"
    answer = cluster.admin.send(
        step, lambda client, seconds: client.describe_cluster(include_authorized_operations=True, request_timeout=seconds)
    )
    failure = cluster.admin.failure(answer, step, "DESCRIBE")
    if failure is not None:
        raise failure
    return frozenset(operation.name for operation in answer.result(0).authorized_operations or ())
