"""The members of groups, by whichever protocol they are in them, and what we may do with the groups."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import kafka.errors as errors
from kafka.protocol.admin import DescribeGroupsRequest

from kafka_mirror.kafka.broker_connection import BrokerConnection
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.group_coordinators import Errors, Take, ask_coordinators
from kafka_mirror.kafka.model import OPERATIONS, GroupMember
from kafka_mirror.kafka.schema_answers import read_by
from kafka_mirror.kafka.schemas import ConsumerGroupDescribeRequest

_WITH_OPERATIONS, _NEWEST = 3, 5
"""The first version of DescribeGroups that says what we may do, and the last that says it also of groups that do not exist."""
_DEAD, _GONE = "dead", ("empty", "dead", "")
_NO_GROUP = (0, errors.GroupIdNotFoundError.errno, errors.InvalidGroupIdError.errno, errors.UnsupportedVersionError.errno)
"""There is no such group of consumers, or nobody can be a member of it: old clients committed under an empty id (KIP-289)."""


@dataclass(frozen=True)
class GroupDescription:
    """The members of a group, and whether we may commit for it (READ), as far as its coordinator tells; with Kafka's word for its state."""

    members: tuple[GroupMember, ...] = ()
    may_commit: bool = True
    state: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether nobody is in it, and nobody is about to come in."""
        return not self.members and self.state.lower() in _GONE


def describe_groups(cluster: Cluster, names: Iterable[str], refused: Errors) -> dict[str, GroupDescription]:
    """The groups by name; one that does not exist has no members, or is absent. What fails for one group is in `refused` by its name."""
    described = ask_coordinators(cluster, "describing", names, _send_classic, refused)
    others = [name for name, group in described.items() if group is None or group.state.lower() == _DEAD]
    of_consumers = ask_coordinators(cluster, "describing", others, _send_consumer, refused)
    everything = described | {name: group for name, group in of_consumers.items() if group is not None}
    return {name: group for name, group in everything.items() if group is not None}


# ------------------------------------------------------------ inside


def _send_classic(connection: BrokerConnection, names: Sequence[str], take: Take) -> None:
    version = connection.version(DescribeGroupsRequest.API_KEY, _NEWEST)
    request = DescribeGroupsRequest(version=version, groups=list(names), include_authorized_operations=True)
    read = partial(_read, tells=version >= _WITH_OPERATIONS)
    connection.send(request, lambda answer: take(read_by(read, answer)))


def _send_consumer(connection: BrokerConnection, names: Sequence[str], take: Take) -> None:
    if not connection.takes(ConsumerGroupDescribeRequest.API_KEY):
        take(dict.fromkeys(names, (0, None)))
        return
    request = ConsumerGroupDescribeRequest(version=0, group_ids=list(names), include_authorized_operations=True)
    connection.send(request, lambda answer: take(read_by(_read, answer)))


def _read(answer: Any, tells: bool = True) -> dict[str, tuple[int, GroupDescription | None]]:
    """What a coordinator says of groups: an error code, or the group; `tells`: whether it says what we may do."""
    return {str(group.group_id): _described(int(group.error_code), group, tells) for group in answer.groups}


def _described(code: int, group: Any, tells: bool) -> tuple[int, GroupDescription | None]:
    if code:
        return (0, None) if code in _NO_GROUP else (code, None)
    members = tuple(GroupMember(str(member.client_id), str(member.client_host), str(member.member_id)) for member in group.members)
    operations: set[int] = group.authorized_operations if tells else set()
    return 0, GroupDescription(members, not operations or OPERATIONS["READ"] in operations, str(group.group_state))
