"""What a flow may say and hardly means, and what it leaves open to others on the network: taken as it is, with a notice."""

import re
import urllib.parse
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.config.flow import CLIENTS, Flow
from kafka_mirror.config.references import has_reference
from kafka_mirror.config.setting import Setting, is_secret
from kafka_mirror.errors import Problem
from kafka_mirror.policy.filters import printable
from kafka_mirror.policy.java_regex import compile_java

_LITERAL = re.compile(r"(?:[A-Za-z0-9._-]|\\[.-])+")
_ODD_IN_NAMES = re.compile(r"[\"'\x00-\x1f]")
_OF_ANY_TEXT = ("groups", "groups.exclude", "mirror.schemas.subjects")


_REMARK = re.compile(r"[ \t][#!]( |\w)")
_BARE_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEARTBEATS = "heartbeats"


def with_likely_cause(problem: Problem) -> Problem:
    """The problem with its likely cause: a remark after a value, or a reference without a provider."""
    value = problem.value or ""
    if bare := _BARE_REFERENCE.search(value):
        return replace(problem, message=f"{problem.message}. A reference to the environment is ${{env:{bare[1]}}}")
    if _REMARK.search(value):
        return replace(problem, message=f"{problem.message}. A remark stands on a line of its own: after a value, '#' belongs to it")
    return problem


def hints(flow: Flow) -> Iterator[str]:
    """Sentences without file and line, about properties that are valid by themselves."""
    yield from _find_bare_references(flow)
    yield from _find_unused_separators(flow)
    yield from _find_odd_patterns(flow)
    yield from _find_lost_defaults(flow)
    yield from exposures(flow)


def _find_bare_references(flow: Flow) -> Iterator[str]:
    """`${NAME}` is no reference, in a password as little as in an address."""
    clients = [setting for side, role in CLIENTS for setting in flow.java_settings(side, role).values()]
    settings = {setting.origin: setting for setting in (*flow.connector.values(), *clients)}
    for origin, setting in settings.items():
        if bare := _BARE_REFERENCE.search(setting.text):
            written, meant = ("${…}", "${env:…}") if is_secret(origin) else (bare[0], f"${{env:{bare[1]}}}")
            yield f"{origin}: {written} is taken as it stands, in MirrorMaker 2 too; a reference to the environment is {meant}."


def _find_unused_separators(flow: Flow) -> Iterator[str]:
    """Topics that the lists spell out, and about which the lists do not decide: internal ones, and heartbeats."""
    for topic in _spell_out(flow, "topics"):
        if topic.startswith(("__", ".")) or (topic.startswith("mm2") and topic.endswith("internal")):
            yield f"topics names '{topic}', which is never mirrored, by MirrorMaker 2 neither: it counts as internal by its name."
    if flow.properties.get("heartbeats.replication.enabled", "true").strip().lower() != "true":
        return
    separator = flow.properties.get("replication.policy.separator", ".")
    for topic in _spell_out(flow, "topics.exclude"):
        if topic == _HEARTBEATS or topic.endswith(separator + _HEARTBEATS):
            yield (
                f"topics.exclude names '{topic}', which is mirrored all the same, by MirrorMaker 2 too: by its name it holds heartbeats, "
                "about which heartbeats.replication.enabled decides."
            )


def _spell_out(flow: Flow, name: str) -> list[str]:
    """The members of a list that are written like names."""
    return [member.replace("\\", "") for member in _split_members(flow, name) if _LITERAL.fullmatch(member)]


def _split_members(flow: Flow, name: str) -> list[str]:
    """The members of a list that the flow spells out. None of one that cannot be read: that is an error of the flow, and no hint."""
    setting = flow.connector.get(name)
    if setting is None or has_reference(setting.text):
        return []
    with suppress(ValueError):
        return [*CATALOGUE[name].parse(setting.text)]
    return []


def _find_odd_patterns(flow: Flow) -> Iterator[str]:
    """Group ids and subjects may hold quotes and control characters; no one is called so on purpose."""
    for name in _OF_ANY_TEXT:
        odd = next((member for member in _split_members(flow, name) if _ODD_IN_NAMES.search(member)), None)
        if odd is not None:
            yield (
                f"{flow.connector[name].origin}: the quotes and control characters of '{printable(odd)}' belong to the name. Write a list "
                r"without quotes, and \\ for one backslash."
            )


def _find_lost_defaults(flow: Flow) -> Iterator[str]:
    """A list of configs that are not copied replaces the default one, also where it was meant to add to it."""
    name = "config.properties.exclude"
    members, default = _split_members(flow, name), CATALOGUE[name].default
    if not members:
        return
    try:
        excluded = compile_java("|".join(members))
    except ValueError:  # an error of the flow, and no hint
        return
    lost = [member for member in default if not excluded.matches(member)]
    if lost:
        yield (
            f"{flow.connector[name].origin} takes the place of the default list: {', '.join(lost)} "
            f"{'are' if len(lost) > 1 else 'is'} copied to remote topics now, as in MirrorMaker 2. If you only meant to add to it, write "
            "them into the line too."
        )


_IDENTIFICATION, _PROTOCOL = "ssl.endpoint.identification.algorithm", "security.protocol"
_TOKEN_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 — the name of a property
_LOGINS = ("basic.auth.user.info", "bearer.auth.token")


def exposures(flow: Flow) -> Iterator[str]:
    """A sentence for each setting by which a login or records can be read, or a broker be another one. What is a reference is not known
    yet."""
    noted_keys: set[str] = set()
    for side, role in CLIENTS:
        settings = {name: setting for name, setting in flow.java_settings(side, role).items() if not has_reference(setting.text)}
        protocol = settings[_PROTOCOL].text.strip().upper() if _PROTOCOL in settings else ""
        for name, why in _expose_client(settings, protocol):
            key = settings[name].origin
            if key not in noted_keys:
                noted_keys.add(key)
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
    given = {name: setting for name, setting in flow.connector.items() if setting.text.strip()}
    for side in ("source", "target"):
        own = f"mirror.schemas.{side}"
        if f"{own}.url" in given and _is_plain(given[f"{own}.url"].text) and any(f"{own}.{login}" in given for login in _LOGINS):
            yield f"{given[f'{own}.url'].origin}: the registry's login crosses the network unencrypted (http)."


def _is_plain(text: str) -> bool:
    return any(urllib.parse.urlsplit(url.strip()).scheme.lower() == "http" for url in text.split(","))
