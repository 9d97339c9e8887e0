"""An assertion: a JWT that says who we are, out of a file or signed here with a private key (`sasl.oauthbearer.assertion.*`, KIP-1139)."""

import base64
import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

PREFIX = "sasl.oauthbearer.assertion."
_ALGORITHMS = ("RS256", "ES256")
_COORDINATE_BYTES = 32


class Assertion:
    """What the properties say of it. Files are read each time, so that a new key needs no restart."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Raises ValueError for properties that cannot be used."""
        self._said = {name.removeprefix(PREFIX): text.strip() for name, text in properties.items() if name.startswith(PREFIX)}
        self._algorithm = self._said.get("algorithm", "RS256").upper()
        if "file" not in self._said and "private.key.file" not in self._said:
            raise ValueError(f"{PREFIX}private.key.file is missing, and {PREFIX}file too; one of them has to give the assertion")
        if self._algorithm not in _ALGORITHMS:
            raise ValueError(f"{PREFIX}algorithm must be {' or '.join(_ALGORITHMS)}")
        self._seconds = {name: self._read_number(f"claim.{name}.seconds", default) for name, default in (("exp", 300), ("nbf", 60))}

    def text(self) -> str:
        """The assertion, new. Raises OSError for a file that cannot be read, ValueError for what is wrong with one."""
        if "file" in self._said:
            return Path(self._said["file"]).read_text("utf-8").strip()
        header, claims = self._read_template()
        signed = f"{_encode(json.dumps(header).encode())}.{_encode(json.dumps(claims).encode())}"
        return f"{signed}.{_encode(self._sign(signed.encode()))}"

    def _read_template(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and claims. As with Java's clients the file overrides the settings, and what is of this moment overrides both."""
        written = self._read_json(self._said["template.file"]) if "template.file" in self._said else {}
        now = int(time.time())
        claims: dict[str, Any] = {name: self._said[f"claim.{name}"] for name in ("aud", "iss", "sub") if f"claim.{name}" in self._said}
        claims |= written.get("payload", {})
        claims |= {"iat": now, "exp": now + self._seconds["exp"], "nbf": now - self._seconds["nbf"]}
        if self._said.get("claim.jti.include", "false").lower() == "true":
            claims["jti"] = str(uuid.uuid4())
        return {**written.get("header", {}), "alg": self._algorithm, "typ": "JWT"}, claims

    def _sign(self, content: bytes) -> bytes:
        passphrase = self._said.get("private.key.passphrase")
        try:
            key = load_pem_private_key(Path(self._said["private.key.file"]).read_bytes(), passphrase.encode() if passphrase else None)
        except (ValueError, TypeError):
            raise ValueError(f"{PREFIX}private.key.file holds no private key in PEM that {PREFIX}private.key.passphrase opens") from None
        if self._algorithm == "RS256" and isinstance(key, rsa.RSAPrivateKey):
            return key.sign(content, padding.PKCS1v15(), hashes.SHA256())
        if self._algorithm == "ES256" and isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
            return b"".join(part.to_bytes(_COORDINATE_BYTES) for part in decode_dss_signature(key.sign(content, ec.ECDSA(hashes.SHA256()))))
        raise ValueError(f"{PREFIX}private.key.file holds another kind of key than {self._algorithm} needs")

    def _read_json(self, path: str) -> dict[str, Any]:
        try:
            template = json.loads(Path(path).read_text("utf-8"))
        except ValueError:
            template = None
        if not (isinstance(template, dict) and all(isinstance(template.get(part, {}), dict) for part in ("header", "payload"))):
            raise ValueError(f"{PREFIX}template.file is no JSON object with header and payload")
        return template

    def _read_number(self, name: str, default: int) -> int:
        try:
            return int(self._said.get(name, default))
        except ValueError:
            raise ValueError(f"{PREFIX}{name} must be a whole number") from None


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
