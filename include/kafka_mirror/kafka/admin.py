"""librdkafka's admin client of one cluster, for what changes it: its requests, waited for within a deadline, what it says as errors of
ours, and what it logs.

What brokers answer means the same as in `connection_errors`; here is what librdkafka adds, with numbers and words of its own. Its threads
repeat each failed connection many times a second. What matters of it is in our errors; the lines tell when it began, and that it goes on.
"""

import logging
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent import futures
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from kafka_mirror.errors import AuthenticationFailed, AuthorizationRefused, ClusterUnreachable, DeadlineExceeded, KafkaFailure, MirrorError
from kafka_mirror.kafka.client_login import keep_secret, mask_secrets, with_ticket, with_tokens
from kafka_mirror.kafka.connection_errors import DENIED, HUNG_UP, KEPT, LOAD_NEXT, SILENCE, explain_report, refuses_certificate

_AUTHENTICATION = {
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
}
_TOO_EARLY = ("OAUTHBEARER", "Request not valid in current SASL state")
"""In librdkafka's words: it logged in again less than a second after it had done so before, which a broker does not take. That happens
where a token has little time left and the next is not there yet; the next connection logs in as ever."""
_CUT_SHORT = ("mechanism handshake failed: Local: ",)
"""In librdkafka's words: the connection broke before the broker answered, so the broker refused nothing. A broker closes the connection of
a token that ended (KIP-368), also in the middle of the client's next login."""
_UNREACHABLE = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE}
_REFUSALS = 2
"""How many refusals of our credentials count while no broker answers: a single one may come from a broker that is just starting."""

# What librdkafka puts around the reason: `sasl_ssl://host:9092/bootstrap: …  (after 316ms in state AUTH_REQ, 3 identical error(s) …)`.
_FRAME = re.compile(r"^(?:\w+://)?\S+/(?:bootstrap|\d+): |\s*\(after \d+ms in state [^)]*(?:\(s\)[^)]*)?\)$")
_LOOK_EVERY_SECONDS = 0.25
REPEAT_SECONDS = 30.0
"""How soon the same line is said again at the earliest."""
_MOST_KINDS = 200
# `#producer-3`, `(after 3ms in state CONNECT, 5 identical error(s) suppressed)`: the same line again, whatever these say.
_VARIES = re.compile(r"#(?:producer|consumer)-\d+|\(after \d+ms in state [^)]*(?:\(s\)[^)]*)?\)|\d+ms\b")
_THREAD = re.compile(r" \[thrd:[^\]]*\]:")


class RepeatFilter(logging.Filter):
    """Lets the first of librdkafka's equal lines pass at WARNING, and of its repetitions one in a while, with how many there were."""

    def __init__(self, seconds: float = REPEAT_SECONDS, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds = seconds
        self._now = now
        self._said: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is logged; its text is masked and its level no more than a warning."""
        text = _THREAD.sub("", mask_secrets(record.getMessage()))
        record.msg, record.args = f"librdkafka: {text}", ()
        if record.levelno < logging.WARNING:
            return True
        kind = " ".join(_VARIES.sub("", text).split())
        said, repeated = self._said.get(kind, (None, 0))
        if said is not None and self._now() - said < self._seconds:
            self._said[kind] = (said, repeated + 1)
            return False
        if len(self._said) >= _MOST_KINDS:
            self._said.clear()
        self._said[kind] = (self._now(), 0)
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        times = "once" if repeated == 1 else f"{repeated:,} times"
        record.msg += f" (the same line came {times} more before)" if repeated else ""
        return True


client_log = logging.getLogger("kafka_mirror.librdkafka")
client_log.setLevel(logging.WARNING)
client_log.addFilter(RepeatFilter())
client_log.addHandler(logging.NullHandler())  # without any logging configured nothing goes to the terminal


class ClientErrors:
    """The last errors that a client's background threads reported, of one cluster.

    librdkafka tells the reason of a failed connection (refused, wrong password, untrusted certificate) only there; the call that waits
    merely times out.
    """

    def __init__(self, cluster: str, settings: Mapping[str, Any]) -> None:
        """`settings`: the client's. What they say of certificates is kept for explanations."""
        self.cluster = cluster
        self.bootstrap = str(settings.get("bootstrap.servers", ""))
        self._tls = {name: settings[name] for name in KEPT if name in settings}
        self._errors: deque[KafkaError] = deque(maxlen=20)

    def __call__(self, error: KafkaError) -> None:
        """Takes an error from the client's background threads."""
        self._errors.append(error)

    @property
    def refusals(self) -> list[KafkaError]:
        """Where our credentials or a certificate were refused, in order."""
        return [error for error in self._errors if _is_refusal(error)]

    @property
    def has_unjudged_logins(self) -> bool:
        """Whether logins failed and no broker judged what we logged in with. What was under way there may be tried again."""
        return any(map(_is_unjudged, self._errors))

    def raise_refusal(self) -> None:
        """Raises AuthenticationFailed if we were refused again and again: waiting longer for an answer is of no use."""
        if len(self.refusals) >= _REFUSALS:
            raise self.report_refusal(self.refusals[-1])

    def report_refusal(self, refusal: KafkaError) -> AuthenticationFailed:
        """The error of ours for a refusal: of certificates what is wrong with them, otherwise what the client says."""
        return AuthenticationFailed(
            self.cluster, self.bootstrap, explain_report(refusal.str(), self._tls, self.cluster) or _reason(refusal)
        )

    @property
    def detail(self) -> str:
        """The newest complaint in words, or nothing. 'All brokers are down' explains nothing, so it counts only if there is no other."""
        reasons = [error for error in self._errors if error.code() != KafkaError._ALL_BROKERS_DOWN]
        return _reason(reasons[-1]) if reasons else HUNG_UP if self._errors else ""


def _is_unjudged(error: KafkaError) -> bool:
    """Whether a login failed and the broker did not judge what we logged in with."""
    return any(all(words in error.str() for words in said) for said in (_TOO_EARLY, _CUT_SHORT))


def _is_refusal(error: KafkaError) -> bool:
    return not _is_unjudged(error) and (error.code() in _AUTHENTICATION or refuses_certificate(error.str()))


def settings_with(settings: Mapping[str, Any], complaints: ClientErrors) -> dict[str, Any]:
    """Client settings with our error callback and a logger, so that a client never writes to the terminal by itself. Raises
    TokenUnavailable."""
    keep_secret(settings)
    own = with_ticket({"error_cb": complaints, "logger": client_log, **settings}, complaints.cluster)
    return with_tokens(own, complaints, complaints.cluster)


def to_mirror_error(
    failure: BaseException,
    complaints: ClientErrors,
    *,
    step: str,
    seconds: float,
    topic: str | None = None,
    operation: str | None = None,
) -> MirrorError:
    """The error of ours for a failed client call. `step` says what was being done, `seconds` the deadline it had."""
    cluster, refusals = complaints.cluster, complaints.refusals
    if refusals:
        return complaints.report_refusal(refusals[-1])
    error = failure.args[0] if isinstance(failure, KafkaException) and failure.args else None
    if not isinstance(error, KafkaError):
        if isinstance(failure, TimeoutError):
            return _report_timeout(complaints, step, seconds)
        return KafkaFailure(f"Cluster '{cluster}': {step} failed: {failure}.", topic=topic)
    code = error.code()
    if code in DENIED:
        return AuthorizationRefused(cluster, operation or "the operation", f"topic {topic}" if topic else DENIED[code], topic=topic)
    if _is_refusal(error) and not complaints.has_unjudged_logins:
        return complaints.report_refusal(error)
    if code in _UNREACHABLE | _AUTHENTICATION:
        return ClusterUnreachable(cluster, complaints.bootstrap, seconds, complaints.detail or SILENCE)
    if code == KafkaError._TIMED_OUT:
        return _report_timeout(complaints, step, seconds)
    said = f"Cluster '{cluster}': {step} failed: {error.name()}: {error.str().rstrip('.')}."
    return KafkaFailure(said, reason=error.name(), topic=topic)


def _report_timeout(complaints: ClientErrors, step: str, seconds: float) -> MirrorError:
    if complaints.detail:
        return ClusterUnreachable(complaints.cluster, complaints.bootstrap, seconds, complaints.detail)
    message = f"Cluster '{complaints.cluster}' at {complaints.bootstrap}: {step} did not end within {seconds:g} s."
    return DeadlineExceeded(message, next=LOAD_NEXT)


def _reason(error: KafkaError) -> str:
    """What the client says, without the address and the time that it puts around every reason."""
    return _FRAME.sub("", error.str()).strip().rstrip(".:?")


class Admin:
    """Sends requests and waits for their answers. Raises the errors of `kafka_mirror.errors`, with the cluster's alias in their
    messages."""

    def __init__(self, alias: str, settings: Mapping[str, Any], timeout: float) -> None:
        self._timeout = timeout
        self._complaints = ClientErrors(alias, settings)
        self._client = AdminClient(settings_with(settings, self._complaints))

    def close(self) -> None:
        """Lets go of the client; pending calls are over by then, for each of them was waited for."""
        self._client.poll(0)

    def send(self, step: str, request: Callable[[AdminClient, float], Any]) -> Any:
        """Sends a request, `request(client, seconds)`, and gives its futures, which `await_failure` and `await_outcomes` take."""
        try:
            return request(self._client, self._timeout)
        except MirrorError:
            raise
        except Exception as failure:
            raise self._translate(failure, step) from failure

    def await_failure(self, answer: "Future[Any]", step: str, operation: str, topic: str | None = None) -> MirrorError | None:
        """Waits for an answer within the deadline; gives what went wrong, if anything did. The client goes on asking a cluster that refuses
        our credentials; this does not: it raises AuthenticationFailed."""
        deadline = time.monotonic() + self._timeout + 5
        while not answer.done() and time.monotonic() < deadline:
            futures.wait((answer,), timeout=_LOOK_EVERY_SECONDS)
            self._client.poll(0)
            self._complaints.raise_refusal()
        try:
            answer.result(0)
        except (KafkaException, TimeoutError) as failure:
            return self._translate(failure, step, topic, operation)
        return None

    def await_outcomes(self, answers: Mapping[str, "Future[Any]"], step: str, operation: str) -> dict[str, MirrorError | None]:
        """What went wrong with each of several requests, by topic; `step` goes on with the topic's name."""
        return {topic: self.await_failure(answer, f"{step} {topic}", operation, topic) for topic, answer in answers.items()}

    def _translate(self, failure: BaseException, step: str, topic: str | None = None, operation: str | None = None) -> MirrorError:
        self._client.poll(0)
        return to_mirror_error(failure, self._complaints, step=step, seconds=self._timeout, topic=topic, operation=operation)
