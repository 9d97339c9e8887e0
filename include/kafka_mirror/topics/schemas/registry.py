"""A schema registry of Confluent's REST API: what it holds, and what is written to it.

Not through `confluent_kafka.schema_registry`: that cannot register a schema with an id, nor set a mode.
"""

import json
import logging
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from kafka_mirror.errors import RegistryRefused, RegistryUnreachable, UsageError
from kafka_mirror.topics.schemas.plan import Reference, RegistryContent, SchemaVersion, SubjectName, SubjectSettings

logging.getLogger("httpx").setLevel(logging.WARNING)

Answer = TypeVar("Answer")

_ALL_CONTEXTS = ":*:"
_AT_ONCE = 8
_NOT_FOUND = 404
_NO_CONTENT = 204
_OK = 200
_CONTRACT = ("metadata", "ruleSet")
_BUSY = (429, 500, 502, 503, 504)
_MEDIA = "application/vnd.schemaregistry.v1+json"


@dataclass(frozen=True)
class RegistryAccess:
    """How a registry is reached. `urls` are tried in turn; at most one of `user_info` (`name:password`) and `token` is set."""

    side: str
    urls: tuple[str, ...]
    user_info: str = ""
    token: str = ""
    ca: str = ""
    certificate: str = ""
    key: str = ""
    seconds: float = 30.0


class Registry:
    """One registry. Every call ends within `seconds`, and raises RegistryUnreachable or RegistryRefused."""

    def __init__(self, access: RegistryAccess) -> None:
        self.side = access.side
        self._access = access
        self._tls = _tls(access)
        self._threads = ThreadPoolExecutor(_AT_ONCE)
        self._of_thread = threading.local()
        self._clients: list[httpx.Client] = []

    def __enter__(self) -> "Registry":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._threads.shutdown()
        for client in self._clients:
            client.close()

    # ------------------------------------------------------------ what it holds

    def read_content(self) -> RegistryContent:
        """All subjects of all contexts with their versions; settings come by `read_settings`."""
        names = set(self._list_subjects(deleted=False))
        listed = set(self._list_subjects(deleted=True))
        numbers = self._ask_each(names, self._list_versions)
        every = self._ask_each(listed, lambda name: self._list_versions(name, deleted=True))
        keys = [(name, number) for name, numbers_of_name in numbers.items() for number in numbers_of_name]
        versions = [version for version in self._threads.map(lambda key: self._read_version(*key), keys) if version is not None]
        live = {(version.name, version.version): version for version in versions}
        return RegistryContent(
            live, {}, frozenset((name, number) for name, numbers_of_name in every.items() for number in numbers_of_name) - live.keys()
        )

    def read_settings(self, names: Iterable[SubjectName]) -> dict[SubjectName, SubjectSettings]:
        """What counts for each of the subjects, also for those that do not exist yet."""
        return self._ask_each(names, self._read_settings_of)

    def find_newest(self, names: Iterable[SubjectName]) -> dict[SubjectName, SchemaVersion | None]:
        """The newest version of each of the subjects; None of one that it does not have."""
        return self._ask_each(names, lambda name: self._read_version(name, "latest"))

    def _ask_each(self, names: Iterable[SubjectName], ask: Callable[[SubjectName], Answer]) -> dict[SubjectName, Answer]:
        wanted = sorted(set(names))
        return dict(zip(wanted, self._threads.map(ask, wanted), strict=True))

    def _list_subjects(self, *, deleted: bool) -> list[SubjectName]:
        query = {"subjectPrefix": _ALL_CONTEXTS, "deleted": str(deleted).lower()}
        return [SubjectName.parse(name) for name in self._ask("GET", "/subjects", "list its subjects", query=query) or ()]

    def _list_versions(self, name: SubjectName, *, deleted: bool = False) -> list[int]:
        query = {"deleted": str(deleted).lower()}
        return list(self._ask("GET", f"/subjects/{_build_path(name)}/versions", f"list the versions of {name}", query=query) or ())

    def _read_version(self, name: SubjectName, version: int | str) -> SchemaVersion | None:
        """A version; None if it is not there, or was deleted a moment ago."""
        document = self._ask("GET", f"/subjects/{_build_path(name)}/versions/{version}", f"show {name} version {version}")
        if document is None:
            return None
        references = tuple(Reference(row["name"], row["subject"], int(row["version"])) for row in document.get("references") or ())
        contract = {key: document[key] for key in _CONTRACT if document.get(key)}
        return SchemaVersion(
            name,
            int(document["version"]),
            int(document["id"]),
            document["schema"],
            document.get("schemaType") or "AVRO",
            references,
            json.dumps(contract, sort_keys=True) if contract else "",
        )

    def _read_settings_of(self, name: SubjectName) -> SubjectSettings:
        whole = {"defaultToGlobal": "true"}
        compatibility = self._ask("GET", f"/config/{_build_path(name)}", f"show the compatibility of {name}", query=whole) or {}
        mode = self._ask("GET", f"/mode/{_build_path(name)}", f"show the mode of {name}", query=whole) or {}
        own = self._ask("GET", f"/mode/{_build_path(name)}", f"show the mode of {name}") or {}
        return SubjectSettings(
            compatibility.get("compatibilityLevel") or compatibility.get("compatibility") or "BACKWARD",
            mode.get("mode") or "READWRITE",
            own.get("mode"),
        )

    # ------------------------------------------------------------ what is written

    def register(self, version: SchemaVersion) -> int:
        """Registers a version with its id, and gives the id that it has now. The subject must be in the mode IMPORT."""
        body: dict[str, Any] = {"schema": version.text, "version": version.version, "id": version.id}
        if version.type != "AVRO":
            body["schemaType"] = version.type
        if version.references:
            body["references"] = [
                {"name": reference.name, "subject": reference.subject, "version": reference.version} for reference in version.references
            ]
        if version.contract:
            body |= json.loads(version.contract)
        answer = self._ask("POST", f"/subjects/{_build_path(version.name)}/versions", f"register {version}", body=body)
        given = (answer or {}).get("id")
        if given is None:
            raise RegistryRefused(self.side, f"register {version}", _OK, f"its answer has no id: {answer}")
        return int(given)

    def set_mode(self, name: SubjectName, mode: str | None) -> None:
        """Sets a subject's own mode; None takes it away, so that the registry's counts."""
        if mode is None:
            self._ask("DELETE", f"/mode/{_build_path(name)}", f"take the mode of {name} away")
        else:
            self._ask(
                "PUT", f"/mode/{_build_path(name)}", f"set the mode of {name} to {mode}", query={"force": "true"}, body={"mode": mode}
            )

    def set_compatibility(self, name: SubjectName, compatibility: str) -> None:
        """Sets a subject's own compatibility."""
        self._ask("PUT", f"/config/{_build_path(name)}", f"set the compatibility of {name}", body={"compatibility": compatibility})

    # ------------------------------------------------------------ HTTP

    def _ask(
        self, method: str, path: str, request: str, *, query: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None
    ) -> Any:
        """The answer's JSON; None where there is no such thing. The first address that answers counts."""
        detail = "it has no address"
        for url in self._access.urls:
            try:
                answer = self._client().request(method, f"{url.rstrip('/')}{path}", params=query, json=body)
            except (httpx.HTTPError, httpx.InvalidURL) as failure:
                detail = str(failure) or type(failure).__name__
                continue
            if answer.status_code in _BUSY:
                detail = f"{answer.status_code} {_quote_answer(answer)}"
                continue
            if answer.status_code == _NO_CONTENT or (answer.status_code == _NOT_FOUND and method in ("GET", "DELETE")):
                return None
            if answer.is_error or answer.is_redirect:
                raise RegistryRefused(self.side, request, answer.status_code, _quote_answer(answer))
            try:
                return answer.json()
            except ValueError:
                said = f"an answer that is no JSON, so this is no schema registry: {_quote_answer(answer)}"
                raise RegistryRefused(self.side, request, answer.status_code, said) from None
        raise RegistryUnreachable(self.side, ", ".join(self._access.urls), detail)

    def _client(self) -> httpx.Client:
        """This thread's client. httpx lets threads share one, but closes an idle connection under the thread that was just given it."""
        client: httpx.Client | None = getattr(self._of_thread, "client", None)
        if client is None:
            client = self._of_thread.client = _client(self._access, self._tls)
            self._clients.append(client)
        return client


def _tls(access: RegistryAccess) -> ssl.SSLContext:
    """Whom we trust, and who we are. Raises UsageError for a file that cannot be used."""
    try:
        context = ssl.create_default_context(cafile=access.ca or None)
        if access.certificate:
            context.load_cert_chain(access.certificate, access.key or None)
    except OSError as failure:  # ssl.SSLError is one
        raise UsageError(
            f"The certificates for the schema registry of the {access.side} cannot be used: {failure}.",
            next=f"Correct mirror.schemas.{access.side}.ssl.*: each names a PEM file that this process can read.",
        ) from None
    return context


def _client(access: RegistryAccess, tls: ssl.SSLContext) -> httpx.Client:
    name, _, password = access.user_info.partition(":")
    headers = {"Accept": f"{_MEDIA}, application/json", "Content-Type": _MEDIA}
    if access.token:
        headers["Authorization"] = f"Bearer {access.token}"
    auth = httpx.BasicAuth(name, password) if access.user_info else None
    return httpx.Client(headers=headers, auth=auth, timeout=access.seconds, verify=tls)


def _build_path(name: SubjectName) -> str:
    return quote(str(name), safe="")


def _quote_answer(answer: httpx.Response) -> str:
    """The registry's own words, on one line."""
    try:
        said = answer.json().get("message") or answer.text
    except (ValueError, AttributeError):
        said = answer.text
    return " ".join(str(said).split())[:300]
