"""Two schema registries for tests: one that answers as Confluent's API reference says, and Apicurio, which is real.

A real registry that keeps ids needs its vendor's images; Apicurio gives ids of its own. The first one holds everything in memory: subjects
in contexts, versions with ids, soft deletion, compatibility, and the modes, of which IMPORT takes the ids and versions of the request. It
checks references and ids, and no compatibility.
"""

import json
import re
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import httpx

from services.java import fetch_by_maven, java
from services.ports import LOOPBACK, free_ports
from services.processes import Server

Answer = tuple[int, Any]
_CONTENT = ("schema", "schemaType", "references", "metadata", "ruleSet")
_QUALIFIED = re.compile(r":(\.[^:]*):(.*)", re.DOTALL)


def _error(status: int, code: int, message: str) -> Answer:
    return status, {"error_code": code, "message": message}


@dataclass
class RegistryState:
    """What the registry holds. `subjects`: by name, the versions by number; a document each."""

    subjects: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    deleted: set[tuple[str, int]] = field(default_factory=set)
    compatibility: dict[str, str] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)
    user_info: str = ""
    token: str = ""
    forbids_import: bool = False
    ignores_ids: bool = False
    has_no_modes: bool = False
    """Whether it answers requests about modes with 204 and does nothing, as Apicurio 3.0."""
    broken: set[str] = field(default_factory=set)
    """Subjects of which it fails (500) in registering a version."""
    calls: list[str] = field(default_factory=list)
    on_write: Callable[[], None] = lambda: None
    """Called when something was written, before the answer is sent."""
    before_write: Callable[[], None] = lambda: None
    """Called when something is about to be written."""

    def register(self, subject: str, schema: str, **more: Any) -> int:
        """Registers the next version, with the next id of the context, as a producer does; gives the id."""
        return int(self._register(subject, {"schema": schema, **more})[1]["id"])

    def answer(self, method: str, path: list[str], query: dict[str, list[str]], body: dict[str, Any]) -> Answer:
        """What the API answers."""
        kind, *rest = path
        if kind == "subjects":
            return self._subjects(method, rest, query, body)
        if kind == "config" and method == "PUT":
            self.compatibility[rest[0]] = body["compatibility"]
            return 200, body
        if kind == "config":
            return self._setting(self.compatibility, rest[0], query, "compatibilityLevel", "BACKWARD", 40408)
        return (204, None) if self.has_no_modes else self._mode(method, rest[0], query, body)

    def _subjects(self, method: str, path: list[str], query: dict[str, list[str]], body: dict[str, Any]) -> Answer:
        with_deleted = query.get("deleted") == ["true"]
        if not path:
            every = [name for name in sorted(self.subjects) if self._versions(name, with_deleted)]
            return 200, every if query.get("subjectPrefix") == [":*:"] else [name for name in every if not name.startswith(":.")]
        name = path[0]
        if method == "POST":
            return self._register(name, body)
        numbers = self._versions(name, with_deleted)
        number = None if len(path) < 3 or not numbers else numbers[-1] if path[2] == "latest" else int(path[2])
        if not numbers or (number is not None and number not in numbers):
            return _error(404, 40401, f"Subject '{name}' or its version not found.")
        return 200, numbers if number is None else self.subjects[name][number]

    def _mode(self, method: str, name: str, query: dict[str, list[str]], body: dict[str, Any]) -> Answer:
        if method == "GET":
            return self._setting(self.modes, name, query, "mode", "READWRITE", 40409)
        if method == "DELETE":
            mode = self.modes.pop(name, None)
            return (200, {"mode": mode}) if mode else _error(404, 40409, f"Subject '{name}' has no mode of its own")
        if self.forbids_import or (body["mode"] == "IMPORT" and self._versions(name, False) and query.get("force") != ["true"]):
            return _error(422, 42205, "Operation not permitted")
        self.modes[name] = body["mode"]
        return 200, body

    def _versions(self, name: str, with_deleted: bool) -> list[int]:
        return [number for number in sorted(self.subjects.get(name, {})) if with_deleted or (name, number) not in self.deleted]

    def _setting(self, of: dict[str, str], name: str, query: dict[str, list[str]], key: str, default: str, code: int) -> Answer:
        if name in of:
            return 200, {key: of[name]}
        if query.get("defaultToGlobal") == ["true"]:
            return 200, {key: of.get("", default)}
        return _error(404, code, f"Subject '{name}' does not have a subject-level {key} configured")

    def _register(self, name: str, body: dict[str, Any]) -> Answer:
        context = _context(name)
        mode = self.modes.get(name, self.modes.get("", "READWRITE"))
        wanted = None if self.ignores_ids else body.get("id")
        if name in self.broken:
            return _error(500, 50001, "Error in the backend data store")
        if mode == "READONLY" or (wanted is not None and mode != "IMPORT"):
            return _error(422, 42205, f"Subject {name} is in {'read-only mode' if mode == 'READONLY' else 'read-write mode'}")
        for reference in body.get("references", ()):
            of = reference["subject"] if reference["subject"].startswith(":") or context == "." else f":{context}:{reference['subject']}"
            if reference["version"] not in self._versions(of, True):
                return _error(422, 42201, f"Invalid schema: no reference {of} version {reference['version']}")
        content = {key: body[key] for key in _CONTENT if body.get(key)}
        holders = {
            version["id"]: version
            for subject, versions in self.subjects.items()
            for version in versions.values()
            if _context(subject) == context
        }
        same = next((version["id"] for version in holders.values() if _content(version) == content), None)
        number = wanted if wanted is not None else same or 1 + max(holders, default=0)
        if wanted in holders and _content(holders[wanted]) != content:
            return _error(422, 42207, f"Overwrite new schema with id {wanted} is not permitted.")
        versions = self.subjects.setdefault(name, {})
        version = body.get("version") or 1 + max(versions, default=0)
        versions[version] = {"subject": name, "version": version, "id": number, **content}
        return 200, {"id": number}


def _context(name: str) -> str:
    match = _QUALIFIED.fullmatch(name)
    return match[1] if match else "."


def _content(version: dict[str, Any]) -> dict[str, Any]:
    return {key: version[key] for key in _CONTENT if version.get(key)}


@contextmanager
def schema_registry(**state: Any) -> Iterator[tuple[str, RegistryState]]:
    """Gives its address and what it holds, until the block ends."""
    held, lock = RegistryState(**state), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        """One request."""

        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body go at once: a client acknowledges a lone head late

        def do_GET(self) -> None:
            """Answers any request."""
            split = urlsplit(self.path)
            path = [unquote(part) for part in split.path.strip("/").split("/")]
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}") if length else {}
            if self.command != "GET":
                held.before_write()
            with lock:
                held.calls.append(f"{self.command} {unquote(split.path)}")
                is_known = _knows(held, self.headers.get("Authorization", ""))
                status, answer = (
                    held.answer(self.command, path, parse_qs(split.query), body) if is_known else _error(401, 401, "Unauthorized")
                )
            if self.command != "GET":
                held.on_write()
            text = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 — the names that http.server looks for

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_port}", held
    finally:
        server.shutdown()
        server.server_close()


def _knows(held: RegistryState, authorization: str) -> bool:
    if held.token:
        return authorization == f"Bearer {held.token}"
    return not held.user_info or (authorization.startswith("Basic ") and b64decode(authorization[6:]).decode() == held.user_info)


_ARTIFACT = "io.apicurio:apicurio-registry-app:3.0.9:tar.gz:all"
"""The last release that runs on Java 17, with all that it needs."""
_UNPACK = "org.apache.maven.plugins:maven-dependency-plugin:2.8:unpack"
"""Newer versions want the descriptors of the artifact's parents too."""


class ApicurioRegistry:
    """One Apicurio in a process, which answers Confluent's API below `/apis/ccompat/v7`; its content ends with the process."""

    def __init__(self, directory: Path) -> None:
        self._server = Server("apicurio", directory)
        self._port = free_ports(1)[0]

    @property
    def url(self) -> str:
        """The address of Confluent's API."""
        return f"http://{LOOPBACK}:{self._port}/apis/ccompat/v7"

    def start(self) -> None:
        """Starts it, and waits until it answers. Maven fetches it the first time (109 MB)."""
        home = fetch_by_maven("apicurio-3.0", _UNPACK, f"-Dartifact={_ARTIFACT}")
        [program] = home.glob("*-runner.jar")
        settings = [f"-Dquarkus.http.host={LOOPBACK}", f"-Dquarkus.http.port={self._port}", "-Dquarkus.log.level=WARN"]
        options = ["-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *settings]
        self._server.start([java(), *options, "-jar", str(program)], cwd=home)
        self._server.wait(self._answers, 120, "answer")

    def stop(self) -> None:
        """Ends it."""
        self._server.stop()

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/subjects").status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False
