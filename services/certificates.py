"""A certificate authority of the tests' own, and what it issues as Java's key and trust stores: PEM, PKCS12 and JKS."""

import datetime
import ipaddress
import secrets
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, pkcs12
from cryptography.x509.oid import NameOID

from services.ports import LOOPBACK

PASSWORD, KEY_PASSWORD = secrets.token_hex(8), secrets.token_hex(8)
"""The passwords of every store, and of the keys in PEM and JKS stores, which have one of their own."""


@dataclass(frozen=True)
class Issued:
    """A certificate and its key."""

    name: str
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()


class Authority:
    """A root that signs certificates; stores are files in its directory, described as Java's `ssl.*` settings."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._root = _issue(name, None, (), (-1, 1))

    def issue(self, name: str, hosts: Sequence[str] = (LOOPBACK, "localhost"), days: tuple[int, int] = (-1, 1)) -> Issued:
        """A certificate for these hosts, valid between two days, counted from now."""
        return _issue(name, self._root, hosts, days)

    def trust_store(self, kind: str) -> dict[str, str]:
        """The settings of a store that trusts this authority: `ssl.truststore.*`."""
        pem = self._file(f"{self._root.name}.pem", self._root.pem.encode())
        if kind == "PEM":
            return _settings("truststore", kind, pem)
        path = self._directory / f"{self._root.name}-trust.{kind.lower()}"
        if not path.exists():
            _keytool(
                "-importcert", "-noprompt", "-alias", "root", "-file", pem, "-keystore", path, "-storetype", kind, "-storepass", PASSWORD
            )
        return _settings("truststore", kind, path) | {"ssl.truststore.password": PASSWORD}

    def key_store(self, issued: Issued, kind: str) -> dict[str, str]:
        """The settings of a store with this certificate and key: `ssl.keystore.*`, and `ssl.key.password` where a key has its own."""
        key = {"ssl.key.password": KEY_PASSWORD}
        if kind == "PEM":
            encrypted = issued.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(KEY_PASSWORD.encode()))
            return _settings("keystore", kind, self._file(f"{issued.name}.pem", encrypted + issued.pem.encode())) | key
        content = pkcs12.serialize_key_and_certificates(
            b"client", issued.key, issued.certificate, [self._root.certificate], BestAvailableEncryption(PASSWORD.encode())
        )
        path = self._file(f"{issued.name}.p12", content)
        password = {"ssl.keystore.password": PASSWORD}
        if kind == "PKCS12":
            return _settings("keystore", kind, path) | password
        target = self._directory / f"{issued.name}.jks"
        if not target.exists():
            source = ("-srckeystore", path, "-srcstorepass", PASSWORD, "-srcalias", "client")
            store = ("-destkeystore", target, "-deststoretype", "JKS", "-deststorepass", PASSWORD, "-destkeypass", KEY_PASSWORD)
            _keytool("-importkeystore", *source, *store)
        return _settings("keystore", kind, target) | password | key

    def _file(self, name: str, content: bytes) -> Path:
        path = self._directory / name
        path.write_bytes(content)
        return path


def _issue(name: str, issuer: Issued | None, hosts: Sequence[str], days: tuple[int, int]) -> Issued:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begin, end = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=number) for number in days)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(issuer is None, None), critical=True)
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
    return Issued(name, builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


def _host(name: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(name)) if name[0].isdigit() else x509.DNSName(name)


def _settings(what: str, kind: str, path: Path) -> dict[str, str]:
    return {f"ssl.{what}.type": kind, f"ssl.{what}.location": str(path)}


def _keytool(*arguments: str | Path) -> None:
    command = ["keytool", "-J-XX:TieredStopAtLevel=1", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
