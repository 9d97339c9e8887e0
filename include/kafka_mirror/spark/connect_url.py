"""Where a Spark Connect server is (`sc://host:port/;token=…;use_ssl=true`), whether it may be used, its session, and who holds its port.

The first process to bind a port of this host, of whatever user, gets what is sent there. The tables of sockets that tell are Linux's;
where there are none, nothing is said. Imports no Spark.
"""

import ipaddress
import os
import pwd
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from kafka_mirror.errors import ConfigurationError, Problem

SCHEME = "sc://"
DEFAULT_PORT = 15002
USER = "mirror"
_SESSIONS = uuid.UUID("6d5f1c1e-64a5-4d7c-9a7e-0f0f6f2c9b11")
_OURS = ("user_id", "session_id")
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _UID = 1, 7
"""The columns of a socket's own address and of the user who owns it."""
_WORD = 8
_LOOPBACK = ("127.0.0.1", "::1")


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
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def with_session(self, session: str) -> str:
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
        raise _refuse("it must be sc://host:port/;name=value;name=value") from None
    if not is_connect(url) or not parts.hostname or path not in ("", "/") or parts.query or parts.username:
        raise _refuse("it must be sc://host:port/;name=value;name=value")
    if "session_id" in parameters:
        raise _refuse("session_id is the mirror's own to choose")
    use_ssl = unquote(parameters.get("use_ssl", "")).lower() == "true"
    if not use_ssl and not is_loopback(parts.hostname):
        raise _refuse(
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


def _refuse(message: str) -> ConfigurationError:
    # Without the URL, which may hold a token.
    return ConfigurationError([Problem("mirror.spark.connection", f"the Spark Connect server's URL cannot be used: {message}")])


def stranger_on(host: str, port: int) -> str | None:
    """The user, neither this process's nor root, who owns a socket at this port of a loopback address: one that listens or one that took a
    connection. None: there is no such user, or the tables do not tell."""
    hosts = _LOOPBACK if host == "localhost" else (host,)
    wanted = {ipaddress.ip_address(address) for address in hosts}
    for address, there, uid in _sockets():
        if there == port and (address in wanted or address.is_unspecified) and uid not in _list_trusted():
            return _name(uid)
    return None


def _list_trusted() -> set[int]:
    return {0, os.getuid(), os.geteuid()}


def _sockets() -> list[tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int, int]]:
    """Of each socket its own address and port, and the user's number."""
    sockets = []
    for table in _TABLES:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:  # another system, or a kernel without IPv6
            continue
        for line in lines:
            columns = line.split()
            address, _, port = columns[_LOCAL].partition(":")
            sockets.append((_address(address), int(port, 16), int(columns[_UID])))
    return sockets


def _address(digits: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The kernel writes an address as words, each with its lowest byte first."""
    packed = b"".join(bytes.fromhex(digits[at : at + _WORD])[::-1] for at in range(0, len(digits), _WORD))
    address = ipaddress.ip_address(packed)
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def _name(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"
