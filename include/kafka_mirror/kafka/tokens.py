"""Tokens of `kafka_mirror.logins` as the two Kafka clients take them.

librdkafka asks in a thread of its own whenever its token is near its end; kafka-python's mechanism, and with it our own connections, asks
for each login. Both get the one token that the process has.
"""

from collections.abc import Callable, Mapping
from typing import Any

import kafka.errors as errors
from confluent_kafka import KafkaError
from kafka.net.sasl.oauth import AbstractTokenProvider

from kafka_mirror.errors import TokenUnavailable
from kafka_mirror.kafka.client_log import keep_secret, masked
from kafka_mirror.logins.oauth_endpoint import CLIENT_ID, CLIENT_SECRET, SCOPE, URL
from kafka_mirror.logins.source import CLASS, PROPERTIES, NoToken, TokenSource, properties_of, shared_source, token_source
from kafka_mirror.logins.token import LoginToken

_CLIENT_CREDENTIALS = {
    "sasl.oauthbearer.token.endpoint.url": URL,
    "sasl.oauthbearer.client.id": CLIENT_ID,
    "sasl.oauthbearer.client.secret": CLIENT_SECRET,
    "sasl.oauthbearer.scope": SCOPE,
}
"""librdkafka's name -> Java's."""


def with_tokens(settings: dict[str, Any], complain: Callable[[KafkaError], None], cluster: str) -> dict[str, Any]:
    """librdkafka's settings with a callback that gives tokens, if a class gives them. The first is had here, for the client would wait ten
    seconds for one that cannot be had and not say why. Raises TokenUnavailable."""
    source = _source(settings)
    if source is None:
        return settings
    try:
        _valid(source)
    except NoToken as failure:
        raise TokenUnavailable(cluster, masked(str(failure))) from failure

    def give(_config: str) -> tuple[str, float, str, dict[str, str]]:
        """A token as librdkafka takes it: text, end, principal, extensions. Raises NoToken, after it has told `complain`."""
        try:
            token = _valid(source)
        except NoToken as failure:
            complain(KafkaError(KafkaError._AUTHENTICATION, f"there is no new token to log in with: {masked(str(failure))}"))
            raise
        return token.value, token.expires, "", dict(token.extensions)

    return {name: value for name, value in settings.items() if name not in (CLASS, PROPERTIES)} | {"oauth_cb": give}


class TokenMissing(errors.SaslAuthenticationFailedError):  # type: ignore[misc]
    """There is no token to log in with; the words say why, without secrets. To kafka-python it is a login that failed."""


class PythonTokens(AbstractTokenProvider):  # type: ignore[misc]
    """Tokens for kafka-python. Client credentials, which librdkafka fetches by itself, are asked for here."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """`settings`: librdkafka's."""
        super().__init__()
        self._source = _source(settings) or _client_credentials(settings)

    def token(self) -> str:
        """A token that is valid now. Raises TokenMissing if there is none."""
        return self._token().value

    def extensions(self) -> dict[str, str]:
        """What is sent along with the token. Raises likewise."""
        return dict(self._token().extensions)

    def _token(self) -> LoginToken:
        try:
            return _valid(self._source)
        except NoToken as failure:
            raise TokenMissing(masked(str(failure))) from failure


def _source(settings: Mapping[str, Any]) -> TokenSource | None:
    keep_secret(properties_of(settings))
    return token_source(settings)


def _client_credentials(settings: Mapping[str, Any]) -> TokenSource:
    properties = {java: str(settings[name]) for name, java in _CLIENT_CREDENTIALS.items() if name in settings}
    pairs = str(settings.get("sasl.oauthbearer.extensions", "")).split(",")
    properties |= {f"extension_{name}": text for name, equals, text in (pair.partition("=") for pair in pairs) if equals}
    return shared_source("kafka_mirror.logins.oauth_endpoint.ClientSecret", properties)


def _valid(source: TokenSource) -> LoginToken:
    token = source.token()
    keep_secret({"token": token.value})
    return token
