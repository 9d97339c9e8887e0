"""Classes as users write them, and an endpoint that keeps what it was asked."""

import json
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl

from kafka_mirror.logins import LoginToken, TokenProvider


class Counting(TokenProvider):
    """Numbers its tokens; `seconds` is how long each lives."""

    made = 0

    def __init__(self, properties):
        super().__init__(properties)
        self.given = 0

    def token(self):
        self.given += 1
        return LoginToken(f"token-{self.given}", time.time() + float(self.properties.get("seconds", "600")), {"cluster": "lkc-1"})


class Refusing(TokenProvider):
    """Has no token, and a bad habit."""

    def token(self):
        raise PermissionError(f"the secret {self.properties['clientSecret']} is not known.")


class Choosy(TokenProvider):
    """Wants a property."""

    def __init__(self, properties):
        super().__init__(properties)
        if "tenant" not in properties:
            raise ValueError("the option tenant is missing")

    def token(self):
        raise AssertionError("nobody asks")


@contextmanager
def endpoint(answers, headers=None):
    """Gives each of `answers` (status, document) in turn, the last for ever, with these headers; yields its address and what it was
    asked."""
    asked, left = [], list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):  # where a redirect ends
            asked.append((self.headers.get("Authorization"), {}))
            self.send_error(404)

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked.append((self.headers.get("Authorization"), dict(parse_qsl(body))))
            status, document = left.pop(0) if len(left) > 1 else left[0]
            content = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # it was hung up on
                self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/token", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
