"""Why a TLS handshake failed, in a sentence that names what to correct.

librdkafka says of every broker certificate that it "could not be verified", and of our own only the number of the broker's alert. Python
says a little more. So the reason is looked for: in the broker's certificate, by a handshake of our own, and in ours.
"""

import re
import socket
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kafka_mirror.kafka.client_login import tls_context

if TYPE_CHECKING:
    from cryptography import x509

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


def refuses_us(text: str) -> bool:
    """Whether a failed connection is a broker's refusal of the client's certificate."""
    alert = _ALERT.search(text)
    return alert is not None and alert.group(1) in _ABOUT_US


def explain_report(text: str, settings: Mapping[str, Any], alias: str) -> str | None:
    """The sentence for an error that librdkafka reported; None if it is not about a certificate or nothing more can be said of it."""
    if refuses_us(text):
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
        _handshake(host, port, tls_context({name: settings[name] for name in _OF_VERIFYING if name in settings}), host)
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
        der = _handshake(host, port, context, host)
    except OSError:
        return None
    from cryptography import x509

    return x509.load_der_x509_certificate(der) if der else None


def _handshake(host: str, port: int, context: ssl.SSLContext, name: str) -> bytes | None:
    with (
        socket.create_connection((host, port), timeout=_SECONDS) as connection,
        context.wrap_socket(connection, server_hostname=name) as secured,
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
