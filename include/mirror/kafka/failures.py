"""What the client says, as an error of ours: who refused, whether it may be tried again, and where."""

import logging
from collections import deque
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from mirror.errors import AuthenticationFailed, AuthorizationRefused, ClusterUnreachable, DeadlineExceeded, KafkaFailure, MirrorError

# The client's background threads repeat each failed connection many times a second; what matters of it is in our errors. Whoever wants
# the lines adds a handler to this logger.
_log = logging.getLogger("mirror.librdkafka")
_log.addHandler(logging.NullHandler())
_log.propagate = False

_AUTHENTICATION = {
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
}
_UNREACHABLE = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE}
_AUTHORIZATION = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: ("the operation", "the topic"),
    KafkaError.GROUP_AUTHORIZATION_FAILED: ("the operation", "the group"),
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: ("the operation", "the cluster"),
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: ("WRITE", "the transactional id"),
}


class Complaints:
    """The last errors that a client's background threads reported.

    librdkafka tells the reason of a failed connection (refused, wrong password, untrusted certificate) only there; the call that waits
    merely times out.
    """

    def __init__(self) -> None:
        self._errors: deque[KafkaError] = deque(maxlen=20)

    def __call__(self, error: KafkaError) -> None:
        """Takes an error from the client's background threads."""
        self._errors.append(error)

    def authentication(self) -> KafkaError | None:
        """The newest refusal of our credentials or of a certificate, if there was one."""
        return next((error for error in reversed(self._errors) if error.code() in _AUTHENTICATION), None)

    def detail(self) -> str:
        """The newest complaint in words, or nothing."""
        return self._errors[-1].str() if self._errors else ""


def settings_with(settings: Mapping[str, Any], complaints: Complaints, **more: Any) -> dict[str, Any]:
    """Client settings with our error callback and a logger, so that a client never writes to the terminal by itself."""
    return {"error_cb": complaints, "logger": _log, **settings, **more}


def kafka_error(failure: BaseException | None) -> KafkaError | None:
    """The KafkaError inside what a client call raised."""
    if isinstance(failure, KafkaException) and failure.args and isinstance(failure.args[0], KafkaError):
        return failure.args[0]
    return None


def translated(
    failure: BaseException,
    *,
    cluster: str,
    bootstrap: str,
    step: str,
    seconds: float,
    complaints: Complaints,
    topic: str | None = None,
    operation: str | None = None,
) -> MirrorError:
    """The error of ours for a failed client call. `step` says what was being done, `seconds` the deadline it had."""
    refused = complaints.authentication()
    if refused is not None:
        return AuthenticationFailed(cluster, bootstrap, refused.str())
    error = kafka_error(failure)
    if error is None:
        if isinstance(failure, TimeoutError):
            return _timed_out(cluster, bootstrap, step, seconds, complaints)
        return KafkaFailure(f"Cluster '{cluster}': {step} failed: {failure}.", topic=topic)
    code = error.code()
    if code in _AUTHORIZATION:
        default_operation, resource = _AUTHORIZATION[code]
        named = f"topic {topic}" if topic else resource
        return AuthorizationRefused(cluster, operation or default_operation, named, topic=topic)
    if code in _AUTHENTICATION:
        return AuthenticationFailed(cluster, bootstrap, error.str())
    if code in _UNREACHABLE:
        return ClusterUnreachable(cluster, bootstrap, seconds, complaints.detail())
    if code in (KafkaError._TIMED_OUT, KafkaError._TIMED_OUT_QUEUE, KafkaError._MSG_TIMED_OUT):
        return _timed_out(cluster, bootstrap, step, seconds, complaints)
    return KafkaFailure(f"Cluster '{cluster}': {step} failed: {error.name()}: {error.str()}", reason=error.name(), topic=topic)


def _timed_out(cluster: str, bootstrap: str, step: str, seconds: float, complaints: Complaints) -> MirrorError:
    if complaints.detail():
        return ClusterUnreachable(cluster, bootstrap, seconds, complaints.detail())
    return DeadlineExceeded(
        f"Cluster '{cluster}': {step} did not end within {seconds:g} s.",
        next="Look at the brokers' load and the network; the next run goes on by itself.",
    )
