"""What a key or trust store holds, as PEM: PEM, PKCS12 and JKS become the same three texts, and no file but the store is ever needed.

So a store is read where the configuration is, and a Spark worker needs neither the file nor a JDK. JKS, the key store of Java's own:

    file   = magic FEEDFEED, version (1 or 2), number of entries, entries, SHA-1(password + "Mighty Aphrodite" + all before it)
    entry  = tag, alias, time of creation, and
             tag 1, a private key: the protected key, its certificate chain
             tag 2, a trusted certificate
    string = length in two bytes, text; bytes = length in four bytes, bytes; all numbers big-endian; passwords as UTF-16

A key is protected by a keystream of SHA-1 digests, each of the password and the digest before it, the first of the password and a salt of
20 bytes: salt, key XOR stream, SHA-1(password + key). Formats: sun.security.provider.JavaKeyStore and KeyProtector.
"""

import hashlib
import re
import struct
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

_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)
_MAGIC = bytes.fromhex("feedfeed")
_WHITENER = b"Mighty Aphrodite"
_DIGEST = 20


class DamagedKeyStore(ValueError):
    """Raised when the bytes are no key store of this kind."""


class WrongKeyPassword(ValueError):
    """Raised when the store opens, but the key in it does not."""


class WrongPassword(ValueError):
    """Raised when the password of the store or of a key is not the right one."""


@dataclass(frozen=True)
class ProtectedKey:
    """A private key as it stands in the store, and its certificates in DER, its own first."""

    protected: bytes = field(repr=False)
    chain: tuple[bytes, ...]

    def open(self, password: str) -> bytes:
        """The key in DER (PKCS #8). Raises WrongPassword."""
        data = _find_encrypted_data(self.protected)
        salt, covered, check = data[:_DIGEST], data[_DIGEST:-_DIGEST], data[-_DIGEST:]
        secret = password.encode("utf-16-be")
        stream, digest = b"", salt
        while len(stream) < len(covered):
            digest = _hash(secret + digest)
            stream += digest
        key = bytes(one ^ other for one, other in zip(covered, stream, strict=False))
        if _hash(secret + key) != check:
            raise WrongPassword
        return key


def read_jks(content: bytes, password: str | None) -> tuple[list[ProtectedKey], list[bytes]]:
    """The keys of a store, and its trusted certificates in DER. Without a password it is not checked, as in Java. Raises DamagedKeyStore,
    and WrongPassword (or damaged)."""
    reader = _Reader(content)
    if reader.take(4) != _MAGIC or (version := reader.read_number()) not in (1, 2):
        raise DamagedKeyStore
    keys: list[ProtectedKey] = []
    certificates: list[bytes] = []
    for _ in range(reader.read_number()):
        tag = reader.read_number()
        reader.read_string()
        reader.take(8)
        if tag == 1:
            protected = reader.read_block()
            keys.append(ProtectedKey(protected, tuple(reader.read_certificate(version) for _ in range(reader.read_number()))))
        elif tag == 2:
            certificates.append(reader.read_certificate(version))
        else:
            raise DamagedKeyStore
    covered = content[: reader.position]
    if password is not None and reader.take(_DIGEST) != _hash(password.encode("utf-16-be") + _WHITENER + covered):
        raise WrongPassword
    return keys, certificates


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self.position = 0

    def take(self, count: int) -> bytes:
        part = self._content[self.position : self.position + count]
        if len(part) != count:
            raise DamagedKeyStore
        self.position += count
        return part

    def read_number(self) -> int:
        return int(struct.unpack(">I", self.take(4))[0])

    def read_string(self) -> bytes:
        return self.take(struct.unpack(">H", self.take(2))[0])

    def read_block(self) -> bytes:
        return self.take(self.read_number())

    def read_certificate(self, version: int) -> bytes:
        """Version 2 says of what kind it is; no other than X.509 was ever written."""
        if version == 2:
            self.read_string()
        return self.read_block()


def _find_encrypted_data(info: bytes) -> bytes:
    """The octets of an EncryptedPrivateKeyInfo: SEQUENCE { algorithm, OCTET STRING }."""
    outer = _read_der(info, 0)
    algorithm = _read_der(info, outer[0])
    start, end = _read_der(info, algorithm[1])
    if end - start <= 2 * _DIGEST:
        raise DamagedKeyStore
    return info[start:end]


def _read_der(data: bytes, position: int) -> tuple[int, int]:
    """Where the content of the DER value at a position begins and ends."""
    try:
        length, start = data[position + 1], position + 2
        if length & 0x80:
            count = length & 0x7F
            length, start = int.from_bytes(data[start : start + count]), start + count
    except IndexError:
        raise DamagedKeyStore from None
    if start + length > len(data):
        raise DamagedKeyStore
    return start, start + length


def _hash(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()


@dataclass(frozen=True)
class Identity:
    """A client's certificate with its chain, and its private key; PEM."""

    chain: str
    key: str = field(repr=False)


def trusted_certificates(content: bytes, kind: str, password: str | None) -> str:
    """The certificates of a trust store as PEM. Raises WrongPassword, Damaged, and ValueError with a reason."""
    if kind == "PEM":
        certificates = _read_pem(content)
    elif content.startswith(_MAGIC):
        certificates = [_load_certificate(certificate) for certificate in read_jks(content, password)[1]]
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
    if content.startswith(_MAGIC):
        keys, _ = read_jks(content, password)
        if len(keys) > 1:
            raise ValueError(f"holds {len(keys)} private keys; it must be one")
        # Without a password of its own, the key has the store's.
        opened = [_open(key, key_password if key_password is not None else password or "") for key in keys]
        return _build_identity(opened[0] if opened else None, [_load_certificate(certificate) for key in keys for certificate in key.chain])
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


def _open(protected: ProtectedKey, password: str) -> Any:
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
