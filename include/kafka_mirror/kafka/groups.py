"""Consumer groups of one cluster: which there are, who is in them, what we may do with them, what they committed; and commits for them.

Kafka takes a plain commit for a group without members whatever happened meanwhile. Of a transaction (`GroupTransaction`) its coordinator
takes nothing once another writer with the same transactional id has begun, and none of it is seen before it ends well (KIP-98). The broker
does not look whether a group has members: the caller looks before it ends the transaction.

    begin ── another writer begins ──► every request of ours is refused: Fenced
      └─ add positions ─ look at the groups ─ commit: all of them at once, or none
"""

import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import kafka.errors as errors
from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.producer import TxnOffsetCommitRequest

from kafka_mirror.errors import KafkaFailure, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import OF_TARGET, BrokerConnection
from kafka_mirror.kafka.broker_pool import BrokerPool, ask_metadata
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.connection_errors import DENIED, name_of, raise_for
from kafka_mirror.kafka.group_offsets import (
    STABLE_VERSION,
    Errors,
    Take,
    ask_coordinators,
    read_changed,
    send_commit,
    send_delete,
    send_fetch,
    send_of_one,
    topics_of,
)
from kafka_mirror.kafka.model import OPERATIONS, Committed, GroupMember
from kafka_mirror.kafka.polling import poll_until
from kafka_mirror.kafka.schemas import ConsumerGroupDescribeRequest, read_by
from kafka_mirror.kafka.transactions import FENCED, Fenced, Transactions

_WITH_OPERATIONS, _NEWEST = 3, 5
"""The first version of DescribeGroups that says what we may do, and the last that says it also of groups that do not exist."""
_DEAD, _GONE = "dead", ("empty", "dead", "")
_NO_GROUP = (0, errors.GroupIdNotFoundError.errno, errors.InvalidGroupIdError.errno, errors.UnsupportedVersionError.errno)
"""There is no such group of consumers, or it takes no members: old clients committed under an empty id (KIP-289)."""
_LIST_NEWEST = 5
_TYPES = ("classic", "consumer")
_PROTOCOLS = ("consumer", "")
_IDLE = ("empty", "dead")
_OFFSETS_TOPIC = "__consumer_offsets"
_SIGN, _RANGE = 1 << 31, 1 << 32


@dataclass(frozen=True)
class GroupDescription:
    """The members of a group, and whether we may commit for it (READ), as far as its coordinator tells; with Kafka's word for its state."""

    members: tuple[GroupMember, ...] = ()
    may_commit: bool = True
    state: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether it has no members, and none is about to join."""
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
    version = connection.choose_version(DescribeGroupsRequest.API_KEY, _NEWEST)
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
    return {str(group.group_id): _read_description(int(group.error_code), group, tells) for group in answer.groups}


def _read_description(code: int, group: Any, tells: bool) -> tuple[int, GroupDescription | None]:
    if code:
        return (0, None) if code in _NO_GROUP else (code, None)
    members = tuple(GroupMember(str(member.client_id), str(member.client_host), str(member.member_id)) for member in group.members)
    operations: set[int] = group.authorized_operations if tells else set()
    return 0, GroupDescription(members, not operations or OPERATIONS["READ"] in operations, str(group.group_state))


@dataclass(frozen=True)
class Group:
    """A group as its cluster lists it, in Kafka's words: type (`classic`, `consumer`, `share` …), protocol type, state."""

    name: str
    type: str
    protocol: str
    state: str

    @property
    def has_offsets(self) -> bool:
        """Whether it is a group of consumers, of either protocol, or one that only commits: whose offsets MirrorMaker 2 translates.

        Brokers before 3.8 know classic groups only and name no type.
        """
        return self.type.lower() in ("", *_TYPES) and self.protocol in _PROTOCOLS

    @property
    def is_streams(self) -> bool:
        """Whether it is a group of Kafka Streams' own protocol (KIP-1071): it commits offsets as any other, and MirrorMaker 2 leaves it
        out."""
        return self.type.lower() == "streams"

    @property
    def is_idle(self) -> bool:
        """Whether it has no members."""
        return self.state.lower() in _IDLE


class Groups:
    """The groups of one cluster. Every call ends within the cluster's deadline; raises the errors of `kafka_mirror.errors`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def list_groups(self) -> dict[str, Group]:
        """All groups that we may describe, by name, of every type."""
        groups = self._cluster.ask("listing groups", _list)
        # Brokers before Kafka 2.6 do not list states.
        refused: dict[str, MirrorError] = {}
        described = describe_groups(self._cluster, [name for name, group in groups.items() if not group.state], refused)
        for error in refused.values():
            raise error
        return groups | {name: replace(groups[name], state=description.state) for name, description in described.items()}

    def read_committed(self, names: Iterable[str], refused: Errors) -> dict[str, dict[TopicPartition, Committed]]:
        """What the groups committed, by group and partition; a group without any has an empty entry. What fails for one group alone goes
        into `refused` by its name."""
        return ask_coordinators(self._cluster, "listing offsets of", names, send_fetch, refused)

    def find_unstable(self, partitions: Mapping[str, Collection[TopicPartition]], refused: Errors) -> dict[str, tuple[TopicPartition, ...]]:
        """Those of the partitions for which a transaction that is still open commits offsets, by group, for groups that have some.

        Until it ends, a group stands where it stood; once it is committed, further on (KIP-447). A consumer that reads committed records
        waits for that, and so does who moves a group. The partitions are asked for by name: of a first commit a coordinator tells nothing
        else. Brokers before Kafka 2.5 do not tell (`tells_unstable`). `refused` as in `read_committed`.
        """
        verb, send = "asking for the stable offsets of", partial(send_fetch, partitions=partitions)
        there = ask_coordinators(self._cluster, verb, partitions, send, refused)
        places = {name: tuple(sorted(tp for tp, at in offsets.items() if at is None)) for name, offsets in there.items()}
        return {name: unstable for name, unstable in places.items() if unstable}

    def tells_unstable(self) -> bool:
        """Whether the cluster tells what `find_unstable` asks for."""
        step, key = "asking for the brokers' versions", OffsetFetchRequest.API_KEY
        return self._cluster.ask(step, lambda pool: pool.pick_connection().takes(key, STABLE_VERSION))

    def commit(self, offsets: Mapping[str, Mapping[TopicPartition, Committed]], refused: Errors) -> dict[str, dict[TopicPartition, str]]:
        """Commits for groups without members; gives, by group, Kafka's word for the partitions that were refused (`UNKNOWN_MEMBER_ID` …).

        What fails for a group as a whole goes into `refused`; some of its offsets may be committed then.
        """
        send = partial(send_commit, offsets=offsets)
        return ask_coordinators(self._cluster, "committing offsets of", offsets, send, refused, "READ")

    def delete(self, partitions: Mapping[str, Collection[TopicPartition]], refused: Errors) -> dict[str, dict[TopicPartition, str]]:
        """Deletes what groups without members committed for these partitions; a group that is gone has nothing there. Gives what was
        refused, as `commit` does. Needs the right to DELETE the group, and to READ the topics (KIP-496)."""
        send = partial(send_delete, partitions=partitions)
        return ask_coordinators(self._cluster, "deleting offsets of", partitions, send, refused, "DELETE")


def read_positions(groups: Groups, names: Collection[str]) -> dict[str, dict[TopicPartition, Committed]]:
    """What the groups committed. Raises what the cluster says against one of them: it is unknown then where it stands."""
    refused: dict[str, MirrorError] = {}
    committed = groups.read_committed(names, refused)
    for error in refused.values():
        raise error
    return committed


def may_be_unstable(cluster: Cluster, groups: Collection[str]) -> list[str]:
    """Those of the groups for which a transaction may commit offsets now: where one is open, their coordinator's log goes on after its last
    stable offset. All of them where that log may not be described."""
    refused: dict[str, MirrorError] = {}
    topic = cluster.topics([_OFFSETS_TOPIC], refused).get(_OFFSETS_TOPIC)
    if topic is None:
        return sorted(groups)
    logs = cluster.log_offsets([TopicPartition(topic.name, partition.number) for partition in topic.partitions], refused)
    settled = {tp.partition for tp, log in logs.items() if 0 <= log.end == log.stable}
    return sorted(group for group in groups if _java_hash(group) % len(topic.partitions) not in settled)


def _java_hash(name: str) -> int:
    """Java's hash code of a text without its sign (0 for the smallest number, which has no other sign), by which a group has its partition
    of the coordinators' log."""
    code, units = 0, name.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code if code < _SIGN else (_RANGE - code) % _SIGN


def _list(pool: BrokerPool) -> dict[str, Group]:
    """Every broker's own groups: those that it coordinates."""
    brokers = ask_metadata(pool.pick_connection(), []).brokers
    pool.learn(brokers)
    groups: dict[str, Group] = {}
    for node in sorted(brokers):
        connection = pool.connect(node)
        version = connection.choose_version(ListGroupsRequest.API_KEY, _LIST_NEWEST)
        code, there = connection.ask(ListGroupsRequest(version=version, states_filter=[], types_filter=[]), _read_listing)
        if code in DENIED:
            raise pool.errors.translate_code(code, "listing groups", operation="DESCRIBE", what="the cluster")
        raise_for(code)
        groups |= there
    return groups


def _read_listing(answer: Any) -> tuple[int, dict[str, Group]]:
    return int(answer.error_code), {
        str(row.group_id): Group(str(row.group_id), row.group_type or "", row.protocol_type or "", row.group_state or "")
        for row in answer.groups
    }


TRANSACTION_MS = 30_000
"""After so long Kafka aborts a transaction whose process is gone: until then the positions in it cannot be read as stable."""
_COMMIT_OFFSETS, _VERSION = 3, 1
"""The version of Kafka 2.8, with which every newer broker speaks transactions of version 1."""
_NOTHING = -1
"""The offset of a partition without a position, for brokers and for every client."""
_POLL_SECONDS = 0.02
_FENCED_NAMES = frozenset(map(name_of, FENCED))

Wanted = Mapping[str, Mapping[TopicPartition, Committed | None]]
"""Where each group is to stand; None: it is to have no position there."""


class GroupTransaction:
    """One transaction that commits positions of groups. Each method raises Fenced once another writer with the transactional id has begun,
    and errors of `kafka_mirror.errors`."""

    def __init__(self, cluster: Cluster, transactional_id: str) -> None:
        """Begins: from now on every earlier writer is fenced, and what it left open is aborted."""
        self._cluster = cluster
        self._places: dict[str, list[TopicPartition]] = {}
        pool = BrokerPool(cluster.alias, cluster.settings, cluster.timeout, OF_TARGET)
        self._transactions = Transactions(pool, transactional_id, TRANSACTION_MS, newest=_VERSION)
        self._transactions.begin()

    def add(self, wanted: Wanted, refused: Errors) -> dict[str, dict[TopicPartition, str]]:
        """Takes positions into the transaction; gives Kafka's word for the partitions that were refused, by group. What fails for a group
        as a whole goes into `refused`; some of its positions may be in the transaction then."""
        self._transactions.add_groups(wanted)
        own: dict[str, MirrorError] = {}
        answers = ask_coordinators(self._cluster, "committing offsets of", wanted, partial(self._send, wanted=wanted), own, "READ")
        if any(isinstance(error, KafkaFailure) and error.reason in _FENCED_NAMES for error in own.values()):
            raise Fenced
        refused.update(own)
        self._places |= {name: sorted(wanted[name]) for name in answers}
        return answers

    def commit(self) -> None:
        """Ends the transaction well; gives back once its positions are those that everybody reads."""
        self._transactions.commit()
        self._transactions.close()
        groups, refused = Groups(self._cluster), dict[str, MirrorError]()
        poll_until(
            lambda: groups.find_unstable(self._places, refused),
            self._cluster.timeout,
            every=_POLL_SECONDS,
            enough=operator.not_,
        )
        for error in refused.values():
            raise error

    def abort(self) -> None:
        """Ends the transaction as if it had not been. What does not succeed is done by the next writer, or by the timeout."""
        self._transactions.close()

    # ------------------------------------------------------------ inside

    def _send(self, connection: BrokerConnection, names: Sequence[str], take: Take, *, wanted: Wanted) -> None:
        version = connection.choose_version(TxnOffsetCommitRequest.API_KEY, _COMMIT_OFFSETS)
        of_topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        for name in names:
            positions = {tp: Committed(_NOTHING) if at is None else at for tp, at in wanted[name].items()}
            topics = topics_of(positions, of_topic, of_topic.TxnOffsetCommitRequestPartition)
            request = TxnOffsetCommitRequest(version=version, group_id=name, topics=topics, **self._transactions.fields)
            send_of_one(connection, request, take, name, partial(read_changed, whole=FENCED))
