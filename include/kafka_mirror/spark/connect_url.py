"""Where a Spark Connect server is (`sc://host:port/;token=…;use_ssl=true`), whether it may be used, and its session. Imports no Spark."""

import ipaddress
import uuid
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

from kafka_mirror.errors import ConfigurationError, Problem

SCHEME = "sc://"
DEFAULT_PORT = 15002
USER = "mirror"
_SESSIONS = uuid.UUID("6d5f1c1e-64a5-4d7c-9a7e-0f0f6f2c9b11")
_OURS = ("user_id", "session_id")


@dataclass(frozen=True)
class ConnectUrl:
    """A server. `parameters` hold the token, if there is one: they are never shown."""

    host: str
    port: int
    use_ssl: bool = False
    parameters: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def address(self) -> str:
        """Host and port, for messages."""
        return f"{self._host}:{self.port}"

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def of_session(self, session: str) -> str:
        """What pyspark's client takes, token included. It would take a token with a slash, as Airflow's hook gives it, for a path."""
        parameters = {**self.parameters, "user_id": self.parameters.get("user_id", USER), "session_id": session}
        return f"{SCHEME}{self.address}/;" + ";".join(f"{name}={quote(unquote(value), safe='')}" for name, value in parameters.items())


def is_connect(master: str) -> bool:
    """Whether a master is a Spark Connect server."""
    return master.startswith(SCHEME)


def connect_url(url: str) -> ConnectUrl:
    """The server that a URL names. Raises ConfigurationError, also where it would send secrets over a network without TLS."""
    parts = urlsplit(f"http{url.removeprefix('sc')}")
    path, _, rest = parts.path.partition(";")
    try:
        port = parts.port or DEFAULT_PORT
        parameters = dict(pair.split("=", 1) for pair in rest.split(";") if pair)
    except ValueError:
        raise _refused("it has to be sc://host:port/;name=value;name=value") from None
    if not is_connect(url) or not parts.hostname or path not in ("", "/") or parts.query or parts.username:
        raise _refused("it has to be sc://host:port/;name=value;name=value")
    if "session_id" in parameters:
        raise _refused("session_id is the mirror's own to choose")
    use_ssl = unquote(parameters.get("use_ssl", "")).lower() == "true"
    if not use_ssl and not is_loopback(parts.hostname):
        raise _refused(
            f"{parts.hostname} is not this host, and the job carries passwords of the Kafka clients: it needs TLS (use_ssl=true, in a "
            "connection the extra use_ssl), or a server on 127.0.0.1"
        )
    return ConnectUrl(parts.hostname, port, use_ssl, parameters)


def is_loopback(host: str) -> bool:
    """Whether what is sent there stays on this host, whatever a name server says."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def session_id(installation: str, code: str, number: int = 0) -> str:
    """The UUID of the session of an installation and its code: the next run finds its warm Python workers again, other code gets others.

    A server that closed a session for being idle refuses its id from then on; `number` names the next one. pyspark wants a UUID, of any
    version.
    """
    return str(uuid.uuid5(_SESSIONS, f"{installation}\n{code}\n{number}"))


def _refused(message: str) -> ConfigurationError:
    # Without the URL, which may hold a token.
    return ConfigurationError([Problem("mirror.spark.connection", f"the Spark Connect server's URL cannot be used: {message}")])
