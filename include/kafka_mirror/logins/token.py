"""A token, and the interface of who gives one."""

import base64
import importlib.util
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field


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
