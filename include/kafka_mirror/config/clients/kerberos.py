"""Kerberos (GSSAPI): from Java's Krb5LoginModule and `sasl.kerberos.*` to librdkafka's settings.

Who holds the ticket is not librdkafka's kinit, whose cache all processes of a host would share, but this process:
`kafka_mirror.kafka.client_login`.
"""

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from kafka_mirror.config.clients.client_settings import MappedSettings
from kafka_mirror.config.clients.jaas import LoginModule
from kafka_mirror.config.setting import Setting
from kafka_mirror.logins.kerberos import KEYTAB, PRINCIPAL, SERVICE, TICKET_CACHE

_INSTEAD = (
    "Or log in to the same brokers by a client certificate (security.protocol=SSL), SCRAM-SHA-512 or OAUTHBEARER, on a listener of its own "
    "if need be"
)
_NO_SASL = (
    "GSSAPI (Kerberos) is not possible with this confluent-kafka, whose package brings a librdkafka without it. Build it against a "
    f"librdkafka that has it (pip install --no-binary confluent-kafka confluent-kafka), here and on Spark's workers. {_INSTEAD}"
)
_NO_GSSAPI = f"GSSAPI (Kerberos) needs the Python package gssapi, here and on Spark's workers. {_INSTEAD}"


def why_impossible() -> str:
    """Why no client of this environment can log in by Kerberos; empty if it can."""
    client = importlib.util.find_spec("confluent_kafka")
    if client is not None and client.origin is not None and Path(client.origin).parent.with_name("confluent_kafka.libs").exists():
        return _NO_SASL  # a package of PyPI: it has its libraries beside it
    return "" if importlib.util.find_spec("gssapi") else _NO_GSSAPI


def kerberos_settings(mapped: MappedSettings, settings: Mapping[str, Setting], alias: str, module: LoginModule | None) -> None:
    """Map the login by a keytab or a ticket cache. Java's rules (Kafka's KerberosLogin): one service name, from either place."""
    jaas = settings.get("sasl.jaas.config")
    if module is None or jaas is None or jaas.unresolved:
        return
    _set_service(mapped, settings, alias, jaas, module)
    options = module.options
    principal, keytab = options.get("principal", ""), options.get("keyTab", "")
    if _is_true(options, "useKeyTab"):
        if not principal or not keytab:
            mapped.refuse(jaas, "with useKeyTab=true it has to have the options keyTab and principal")
        else:
            mapped.put(KEYTAB, keytab.removeprefix("file:"), jaas)
            mapped.put(PRINCIPAL, principal, jaas)
            if mapped.files and not Path(keytab.removeprefix("file:")).is_file():
                mapped.refuse(jaas, f"names the keytab {keytab}, and there is no such file")
    elif _is_true(options, "useTicketCache"):
        mapped.put(TICKET_CACHE, options.get("ticketCache", ""), jaas)
    else:
        mapped.refuse(
            jaas, "has to have useKeyTab=true, with keyTab and principal, or useTicketCache=true: no person is there to type a password"
        )


def _set_service(mapped: MappedSettings, settings: Mapping[str, Setting], alias: str, jaas: Setting, module: LoginModule) -> None:
    named, setting = module.options.get("serviceName", ""), settings.get(SERVICE)
    if setting is not None and setting.unresolved:
        return
    text = setting.text.strip() if setting is not None else ""
    if named and text and named != text:
        mapped.refuse(jaas, f"has the serviceName {named}, and {SERVICE} is {text}; they must be the same")
    elif named or text:
        mapped.put(SERVICE, named or text, setting or jaas)
    else:
        mapped.refuse(f"{alias}.{SERVICE}", "is missing: the brokers' own name in Kerberos, which is kafka nearly everywhere")


def _is_true(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "").lower() == "true"
