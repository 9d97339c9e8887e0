"""Tokens from an OAuth 2.0 endpoint or a file, as Java's clients get them: client credentials with a secret (KIP-768) or a signed assertion
(KIP-1258), JWT bearer (KIP-1139), and a file that another program keeps (FileJwtRetriever).
"""

import base64
import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from kafka_mirror.logins.token import LoginToken, TokenProvider, expiry_of_jwt, extensions

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


URL = "sasl.oauthbearer.token.endpoint.url"
SCOPE = "sasl.oauthbearer.scope"
CLIENT_ID = "sasl.oauthbearer.client.credentials.client.id"
CLIENT_SECRET = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 — the name of a property

_OAUTH = "urn:ietf:params:oauth:"
_JWT_BEARER = _OAUTH + "grant-type:jwt-bearer"
_ASSERTION_TYPE = _OAUTH + "client-assertion-type:jwt-bearer"
_TIMEOUT_SECONDS = 10
_LARGEST_ANSWER = 1 << 20
_LIFE_SECONDS = 60.0
"""How long a token is kept of which neither the endpoint nor the token itself says when it ends."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows none: the next host would get the client's secret, and a token of its choice would be taken. Java's clients follow none
    either."""

    def redirect_request(self, *_: object) -> None:
        return None


class _Endpoint(TokenProvider):
    """Asks the endpoint with a form of its own."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__(properties)
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._url = properties.get(URL, "").strip()
        if urllib.parse.urlsplit(self._url).scheme.lower() not in ("http", "https"):
            raise ValueError(f"{URL} is missing, or is not https://…")
        self._scope = properties.get(SCOPE, properties.get("scope", "")).strip()
        self._client = properties.get(CLIENT_ID, properties.get("clientId", ""))

    def token(self) -> LoginToken:
        """What the endpoint gives. Raises OSError if it does not answer, ValueError if it gives no token."""
        form = self._build_form() | ({"scope": self._scope} if self._scope else {})
        headers = {"Accept": "application/json", "Cache-Control": "no-cache"} | self._build_headers()
        request = urllib.request.Request(self._url, urllib.parse.urlencode(form).encode(), headers)  # noqa: S310 — the user's own setting
        try:
            with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as answer:
                document = json.loads(_read(answer))
            value = str(document["access_token"])
        except urllib.error.HTTPError as refusal:
            raise ValueError(f"{self._url} answered {refusal.code} {refusal.reason}{_read_error(refusal)}") from None
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{self._url} answered with something that is no token") from None
        now = time.time()
        seconds = document.get("expires_in")
        expires = now + float(seconds) if seconds else expiry_of_jwt(value) or now + _LIFE_SECONDS
        return LoginToken(value, expires, extensions(self.properties))

    @abstractmethod
    def _build_form(self) -> dict[str, str]:
        """What the request says of the grant."""

    def _build_headers(self) -> dict[str, str]:
        return {}


class ClientSecret(_Endpoint):
    """Client credentials, by a secret."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__(properties)
        self._secret = properties.get(CLIENT_SECRET, properties.get("clientSecret", ""))

    def _build_form(self) -> dict[str, str]:
        return {"grant_type": "client_credentials"}

    def _build_headers(self) -> dict[str, str]:
        login = f"{self._client}:{self._secret}".encode()
        return {"Authorization": f"Basic {base64.b64encode(login).decode()}"}


class ClientAssertion(_Endpoint):
    """Client credentials, by an assertion that the client's private key signs: no secret is sent."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__(properties)
        self._assertion = Assertion(properties)

    def _build_form(self) -> dict[str, str]:
        form = {"grant_type": "client_credentials", "client_assertion_type": _ASSERTION_TYPE, "client_assertion": self._assertion.text()}
        return form | ({"client_id": self._client} if self._client else {})


class JwtBearer(_Endpoint):
    """A token in exchange for a signed assertion (RFC 7523)."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__(properties)
        self._assertion = Assertion(properties)

    def _build_form(self) -> dict[str, str]:
        return {"grant_type": _JWT_BEARER, "assertion": self._assertion.text()}


def _read(answer: Any) -> bytes:
    """The body of an answer. Raises ValueError for one that is too long for a token."""
    body: bytes = answer.read(_LARGEST_ANSWER + 1)
    if len(body) > _LARGEST_ANSWER:
        raise ValueError(f"it has more than {_LARGEST_ANSWER:,} bytes")
    return body


def _read_error(refusal: urllib.error.HTTPError) -> str:
    """The name of the error by RFC 6749, which every endpoint has to give; whatever else it says stays unread."""
    try:
        name = json.loads(_read(refusal))["error"]
    except (ValueError, KeyError, TypeError, OSError):
        return ""
    return f" ({name})" if isinstance(name, str) and len(name) < 100 and name.isascii() and name.isprintable() else ""


_FILE_LIFE_SECONDS = 300.0
"""How long a token is kept that does not say when it ends."""


class TokenFile(TokenProvider):
    """Reads the file again for each token: its writer must replace it before the token ends."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__(properties)
        url = urlsplit(properties.get(URL, ""))
        if url.scheme.lower() != "file" or url.netloc not in ("", "localhost") or not url.path.startswith("/"):
            raise ValueError(f"{URL} must be the address of a file on this host: file:///path")
        self._path = Path(unquote(url.path))

    def token(self) -> LoginToken:
        """What stands in the file. Raises OSError if it cannot be read, ValueError if it holds nothing."""
        text = self._path.read_text("utf-8").strip()
        if not text:
            raise ValueError(f"the file {self._path} is empty")
        return LoginToken(text, expiry_of_jwt(text) or time.time() + _FILE_LIFE_SECONDS, extensions(self.properties))
