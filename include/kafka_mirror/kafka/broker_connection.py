"""One connection to one broker, on which requests of kafka-python's schemas are sent and answered in order, several at a time.

Connecting and logging in are kafka-python's and Python's own (its SASL mechanisms, `ssl`). Reading and writing are not: kafka-python takes
4 KB from a socket at a time, and what it does between two requests costs more than a batch of records does. Nothing here tries again:
the user of a connection closes it at the first error and opens another one.
"""

import select
import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import kafka.errors as errors
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.consumer import FetchRequest, OffsetForLeaderEpochRequest
from kafka.protocol.metadata import ApiVersionsRequest, FindCoordinatorRequest, MetadataRequest
from kafka.protocol.producer import AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, ProduceRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from kafka_mirror.kafka.connection_errors import BrokerTooOld, raise_for
from kafka_mirror.kafka.polling import throttle_seconds
from kafka_mirror.kafka.schemas import answer_to, read_by, read_by_schema

_SIZE = struct.Struct(">i")
_HEADER = struct.Struct(">ihhih")
"""The frame's size, the request's key and version, its number, the length of the client's name."""
_NO_TAGS = b"\0"
_API_VERSIONS = 3
_SASL = 1
_CONNECT_SECONDS = 10.0
"""So long a host may take at most to accept a connection, as with Java's clients; of one that is gone the system hears nothing."""
_LARGEST_ANSWER = 1 << 30
_LARGEST_BEFORE_LOGIN = 1 << 20
"""An answer says itself how long it is, and before the login the other side may be a stranger."""
_STEP_BYTES = 1 << 20
"""Memory for an answer is taken in such steps, as its bytes come."""
_READ_BYTES = 16 * 1024
_LEAST_BYTES_PER_SECOND = 16 * 1024
"""What of an answer has come buys it time at this rate: a slow network is waited for, and one byte a second is not."""
_TLS = (b"\x15\x03", b"\x16\x03")
"""How an alert and a handshake of TLS begin."""
_SCRAM = "SCRAM-"
_FEWEST_ITERATIONS = 4096
"""Of SCRAM, as Java's clients want it: with fewer, a stranger who has the client's answer finds the password sooner."""
_SESSION_SHARE = 0.8
"""A login is used for this part of the time for which the broker lets it stand (KIP-368)."""
OF_SOURCE = ("2.1", ((FetchRequest, 10), (MetadataRequest, 7), (OffsetForLeaderEpochRequest, 2)))
"""The oldest Kafka of a source, and what reading batches needs: from there on a leader says of which epoch it is."""
OF_TARGET = (
    "2.8",
    (
        (ProduceRequest, 9),
        (MetadataRequest, 10),
        (FindCoordinatorRequest, 3),
        (InitProducerIdRequest, 4),
        (AddPartitionsToTxnRequest, 3),
        (EndTxnRequest, 3),
    ),
)
"""The oldest Kafka of a target, and what writing them needs."""
_MOST_PARTS = 512
"""How many pieces are written at once; the system's own limit is 1024."""
_TLS_BYTES = 256 * 1024
"""About so much is given to TLS at once, which takes one piece at a time."""
_METADATA_VERSION, _LEADER_AND_ISR = "metadata.version", 4

Needs = tuple[str, tuple[tuple[Any, int], ...]]
"""A release of Kafka, and requests with the version in which a broker must take them, which that one does."""
Answered = Callable[[Any], None]
Decode = Callable[[memoryview], Any]


class SendBuffer:
    """What a socket is still to send, in order. The pieces are not copied, but for TLS."""

    def __init__(self) -> None:
        self._parts: list[Any] = []

    def __bool__(self) -> bool:
        """Whether anything is left."""
        return bool(self._parts)

    def add(self, parts: Sequence[Any]) -> None:
        """Queues pieces after the others."""
        self._parts += parts

    def flush(self, to: socket.socket) -> None:
        """Writes as much as the network takes now; the rest stays."""
        try:
            while self._parts:
                is_tls = isinstance(to, ssl.SSLSocket)
                written = to.send(_join(self._parts, _TLS_BYTES)) if is_tls else to.sendmsg(self._parts[:_MOST_PARTS])
                self._parts = _drop_written(self._parts, written)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return  # nothing is lost: what was not written is still queued


def _drop_written(parts: list[Any], written: int) -> list[Any]:
    """What is left of pieces of which `written` bytes are written."""
    for done, part in enumerate(parts):
        if written < len(part):
            return [memoryview(part)[written:], *parts[done + 1 :]]
        written -= len(part)
    return []


def _join(parts: list[Any], size: int) -> Any:
    """The first pieces as one, until they have that size. What TLS did not take must be the beginning of what it is given next."""
    first: list[Any] = []
    for part in parts:
        if size <= 0:
            break
        first.append(part)
        size -= len(part)
    return first[0] if len(first) == 1 else b"".join(first)


class BrokerConnection:
    """A connection that is logged in. Its methods raise OSError and kafka-python's errors; it is of no use afterwards."""

    def __init__(self, address: tuple[str, int], settings: Mapping[str, Any], seconds: float) -> None:
        """`settings` are kafka-python's (`python_settings`); `seconds`: how long any answer may take. Raises UnsupportedVersionError for
        a broker that is too old."""
        self.address = address
        self.seconds = seconds
        self._client_id = str(settings["client_id"])
        self._client = self._client_id.encode()
        self._number = 0
        self._waiting: deque[tuple[int, int, Decode, Answered]] = deque()
        self.bytes_in_flight = 0
        """Of how many bytes the requests are that are not answered yet."""
        self._ahead = b""
        """What was read after the last answer."""
        self._largest = _LARGEST_BEFORE_LOGIN
        self._unsent = SendBuffer()
        self.renew_at = float("inf")
        """When (time.monotonic) to open another connection in place of this one: its login ends soon."""
        self.silent_since = 0.0
        """Since when (time.monotonic) the broker owes an answer and gives none; while a quota holds us back, when that ends (KIP-219)."""
        self._socket = _connect(address, settings, min(seconds, _CONNECT_SECONDS))
        try:
            answer = self._ask_api_versions()
            self._versions: dict[int, int] = {api.api_key: api.max_version for api in answer.api_keys or ()}
            self.features = {feature.name: feature.max_version_level for feature in answer.finalized_features or ()}
            """The levels of the cluster's features."""
            if "sasl_mechanism" in settings:
                self._log_in(settings)
            self._largest = _LARGEST_ANSWER
        except BaseException:
            self.close()
            raise

    def choose_version(self, key: int, highest: int, lowest: int = 0) -> int:
        """The version of a request to speak: the highest that the broker takes, and at most this one. Raises UnsupportedVersionError if
        that is below `lowest`, or the broker does not know the request."""
        version = min(highest, self._versions.get(key, -1))
        if version < lowest:
            raise errors.UnsupportedVersionError(f"the broker takes no request {key} of version {lowest} or newer")
        return version

    def takes(self, key: int, version: int = 0) -> bool:
        """Whether the broker takes a request in this version."""
        return self._versions.get(key, -1) >= version

    def takes_all(self, needs: Needs) -> bool:
        """Whether the broker is of that release or a newer one."""
        return all(self.takes(request.API_KEY, version) for request, version in needs[1])

    def check_release(self, needs: Needs) -> None:
        """Raises BrokerTooOld for a broker that does not take all of these requests."""
        oldest, requests = needs
        for request, version in requests:
            if not self.takes(request.API_KEY, version):
                raise BrokerTooOld(oldest, request.__name__, self._versions.get(request.API_KEY), version)

    @property
    def only_checks(self) -> bool:
        """Whether its cluster only checks a request that says so. In KRaft before Kafka 3.3 (KAFKA-13324, KAFKA-13861) it creates and
        extends topics all the same. Those after have a level of metadata.version, and brokers beside ZooKeeper take LeaderAndIsr."""
        return _METADATA_VERSION in self.features or _LEADER_AND_ISR in self._versions

    @property
    def in_flight(self) -> int:
        """How many requests are not answered yet."""
        return len(self._waiting)

    def fileno(self) -> int:
        """What a selector needs."""
        return self._socket.fileno()

    @property
    def has_buffered(self) -> bool:
        """Whether bytes of an answer were taken from the network already, so that no selector tells of them."""
        return bool(self._ahead) or (isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way, in either direction, on a connection that is open."""
        return self.fileno() >= 0 and not (self._waiting or self._unsent or self.has_buffered)

    def send(self, request: Any, answered: Answered, decode: Decode | None = None) -> None:
        """Sends a request of kafka-python's; `receive` will hand its answer over. `decode`: what reads the body of its answer in place of
        kafka-python's schema."""
        request.with_header(correlation_id=self._take_number(), client_id=self._client_id)
        frame = request.encode(framed=True, header=True)
        if decode is None:
            read: Decode = partial(read_by_schema, answer_to(request), request.API_VERSION)
        else:
            read = partial(_read_body, decode, bool(request.flexible_version_q(request.API_VERSION)))
        self._queue([frame], len(frame), read, answered)
        self.flush()

    def queue_parts(self, key: int, version: int, parts: list[Any], decode: Decode, answered: Answered) -> None:
        """Queues a request whose body (of a flexible version) was encoded in parts, of which all but the first are not copied. `flush`
        sends it. `decode` gets the body of its answer."""
        size = _HEADER.size - _SIZE.size + len(self._client) + len(_NO_TAGS) + sum(map(len, parts))
        parts[0] = _HEADER.pack(size, key, version, self._take_number(), len(self._client)) + self._client + _NO_TAGS + parts[0]
        self._queue(parts, size + _SIZE.size, partial(_read_body, decode, True), answered)

    @property
    def has_unsent(self) -> bool:
        """Whether the network did not take yet all that is queued."""
        return bool(self._unsent)

    def flush(self) -> None:
        """Sends what is queued, several requests in one call of the system, as far as the network takes it now.

        The rest goes out with the next call, or while an answer is waited for: a broker reads nothing as long as its own answers are not
        taken, so who waits for it to read has to read as well.
        """
        self._unsent.flush(self._socket)

    def receive(self) -> None:
        """Waits for the answer to the oldest request, and hands it over, with those that came along with it."""
        self._receive_one()
        while self._waiting and self.has_buffered:
            self._receive_one()

    def ask(self, request: Any, read: Callable[[Any], Any] | None = None) -> Any:
        """The answer to a request, or what `read` makes of it; those to requests before it are handed over first."""
        answers: list[Any] = []
        self.send(request, answers.append)
        while not answers:
            self.receive()
        return answers[0] if read is None else read_by(read, answers[0])

    def close(self) -> None:
        """Lets go of the connection; what is not answered never is."""
        self._waiting.clear()
        self._socket.close()

    # ------------------------------------------------------------ inside

    def _ask_api_versions(self) -> Any:
        answer = self.ask(ApiVersionsRequest(version=_API_VERSIONS, client_software_name="mirror", client_software_version="1"))
        if answer.error_code == errors.UnsupportedVersionError.errno:  # brokers before Kafka 2.4
            answer = self.ask(ApiVersionsRequest(version=0))
        raise_for(answer.error_code)
        return answer

    def _take_number(self) -> int:
        self._number = (self._number + 1) & 0x7FFFFFFF
        return self._number

    def _receive_one(self) -> None:
        frame = self._read_frame()
        number, size, decode, answered = self._waiting.popleft()
        self.bytes_in_flight -= size
        if _SIZE.unpack_from(frame)[0] != number:
            self.close()
            raise errors.CorrelationIdError(f"the answer to another request than {number}")
        decoded = decode(frame)
        # As long as a quota holds us back it takes nothing more from this connection, which is no silence.
        self.silent_since = max(self.silent_since, time.monotonic() + throttle_seconds(getattr(decoded, "throttle_time_ms", 0)))
        answered(decoded)

    def _queue(self, parts: list[Any], size: int, decode: Decode, answered: Answered) -> None:
        if not self._waiting:
            self.silent_since = max(self.silent_since, time.monotonic())
        self._unsent.add(parts)
        self.bytes_in_flight += size
        self._waiting.append((self._number, size, decode, answered))

    def _read_frame(self) -> memoryview:
        """The next answer without its size. What comes after it in the same read stays for the next call."""
        started = time.monotonic()
        while len(self._ahead) < _SIZE.size:
            self._ahead += self._open(self._read_patiently(self._socket.recv, _READ_BYTES, started))
        (size,) = _SIZE.unpack_from(self._ahead)
        if not _SIZE.size <= size <= self._largest or not self._waiting:
            self.close()
            if self._ahead.startswith(_TLS):
                raise errors.KafkaProtocolError("this looks like TLS: the port wants security.protocol=SSL or SASL_SSL")
            raise errors.KafkaProtocolError(f"an answer of {size} bytes that was not asked for")
        end = _SIZE.size + size
        if len(self._ahead) >= end:
            frame, self._ahead = self._ahead[_SIZE.size : end], self._ahead[end:]
            return memoryview(frame)
        answer, self._ahead = bytearray(self._ahead[_SIZE.size :]), b""
        at = len(answer)
        while at < size:
            if at == len(answer):
                answer += bytes(min(_STEP_BYTES, size - at))
            with memoryview(answer) as view:
                at += self._open(self._read_patiently(self._socket.recv_into, view[at:], started + at / _LEAST_BYTES_PER_SECOND))
        return memoryview(answer)

    @staticmethod
    def _open(received: Any) -> Any:
        if not received:
            raise ConnectionResetError("the broker closed the connection")
        return received

    def _read_patiently(self, call: Callable[[Any], Any], argument: Any, since: float) -> Any:
        """What a reading call on the socket gives, within an answer's time from `since` on. Python would look before each call whether the
        socket is ready, which it mostly is."""
        while True:
            try:
                return call(argument)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError) as wanting:
                self.flush()
                writes = self.has_unsent or isinstance(wanting, ssl.SSLWantWriteError)
                wait = select.poll()  # select() takes no file descriptor from 1024 on
                wait.register(self, select.POLLIN | select.POLLOUT if writes else select.POLLIN)
                rest = max(since, self.silent_since) + self.seconds - time.monotonic()
                if rest <= 0 or not wait.poll(rest * 1000):
                    raise TimeoutError("no answer came in time") from wanting

    def _log_in(self, settings: Mapping[str, Any]) -> None:
        wanted = settings["sasl_mechanism"]
        shaken = self.ask(SaslHandshakeRequest(version=_SASL, mechanism=wanted))
        if shaken.error_code:
            raise errors.UnsupportedSaslMechanismError(f"the broker takes {', '.join(shaken.mechanisms or ())}, and not {wanted}")
        mechanism = get_sasl_mechanism(wanted)(host=self.address[0], **settings)
        lifetime = 0
        while not mechanism.is_done():
            answer = self.ask(SaslAuthenticateRequest(version=_SASL, auth_bytes=_response(mechanism, wanted)))
            if answer.error_code:
                raise errors.SaslAuthenticationFailedError(answer.error_message or "the broker does not say why")
            _take_challenge(mechanism, wanted, answer.auth_bytes)
            lifetime = answer.session_lifetime_ms
        if not mechanism.is_authenticated():
            raise errors.SaslAuthenticationFailedError(f"the login by {wanted} came to no end")
        if lifetime > 0:
            self.renew_at = time.monotonic() + _SESSION_SHARE * lifetime / 1000


def _connect(address: tuple[str, int], settings: Mapping[str, Any], seconds: float) -> socket.socket:
    plain = socket.create_connection(address, timeout=seconds)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = settings.get("ssl_context")
        connected: socket.socket = context.wrap_socket(plain, server_hostname=address[0]) if context is not None else plain
        connected.setblocking(False)
        return connected
    except BaseException:
        plain.close()
        raise


def _response(mechanism: Any, name: str) -> bytes:
    """What kafka-python's mechanism says in a login. That it cannot is a login that failed."""
    try:
        return bytes(mechanism.auth_bytes())
    except (OSError, errors.KafkaError):
        raise
    except Exception as failure:
        raise errors.SaslAuthenticationFailedError(f"our side of the login by {name} failed: {failure}") from failure


def _take_challenge(mechanism: Any, name: str, challenge: bytes) -> None:
    """Hands what a broker says in a login to kafka-python's mechanism. Whatever that makes of it is an error of the protocol."""
    try:
        if name.startswith(_SCRAM):
            for field in bytes(challenge).split(b","):
                if field.startswith(b"i=") and int(field[2:]) < _FEWEST_ITERATIONS:
                    raise ValueError(f"it wants {int(field[2:])} iterations, and {_FEWEST_ITERATIONS} is the least")
        mechanism.receive(challenge)
    except (OSError, errors.KafkaError):
        raise
    except Exception as failure:
        raise errors.KafkaProtocolError(f"the broker's side of the login by {name} is refused: {failure}") from failure


def _read_body(decode: Decode, is_flexible: bool, frame: memoryview) -> Any:
    """What `decode` makes of an answer's body, which follows its number, and in a flexible version a header without tags."""
    if is_flexible and (len(frame) <= _SIZE.size or frame[_SIZE.size]):
        raise errors.KafkaProtocolError("an answer has tags in its header, and none are defined")
    return read_by(decode, frame[_SIZE.size + is_flexible :])
