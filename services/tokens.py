"""An endpoint that gives unsigned tokens, for brokers that take them, to a client that knows its secret (OAuth 2.0 client credentials) or
shows an assertion that its key has signed (private key JWT, JWT bearer)."""

import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import jwt

from services.ports import LOOPBACK

AUDIENCE = "tokens-of-the-tests"
_SECONDS = 600


class TokenEndpoint:
    """`url`, while it runs; only `client` with `secret` gets tokens, valid for `seconds`. `given` counts the tokens by the client's
    library. `public_key` checks what the client's RSA key has signed."""

    def __init__(self, client: str, secret: str, seconds: int = _SECONDS, public_key: Any = None) -> None:
        login = f"{client}:{secret}"
        given = self.given = Counter[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())
                [assertion] = form.get("client_assertion", form.get("assertion", [""]))
                basic = b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
                is_allowed = _read_subject(assertion, public_key) == client if assertion else basic == login
                given[self.headers.get("User-Agent", "")] += is_allowed
                body = json.dumps(
                    {"access_token": unsigned_token(client, seconds), "token_type": "bearer", "expires_in": seconds} if is_allowed else {}
                )
                self.send_response(200 if is_allowed else 401)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self.url = f"http://{LOOPBACK}:{self._server.server_port}/token"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _read_subject(assertion: str, public_key: Any) -> str | None:
    """The client that an assertion for this endpoint names; None if the key has not signed it."""
    try:
        return str(jwt.decode(assertion, public_key, ["RS256"], audience=AUDIENCE)["sub"])
    except jwt.InvalidTokenError:
        return None


def unsigned_token(subject: str, seconds: float) -> str:
    """An unsecured JWS, valid from now for some seconds: its signature is empty."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + seconds})
    return ".".join([*(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), ""])
