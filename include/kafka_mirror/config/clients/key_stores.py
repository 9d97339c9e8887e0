"""What a key or trust store holds, as PEM: PEM, PKCS12 and JKS become the same three texts, and no file but the store is ever needed.

So a store is read where the configuration is, and a Spark worker needs neither the file nor a JDK.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from kafka_mirror.config.clients.jks import MAGIC, DamagedKeyStore, WrongKeyPassword, WrongPassword, read_jks

_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)


@dataclass(frozen=True)
class Identity:
    """A client's certificate with its chain, and its private key; PEM."""

    chain: str
    key: str = field(repr=False)


def trusted_certificates(content: bytes, kind: str, password: str | None) -> str:
    """The certificates of a trust store as PEM. Raises WrongPassword, Damaged, and ValueError with a reason."""
    if kind == "PEM":
        certificates = _read_pem(content)
    elif content.startswith(MAGIC):
        certificates = [_load_certificate(certificate) for certificate in read_jks(content, password).certificates]
    else:
        store = _load_pkcs12(content, password)
        certificates = [cert.certificate for cert in (*store.additional_certs, *([store.cert] if store.cert else []))]
    if not certificates:
        raise ValueError("holds no trusted certificate")
    return _write_pem(certificates)


def identity(content: bytes, kind: str, password: str | None, key_password: str | None) -> Identity:
    """The one private key of a key store and its chain. Raises as `trusted_certificates`, and WrongKeyPassword."""
    if kind == "PEM":
        return identity_of_pem(content, content, key_password)
    if content.startswith(MAGIC):
        keys = read_jks(content, password).keys
        if len(keys) > 1:
            raise ValueError(f"holds {len(keys)} private keys; it must be one")
        # Without a password of its own, the key has the store's.
        der = [_open(key, key_password if key_password is not None else password or "") for key in keys]
        return _build_identity(der[0] if der else None, [_load_certificate(certificate) for key in keys for certificate in key.chain])
    store = _load_pkcs12(content, password)
    chain = [cert.certificate for cert in ([store.cert] if store.cert else []) + list(store.additional_certs)]
    return _build_identity(store.key, chain)


def identity_of_pem(chain: bytes, key: bytes, key_password: str | None) -> Identity:
    """The private key and its chain from PEM texts. Raises WrongKeyPassword, and ValueError with a reason."""
    blocks = [match.group() for match in _BLOCK.finditer(key) if match.group(1).endswith(b"PRIVATE KEY")]
    if not blocks:
        raise ValueError("holds no private key: -----BEGIN PRIVATE KEY----- …")
    encrypted = b"ENCRYPTED" in blocks[0]
    if encrypted and key_password is None:
        raise ValueError("holds an encrypted private key, and ssl.key.password is missing")
    try:
        opened = load_pem_private_key(blocks[0], key_password.encode() if encrypted and key_password is not None else None)
    except (ValueError, TypeError):
        if encrypted:
            raise WrongKeyPassword from None
        raise ValueError("holds a private key that cannot be read") from None
    return _build_identity(opened, _read_pem(chain))


def _build_identity(key: Any, chain: list[Any]) -> Identity:
    if key is None:
        raise ValueError("holds no private key")
    if not chain:
        raise ValueError("holds no certificate for its private key")

    def public(owner: Any) -> bytes:
        encoded: bytes = owner.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return encoded

    if public(chain[0]) != public(key):
        raise ValueError("holds a certificate that does not belong to its private key; the key's own must be the first")
    pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Identity(_write_pem(chain), pem.decode("ascii"))


def _open(protected: Any, password: str) -> Any:
    try:
        return load_der_private_key(protected.open(password), None)
    except WrongPassword:
        raise WrongKeyPassword from None


def _read_pem(content: bytes) -> list[Any]:
    blocks = [match.group() for match in _BLOCK.finditer(content) if match.group(1) in (b"CERTIFICATE", b"TRUSTED CERTIFICATE")]
    if not blocks:
        raise ValueError("holds no certificate: -----BEGIN CERTIFICATE----- …")
    try:
        return [x509.load_pem_x509_certificate(block) for block in blocks]
    except ValueError:
        raise ValueError("holds a certificate that cannot be read") from None


def _load_certificate(der: bytes) -> Any:
    try:
        return x509.load_der_x509_certificate(der)
    except ValueError:
        raise DamagedKeyStore from None


def _load_pkcs12(content: bytes, password: str | None) -> Any:
    if content.lstrip().startswith(b"-----BEGIN "):
        raise ValueError("is a PEM file; say so by its type: PEM")
    # DER: a SEQUENCE. Whatever else this is, it is no store.
    if not content.startswith(b"\x30"):
        raise DamagedKeyStore
    try:
        return load_pkcs12(content, password.encode() if password is not None else None)
    except UnsupportedAlgorithm as error:
        raise ValueError(f"is protected in a way that cannot be read here: {error}") from None
    except ValueError:
        raise WrongPassword from None


def _write_pem(certificates: Iterable[Any]) -> str:
    return "".join(certificate.public_bytes(Encoding.PEM).decode("ascii") for certificate in certificates)
