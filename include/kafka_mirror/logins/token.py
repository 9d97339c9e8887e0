"""A login's token: the interface of who gives one, and one token for all clients of a process, renewed before it ends.

Which class gives it, and with what, stands in a client's settings as two texts, so that it travels wherever settings do.
"""

import base64
import importlib
import importlib.util
import json
import logging
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

GSSAPI = "GSSAPI"
"""The mechanism; Java's default where none is named."""
SERVICE, PRINCIPAL, KEYTAB = "sasl.kerberos.service.name", "sasl.kerberos.principal", "sasl.kerberos.keytab"
TICKET_CACHE = "mirror.kerberos.ticket.cache"
"""For what librdkafka has no setting: the ticket cache that the login module names; '' is the process's own."""


@dataclass(frozen=True)
class LoginToken:
    """What a client sends to a broker to say who it is."""

    value: str = field(repr=False)
    expires: float
    """When it ends, in seconds since 1970 (time.time)."""
    extensions: Mapping[str, str] = field(default_factory=dict)
    """What is sent along with it (KIP-342), such as `logicalCluster`."""


class TokenProvider(ABC):
    """Gives tokens. Users' own classes derive from it, and `sasl.login.callback.handler.class` names them as package.module.Class.

    One object serves all clients of a process, one call at a time. Each process makes its own that logs in, Spark's workers included.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        """`properties`: the options of the login module in sasl.jaas.config, and the client's bootstrap.servers and sasl.oauthbearer.*.

        Raises ValueError for properties that cannot be used, ImportError for a package that is missing. No network here: it is called to
        check a configuration too.
        """
        self.properties = properties

    @abstractmethod
    def token(self) -> LoginToken:
        """A token that is valid now. Raises whatever goes wrong; its text is shown, so it must not hold a secret."""


def extensions(properties: Mapping[str, str]) -> dict[str, str]:
    """What the options `extension_<name>` of a login module say is sent along with a token."""
    return {name.removeprefix("extension_"): text for name, text in properties.items() if name.startswith("extension_")}


def needs(module: str, extra: str) -> None:
    """Raises ImportError if a module is not installed, without importing it: that may take half a second."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        raise ImportError(f"needs the Python package of {module}, on Spark's workers too: pip install 'airflow-kafka-mirror[{extra}]'")


def expiry_of_jwt(token: str) -> float | None:
    """The claim `exp` of a JWT; None if it has none or is no JWT. The signature is the broker's to judge."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return float(claims["exp"])
    except (ValueError, KeyError, TypeError):
        return None


CLASS = "sasl.mirror.login.class"
"""The setting that names a Python class; librdkafka never sees it."""
PROPERTIES = "sasl.mirror.login.secrets"
"""What the class gets: JSON, a text by its name. Some are secrets."""

_SHARE = 0.75
"""A token is given out for this part of its life. librdkafka asks for the next after 0.8 of what is left of it then."""

log = logging.getLogger(__name__)


class NoToken(Exception):
    """Raised when no token can be had; its text says why."""


class TokenSource:
    """The newest token of one provider. Safe for several threads."""

    def __init__(self, make: Callable[[], TokenProvider], now: Callable[[], float] = time.time) -> None:
        self._make = make
        self._now = now
        self._lock = threading.Lock()
        self._provider: TokenProvider | None = None
        self._token: LoginToken | None = None
        self._renew_at = 0.0

    def token(self) -> LoginToken:
        """A token that is valid now: the last one while it is young, and while it is valid if no other can be had. Raises NoToken."""
        with self._lock:
            now = self._now()
            if self._token is None or now >= self._renew_at:
                try:
                    if self._provider is None:
                        self._provider = self._make()
                    token = self._provider.token()
                    if token.expires <= now:
                        raise ValueError(f"the token ended {now - token.expires:.0f} s ago")
                    self._token, self._renew_at = token, now + _SHARE * (token.expires - now)
                except Exception as failure:
                    if self._token is None or self._token.expires <= now:
                        raise NoToken(_explain(failure)) from failure
                    log.warning("No new token could be had; the old one is valid for %.0f s more.", self._token.expires - now)
            assert self._token is not None
            return self._token


def token_provider(named: str, properties: Mapping[str, str]) -> TokenProvider:
    """A provider of the class, which `config` has checked. Raises what importing its module and its constructor raise."""
    module, _, name = named.replace(":", ".").strip().rpartition(".")
    provider: TokenProvider = getattr(importlib.import_module(module), name)(properties)
    return provider


def token_source(settings: Mapping[str, Any]) -> TokenSource | None:
    """The token source for these client settings; None if none is needed, or librdkafka gets the tokens itself."""
    if CLASS not in settings:
        return None
    return shared_source(str(settings[CLASS]), properties_of(settings))


def properties_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """What the class of these settings gets. Some are secrets."""
    properties: dict[str, str] = json.loads(settings.get(PROPERTIES, "{}"))
    return properties


def shared_source(named: str, properties: Mapping[str, str]) -> TokenSource:
    """The source of this class with these properties, of which a process has one."""
    key = named, json.dumps(properties, sort_keys=True)
    with _lock:
        if key not in _sources:
            _sources[key] = TokenSource(lambda: token_provider(named, properties))
        return _sources[key]


def _explain(failure: Exception) -> str:
    text = " ".join(str(failure).split()).rstrip(".")
    return text if isinstance(failure, ValueError) and text else f"{type(failure).__name__}: {text}"


_lock = threading.Lock()
_sources: dict[tuple[str, str], TokenSource] = {}


def _forget_in_child() -> None:
    """In a child: another thread of the parent may have held a lock."""
    global _lock
    _lock = threading.Lock()
    _sources.clear()


os.register_at_fork(after_in_child=_forget_in_child)
