"""Tokens for Google Cloud's Managed Service for Apache Kafka, in the form that its own Java class gives them."""

import base64
import json
import time
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from kafka_mirror.logins.token import LoginToken, TokenProvider, needs

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_HEADER = {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}


class GoogleTokens(TokenProvider):
    """By Google's application default credentials."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__(properties)
        needs("google.auth", "google")
        self._credentials: Any = None

    def token(self) -> LoginToken:
        """Google's access token inside a JWT that names the account. Raises what google-auth raises, ValueError for a nameless account."""
        import google.auth
        from google.auth.transport.requests import Request

        if self._credentials is None:
            self._credentials, _ = google.auth.default(scopes=[_SCOPE])
        credentials = self._credentials
        credentials.refresh(Request())
        account = getattr(credentials, "service_account_email", None) or getattr(credentials, "account", None)
        if not account:
            raise ValueError(f"credentials of the kind {type(credentials).__name__} name no account; use a service account")
        expires = credentials.expiry.replace(tzinfo=UTC).timestamp()
        claims = {"exp": int(expires), "iat": int(time.time()), "scope": "kafka", "sub": account}
        parts = (json.dumps(_HEADER), json.dumps(claims), credentials.token)
        return LoginToken(".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts), expires)
