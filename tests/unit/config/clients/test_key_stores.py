"""JKS stores are read without Java, and damage is told."""

import hashlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.clients.key_stores import DamagedKeyStore, ProtectedKey, WrongPassword, read_jks

PASSWORDS = st.text(st.characters(codec="utf-16", exclude_categories=["Cs"]), max_size=20)


def sha1(*parts):
    return hashlib.sha1(b"".join(parts)).digest()


def protected(key, password, salt=bytes(range(20))):
    secret, digest, out = password.encode("utf-16-be"), salt, b""
    for place in range(0, len(key), 20):
        digest = sha1(secret, digest)
        out += bytes(a ^ b for a, b in zip(key[place : place + 20], digest, strict=False))
    data = salt + out + sha1(secret, key)
    return der(0x30, der(0x30, der(0x06, b"\x2b\x06\x01\x04\x01\x2a\x02\x11\x01\x01") + b"\x05\x00") + der(0x04, data))


def der(tag, content):
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([0x82]) + struct.pack(">H", size)
    return bytes([tag]) + length + content


def store(entries, password, version=2):
    """`entries`: (key, key's password, chain), or a certificate."""

    def text(content):
        return struct.pack(">H", len(content)) + content

    def certificate(content):
        return (text(b"X.509") if version == 2 else b"") + struct.pack(">I", len(content)) + content

    body = struct.pack(">III", 0xFEEDFEED, version, len(entries))
    for number, entry in enumerate(entries):
        head = text(f"alias {number}".encode()) + struct.pack(">Q", 1_700_000_000_000)
        if isinstance(entry, tuple):
            key, key_password, chain = entry
            locked = protected(key, key_password)
            body += struct.pack(">I", 1) + head + struct.pack(">I", len(locked)) + locked + struct.pack(">I", len(chain))
            body += b"".join(map(certificate, chain))
        else:
            body += struct.pack(">I", 2) + head + certificate(entry)
    return body + sha1(password.encode("utf-16-be"), b"Mighty Aphrodite", body)


CERTIFICATES = st.binary(min_size=1, max_size=300)
KEYS = st.tuples(st.binary(min_size=1, max_size=200), PASSWORDS, st.lists(CERTIFICATES, max_size=3))


@given(st.lists(st.one_of(KEYS, CERTIFICATES), max_size=4), PASSWORDS, st.sampled_from([1, 2]))
def test_what_was_stored_is_found(entries, password, version):
    found, certificates = read_jks(store(entries, password, version), password)
    assert certificates == [entry for entry in entries if isinstance(entry, bytes)]
    keys = [entry for entry in entries if isinstance(entry, tuple)]
    assert [(each.open(key_password), each.chain) for each, (_, key_password, _) in zip(found, keys, strict=True)] == [
        (key, tuple(chain)) for key, _, chain in keys
    ]


@given(PASSWORDS, PASSWORDS)
def test_another_password_opens_neither_store_nor_key(password, other):
    content = store([(b"key", password, [])], password)
    (key,), _ = read_jks(content, None)
    if password == other:
        assert key.open(other) == b"key"
        return
    with pytest.raises(WrongPassword):
        read_jks(content, other)
    with pytest.raises(WrongPassword):
        key.open(other)


@given(st.data())
def test_damage_is_told_and_nothing_else_happens(data):
    whole = store([(b"a key of some length", "p", [b"certificate"]), b"trusted"], "p")
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises((DamagedKeyStore, WrongPassword)):
        read_jks(cut, "p")
    place = data.draw(st.integers(0, len(whole) - 1))
    bent = bytearray(whole)
    bent[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises((DamagedKeyStore, WrongPassword)):
        read_jks(bytes(bent), "p")


def test_a_key_in_no_known_wrapping_is_damage():
    for info in (b"", b"\x30", b"\x30\x05\x30\x00\x04\x01x", b"\x30\x84"):
        with pytest.raises(DamagedKeyStore):
            ProtectedKey(info, ()).open("p")
