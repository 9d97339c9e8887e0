"""A broker that speaks Kafka's protocol on this machine's loopback and keeps its rules of transactions, in both versions.

Requests and answers are kafka-python's own schemas, and batches are judged by its own reader: whatever the mirror's code does wrong, this
has not learnt from it.
"""

import socket
import struct
import threading
import uuid
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import dropwhile

from kafka.protocol.consumer import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)
from kafka.record.default_records import DefaultRecordBatch

from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.unit.copy.batches.wire_log import Log, Owner, last_offset
from tests.unit.copy.batches.wire_protocol import (
    FENCED_LEADER_EPOCH,
    INVALID_PRODUCER_EPOCH,
    INVALID_RECORD,
    INVALID_TXN_STATE,
    KAFKA_4_3,
    OFFSET_OUT_OF_RANGE,
    OPERATION_NOT_ATTEMPTED,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
    PRODUCER_FENCED,
    REQUESTS,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_VERSION,
    read_exactly,
)


class WireBroker:
    """`logs` are its partitions, `refusals` the error codes that it will answer with next, by request and partition (or None)."""

    PRODUCER_ID = 7

    def __init__(self) -> None:
        self.logs: dict[TopicPartition, Log] = {}
        self.owners: dict[str, Owner] = defaultdict(Owner)
        self.topic_ids: dict[str, uuid.UUID] = defaultdict(uuid.uuid4)
        self.refusals: dict[tuple[type, TopicPartition | None], deque[int]] = defaultdict(deque)
        self.requests: list[object] = []
        self.answers: dict[type, Callable[[object], object]] = {}
        """What a test answers to requests of these kinds."""
        self.transaction_version = 2
        self.versions = dict(KAFKA_4_3)
        self.hangs_up_on: type | None = None
        """The request after which it closes every connection instead of answering."""
        self.is_silent_on: type | None = None
        """The request that it takes and never answers."""
        self.named: list[int] = []
        """The places of records that it names as the reason of a refusal (KIP-467)."""
        self.cluster_id = "W"
        self.operations: set[int] | None = None
        """What it says that we may do, with each topic, group, and the cluster; None: it does not tell."""
        self.throttle_ms = 0
        """For how long it says that it holds producers back, and does not."""
        self.committed: list[set[TopicPartition]] = []
        self.aborted = 0
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self.advertised_port = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def settings(self) -> dict[str, str]:
        return {"bootstrap.servers": f"127.0.0.1:{self.port}"}

    def log(self, topic: str, partition: int = 0) -> Log:
        return self.logs.setdefault(TopicPartition(topic, partition), Log())

    def of(self, request: type) -> list[object]:
        """The requests of one kind that came."""
        return [each for each in self.requests if isinstance(each, request)]

    def change_fetches(self, change: Callable[[FetchResponse], None]) -> None:
        """Lets `change` see every answer to a fetch before it is sent."""

        def fetch(request: FetchRequest) -> FetchResponse:
            answer = self._fetch(request)
            change(answer)
            return answer

        self.answers[FetchRequest] = fetch

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # an accept that waits would take one more connection
        self._server.close()
        self._thread.join()
        self.hang_up()

    def hang_up(self) -> None:
        """Breaks every connection."""
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    # ------------------------------------------------------------ connections

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, struct.error), connection:
            while True:
                (size,) = struct.unpack(">i", read_exactly(connection, 4))
                frame = read_exactly(connection, size)
                key, version, number = struct.unpack_from(">hhi", frame)
                request = REQUESTS[key].decode(frame, version=version, header=True)
                assert version <= self.versions[type(request)] or isinstance(request, ApiVersionsRequest)
                with self._lock:
                    self.requests.append(request)
                    told = self.answers.get(type(request))
                    answer = told(request) if told else self._answers[type(request)](self, request)
                if type(request) is self.hangs_up_on:
                    self.hang_up()
                if type(request) is self.is_silent_on:
                    continue
                # A broker that does not know the version of this one request answers in the oldest, which every client reads.
                answer.API_VERSION = 0 if getattr(answer, "error_code", 0) == UNSUPPORTED_VERSION else version
                answer.with_header(correlation_id=number)
                connection.sendall(answer.encode(framed=True, header=True))
        self._open.discard(connection)

    def _refused(self, request: object, tp: TopicPartition | None = None) -> int:
        codes = self.refusals[type(request), tp]
        return codes.popleft() if codes else 0

    # ------------------------------------------------------------ answers

    def _api_versions(self, request: ApiVersionsRequest) -> ApiVersionsResponse:
        features = ApiVersionsResponse.FinalizedFeatureKey(name="transaction.version", max_version_level=self.transaction_version)
        keys = [ApiVersionsResponse.ApiVersion(api_key=each.API_KEY, max_version=version) for each, version in self.versions.items()]
        is_too_new = self.versions[ApiVersionsRequest] < request.API_VERSION
        return ApiVersionsResponse(
            error_code=self._refused(request) or (UNSUPPORTED_VERSION if is_too_new else 0),
            api_keys=keys,
            finalized_features_epoch=1,
            finalized_features=[features] if self.transaction_version else [],
        )

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        code = self._refused(request)
        there = {tp.topic for tp in self.logs}
        of_topic = MetadataResponse.MetadataResponseTopic
        of_partition = partial(of_topic.MetadataResponsePartition, leader_id=1, replica_nodes=[1], isr_nodes=[1])
        topics = [
            of_topic(
                error_code=code or (0 if name in there else UNKNOWN_TOPIC_OR_PARTITION),
                name=name,
                topic_id=self.topic_ids[name],
                is_internal=name.startswith("__"),
                authorized_operations=self.operations if request.include_topic_authorized_operations else None,
                partitions=[
                    of_partition(partition_index=tp.partition, leader_epoch=log.epoch) for tp, log in self.logs.items() if tp.topic == name
                ],
            )
            for name in (sorted(there) if request.topics is None else [each.name for each in request.topics])
        ]
        broker = MetadataResponse.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.advertised_port)
        operations = self.operations if request.include_cluster_authorized_operations else None
        return MetadataResponse(
            brokers=[broker], cluster_id=self.cluster_id, controller_id=1, topics=topics, authorized_operations=operations
        )

    def _coordinator(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        where = {"node_id": 1, "host": "127.0.0.1", "port": self.port, "error_code": self._refused(request)}
        found = [FindCoordinatorResponse.Coordinator(key=key, **where) for key in request.coordinator_keys or ()]
        return FindCoordinatorResponse(coordinators=found, **where)

    def _init_producer_id(self, request: InitProducerIdRequest) -> InitProducerIdResponse:
        code = self._refused(request)
        owner = self.owners[request.transactional_id]
        if not code and request.producer_id >= 0 and (request.producer_id, request.producer_epoch) != (self.PRODUCER_ID, owner.epoch):
            code = PRODUCER_FENCED
        if not code:
            self._end(owner, committed=False)
            owner.epoch += self.transaction_version < 2
            owner.sequences, owner.last = {}, {}
        return InitProducerIdResponse(error_code=code, producer_id=self.PRODUCER_ID, producer_epoch=owner.epoch)

    def _add_partitions(self, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
        owner = self.owners[request.v3_and_below_transactional_id]
        asked = [TopicPartition(topic.name, each) for topic in request.v3_and_below_topics for each in topic.partitions]
        fenced = PRODUCER_FENCED if request.v3_and_below_producer_epoch != owner.epoch else 0
        codes = {tp: self._refused(request, tp) or fenced for tp in asked}
        if any(codes.values()):
            codes = {tp: code or OPERATION_NOT_ATTEMPTED for tp, code in codes.items()}
        else:
            owner.begun |= set(asked)
        of_topic = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
        of_partition = of_topic.AddPartitionsToTxnPartitionResult
        rows = {tp: of_partition(partition_index=tp.partition, partition_error_code=code) for tp, code in codes.items()}
        results = [of_topic(name=tp.topic, results_by_partition=[row]) for tp, row in rows.items()]
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)

    def _end_transaction(self, request: EndTxnRequest) -> EndTxnResponse:
        owner = self.owners[request.transactional_id]
        code = self._refused(request) or (PRODUCER_FENCED if request.producer_epoch != owner.epoch else 0)
        if not code:
            self._end(owner, request.committed)
        return EndTxnResponse(error_code=code, producer_id=self.PRODUCER_ID, producer_epoch=owner.epoch)

    def _end(self, owner: Owner, committed: bool) -> None:
        for tp in owner.begun:
            self.logs[tp].end += 1  # the marker
        if owner.begun and committed:
            self.committed.append(owner.begun)
        elif owner.begun:
            self.aborted += 1
        owner.begun = set()
        if self.transaction_version >= 2:
            owner.sequences = {}
            owner.epoch += 1

    def _produce(self, request: ProduceRequest) -> ProduceResponse:
        owner = self.owners[request.transactional_id]
        of_topic = ProduceResponse.TopicProduceResponse

        def row(topic: str, data: object) -> object:
            code, base = self._taken(owner, request, TopicPartition(topic, data.index), bytes(data.records))
            of_row = of_topic.PartitionProduceResponse
            named = self.named if code else ()
            errors = [of_row.BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=f"record {at}") for at in named]
            return of_row(index=data.index, error_code=code, base_offset=base, record_errors=errors)

        topics = [
            of_topic(name=topic.name, partition_responses=[row(topic.name, data) for data in topic.partition_data])
            for topic in request.topic_data
        ]
        return ProduceResponse(responses=topics, throttle_time_ms=self.throttle_ms)

    def _taken(self, owner: Owner, request: ProduceRequest, tp: TopicPartition, data: bytes) -> tuple[int, int]:
        """The error code, and where the batch stands; the one that it took last it does not take twice."""
        if code := self._refused(request, tp):
            return code, -1
        sequence = DefaultRecordBatch(data).base_sequence
        if request.transactional_id is None and owner.last.get(tp, (-1, -1))[0] == sequence:
            return 0, owner.last[tp][1]
        if code := self._judged(owner, tp, data, request.transactional_id is not None):
            return code, -1
        owner.last[tp] = sequence, self.logs[tp].append(data)
        return 0, owner.last[tp][1]

    def _judged(self, owner: Owner, tp: TopicPartition, data: bytes, in_transaction: bool) -> int:
        batch = DefaultRecordBatch(data)
        if tp not in self.logs:
            return UNKNOWN_TOPIC_OR_PARTITION
        whole = batch.size_in_bytes == len(data) and batch.validate_crc() and batch.records_count == batch.last_offset_delta + 1
        if not whole or batch.is_transactional != in_transaction or batch.base_offset or batch.producer_id != self.PRODUCER_ID:
            return INVALID_RECORD
        if batch.producer_epoch != owner.epoch:
            return INVALID_PRODUCER_EPOCH
        if batch.base_sequence != owner.sequences.get(tp, 0):
            return OUT_OF_ORDER_SEQUENCE_NUMBER
        if in_transaction and self.transaction_version >= 2:
            owner.begun.add(tp)
        elif in_transaction and tp not in owner.begun:
            return INVALID_TXN_STATE
        owner.sequences[tp] = batch.base_sequence + batch.records_count
        return 0

    def _fetch(self, request: FetchRequest) -> FetchResponse:
        room = request.max_bytes
        names = {topic_id: name for name, topic_id in self.topic_ids.items()}
        of_topic = FetchResponse.FetchableTopicResponse

        def row(name: str | None, asked: object) -> object:
            nonlocal room
            tp = TopicPartition(name, asked.partition)
            log = self.logs.get(tp, Log())
            fenced = FENCED_LEADER_EPOCH if 0 <= asked.current_leader_epoch < log.epoch else 0
            out_of_range = 0 if log.start <= asked.fetch_offset <= log.end else OFFSET_OUT_OF_RANGE
            code = self._refused(request, tp) or (0 if name else UNKNOWN_TOPIC_ID) or fenced or out_of_range
            # All that follows the first batch that is wanted, whatever it says of itself.
            batches = list(dropwhile(lambda each: last_offset(each) < asked.fetch_offset, log.batches))
            # The first batch of an answer comes whole (KIP-74).
            least = len(batches[0]) if batches and room == request.max_bytes else 0
            records = b"" if code else b"".join(batches)[: max(0, least, min(room, asked.partition_max_bytes))]
            room -= len(records)
            return self._fetched(asked, log, code, records, request.isolation_level)

        topics = []
        for topic in request.topics:
            name = topic.topic or names.get(topic.topic_id)
            rows = [row(name, asked) for asked in topic.partitions]
            topics.append(of_topic(topic=topic.topic, topic_id=topic.topic_id, partitions=rows))
        return FetchResponse(responses=topics)

    def _fenced(self, request: object, tp: TopicPartition, leader_epoch: int) -> int:
        """The error code of a question that says in which leader epoch it believes the partition to be."""
        return self._refused(request, tp) or (FENCED_LEADER_EPOCH if leader_epoch < self.logs[tp].epoch else 0)

    def _offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        of_topic = ListOffsetsResponse.ListOffsetsTopicResponse

        def row(topic: str, asked: object) -> object:
            tp = TopicPartition(topic, asked.partition_index)
            code, log = self._fenced(request, tp, asked.current_leader_epoch), self.logs[tp]
            offset = -1 if code else log.start if asked.timestamp == -2 else log.end
            return of_topic.ListOffsetsPartitionResponse(
                partition_index=tp.partition, error_code=code, offset=offset, leader_epoch=log.epoch
            )

        topics = [of_topic(name=topic.name, partitions=[row(topic.name, each) for each in topic.partitions]) for topic in request.topics]
        return ListOffsetsResponse(topics=topics)

    def _epoch_ends(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        of_topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult

        def row(topic: str, asked: object) -> object:
            tp = TopicPartition(topic, asked.partition)
            code = self._fenced(request, tp, asked.current_leader_epoch)
            epoch, end = (-1, -1) if code else self.logs[tp].epoch_end(asked.leader_epoch)
            return of_topic.EpochEndOffset(error_code=code, partition=tp.partition, leader_epoch=epoch, end_offset=end)

        topics = [of_topic(topic=topic.topic, partitions=[row(topic.topic, each) for each in topic.partitions]) for topic in request.topics]
        return OffsetForLeaderEpochResponse(topics=topics)

    def _fetched(self, asked: object, log: Log, code: int, records: bytes, isolation: int) -> object:
        kind = FetchResponse.FetchableTopicResponse.PartitionData
        went = log.diverging(asked.fetch_offset, asked.last_fetched_epoch) if asked.last_fetched_epoch >= 0 else None
        diverging = None if went is None else kind.EpochEndOffset(epoch=went[0], end_offset=went[1])
        aborted = [kind.AbortedTransaction(producer_id=producer, first_offset=first) for producer, first in log.aborted]
        return kind(
            partition_index=asked.partition,
            error_code=code,
            high_watermark=log.end,
            last_stable_offset=log.end,
            log_start_offset=0,
            diverging_epoch=diverging,
            aborted_transactions=aborted if isolation else None,
            records=b"" if diverging else records,
        )

    _answers = {  # noqa: RUF012
        ApiVersionsRequest: _api_versions,
        MetadataRequest: _metadata,
        FindCoordinatorRequest: _coordinator,
        InitProducerIdRequest: _init_producer_id,
        AddPartitionsToTxnRequest: _add_partitions,
        EndTxnRequest: _end_transaction,
        ProduceRequest: _produce,
        FetchRequest: _fetch,
        ListOffsetsRequest: _offsets,
        OffsetForLeaderEpochRequest: _epoch_ends,
    }
