"""How clients log in: their settings as our own connections and kafka-python's logins take them, and the tokens and tickets for all.

librdkafka asks for a token in a thread of its own whenever the last one is near its end; kafka-python's mechanism, and with it our own
connections, asks for each login. Both get the one token that the process has (`kafka_mirror.logins`).

Both use libkrb5, and one Kerberos ticket. With a keytab the ticket is in memory alone, and libkrb5 has a new one by itself before it ends
(KRB5_CLIENT_KTNAME). kinit, as librdkafka would call it, writes one file for all processes of the host. A process has one ticket; two
clusters of a flow take the same.

The secrets of all that logs in are kept, so that no line quotes one.
"""

import importlib
import logging
import os
import re
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import kafka.errors as errors
from confluent_kafka import KafkaError
from kafka.net.sasl.oauth import AbstractTokenProvider

from kafka_mirror.errors import TokenUnavailable
from kafka_mirror.logins.oauth import CLIENT_ID, CLIENT_SECRET, SCOPE, URL
from kafka_mirror.logins.token import (
    CLASS,
    GSSAPI,
    KEYTAB,
    PRINCIPAL,
    PROPERTIES,
    SERVICE,
    TICKET_CACHE,
    LoginToken,
    NoToken,
    TokenSource,
    properties_of,
    shared_source,
    token_source,
)

_SHORTEST_SECRET = 4
_SECRET_NAME = re.compile(r"password|passphrase|secret|\.pem$|jaas|token(?!\.endpoint)", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"((?:password|passphrase|secret|jaas\.config|\btoken)[\w.]*[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE
)
_secrets: set[str] = set()
_IN_MEMORY = "MEMORY:mirror"
_OURS = (KEYTAB, PRINCIPAL, TICKET_CACHE)
_lock = threading.Lock()
_CLIENT_CREDENTIALS = {
    "sasl.oauthbearer.token.endpoint.url": URL,
    "sasl.oauthbearer.client.id": CLIENT_ID,
    "sasl.oauthbearer.client.secret": CLIENT_SECRET,
    "sasl.oauthbearer.scope": SCOPE,
}
"""librdkafka's name -> Java's."""
# It logs each failed connection, and its settings, secrets and all, when it debugs; what matters of it is in our errors.
_log = logging.getLogger("kafka")
_log.addHandler(logging.NullHandler())
_log.propagate = False
_log.setLevel(logging.CRITICAL)


def keep_secret(settings: Mapping[str, Any]) -> None:
    """Has the secrets among a client's settings masked wherever a line should quote one."""
    values = (str(value) for name, value in settings.items() if _SECRET_NAME.search(name) and isinstance(value, str))
    _secrets.update(value for value in values if len(value) >= _SHORTEST_SECRET)


def mask_secrets(text: str) -> str:
    """A line without secrets: those that are known, and whatever is assigned to a name that sounds like one."""
    text = _ASSIGNED.sub(r"\1***", text)  # first, for a secret that is a word like "secret" would hide the name
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


@dataclass(frozen=True)
class KerberosLogin:
    """Whose ticket it is: the principal of a keytab, or the owner of the ticket in a cache ('': the process's own)."""

    principal: str = ""
    keytab: str = ""
    cache: str = ""

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "KerberosLogin":
        """The login that settings of a client name."""
        return cls(str(settings.get(PRINCIPAL, "")), str(settings.get(KEYTAB, "")), str(settings.get(TICKET_CACHE, "")))

    def __str__(self) -> str:
        return f"{self.principal} (keytab {self.keytab})" if self.keytab else f"the ticket cache {self.cache or 'of this process'}"


class NoTicket(errors.SaslAuthenticationFailedError, LookupError):  # type: ignore[misc]
    """There is no Kerberos ticket; the words say why. To callers of kafka-python it is a login that failed, to others a lack."""


_logins: list[KerberosLogin] = []
"""Whose ticket this process has: at most one."""


def with_ticket(settings: dict[str, Any], cluster: str) -> dict[str, Any]:
    """librdkafka's settings; where they log in by Kerberos, this process has the ticket from now on. Raises TokenUnavailable."""
    if settings.get("sasl.mechanism") != GSSAPI:
        return settings
    try:
        _hold(KerberosLogin.of(settings))
    except NoTicket as failure:
        raise TokenUnavailable(cluster, str(failure.args[0])) from failure
    # 0: it calls no kinit.
    return {name: value for name, value in settings.items() if name not in _OURS} | {"sasl.kerberos.min.time.before.relogin": 0}


def _hold(login: KerberosLogin) -> None:
    with _lock:
        if _logins and _logins[0] != login:
            raise NoTicket(
                f"this process has the Kerberos ticket of {_logins[0]}, and cannot have that of {login} too: give both clusters one login"
            )
        if not _logins:
            _get_ticket(login)
            _logins.append(login)


def _get_ticket(login: KerberosLogin) -> None:
    try:
        gssapi: Any = importlib.import_module("gssapi")
    except ImportError as failure:
        raise NoTicket(f"no Kerberos ticket of {login}, for the Python package gssapi cannot be loaded: {failure}") from failure
    if login.keytab:
        os.environ |= {"KRB5_CLIENT_KTNAME": f"FILE:{login.keytab}", "KRB5CCNAME": _IN_MEMORY}
    elif login.cache:
        os.environ["KRB5CCNAME"] = login.cache
    try:
        name = gssapi.Name(login.principal, gssapi.NameType.kerberos_principal) if login.principal else None
        lifetime = gssapi.Credentials(name=name, usage="initiate").lifetime
    except gssapi.exceptions.GSSError as failure:
        raise NoTicket(f"no Kerberos ticket of {login}: {failure}") from failure
    if not lifetime:
        raise NoTicket(f"the Kerberos ticket in {login} has ended")


def with_tokens(settings: dict[str, Any], complain: Callable[[KafkaError], None], cluster: str) -> dict[str, Any]:
    """librdkafka's settings with a callback that gives tokens, if a class gives them. The first is had here, for the client would wait ten
    seconds for one that cannot be had and not say why. Raises TokenUnavailable."""
    source = _source(settings)
    if source is None:
        return settings
    try:
        _valid(source)
    except NoToken as failure:
        raise TokenUnavailable(cluster, mask_secrets(str(failure))) from failure

    def give(_config: str) -> tuple[str, float, str, dict[str, str]]:
        """A token as librdkafka takes it: text, end, principal, extensions. Calls `complain` and raises NoToken if there is none."""
        try:
            token = _valid(source)
        except NoToken as failure:
            complain(KafkaError(KafkaError._AUTHENTICATION, f"there is no new token to log in with: {mask_secrets(str(failure))}"))
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
        """What is sent along with the token. Raises TokenMissing if there is none."""
        return dict(self._token().extensions)

    def _token(self) -> LoginToken:
        try:
            return _valid(self._source)
        except NoToken as failure:
            raise TokenMissing(mask_secrets(str(failure))) from failure


def _source(settings: Mapping[str, Any]) -> TokenSource | None:
    keep_secret(properties_of(settings))
    return token_source(settings)


def _client_credentials(settings: Mapping[str, Any]) -> TokenSource:
    properties = {java: str(settings[name]) for name, java in _CLIENT_CREDENTIALS.items() if name in settings}
    pairs = str(settings.get("sasl.oauthbearer.extensions", "")).split(",")
    properties |= {f"extension_{name}": text for name, equals, text in (pair.partition("=") for pair in pairs) if equals}
    return shared_source("kafka_mirror.logins.oauth.ClientSecret", properties)


def _valid(source: TokenSource) -> LoginToken:
    token = source.token()
    keep_secret({"token": token.value})
    return token


def python_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """How to connect, from librdkafka's settings of the same client. Settings that only tune librdkafka are left out. Raises NoTicket."""
    protocol = str(settings.get("security.protocol", "plaintext")).upper()
    connection: dict[str, Any] = {
        "bootstrap_servers": str(settings["bootstrap.servers"]).split(","),
        "client_id": settings.get("client.id", "mirror"),
        "security_protocol": protocol,
    }
    if protocol.endswith("SSL"):
        connection["ssl_context"] = tls_context(settings)
    return connection | _sasl(settings) if protocol.startswith("SASL_") else connection


def tls_context(settings: Mapping[str, Any]) -> ssl.SSLContext:
    """Verifies brokers by the truststore's certificates (the host's own without), and by their name unless that is switched off."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm", "https") != "none"
    if "ssl.ca.pem" in settings:
        context.load_verify_locations(cadata=settings["ssl.ca.pem"])
    else:
        context.load_default_certs()
    if "ssl.certificate.pem" in settings:
        _load_identity(context, f"{settings['ssl.key.pem']}\n{settings['ssl.certificate.pem']}")
    return context


def _load_identity(context: ssl.SSLContext, pem: str) -> None:
    """The key goes through memory alone: Python's TLS takes it from a file only, and this one has no name."""
    descriptor = os.memfd_create("identity")
    try:
        os.write(descriptor, pem.encode())
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _sasl(settings: Mapping[str, Any]) -> dict[str, Any]:
    mechanism = str(settings["sasl.mechanism"])
    if mechanism == GSSAPI:
        _hold(KerberosLogin.of(settings))
        return {"sasl_mechanism": GSSAPI, "sasl_kerberos_service_name": str(settings[SERVICE])}
    if mechanism == "OAUTHBEARER":
        return {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": PythonTokens(settings)}
    user = str(settings["sasl.username"])
    if mechanism.startswith("SCRAM"):
        user = user.replace("=", "=3D").replace(",", "=2C")  # RFC 5802, which the client leaves to its caller
    return {"sasl_mechanism": mechanism, "sasl_plain_username": user, "sasl_plain_password": str(settings["sasl.password"])}
