"""The settings of Java's clients (all of Kafka 4.3.1), and what each becomes for librdkafka: a setting, a refusal, or nothing.

Security settings depend on each other, so `sasl` and `tls` map them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kafka_mirror.config.catalogue.values import Valid, parse_value

ALL = frozenset({"admin", "consumer", "producer"})
CONSUMER = frozenset({"consumer"})
PRODUCER = frozenset({"producer"})
ADMIN = frozenset({"admin"})
_INT_MAX = 2**31 - 1


_ONCE = "every record is written exactly once, which needs this left out"
_BYTES = "records are mirrored byte for byte"
_NO_JAVA = "a Java class cannot be loaded here"
_GROUPLESS = "no consumer group is joined; the ledger holds the offsets"
_NO_JAVA_METRICS = "no Java metrics exist"
_BOUNDED = "retries and waiting are bounded by the transaction (mirror.transaction.timeout.ms) and the run"
_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_SERIALIZER = "org.apache.kafka.common.serialization.ByteArraySerializer"

SSL_KEYS = tuple(
    "ssl." + name
    for name in (
        "protocol provider cipher.suites enabled.protocols keystore.type keystore.location keystore.password key.password keystore.key "
        "keystore.certificate.chain truststore.certificates truststore.type truststore.location truststore.password keymanager.algorithm "
        "trustmanager.algorithm endpoint.identification.algorithm secure.random.implementation engine.factory.class"
    ).split()
)

SASL_KEYS = tuple(
    "sasl." + name
    for name in (
        "mechanism jaas.config client.callback.handler.class login.callback.handler.class login.class login.connect.timeout.ms "
        "login.read.timeout.ms login.retry.backoff.ms login.retry.backoff.max.ms login.refresh.window.factor login.refresh.window.jitter "
        "login.refresh.min.period.seconds login.refresh.buffer.seconds kerberos.service.name kerberos.kinit.cmd "
        "kerberos.ticket.renew.window.factor kerberos.ticket.renew.jitter kerberos.min.time.before.relogin oauthbearer.scope.claim.name "
        "oauthbearer.sub.claim.name oauthbearer.token.endpoint.url oauthbearer.jwks.endpoint.url oauthbearer.jwks.endpoint.refresh.ms "
        "oauthbearer.jwks.endpoint.retry.backoff.ms oauthbearer.jwks.endpoint.retry.backoff.max.ms oauthbearer.clock.skew.seconds "
        "oauthbearer.expected.audience oauthbearer.expected.issuer oauthbearer.header.urlencode oauthbearer.scope "
        "oauthbearer.client.credentials.client.id oauthbearer.client.credentials.client.secret oauthbearer.jwt.retriever.class "
        "oauthbearer.jwt.validator.class oauthbearer.assertion.algorithm oauthbearer.assertion.file oauthbearer.assertion.template.file "
        "oauthbearer.assertion.private.key.file oauthbearer.assertion.private.key.passphrase oauthbearer.assertion.claim.aud "
        "oauthbearer.assertion.claim.iss oauthbearer.assertion.claim.sub oauthbearer.assertion.claim.exp.seconds "
        "oauthbearer.assertion.claim.nbf.seconds oauthbearer.assertion.claim.jti.include"
    ).split()
)

SECURITY_KEYS = ("security.protocol", *SSL_KEYS, *SASL_KEYS)
CLIENT_KEYS = ("bootstrap.servers", *SECURITY_KEYS)
ROLES = ("producer", "consumer", "admin")


@dataclass(frozen=True)
class ClientProperty:
    """One Java client setting. Exactly one of `librdkafka` (its name there), `refuse` or `effect` says what becomes of it."""

    name: str
    roles: frozenset[str]
    librdkafka: str = ""
    convert: Callable[[str], Any] = str.strip
    """The value for librdkafka. Raises ValueError that says what is allowed."""
    refuse: Valid | None = None
    """The values that say what holds anyway; any other cannot be honoured."""
    effect: str = ""
    """Why the setting has no meaning in a batch mirror."""
    noticed: bool = True
    """Whether a setting without effect is worth a notice."""

    @property
    def becomes(self) -> Literal["mapped", "refused", "without effect"]:
        """Which of the three lists the setting is in."""
        return "mapped" if self.librdkafka else "refused" if self.refuse else "without effect"


def number(least: int, most: int = _INT_MAX) -> Callable[[str], int]:
    """A whole number, brought into the range that librdkafka takes (Java's -1 for 'the system's default' is its 0)."""

    def convert(text: str) -> int:
        value: int = parse_value("LONG", text)
        return min(max(value, least), most)

    return convert


def boolean(text: str) -> bool:
    """true or false as Kafka parses it."""
    return bool(parse_value("BOOLEAN", text))


def word(*allowed: str) -> Callable[[str], str]:
    """One of these words, in lower case."""

    def convert(text: str) -> str:
        word = text.strip().lower()
        if word not in allowed:
            raise ValueError(f"must be {' or '.join(allowed)}")
        return word

    return convert


def only(allowed: str, complaint: str) -> Valid:
    """Nothing but these words (in any case, divided by `|`)."""
    words = tuple(word.lower() for word in allowed.split("|"))
    return Valid(allowed.replace("|", " or "), lambda text: None if text.strip().lower() in words else complaint)


_MAPPED = (
    ClientProperty("client.id", ALL, "client.id"),
    ClientProperty("client.dns.lookup", ALL, "client.dns.lookup", word("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")),
    ClientProperty("client.rack", CONSUMER, "client.rack"),
    ClientProperty("metadata.max.age.ms", ALL, "topic.metadata.refresh.interval.ms", number(1, 3_600_000)),
    ClientProperty("metadata.recovery.strategy", ALL, "metadata.recovery.strategy", word("none", "rebootstrap")),
    ClientProperty("metadata.recovery.rebootstrap.trigger.ms", ALL, "metadata.recovery.rebootstrap.trigger.ms", number(0)),
    ClientProperty("send.buffer.bytes", ALL, "socket.send.buffer.bytes", number(0, 100_000_000)),
    ClientProperty("receive.buffer.bytes", ALL, "socket.receive.buffer.bytes", number(0, 100_000_000)),
    ClientProperty("request.timeout.ms", ALL, "socket.timeout.ms", number(10, 300_000)),
    ClientProperty("socket.connection.setup.timeout.ms", ALL, "socket.connection.setup.timeout.ms", number(1000)),
    ClientProperty("connections.max.idle.ms", ALL, "connections.max.idle.ms", number(0)),
    ClientProperty("reconnect.backoff.ms", ALL, "reconnect.backoff.ms", number(0, 3_600_000)),
    ClientProperty("reconnect.backoff.max.ms", ALL, "reconnect.backoff.max.ms", number(0, 3_600_000)),
    ClientProperty("retry.backoff.ms", ALL, "retry.backoff.ms", number(1, 300_000)),
    ClientProperty("retry.backoff.max.ms", ALL, "retry.backoff.max.ms", number(1, 300_000)),
    ClientProperty("enable.metrics.push", ALL, "enable.metrics.push", boolean),
    ClientProperty("fetch.min.bytes", CONSUMER, "fetch.min.bytes", number(1, 100_000_000)),
    ClientProperty("fetch.max.bytes", CONSUMER, "fetch.max.bytes", number(1000, 2_147_483_135)),
    ClientProperty("max.partition.fetch.bytes", CONSUMER, "max.partition.fetch.bytes", number(1, 1_000_000_000)),
    ClientProperty("fetch.max.wait.ms", CONSUMER, "fetch.wait.max.ms", number(0, 290_000)),
    ClientProperty("check.crcs", CONSUMER, "check.crcs", boolean),
    ClientProperty("isolation.level", CONSUMER, "isolation.level", word("read_committed", "read_uncommitted")),
    ClientProperty("compression.type", PRODUCER, "compression.type", word("none", "gzip", "snappy", "lz4", "zstd")),
)

_REFUSED = (
    ClientProperty("interceptor.classes", CONSUMER | PRODUCER, refuse=only("", f"{_NO_JAVA}, and {_BYTES}; remove it")),
    ClientProperty("security.providers", ALL, refuse=only("", f"{_NO_JAVA}; remove it")),
    ClientProperty("acks", PRODUCER, refuse=only("all|-1", "must be all: a record counts as copied when every in-sync replica has it")),
    ClientProperty("enable.idempotence", PRODUCER, refuse=only("true", "must be true: a retry must not double a record")),
    ClientProperty("transactional.id", PRODUCER, refuse=Valid("", lambda _: f"{_ONCE}: each lane has its own transactional.id")),
    ClientProperty("transaction.two.phase.commit.enable", PRODUCER, refuse=only("false", f"{_ONCE}: the transactions would never end")),
    ClientProperty("key.serializer", PRODUCER, refuse=only(_SERIALIZER, f"{_BYTES}, so only the ByteArraySerializer is possible")),
    ClientProperty("value.serializer", PRODUCER, refuse=only(_SERIALIZER, f"{_BYTES}, so only the ByteArraySerializer is possible")),
    ClientProperty("key.deserializer", CONSUMER, refuse=only(_DESERIALIZER, f"{_BYTES}, so only the ByteArrayDeserializer is possible")),
    ClientProperty("value.deserializer", CONSUMER, refuse=only(_DESERIALIZER, f"{_BYTES}, so only the ByteArrayDeserializer is possible")),
)


def _ignore(names: str, roles: frozenset[str], why: str, noticed: bool = True) -> tuple[ClientProperty, ...]:
    return tuple(ClientProperty(name, roles, effect=why, noticed=noticed) for name in names.split())


_IGNORED = (
    *_ignore(
        "metric.reporters metrics.sample.window.ms metrics.num.samples metrics.recording.level",
        ALL,
        _NO_JAVA_METRICS,
    ),
    *_ignore("retries", ADMIN | PRODUCER, _BOUNDED),
    *_ignore("default.api.timeout.ms", ADMIN | CONSUMER, _BOUNDED),
    *_ignore("socket.connection.setup.timeout.max.ms", ALL, "librdkafka has one time for setting up a connection", noticed=False),
    *_ignore("config.providers", ALL, "references are resolved before a client sees them", noticed=False),
    *_ignore("bootstrap.controllers", ADMIN, "brokers are asked, not controllers"),
    *_ignore("max.poll.records", CONSUMER, "how much is read at a time follows mirror.transaction.max.bytes"),
    *_ignore(
        "group.id group.instance.id group.protocol group.remote.assignor max.poll.interval.ms session.timeout.ms heartbeat.interval.ms "
        "enable.auto.commit auto.commit.interval.ms partition.assignment.strategy exclude.internal.topics",
        CONSUMER,
        _GROUPLESS,
    ),
    *_ignore("share.acquire.mode share.acknowledgement.mode internal.throw.on.fetch.stable.offset.unsupported", CONSUMER, _GROUPLESS),
    *_ignore("allow.auto.create.topics", CONSUMER, "reading never creates a topic"),
    # Flow.per_topic reads it.
    *_ignore("auto.offset.reset", CONSUMER, "not the client reads it: it is the default of mirror.start", noticed=False),
    *_ignore("delivery.timeout.ms max.block.ms", PRODUCER, _BOUNDED),
    *_ignore("transaction.timeout.ms", PRODUCER, "the copy's transactions follow mirror.transaction.timeout.ms"),
    *_ignore("metadata.max.idle.ms", PRODUCER, "a run is short"),
    *_ignore(
        "linger.ms batch.size buffer.memory max.request.size max.in.flight.requests.per.connection",
        PRODUCER,
        "how large batches are, and how many are under way, is for the copy to say",
    ),
    *_ignore(
        "compression.gzip.level compression.lz4.level compression.zstd.level", PRODUCER, "what is packed again gets its codec's own level"
    ),
    *_ignore(
        "partitioner.class partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.ignore.keys",
        PRODUCER,
        "a record keeps the number of its source partition",
    ),
)

CLIENT_PROPERTIES: Mapping[str, ClientProperty] = {prop.name: prop for prop in (*_MAPPED, *_REFUSED, *_IGNORED)}


_KAFKA = "org.apache.kafka.common.security.oauthbearer."
_MSK = "software.amazon.msk.auth.iam."
OAUTH_HANDLERS = tuple(f"{_KAFKA}{part}OAuthBearerLoginCallbackHandler" for part in ("", "secured."))
OAUTH_RETRIEVERS = tuple(f"{_KAFKA}{part}JwtRetriever" for part in ("Default", "ClientCredentials", "File", "JwtBearer"))
CLIENT_HANDLERS = (f"{_MSK}IAMClientCallbackHandler", f"{_MSK}IAMOAuthBearerLoginCallbackHandler")
TOKEN_CLASSES: Mapping[str, str] = {
    f"{_MSK}IAMOAuthBearerLoginCallbackHandler": "kafka_mirror.logins.clouds.MskIamTokens",
    "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler": "kafka_mirror.logins.clouds.GoogleTokens",
}
"""Java's class in sasl.login.callback.handler.class -> ours that does the same."""

_SECURITY_MAPPED = {
    "security.protocol": "security.protocol",
    "ssl.endpoint.identification.algorithm": "ssl.endpoint.identification.algorithm",
    **dict.fromkeys(("ssl.truststore." + part for part in ("certificates", "location", "password", "type")), "ssl.ca.pem"),
    **dict.fromkeys(
        (
            *("ssl.keystore." + part for part in ("certificate.chain", "key", "location", "password", "type")),
            "ssl.key.password",
        ),
        "ssl.certificate.pem, ssl.key.pem",
    ),
    "sasl.mechanism": "sasl.mechanism",
    "sasl.jaas.config": "sasl.username, sasl.password, sasl.kerberos.*, sasl.oauthbearer.*, oauth_cb",
    "sasl.kerberos.service.name": "sasl.kerberos.service.name",
    "sasl.login.callback.handler.class": "oauth_cb",
    "sasl.oauthbearer.token.endpoint.url": "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.scope": "sasl.oauthbearer.scope",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
    **{name: "oauth_cb" for name in SASL_KEYS if name.startswith("sasl.oauthbearer.assertion.")},
}

NO_JAVA = "a Java class cannot be loaded here; remove it"


def _refuse_java_class(name: str, allowed: tuple[str, ...] = ()) -> ClientProperty:
    check = Valid(" or ".join(allowed), lambda text: None if text.strip() in ("", *allowed) else NO_JAVA)
    return ClientProperty(name, ALL, refuse=check)


_SECURITY_REFUSED = (
    _refuse_java_class("ssl.engine.factory.class"),
    _refuse_java_class("sasl.client.callback.handler.class", CLIENT_HANDLERS),
    _refuse_java_class("sasl.login.class"),
    _refuse_java_class("sasl.oauthbearer.jwt.retriever.class", OAUTH_RETRIEVERS),
)

_JAVAS_OWN = "it is a setting of Java's TLS or SASL library, and librdkafka has its own"

_SECURITY_KNOWN = (*(ClientProperty(name, ALL, librdkafka) for name, librdkafka in _SECURITY_MAPPED.items()), *_SECURITY_REFUSED)
_SECURITY_IGNORED = tuple(
    ClientProperty(name, ALL, effect=_JAVAS_OWN) for name in (*SSL_KEYS, *SASL_KEYS) if name not in {prop.name for prop in _SECURITY_KNOWN}
)

SECURITY_PROPERTIES: Mapping[str, ClientProperty] = {prop.name: prop for prop in (*_SECURITY_KNOWN, *_SECURITY_IGNORED)}
