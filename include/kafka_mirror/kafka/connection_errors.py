"""What connections raise and what brokers answer, as errors of ours: who refused, whether it may be tried again, and where.

Of a TLS handshake that failed, librdkafka says that every broker certificate "could not be verified", and of our own only the number of the
broker's alert. Python says a little more. So what to correct is looked for: in the broker's certificate, by a handshake of our own, and
in ours.
"""

import errno
import re
import socket
import ssl
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import kafka.errors as errors

from kafka_mirror.errors import (
    AuthenticationFailed,
    AuthorizationRefused,
    ClusterTooOld,
    ClusterUnreachable,
    DeadlineExceeded,
    KafkaFailure,
    MirrorError,
    TokenUnavailable,
)
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.client_login import NoTicket, TokenMissing, mask_secrets, tls_context

if TYPE_CHECKING:
    from cryptography import x509

Errors = MutableMapping[str, MirrorError] | None
"""Takes what fails for one topic alone, by its name."""

LOOK_NEXT = "Look at the brokers; the next run goes on by itself."
LOAD_NEXT = "Look at the brokers' load and the network; the next run goes on by itself."
LOST_TRACK_NEXT = (
    "Look at the log of the broker that coordinates the group. Where it says «out of sync with the underlying log» or «Invalid null group "
    "protocol», Kafka lost track of the group when the broker came back from a crash, and knows it again when that broker is restarted or "
    "another one becomes its coordinator. Then ask again."
)
"""Seen of Kafka 4.3: a broker that was killed reads the end of __consumer_offsets short, and then fails for good in describing groups, or
says of its own groups that it is not their coordinator."""
COORDINATOR_MOVES = frozenset(
    error.errno for error in (errors.NotCoordinatorError, errors.CoordinatorLoadInProgressError, errors.CoordinatorNotAvailableError)
)
"""A broker says them until it has read the groups or transactions that it coordinates from now on."""
UNKNOWN_TOPIC = frozenset({errors.UnknownTopicOrPartitionError.errno, errors.UnknownTopicIdError.errno})
"""What brokers say of topics and partitions that they do not know."""
TOPIC_DENIED = errors.TopicAuthorizationFailedError.errno
DENIED = {
    TOPIC_DENIED: "the topic",
    errors.GroupAuthorizationFailedError.errno: "the group",
    errors.ClusterAuthorizationFailedError.errno: "the cluster",
    errors.TransactionalIdAuthorizationFailedError.errno: "the transactional id",
}
_OF_THE_REQUEST = {
    "REQUEST_TIMED_OUT",
    "NOT_CONTROLLER",
    "BROKER_NOT_AVAILABLE",
    "NETWORK_EXCEPTION",
    "UNSUPPORTED_VERSION",
    "INVALID_REQUEST",
}
SILENCE = "nothing refuses the connection either, so a firewall or a hanging broker is likely"
HUNG_UP = "the brokers close each connection, as they do if security.protocol is not the listener's"


class BrokerTooOld(errors.UnsupportedVersionError):  # type: ignore[misc]
    """Raised for a broker that is older than `oldest`: up to which version it takes a request (None: not at all), and which is needed."""

    def __init__(self, oldest: str, request: str, newest: int | None, needed: int) -> None:
        super().__init__(f"a broker is older than Kafka {oldest}")
        self.oldest, self.request, self.newest, self.needed = oldest, request, newest, needed


def raise_for(code: int) -> None:
    """Raises kafka-python's error for an error code in an answer, unless that is 0."""
    if code:
        raise errors.for_code(code)()


def name_of(code: int) -> str:
    """Kafka's name for an error code."""
    error = errors.for_code(code)
    return str(getattr(error, "message", "")) or error.__name__


def is_retriable(code: int) -> bool:
    """Whether Kafka calls an error one that passes."""
    return bool(errors.for_code(code).retriable)


def refuses_us(failure: Exception) -> bool:
    """Whether asking again would be of no use: a login or a certificate is refused, by either side. A connection that merely broke inside
    TLS is none of these."""
    if isinstance(failure, ssl.SSLError):
        return not isinstance(failure, (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError))
    return isinstance(failure, (errors.SaslAuthenticationFailedError, errors.UnsupportedSaslMechanismError))


def is_without_login(failure: BaseException) -> bool:
    """Whether there is nothing to log in with, so that no broker was asked."""
    return isinstance(failure, (NoTicket, TokenMissing))


class ConnectionErrors:
    """Makes errors of ours of what fails on the connections to one cluster."""

    def __init__(self, alias: str, settings: Mapping[str, Any], seconds: float) -> None:
        """`settings` are librdkafka's; `seconds`: how long opening a connection may take in all."""
        self.alias = alias
        self.seconds = seconds
        self._settings = settings
        self._bootstrap = str(settings["bootstrap.servers"])

    def translate(self, failure: Exception, step: str, address: tuple[str, int]) -> MirrorError:
        """The error of ours for what a connection raised; `address` is the broker's that was tried last."""
        if isinstance(failure, BrokerTooOld):
            return ClusterTooOld(self.alias, f"{address[0]}:{address[1]}", failure.oldest, failure.request, failure.newest, failure.needed)
        if is_without_login(failure):
            return TokenUnavailable(self.alias, str(failure.args[0]))
        if refuses_us(failure):
            explained = explain_failure(failure, address, self._settings, self.alias) if isinstance(failure, ssl.SSLError) else None
            return AuthenticationFailed(self.alias, self._bootstrap, explained or mask_secrets(_words(failure)))
        if isinstance(failure, OSError):
            return ClusterUnreachable(self.alias, self._bootstrap, self.seconds, f"{_detail(failure, address)} ({step})")
        code = getattr(failure, "errno", None)
        if code is not None:
            return self.translate_code(code, step)
        return KafkaFailure(f"Cluster '{self.alias}': {step} failed: {_words(failure)}.", next=LOOK_NEXT)

    def translate_code(self, code: int, step: str, *, topic: str | None = None, operation: str = "", what: str = "") -> MirrorError:
        """The error of ours for an error code in an answer. `operation` on `what` is what it may refuse us, `topic` our name for it."""
        if code in DENIED:
            return AuthorizationRefused(self.alias, operation or "the operation", what or DENIED[code], topic=topic)
        name = name_of(code)
        return KafkaFailure(f"Cluster '{self.alias}': {step} failed: {name}.", reason=name, topic=topic, next=LOOK_NEXT)

    def report_late(self, failure: errors.KafkaError, step: str) -> MirrorError:
        """The error of ours for an answer that should have passed, and did not in time."""
        return DeadlineExceeded(
            f"Cluster '{self.alias}': {step} did not end within {self.seconds:g} s: {_words(failure)}.",
            next=LOST_TRACK_NEXT if failure.errno in COORDINATOR_MOVES else LOAD_NEXT,
        )


def _words(failure: Exception) -> str:
    """What a failure says, or Kafka's name for it, without kafka-python's number and class in front of it."""
    if not isinstance(failure, errors.KafkaError):
        return (str(failure) or type(failure).__name__).rstrip(".")
    code = getattr(failure, "errno", None)
    return str(failure.args[0]).rstrip(".") if failure.args else name_of(code) if code is not None else type(failure).__name__


def _detail(failure: OSError, address: tuple[str, int]) -> str:
    """Why a broker could not be reached, in words like librdkafka's."""
    where = f"'{address[0]}:{address[1]}'"
    if isinstance(failure, socket.gaierror):
        return f"Failed to resolve {where}: {failure.strerror}"
    if isinstance(failure, TimeoutError):
        return f"{SILENCE}; {failure or 'no answer came in time'}"
    if failure.errno in (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.ENOTCONN):
        return f"Connecting to {where} failed: {failure.strerror}"
    if isinstance(failure, ConnectionError):
        return f"{failure or 'the connection broke'} ({where}); {HUNG_UP}"
    return f"{where}: {failure}"


def collect_refusal(failure: MirrorError, errors: Errors) -> bool:
    """Whether to go on without a topic: a broker refuses it alone, and `errors` takes that. The caller must raise every other failure."""
    if errors is None or failure.topic is None:
        return False
    reason = failure.reason if isinstance(failure, KafkaFailure) else ""
    # Other reasons are about the whole request, or what a client says by itself.
    is_of_topic = bool(reason) and not reason.startswith("_") and reason not in _OF_THE_REQUEST
    if is_of_topic or isinstance(failure, AuthorizationRefused):
        errors[failure.topic] = failure
        return True
    return False


def report_no_leader(tp: TopicPartition, said: str, whose: str = "the target's") -> KafkaFailure:
    """The error of a partition that no broker leads, in the given sentence; it ends when `whose` brokers are back."""
    return KafkaFailure(said, topic=tp.topic, partition=tp.partition, next=f"Bring {whose} brokers back; the next run goes on by itself.")


# ------------------------------------------------------------ why a TLS handshake failed

KEPT = ("ssl.ca.pem", "ssl.certificate.pem", "ssl.endpoint.identification.algorithm")
"""The settings that an explanation needs; none of them is a secret."""

_OF_VERIFYING = ("ssl.ca.pem", "ssl.endpoint.identification.algorithm")
_ALERT = re.compile(r"SSL alert number (\d+)")
_ABOUT_US = {"40", "42", "43", "44", "45", "46", "48", "49", "116"}
"""The alerts (RFC 8446, 6.2) by which a broker refuses the client: its certificate, or that there is none."""
_ALERT_IN_PYTHON = re.compile(r"ALERT_(?:HANDSHAKE_FAILURE|\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED)")
"""The same alerts, as Python names them."""
_ADDRESS = re.compile(r"^(?:\w+://)?(?P<host>\[?[^\s/]+?\]?):(?P<port>\d+)/(?:bootstrap|\d+):")
_EXPIRED, _NOT_YET = 10, 9
_OTHER_HOST = (62, 64)
_SECONDS = 3.0


def refuses_certificate(text: str) -> bool:
    """Whether a failed connection is a broker's refusal of the client's certificate."""
    alert = _ALERT.search(text)
    return alert is not None and alert.group(1) in _ABOUT_US


def explain_report(text: str, settings: Mapping[str, Any], alias: str) -> str | None:
    """The sentence for an error that librdkafka reported; None if it is not about a certificate or nothing more can be said of it."""
    if refuses_certificate(text):
        return _explain_our_certificate(settings, alias)
    address = _ADDRESS.match(text)
    if "certificate verify failed" not in text or address is None:
        return None
    host, port = address["host"].strip("[]"), int(address["port"])
    code = _verification(host, port, settings)
    return None if code is None else _explain_their_certificate(host, port, code, settings, alias)


def explain_failure(failure: ssl.SSLError, address: tuple[str, int], settings: Mapping[str, Any], alias: str) -> str | None:
    """The sentence for what a connection of our own to `address` raised; None if nothing more can be said of it."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        return _explain_their_certificate(*address, failure.verify_code, settings, alias)
    return _explain_our_certificate(settings, alias) if _ALERT_IN_PYTHON.search(str(failure.reason)) else None


def _explain_our_certificate(settings: Mapping[str, Any], alias: str) -> str:
    pem = settings.get("ssl.certificate.pem")
    if not pem:
        return f"the broker asks for a client certificate, and {alias}.ssl.keystore.* names none"
    from cryptography import x509  # it takes as long to load as the Kafka client, and is for errors alone

    ours = x509.load_pem_x509_certificate(str(pem).encode())
    named = f"the client certificate {_name(ours.subject)} in {alias}.ssl.keystore.*"
    if _is_over(ours):
        return f"{named} expired on {_day(ours.not_valid_after_utc)}; renew it"
    if ours.not_valid_before_utc > datetime.now(UTC):
        return f"{named} is not valid before {_day(ours.not_valid_before_utc)}"
    return f"the broker does not accept {named}; its truststore has to hold the issuer, {_name(ours.issuer)}"


def _verification(host: str, port: int, settings: Mapping[str, Any]) -> int | None:
    """OpenSSL's code for what is wrong with the broker's certificate; None if nothing is, or it is unclear."""
    try:
        _handshake(host, port, tls_context({name: settings[name] for name in _OF_VERIFYING if name in settings}))
    except ssl.SSLCertVerificationError as error:
        return error.verify_code
    except (OSError, ValueError):
        return None  # the handshake failed for another reason, which is no matter of certificates
    return None


def _explain_their_certificate(host: str, port: int, code: int, settings: Mapping[str, Any], alias: str) -> str | None:
    theirs = _certificate(host, port)
    if theirs is None:
        return None
    if code in (_EXPIRED, _NOT_YET):
        if _is_over(theirs):
            return f"the certificate of {host}:{port} expired on {_day(theirs.not_valid_after_utc)}; renew it on the broker"
        return f"a certificate of {host}:{port} is expired or not valid yet; renew it on the broker"
    if code in _OTHER_HOST:
        return (
            f"the certificate of {host}:{port} is for {_hosts(theirs)}, not for {host}; correct {alias}.bootstrap.servers (or the broker's "
            f"advertised.listeners), or set {alias}.ssl.endpoint.identification.algorithm to nothing to accept any host"
        )
    trust = "does not trust" if settings.get("ssl.ca.pem") else "is not set, and the authorities known to this system do not vouch for"
    return f"{alias}.ssl.truststore.* {trust} the certificate of {host}:{port}, issued by {_name(theirs.issuer)}"


def _certificate(host: str, port: int) -> "x509.Certificate | None":
    """The broker's certificate, whatever it is worth: it is only looked at, and nothing is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        der = _handshake(host, port, context)
    except OSError:
        return None
    from cryptography import x509

    return x509.load_der_x509_certificate(der) if der else None


def _handshake(host: str, port: int, context: ssl.SSLContext) -> bytes | None:
    with (
        socket.create_connection((host, port), timeout=_SECONDS) as connection,
        context.wrap_socket(connection, server_hostname=host) as secured,
    ):
        return secured.getpeercert(binary_form=True)


def _is_over(certificate: "x509.Certificate") -> bool:
    return certificate.not_valid_after_utc < datetime.now(UTC)


def _day(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC"


def _name(name: "x509.Name") -> str:
    return f"'{name.rfc4514_string()}'"


def _hosts(certificate: "x509.Certificate") -> str:
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return _name(certificate.subject)
    return ", ".join([*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]) or "no host"
