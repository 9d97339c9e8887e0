"""The security settings of Java's clients, and what each becomes: `sasl.py` and `tls.py` map them, for they depend on each other."""

from collections.abc import Mapping

from kafka_mirror.config.catalogue.values import Valid
from kafka_mirror.config.clients.catalogue import ALL, SASL_KEYS, SSL_KEYS, ClientProperty

_KAFKA = "org.apache.kafka.common.security.oauthbearer."
_MSK = "software.amazon.msk.auth.iam."
OAUTH_HANDLERS = tuple(f"{_KAFKA}{part}OAuthBearerLoginCallbackHandler" for part in ("", "secured."))
OAUTH_RETRIEVERS = tuple(f"{_KAFKA}{part}JwtRetriever" for part in ("Default", "ClientCredentials", "File", "JwtBearer"))
CLIENT_HANDLERS = (f"{_MSK}IAMClientCallbackHandler", f"{_MSK}IAMOAuthBearerLoginCallbackHandler")
TOKEN_CLASSES: Mapping[str, str] = {
    f"{_MSK}IAMOAuthBearerLoginCallbackHandler": "kafka_mirror.logins.aws_msk.MskIamTokens",
    "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler": "kafka_mirror.logins.google_cloud.GoogleTokens",
}
"""Java's class in sasl.login.callback.handler.class -> ours that does the same."""

_MAPPED = {
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


def _refuse(name: str, allowed: tuple[str, ...] = ()) -> ClientProperty:
    check = Valid(" or ".join(allowed), lambda text: None if text.strip() in ("", *allowed) else NO_JAVA)
    return ClientProperty(name, ALL, refuse=check)


_REFUSED = (
    _refuse("ssl.engine.factory.class"),
    _refuse("sasl.client.callback.handler.class", CLIENT_HANDLERS),
    _refuse("sasl.login.class"),
    _refuse("sasl.oauthbearer.jwt.retriever.class", OAUTH_RETRIEVERS),
)

_JAVAS_OWN = "it is a setting of Java's TLS or SASL library, and librdkafka has its own"

_KNOWN = (*(ClientProperty(name, ALL, librdkafka) for name, librdkafka in _MAPPED.items()), *_REFUSED)
_IGNORED = tuple(
    ClientProperty(name, ALL, effect=_JAVAS_OWN) for name in (*SSL_KEYS, *SASL_KEYS) if name not in {prop.name for prop in _KNOWN}
)

SECURITY_PROPERTIES: Mapping[str, ClientProperty] = {prop.name: prop for prop in (*_KNOWN, *_IGNORED)}
