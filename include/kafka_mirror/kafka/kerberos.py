"""The Kerberos ticket of this process, for librdkafka's client, kafka-python's and our own connections alike: all use its libkrb5.

With a keytab the ticket is in memory alone, and libkrb5 has a new one by itself before it ends (KRB5_CLIENT_KTNAME). kinit, as librdkafka
would call it, writes one file for all processes of the host. A process has one ticket; two clusters of a flow take the same.
"""

import importlib
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import kafka.errors as errors

from kafka_mirror.errors import TokenUnavailable
from kafka_mirror.logins.kerberos import GSSAPI, KEYTAB, PRINCIPAL, SERVICE, TICKET_CACHE

_IN_MEMORY = "MEMORY:mirror"
_OURS = (KEYTAB, PRINCIPAL, TICKET_CACHE)
_lock = threading.Lock()


@dataclass(frozen=True)
class KerberosLogin:
    """Whose ticket it is: the principal of a keytab, or whoever has the ticket in a cache ('': the process's own)."""

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


def python_kerberos(settings: Mapping[str, Any]) -> dict[str, Any]:
    """kafka-python's settings of the same login, from librdkafka's. Raises NoTicket."""
    _hold(KerberosLogin.of(settings))
    return {"sasl_mechanism": GSSAPI, "sasl_kerberos_service_name": str(settings[SERVICE])}


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
