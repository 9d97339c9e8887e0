"""The part of Kubernetes' API that Spark's driver in client mode uses, for tests: it takes executors' pods, and starts none.

A real API server and a kubelet cannot run here. Spark's side is real: its own Kubernetes client writes the pods.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from services.ports import LOOPBACK


class KubernetesApi(ThreadingHTTPServer):
    """Listens on 127.0.0.1. `created` has what was posted: the path and the object."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), _Request)
        self.created: list[tuple[str, dict[str, Any]]] = []
        self.closing = threading.Event()

    @property
    def master(self) -> str:
        """What --master takes."""
        return f"k8s://http://{LOOPBACK}:{self.server_port}"

    def pods(self) -> list[dict[str, Any]]:
        """The pods that were asked for."""
        return [pod for path, pod in self.created if path.endswith("/pods")]


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: KubernetesApi

    def do_GET(self) -> None:
        if "Upgrade" in self.headers:  # a watch by WebSocket; refused like this, the client watches by a plain request
            self._answer(200, b"")
        elif "watch=true" in self.path:
            self._watch()
        else:
            self._answer(200, b'{"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}')

    def _watch(self) -> None:
        """Answers that each pod waits for a node. Spark asks for more pods only when it has seen those."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        count = 0
        while not self.server.closing.wait(0.1):
            for pod in self.server.pods()[count:]:
                count += 1
                metadata = {
                    **pod["metadata"],
                    "uid": str(count),
                    "resourceVersion": str(count),
                    "creationTimestamp": "2026-01-01T00:00:00Z",
                }
                event = {"type": "ADDED", "object": {**pod, "metadata": metadata, "status": {"phase": "Pending"}}}
                self.wfile.write(json.dumps(event).encode() + b"\n")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.created.append((self.path.partition("?")[0], json.loads(body)))
        self._answer(201, body)

    def do_DELETE(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(200, b'{"kind": "Status", "apiVersion": "v1", "status": "Success"}')

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Logs nothing."""


@contextmanager
def kubernetes_api() -> Iterator[KubernetesApi]:
    """A server that answers until the end of the block."""
    api = KubernetesApi()
    threading.Thread(target=api.serve_forever, name="kubernetes", daemon=True).start()
    try:
        yield api
    finally:
        api.closing.set()
        api.shutdown()
        api.server_close()
