"""What a configuration leaves open to others on the network: allowed, for there are networks of one's own, and said once."""

import urllib.parse
from collections.abc import Iterator

from kafka_mirror.config.flow import CLIENTS, Flow
from kafka_mirror.config.references import has_reference
from kafka_mirror.config.setting import Setting

_IDENTIFICATION, _PROTOCOL = "ssl.endpoint.identification.algorithm", "security.protocol"
_TOKEN_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 — the name of a property
_LOGINS = ("basic.auth.user.info", "bearer.auth.token")


def exposures(flow: Flow) -> Iterator[str]:
    """A sentence for each setting by which a login or records can be read, or a broker be another one. What is a reference is not known
    yet."""
    told: set[str] = set()
    for side, role in CLIENTS:
        settings = {name: each for name, each in flow.java_settings(side, role).items() if not has_reference(each.text)}
        protocol = settings[_PROTOCOL].text.strip().upper() if _PROTOCOL in settings else ""
        for name, why in _expose_client(settings, protocol):
            key = settings[name].origin
            if key not in told:
                told.add(key)
                yield f"{key}: {why}."
    yield from _expose_registries(flow)


def _expose_client(settings: dict[str, Setting], protocol: str) -> Iterator[tuple[str, str]]:
    if protocol == "SASL_PLAINTEXT":
        yield _PROTOCOL, "the login and all records cross the network unencrypted (SASL_PLAINTEXT)"
    if protocol.endswith("SSL") and _IDENTIFICATION in settings and not settings[_IDENTIFICATION].text.strip():
        yield _IDENTIFICATION, "any host that has a certificate of the authority is taken for a broker"
    if _TOKEN_ENDPOINT in settings and _is_plain(settings[_TOKEN_ENDPOINT].text):
        yield _TOKEN_ENDPOINT, "the client's login and its tokens cross the network unencrypted (http)"


def _expose_registries(flow: Flow) -> Iterator[str]:
    given = {name: each for name, each in flow.connector.items() if each.text.strip()}
    for side in ("source", "target"):
        own = f"mirror.schemas.{side}"
        if f"{own}.url" in given and _is_plain(given[f"{own}.url"].text) and any(f"{own}.{login}" in given for login in _LOGINS):
            yield f"{given[f'{own}.url'].origin}: the registry's login crosses the network unencrypted (http)."


def _is_plain(text: str) -> bool:
    return any(urllib.parse.urlsplit(each.strip()).scheme.lower() == "http" for each in text.split(","))
