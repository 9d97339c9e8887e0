"""Who listens on a port of this host, by the kernel's tables of sockets: whoever binds a port first, of whatever user, gets what is sent
there.

The tables are Linux's. Where there are none, nothing is said.
"""

import ipaddress
import os
import pwd
from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _UID = 1, 7
"""The columns of a socket's own address and of the user who owns it."""
_WORD = 8
_LOOPBACK = ("127.0.0.1", "::1")


def stranger_on(host: str, port: int) -> str | None:
    """The user, neither this process's nor root, who owns a socket at this port of a loopback address: one that listens or one that took a
    connection. None: there is no such user, or nobody knows."""
    hosts = _LOOPBACK if host == "localhost" else (host,)
    wanted = {ipaddress.ip_address(address) for address in hosts}
    for address, there, uid in _sockets():
        if there == port and (address in wanted or address.is_unspecified) and uid not in _trusted():
            return _name(uid)
    return None


def _trusted() -> set[int]:
    return {0, os.getuid(), os.geteuid()}


def _sockets() -> list[tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int, int]]:
    """Of each socket its own address and port, and the user's number."""
    sockets = []
    for table in _TABLES:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:  # another system, or a kernel without IPv6: nobody knows
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
