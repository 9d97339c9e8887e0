"""What a broker of the tests answers about groups: by kafka-python's schemas, and by one of the tests' own for KIP-848."""

import uuid

from kafka.protocol.admin import DescribeGroupsRequest, DescribeGroupsResponse, ListGroupsRequest, ListGroupsResponse
from kafka.protocol.consumer import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

from kafka_mirror.kafka.schemas import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.batches.wire_protocol import INVALID_PRODUCER_EPOCH, PRODUCER_FENCED

GROUP_ID_NOT_FOUND = 69


class GroupBroker(WireBroker):
    """A broker with groups: `classic` and `modern` (KIP-848) with their members' client ids, and what each committed."""

    def __init__(self):
        super().__init__()
        self.classic, self.modern, self.offsets = {}, {}, {}
        self.codes = {}
        """The error codes that it answers with, one after the other, the last for ever; by group, and by group and partition."""
        self.unstable = set()
        """Groups and partitions for which a transaction is open."""
        self.operations = {3, 8}
        self.pending = {}
        """The positions in transactions that are open, by transactional id."""
        self.marker_fetches = 0
        """How often positions of a transaction that is committed are asked for before its markers are there."""
        self.answers |= {
            ListGroupsRequest: self._list,
            DescribeGroupsRequest: self._describe,
            ConsumerGroupDescribeRequest: self._describe_modern,
            OffsetFetchRequest: self._fetch_offsets,
            OffsetCommitRequest: self._commit,
            OffsetDeleteRequest: self._delete,
            AddOffsetsToTxnRequest: self._add_offsets,
            TxnOffsetCommitRequest: self._commit_in_transaction,
        }

    def code(self, *key):
        codes = self.codes.get(key if len(key) > 1 else key[0], [0])
        return codes.pop(0) if len(codes) > 1 else codes[0]

    def _end(self, owner, committed):
        super()._end(owner, committed)
        name = next(name for name, each in self.owners.items() if each is owner)
        for group, positions in self.pending.pop(name, {}).items():
            if committed:
                self.offsets.setdefault(group, {}).update(positions)

    def _add_offsets(self, request):
        owner = self.owners[request.transactional_id]
        code = self.code("*") or (PRODUCER_FENCED if request.producer_epoch != owner.epoch else 0)
        if not code:
            self.pending.setdefault(request.transactional_id, {})[request.group_id] = {}
        return AddOffsetsToTxnResponse(error_code=code)

    def _commit_in_transaction(self, request):
        fenced = INVALID_PRODUCER_EPOCH if request.producer_epoch != self.owners[request.transactional_id].epoch else 0
        of_topic = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
        topics = self._keep(request, fenced, self.pending[request.transactional_id], of_topic, of_topic.TxnOffsetCommitResponsePartition)
        return TxnOffsetCommitResponse(topics=topics)

    def _keep(self, request, refused, positions, of_topic, of_partition):
        """Takes what a request commits into `positions`, unless that is refused, and gives the topics of the answer."""
        topics, whole = [], refused or self.code(request.group_id)
        for topic in request.topics:
            rows = []
            for row in topic.partitions:
                code = whole or self.code(request.group_id, topic.name, row.partition_index)
                if not code:
                    position = (row.committed_offset, row.committed_metadata, row.committed_leader_epoch)
                    positions.setdefault(request.group_id, {})[topic.name, row.partition_index] = position
                rows.append(of_partition(partition_index=row.partition_index, error_code=code))
            topics.append(of_topic(name=topic.name, partitions=rows))
        return topics

    def _list(self, _request):
        rows = [(name, "classic", "consumer", members) for name, members in self.classic.items()]
        rows += [(name, "consumer", "consumer", members) for name, members in self.modern.items()]
        groups = [
            ListGroupsResponse.ListedGroup(
                group_id=name, group_type=kind, protocol_type=protocol, group_state="Stable" if members else "Empty"
            )
            for name, kind, protocol, members in rows
        ]
        return ListGroupsResponse(error_code=self.code("*"), groups=groups)

    def _describe(self, request):
        kind = DescribeGroupsResponse.DescribedGroup
        groups = [
            kind(
                error_code=self.code(name),
                group_id=name,
                group_state="Dead" if name not in self.classic else "Stable" if self.classic[name] else "Empty",
                protocol_type="consumer",
                protocol_data="range",
                authorized_operations=self.operations,
                members=[
                    kind.DescribedGroupMember(member_id=f"{each}-9f", client_id=each, client_host="/10.0.0.7")
                    for each in self.classic.get(name, ())
                ],
            )
            for name in request.groups
        ]
        return DescribeGroupsResponse(groups=groups)

    def _describe_modern(self, request):
        return ConsumerGroupDescribeResponse(
            groups=[modern_group(name, self.modern.get(name), self.operations) for name in request.group_ids],
        )

    def _fetch_offsets(self, request):
        if request.API_VERSION < 8:
            kind = OffsetFetchResponse.OffsetFetchResponseTopic
            code, topics = self._fetched(request.group_id, request.topics, request.require_stable, kind, kind.OffsetFetchResponsePartition)
            return OffsetFetchResponse(error_code=code, topics=topics)
        of_group = OffsetFetchResponse.OffsetFetchResponseGroup
        of_topic = of_group.OffsetFetchResponseTopics
        groups = []
        for group in request.groups:
            row = of_topic.OffsetFetchResponsePartitions
            code, topics = self._fetched(group.group_id, group.topics, request.require_stable, of_topic, row)
            groups.append(of_group(group_id=group.group_id, error_code=code, topics=topics))
        return OffsetFetchResponse(groups=groups)

    def _fetched(self, name, topics, stable, of_topic, of_partition):
        code = self.code(name)
        there = self.offsets.get(name, {})
        late = stable and self.marker_fetches > 0
        self.marker_fetches -= late
        asked = list(there) if topics is None else [(topic.name, number) for topic in topics for number in topic.partition_indexes]
        rows = [
            of_topic(
                name=topic,
                partitions=[
                    of_partition(
                        partition_index=number,
                        committed_offset=there.get((topic, number), (-1,))[0],
                        committed_leader_epoch=there[topic, number][2] if (topic, number) in there else -1,
                        metadata=there[topic, number][1] if (topic, number) in there else "",
                        error_code=88 if late or (stable and (name, topic, number) in self.unstable) else 0,
                    )
                ],
            )
            for topic, number in (() if code else asked)
        ]
        return code, rows

    def _commit(self, request):
        of_topic = OffsetCommitResponse.OffsetCommitResponseTopic
        topics = self._keep(request, 0, self.offsets, of_topic, of_topic.OffsetCommitResponsePartition)
        return OffsetCommitResponse(topics=topics)

    def _delete(self, request):
        of_topic = OffsetDeleteResponse.OffsetDeleteResponseTopic
        there, topics = self.offsets.get(request.group_id), []
        code = self.code(request.group_id) or (GROUP_ID_NOT_FOUND if there is None else 0)
        for topic in () if code else request.topics:
            rows = []
            for row in topic.partitions:
                there.pop((topic.name, row.partition_index), None)
                refused = self.code(request.group_id, topic.name, row.partition_index)
                rows.append(of_topic.OffsetDeleteResponsePartition(partition_index=row.partition_index, error_code=refused))
            topics.append(of_topic(name=topic.name, partitions=rows))
        return OffsetDeleteResponse(error_code=code, topics=topics)


def modern_group(name, members, operations):
    """A group of the consumer protocol as its coordinator shows it; None for its members: there is none."""
    kind = ConsumerGroupDescribeResponse.DescribedGroup
    of_member = kind.Member
    has = of_member.Assignment.TopicPartitions(topic_id=uuid.UUID(int=7), topic_name="orders", partitions=[0, 1])
    return kind(
        error_code=GROUP_ID_NOT_FOUND if members is None else 0,
        error_message="there is none" if members is None else None,
        group_id=name,
        group_state="" if members is None else "Stable" if members else "Empty",
        group_epoch=3,
        assignment_epoch=3,
        assignor_name="uniform",
        authorized_operations=operations,
        members=[
            of_member(
                member_id=f"{each}-1a",
                instance_id=None,
                rack_id="a",
                member_epoch=3,
                client_id=each,
                client_host="/10.0.0.8",
                subscribed_topic_names=["orders", "payments"],
                subscribed_topic_regex=None,
                assignment=of_member.Assignment(topic_partitions=[has]),
                target_assignment=of_member.Assignment(topic_partitions=[has, has]),
            )
            for each in members or ()
        ],
    )
