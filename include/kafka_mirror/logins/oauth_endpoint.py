"""Tokens from an OAuth 2.0 endpoint, by the grants that Java's clients have: client credentials with a secret (KIP-768) or with a signed
assertion (KIP-1258), and JWT bearer (KIP-1139)."""

import base64
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from kafka_mirror.logins.assertion import Assertion
from kafka_mirror.logins.token import LoginToken, TokenProvider, expiry_of_jwt, extensions

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
