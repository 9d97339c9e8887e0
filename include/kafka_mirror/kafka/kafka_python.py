"""Client settings as our own connections and kafka-python's logins take them."""

import logging
import os
import ssl
from collections.abc import Mapping
from typing import Any

from kafka_mirror.kafka.kerberos import python_kerberos
from kafka_mirror.kafka.tokens import PythonTokens
from kafka_mirror.logins.kerberos import GSSAPI

# It logs each failed connection, and its settings, secrets and all, when it debugs; what matters of it is in our errors.
_log = logging.getLogger("kafka")
_log.addHandler(logging.NullHandler())
_log.propagate = False
_log.setLevel(logging.CRITICAL)


def python_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """How to connect, from librdkafka's settings of the same client. What is tuning stays behind."""
    protocol = str(settings.get("security.protocol", "plaintext")).upper()
    connection: dict[str, Any] = {
        "bootstrap_servers": str(settings["bootstrap.servers"]).split(","),
        "client_id": settings.get("client.id", "mirror"),
        "security_protocol": protocol,
    }
    if protocol.endswith("SSL"):
        connection["ssl_context"] = tls_context(settings)
    if protocol.startswith("SASL_"):
        connection |= _sasl(settings)
    return connection


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
        return python_kerberos(settings)
    if mechanism == "OAUTHBEARER":
        return {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": PythonTokens(settings)}
    user = str(settings["sasl.username"])
    if mechanism.startswith("SCRAM"):
        user = user.replace("=", "=3D").replace(",", "=2C")  # RFC 5802, which the client leaves to its caller
    return {"sasl_mechanism": mechanism, "sasl_plain_username": user, "sasl_plain_password": str(settings["sasl.password"])}
