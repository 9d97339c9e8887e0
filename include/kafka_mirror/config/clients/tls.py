"""TLS: from Java's `ssl.*` with its key stores (PEM, PKCS12, JKS) to librdkafka's, which gets every certificate and key as PEM.

Stores are opened where a cluster is, and not while DAG files are read: what opens them is imported then.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from kafka_mirror.config.setting import MappedSettings, Setting

if TYPE_CHECKING:
    from kafka_mirror.config.clients.key_stores import Identity

_TYPES = ("PEM", "PKCS12", "JKS")
_NEEDS_PEM = "certificates and keys that stand in the configuration itself need the type PEM"


def tls_settings(mapped: MappedSettings) -> None:
    """Map `ssl.*` of a client whose protocol is SSL or SASL_SSL."""
    engine = mapped.java.get("ssl.engine.factory.class")
    if engine and engine.text.strip():
        mapped.refuse(engine, "a Java class cannot be loaded here; remove it")
    if "ssl.endpoint.identification.algorithm" in mapped.java:
        mapped.take("ssl.endpoint.identification.algorithm", mapped.java["ssl.endpoint.identification.algorithm"], _map_identification)
    _map_trust(mapped)
    key_identity = _map_key(mapped)
    if key_identity:
        chain, key, location = (mapped.java.get(f"ssl.keystore.{part}") for part in ("certificate.chain", "key", "location"))
        mapped.put("ssl.certificate.pem", key_identity.chain, chain, location)
        mapped.put("ssl.key.pem", key_identity.key, key, location)


def _map_identification(text: str) -> str:
    word = text.strip().lower()
    if word not in ("", "https"):
        raise ValueError("must be https, or empty to accept any host name")
    return word or "none"


def _map_trust(mapped: MappedSettings) -> None:
    inline, location = mapped.java.get("ssl.truststore.certificates"), mapped.java.get("ssl.truststore.location")
    kind = _check_type(mapped, mapped.java.get("ssl.truststore.type"))
    where = inline or location
    if where is None or not kind:
        return
    if inline and kind != "PEM":
        mapped.refuse(mapped.java.get("ssl.truststore.type", inline), _NEEDS_PEM)
        return
    content = _read_content(mapped, where, is_file=not inline)
    if content is None:
        return
    password = mapped.java.get("ssl.truststore.password")
    if password and password.unresolved:
        return
    with _note_errors(mapped, where, password):
        mapped.put("ssl.ca.pem", _key_stores().trusted_certificates(content, kind, password.text if password else None), where)


def _key_stores() -> ModuleType:
    """What opens key stores, with cryptography."""
    from kafka_mirror.config.clients import key_stores

    return key_stores


def _map_key(mapped: MappedSettings) -> "Identity | None":
    chain, key = mapped.java.get("ssl.keystore.certificate.chain"), mapped.java.get("ssl.keystore.key")
    location = mapped.java.get("ssl.keystore.location")
    kind = _check_type(mapped, mapped.java.get("ssl.keystore.type"))
    if not kind:
        return None
    if chain or key:
        if kind != "PEM":
            mapped.refuse(mapped.java.get("ssl.keystore.type") or chain or "ssl.keystore.type", _NEEDS_PEM)
        elif chain is None or key is None:
            mapped.refuse(
                f"ssl.keystore.{'key' if chain else 'certificate.chain'}", "is missing; certificate chain and key belong together"
            )
        else:
            return _open(mapped, kind, chain, key)
        return None
    return _open(mapped, kind, location) if location else None


def _open(mapped: MappedSettings, kind: str, where: Setting, key: Setting | None = None) -> "Identity | None":
    """The identity in a store, or in the two texts of the configuration; notes what is wrong with it."""
    password, key_password = mapped.java.get("ssl.keystore.password"), mapped.java.get("ssl.key.password")
    content = _read_content(mapped, where, is_file=key is None)
    key_content = _read_content(mapped, key, is_file=False) if key else content
    if content is None or key_content is None or any(setting and setting.unresolved for setting in (password, key_password)):
        return None
    key_identity: Identity | None = None
    with _note_errors(mapped, where, password, key_password):
        opening = key_password.text if key_password else None
        if key:
            key_identity = _key_stores().identity_of_pem(content, key_content, opening)
        else:
            key_identity = _key_stores().identity(content, kind, password.text if password else None, opening)
    return key_identity


@contextmanager
def _note_errors(mapped: MappedSettings, where: Setting, password: Setting | None, key_password: Setting | None = None) -> Iterator[None]:
    """Opens a store whose faults are problems of the configuration, each of the property to look at."""
    stores = _key_stores()
    try:
        yield
    except stores.WrongKeyPassword:
        if key_password:
            mapped.refuse(key_password, f"is not the password of the private key in {where.origin}")
        else:
            mapped.refuse(where, "holds a private key with a password of its own, and ssl.key.password is missing")
    except stores.WrongPassword:
        if password:
            mapped.refuse(password, f"is not the password of the store in {where.origin}, or that file is damaged")
        else:
            mapped.refuse(where, "this store has a password, and the setting for it is missing")
    except stores.DamagedKeyStore:
        mapped.refuse(where, "is neither a JKS nor a PKCS12 store")
    except ValueError as error:
        mapped.refuse(where, str(error))


def _check_type(mapped: MappedSettings, setting: Setting | None) -> str:
    """PEM, PKCS12 or JKS (Java's default); '' if it cannot be used or is not known yet. Java reads PKCS12 as JKS too, and so do we."""
    if setting is None:
        return "JKS"
    if setting.unresolved:
        return ""
    kind = setting.text.strip().upper()
    if kind not in _TYPES:
        mapped.refuse(setting, f"must be {', '.join(_TYPES[:-1])} or {_TYPES[-1]}")
        return ""
    return kind


def _read_content(mapped: MappedSettings, where: Setting, is_file: bool) -> bytes | None:
    """What stands in the file, or in the configuration itself. While the configuration is loaded no file is opened and nothing parsed."""
    if where.unresolved:
        return None
    if not is_file:
        if "-----BEGIN " not in where.text:
            mapped.refuse(where, "must be PEM text: -----BEGIN CERTIFICATE----- or -----BEGIN PRIVATE KEY----- …")
            return None
        return where.text.encode() if mapped.client.files else None
    if not mapped.client.files:
        return None
    try:
        return Path(where.text.strip()).read_bytes()
    except (OSError, ValueError) as error:
        mapped.refuse(where, f"the file cannot be read: {getattr(error, 'strerror', None) or 'this is not the name of a file'}")
        return None
