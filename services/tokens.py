"""An endpoint that gives unsigned tokens to a client that knows its secret (OAuth 2.0 client credentials), for brokers that take them."""

import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from services.ports import LOOPBACK

_SECONDS = 600


class TokenEndpoint:
    """`url`, while it runs; `client` and `secret` are who may ask, `seconds` how long a token is valid. `given` counts tokens by who asked:
    the client's library."""

    def __init__(self, client: str, secret: str, seconds: int = _SECONDS) -> None:
        login = f"{client}:{secret}"
        given = self.given = Counter[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                known = b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode() == login
                given[self.headers.get("User-Agent", "")] += known
                body = json.dumps(
                    {"access_token": unsigned_token(client, seconds), "token_type": "bearer", "expires_in": seconds} if known else {}
                )
                self.send_response(200 if known else 401)
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


def unsigned_token(subject: str, seconds: float) -> str:
    """An unsecured JWS, valid for so long from now: its signature is empty."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + seconds})
    return ".".join([*(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), ""])
