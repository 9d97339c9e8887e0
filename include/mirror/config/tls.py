"""TLS: from Java's `ssl.*` with its key stores to librdkafka's. PEM goes as it is, PKCS12 too; JKS has to be converted first."""

from collections.abc import Mapping
from pathlib import Path

from mirror.config.mapped import Mapped
from mirror.config.setting import Setting

_JKS_MAGIC = bytes.fromhex("feedfeed")
_TYPES = ("PEM", "PKCS12", "JKS")


def tls_settings(mapped: Mapped, settings: Mapping[str, Setting], alias: str) -> None:
    """Map `ssl.*` of a client of the cluster `alias` whose protocol is SSL or SASL_SSL."""
    engine = settings.get("ssl.engine.factory.class")
    if engine and engine.text.strip():
        mapped.refuse(engine, "a Java class cannot be loaded here; remove it")
    if "ssl.endpoint.identification.algorithm" in settings:
        mapped.take("ssl.endpoint.identification.algorithm", settings["ssl.endpoint.identification.algorithm"], _identification)
    _trust(mapped, settings)
    _key(mapped, settings, alias)


def _identification(text: str) -> str:
    word = text.strip().lower()
    if word not in ("", "https"):
        raise ValueError("has to be https, or empty to accept any host name")
    return word or "none"


def _trust(mapped: Mapped, settings: Mapping[str, Setting]) -> None:
    inline, location = settings.get("ssl.truststore.certificates"), settings.get("ssl.truststore.location")
    kind = _type(mapped, settings.get("ssl.truststore.type"))
    if inline:
        if kind == "PEM":
            mapped.take("ssl.ca.pem", inline, _pem)
        elif kind:
            mapped.refuse(settings.get("ssl.truststore.type", inline), _NEEDS_PEM)
    elif location and kind == "PEM":
        _take_file(mapped, "ssl.ca.location", location)
    elif location and kind and _convertible(mapped, location) and mapped.files:
        password = settings.get("ssl.truststore.password")
        _take_pkcs12_certificates(mapped, location, password.text if password else None)


def _key(mapped: Mapped, settings: Mapping[str, Setting], alias: str) -> None:
    chain, key = settings.get("ssl.keystore.certificate.chain"), settings.get("ssl.keystore.key")
    location = settings.get("ssl.keystore.location")
    kind = _type(mapped, settings.get("ssl.keystore.type"))
    if chain or key:
        if kind == "PEM":
            for name, setting, missing in (("ssl.certificate.pem", chain, "certificate.chain"), ("ssl.key.pem", key, "key")):
                if setting:
                    mapped.take(name, setting, _pem)
                else:
                    mapped.refuse(f"{alias}.ssl.keystore.{missing}", "is missing; certificate chain and key belong together")
        elif kind:
            mapped.refuse(settings.get("ssl.keystore.type") or chain or "ssl.keystore.type", _NEEDS_PEM)
    elif location and kind == "PEM":
        # One file holds the key and the chain; OpenSSL takes from it what it looks for.
        _take_file(mapped, "ssl.certificate.location", location)
        _take_file(mapped, "ssl.key.location", location)
    elif location and kind and _convertible(mapped, location):
        _take_file(mapped, "ssl.keystore.location", location)
        if "ssl.keystore.password" in settings:
            mapped.take("ssl.keystore.password", settings["ssl.keystore.password"], str)
    if "ssl.key.password" in settings and kind == "PEM":
        mapped.take("ssl.key.password", settings["ssl.key.password"], str)


_NEEDS_PEM = "certificates and keys that stand in the configuration itself need the type PEM"


def _type(mapped: Mapped, setting: Setting | None) -> str:
    """PEM, PKCS12 or JKS (Java's default, which its JKS reader takes for PKCS12 files too); '' if it cannot be used or is not known yet."""
    if setting is None:
        return "JKS"
    if setting.unresolved:
        return ""
    kind = setting.text.strip().upper()
    if kind not in _TYPES:
        mapped.refuse(setting, "has to be PEM or PKCS12")
        return ""
    return kind


def _convertible(mapped: Mapped, location: Setting) -> bool:
    """Whether a store that is not PEM is PKCS12; says how to make it so otherwise."""
    if location.unresolved:
        return False
    path = location.text.strip()
    if path.lower().endswith(".jks") or (mapped.files and _begins_with_jks(mapped, location)):
        mapped.refuse(
            location,
            "this key store is JKS, which only Java reads; convert it with "
            f"keytool -importkeystore -srckeystore {location.shown or '<this file>'} -destkeystore <new>.p12 -deststoretype PKCS12, "
            "and name the new file here",
        )
        return False
    return True


def _begins_with_jks(mapped: Mapped, location: Setting) -> bool:
    content = _read(mapped, location)
    return content is not None and content.startswith(_JKS_MAGIC)


def _take_file(mapped: Mapped, name: str, location: Setting) -> None:
    if location.unresolved or (mapped.files and _read(mapped, location) is None):
        return
    mapped.settings[name] = location.text.strip()


def _read(mapped: Mapped, location: Setting) -> bytes | None:
    try:
        return Path(location.text.strip()).read_bytes()
    except (OSError, ValueError) as error:
        problem = f"the file cannot be read: {getattr(error, 'strerror', None) or 'this is not the name of a file'}"
        if not any(each.property == location.origin and each.message == problem for each in mapped.problems):
            mapped.refuse(location, problem)
        return None


def _pem(text: str) -> str:
    if "-----BEGIN " not in text:
        raise ValueError("has to be PEM text: -----BEGIN CERTIFICATE----- or -----BEGIN PRIVATE KEY----- …")
    return text


def _take_pkcs12_certificates(mapped: Mapped, location: Setting, password: str | None) -> None:
    """librdkafka reads a PKCS12 key store, but no PKCS12 trust store: its certificates go as PEM."""
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    content = _read(mapped, location)
    if content is None:
        return
    try:
        store = load_pkcs12(content, password.encode() if password is not None else None)
    except ValueError:
        mapped.refuse(location, "is no PKCS12 store, or ssl.truststore.password is not its password")
        return
    certificates = [*store.additional_certs, *([store.cert] if store.cert else [])]
    if not certificates:
        mapped.refuse(location, "holds no certificate")
        return
    mapped.settings["ssl.ca.pem"] = "".join(each.certificate.public_bytes(Encoding.PEM).decode("ascii") for each in certificates)
