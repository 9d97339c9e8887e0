"""The members of groups, by whichever protocol they are in them, and what we may do with the groups.

kafka-python has no schema of ConsumerGroupDescribe (KIP-848), so its answer is read here.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import kafka.errors as errors
from kafka.protocol.admin import DescribeGroupsRequest

from mirror.formats.varint import read_length, read_varint, varint
from mirror.kafka.broker_connection import BrokerConnection
from mirror.kafka.cluster import OPERATIONS, Cluster
from mirror.kafka.group_coordinators import Errors, Take, ask_coordinators
from mirror.kafka.model import GroupMember
from mirror.kafka.schema_answers import read_by

_WITH_OPERATIONS, _NEWEST = 3, 5
"""The first version of DescribeGroups that says what we may do, and the last that says it also of groups that do not exist."""
_CONSUMER_GROUP_DESCRIBE = 69
_DEAD, _GONE = "dead", ("empty", "dead", "")
_NO_GROUP = (0, errors.GroupIdNotFoundError.errno, errors.InvalidGroupIdError.errno, errors.UnsupportedVersionError.errno)
"""There is no such group of consumers, or nobody can be a member of it: old clients committed under an empty id (KIP-289)."""
_UNTOLD = 31
"""The bit that is set where a broker does not say what we may do."""
_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_TOPIC_ID_BYTES = 16


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


# ------------------------------------------------------------ groups of the classic protocol


def _send_classic(connection: BrokerConnection, names: Sequence[str], take: Take) -> None:
    version = connection.version(DescribeGroupsRequest.API_KEY, _NEWEST)
    request = DescribeGroupsRequest(version=version, groups=list(names), include_authorized_operations=True)
    read = partial(_classic, tells=version >= _WITH_OPERATIONS)
    connection.send(request, lambda answer: take(read_by(read, answer)))


def _classic(answer: Any, tells: bool) -> dict[str, tuple[int, GroupDescription | None]]:
    return {str(group.group_id): _described(int(group.error_code), group, tells) for group in answer.groups}


def _described(code: int, group: Any, tells: bool) -> tuple[int, GroupDescription | None]:
    if code:
        return (0, None) if code in _NO_GROUP else (code, None)
    members = [GroupMember(str(member.client_id), str(member.client_host), str(member.member_id)) for member in group.members]
    return 0, _description(str(group.group_state), members, group.authorized_operations if tells else None)


def _description(state: str, members: Iterable[GroupMember], operations: set[int] | None) -> GroupDescription:
    return GroupDescription(tuple(members), not operations or OPERATIONS["READ"] in operations, state)


# ------------------------------------------------------------ groups of the consumer protocol


class DescribedGroups(NamedTuple):
    """What a coordinator says of groups of the consumer protocol: an error code, or the group."""

    throttle_time_ms: int
    groups: dict[str, tuple[int, GroupDescription | None]]


def _send_consumer(connection: BrokerConnection, names: Sequence[str], take: Take) -> None:
    if not connection.takes(_CONSUMER_GROUP_DESCRIBE):
        take(dict.fromkeys(names, (0, None)))
        return
    encoded = [name.encode() for name in names]
    body = b"".join((varint(len(names) + 1), *(varint(len(name) + 1) + name for name in encoded), b"\1\0"))
    connection.queue_parts(_CONSUMER_GROUP_DESCRIBE, 0, [body], consumer_groups, lambda answer: take(answer.groups))
    connection.flush()


def consumer_groups(body: memoryview) -> DescribedGroups:
    """Reads the answer to ConsumerGroupDescribe of version 0. Raises ValueError, IndexError or struct.error for one that is none."""
    answer = _Answer(body)
    throttle = answer.number(_INT32)
    groups = dict(_consumer_group(answer) for _ in range(answer.count()))
    answer.tags()
    answer.end()
    return DescribedGroups(throttle, groups)


def _consumer_group(answer: "_Answer") -> tuple[str, tuple[int, GroupDescription | None]]:
    code = answer.number(_INT16)
    answer.text()  # what the code means
    name, state = answer.text(), answer.text()
    answer.skip(2 * _INT32.size)  # the epochs of the group and of its assignment
    answer.text()  # who assigns
    members = [_member(answer) for _ in range(answer.count())]
    bits = answer.number(_INT32)
    answer.tags()
    if code:
        return name, ((0, None) if code in _NO_GROUP else (code, None))
    operations = {bit for bit in OPERATIONS.values() if bits >> bit & 1} if bits != -(1 << _UNTOLD) else None
    return name, (0, _description(state, members, operations))


def _member(answer: "_Answer") -> GroupMember:
    member_id = answer.text()
    answer.text()  # its instance
    answer.text()  # its rack
    answer.skip(_INT32.size)
    client_id, host = answer.text(), answer.text()
    for _ in range(answer.count()):
        answer.text()  # topics that it subscribed to
    answer.text()  # the same by a pattern
    for _ in ("what it has", "what it is to have"):
        for _ in range(answer.count()):
            answer.skip(_TOPIC_ID_BYTES)
            answer.text()
            answer.skip(_INT32.size * answer.count(_INT32.size))
            answer.tags()
        answer.tags()
    answer.tags()
    return GroupMember(client_id, host, member_id)


class _Answer:
    """A place in the bytes of an answer. No step takes more than what is left of them."""

    def __init__(self, body: memoryview) -> None:
        self._body = body
        self._at = 0

    def number(self, kind: struct.Struct) -> int:
        """The number that stands there."""
        (number,) = kind.unpack_from(self._body, self._at)
        self._at += kind.size
        return int(number)

    def count(self, least: int = 1) -> int:
        """How many elements follow, of at least that many bytes each; none for null."""
        count, self._at = read_length(self._body, self._at, least)
        return max(count, 0)

    def text(self) -> str:
        """The text that stands there, empty for null."""
        length = self.count()
        start = self._at
        self.skip(length)
        return str(self._body[start : self._at], "utf-8")

    def skip(self, size: int) -> None:
        """Passes over `size` bytes."""
        self._at += size

    def tags(self) -> None:
        """Goes on behind fields that were added since."""
        count, self._at = read_varint(self._body, self._at)
        for _ in range(count):
            _, at = read_varint(self._body, self._at)
            size, self._at = read_varint(self._body, at)
            self.skip(size)

    def end(self) -> None:
        """Raises ValueError unless this is the end."""
        if self._at != len(self._body):
            raise ValueError("groups are followed by bytes that nobody knows")
