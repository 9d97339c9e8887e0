"""JKS, the key store of Java's own: read without Java.

    file   = magic FEEDFEED, version (1 or 2), number of entries, entries, SHA-1(password + "Mighty Aphrodite" + all before it)
    entry  = tag, alias, time of creation, and
             tag 1, a private key: the protected key, its certificate chain
             tag 2, a trusted certificate
    string = length in two bytes, text; bytes = length in four bytes, bytes; all numbers big-endian; passwords as UTF-16

A key is protected by a keystream of SHA-1 digests, each of the password and the digest before it, the first of the password and a salt of
20 bytes: salt, key XOR stream, SHA-1(password + key). Formats: sun.security.provider.JavaKeyStore and KeyProtector.
"""

import hashlib
import struct
from dataclasses import dataclass, field

MAGIC = bytes.fromhex("feedfeed")
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


@dataclass(frozen=True)
class JavaKeyStore:
    """What a store holds."""

    keys: tuple[ProtectedKey, ...]
    certificates: tuple[bytes, ...]
    """The trusted certificates in DER."""


def read_jks(content: bytes, password: str | None) -> JavaKeyStore:
    """The entries of a store. Without a password it is not checked, as in Java. Raises Damaged, and WrongPassword (or damaged)."""
    reader = _Reader(content)
    if reader.take(4) != MAGIC or (version := reader.number()) not in (1, 2):
        raise DamagedKeyStore
    keys: list[ProtectedKey] = []
    certificates: list[bytes] = []
    for _ in range(reader.number()):
        tag = reader.number()
        reader.string()
        reader.take(8)
        if tag == 1:
            protected = reader.block()
            keys.append(ProtectedKey(protected, tuple(reader.certificate(version) for _ in range(reader.number()))))
        elif tag == 2:
            certificates.append(reader.certificate(version))
        else:
            raise DamagedKeyStore
    covered = content[: reader.position]
    if password is not None and reader.take(_DIGEST) != _hash(password.encode("utf-16-be") + _WHITENER + covered):
        raise WrongPassword
    return JavaKeyStore(tuple(keys), tuple(certificates))


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

    def number(self) -> int:
        return int(struct.unpack(">I", self.take(4))[0])

    def string(self) -> bytes:
        return self.take(struct.unpack(">H", self.take(2))[0])

    def block(self) -> bytes:
        return self.take(self.number())

    def certificate(self, version: int) -> bytes:
        """Version 2 says of what kind it is; no other than X.509 was ever written."""
        if version == 2:
            self.string()
        return self.block()


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
