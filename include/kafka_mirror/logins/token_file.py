"""A token that another program keeps in a file (Java's FileJwtRetriever), such as a token that Kubernetes projects into a pod."""

import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kafka_mirror.logins.token import LoginToken, TokenProvider, expiry_of_jwt, extensions

URL = "sasl.oauthbearer.token.endpoint.url"
_LIFE_SECONDS = 300.0
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
        return LoginToken(text, expiry_of_jwt(text) or time.time() + _LIFE_SECONDS, extensions(self.properties))
