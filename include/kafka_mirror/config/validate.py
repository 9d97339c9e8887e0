"""What is wrong with a flow, all of it at once: while it is loaded without resolving a secret, and before anything is written with all
references resolved.

With it, as notices: what a flow may say and hardly means, and what it leaves open to others on the network.
"""

import re
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.config.catalogue.mm2 import WORKER_NAMES
from kafka_mirror.config.catalogue.values import reset_position
from kafka_mirror.config.clients.mapping import client_settings
from kafka_mirror.config.deadlines import HEARTBEAT_CLIENTS, HEARTBEAT_PROPERTIES, slower_interval_notice
from kafka_mirror.config.file import locate_problems, place
from kafka_mirror.config.flow import CLIENTS, Configuration, Flow, InvalidFlow, Role, Side
from kafka_mirror.config.policies import MIRROR_CLASSES
from kafka_mirror.config.references import has_reference
from kafka_mirror.config.setting import DEFAULT, Setting, is_secret
from kafka_mirror.config.unknown_keys import UnknownKey
from kafka_mirror.errors import ConfigurationError, Problem
from kafka_mirror.policy.filters import printable
from kafka_mirror.policy.java_regex import compile_java

_IDENTITY = "For topics that keep their names set replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
_SEPARATOR = "becomes part of topic names, so only letters, digits, '.', '_' and '-' are possible (a blank at its end counts)"
_CLASSES = ("replication.policy.class", "topic.filter.class", "group.filter.class", "config.property.filter.class")
_IN_TOPIC_NAMES = re.compile(r"[A-Za-z0-9._-]+")

_LITERAL = re.compile(r"(?:[A-Za-z0-9._-]|\\[.-])+")
_ODD_IN_NAMES = re.compile(r"[\"'\x00-\x1f]")
_OF_ANY_TEXT = ("groups", "groups.exclude", "mirror.schemas.subjects")
_REMARK = re.compile(r"[ \t][#!]( |\w)")
_BARE_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEARTBEATS = "heartbeats"
_IDENTIFICATION, _PROTOCOL = "ssl.endpoint.identification.algorithm", "security.protocol"
_TOKEN_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 — the name of a property
_LOGINS = ("basic.auth.user.info", "bearer.auth.token")

ELSEWHERE = frozenset({"mirror.metrics.token"})
"""Properties that the api-server alone reads: what they refer to need not be known where tasks run."""


@dataclass
class Findings:
    """Problems and notices of one flow, in the order in which they were found."""

    flow: Flow
    raw_problems: list[Problem] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What does no harm, but should be known."""
    ineffective: dict[str, dict[str, None]] = field(default_factory=dict)
    """Why properties that are read by MM2 mean nothing here -> their keys."""

    @property
    def problems(self) -> list[Problem]:
        """Everything that keeps the flow from running."""
        return list(map(_add_likely_cause, self.raw_problems))

    @property
    def notices(self) -> tuple[str, ...]:
        """Everything that does not, but should be known."""
        return (*self.remarks, *(f"{', '.join(keys)}: no effect here, because {why}." for why, keys in self.ineffective.items()))

    def refuse(self, what: Setting | str, why: str) -> None:
        """Note a problem of a setting or property."""
        self.raw_problems.append(Problem(what, why) if isinstance(what, str) else what.refuse(why))

    def ignore(self, key: str, why: str) -> None:
        """Note a property that is read by MM2, but means nothing here. A default is not noted."""
        if key != DEFAULT:
            self.ineffective.setdefault(why, {})[key] = None


def validate(flow: Flow, unknown: list[UnknownKey]) -> Findings:
    """Everything that can be said of a flow when it is loaded. `unknown`: the keys that are not read and that could be meant for it."""
    findings = Findings(flow)
    _check_names(findings)
    _check_values(findings, flow.connector)
    _check_worker(findings)
    _check_clients(findings, CLIENTS)
    reset = flow.java_settings("source", "consumer").get("auto.offset.reset")
    if reset is not None and not has_reference(reset.text):
        _try(findings, reset, reset_position)
    _check_registries(findings)
    _check_references(findings, (*flow.connector.values(), *flow.worker_settings.values()))
    _check_unknown(findings, unknown)
    findings.remarks += _find_hints(flow)
    _check_cadence(findings)
    return findings


def validate_heartbeat_pair(flow: Flow) -> Findings:
    """Validates a pair that is no enabled flow: only what its heartbeats depend on."""
    findings = Findings(flow)
    settings = {name: flow.connector[name] for name in HEARTBEAT_PROPERTIES if name in flow.connector}
    _check_values(findings, settings)
    _check_clients(findings, HEARTBEAT_CLIENTS)
    clients = [setting for side, role in HEARTBEAT_CLIENTS for setting in flow.java_settings(side, role).values()]
    _check_references(findings, (*settings.values(), *clients))
    _check_cadence(findings)
    return findings


def _check_references(findings: Findings, settings: Iterable[Setting]) -> None:
    for setting in {id(setting): setting for setting in settings}.values():
        findings.raw_problems += findings.flow.references.check(setting)


def _check_cadence(findings: Findings) -> None:
    if findings.problems:
        return
    with suppress(ConfigurationError):  # a reference that leads nowhere is an error when the value is needed
        notice = slower_interval_notice(findings.flow)
        if notice is not None:
            findings.remarks.append(notice)


def _check_names(findings: Findings) -> None:
    flow = findings.flow
    for alias in (flow.source, flow.target):
        if alias == "mirror":
            findings.refuse("clusters", "the alias 'mirror' cannot be used: our own properties begin with it")
    if not _IN_TOPIC_NAMES.fullmatch(flow.source):
        findings.refuse(
            "clusters", f"the alias '{flow.source}' becomes part of topic names, so only letters, digits, '.', '_' and '-' are possible"
        )
    for side, alias in (("source", flow.source), ("target", flow.target)):
        setting = flow.connector[f"{side}.cluster.alias"]
        if setting.text != alias:
            findings.refuse(setting, f"must be '{alias}' for this flow; leave it out. {_IDENTITY}")
    separator = flow.connector.get("replication.policy.separator")
    if separator is not None and not has_reference(separator.text) and not _IN_TOPIC_NAMES.fullmatch(separator.text):
        findings.refuse(separator, _SEPARATOR if separator.text else "must not be empty, or every topic would look mirrored. " + _IDENTITY)


def _check_values(findings: Findings, settings: Mapping[str, Setting]) -> None:
    for name, setting in settings.items():
        definition = CATALOGUE.get(name)
        if definition is None:
            continue
        if definition.effect:
            findings.ignore(setting.origin, definition.effect)
        early = findings.flow.references.without_connections().check(setting)
        findings.raw_problems += early
        if not has_reference(setting.text):
            _try(findings, setting, definition.parse)
        elif not early and definition.type == "BOOLEAN" and name.endswith("enabled"):
            # Which DAGs exist depends on it.
            try:
                findings.flow.value(name)
            except ConfigurationError as error:
                findings.raw_problems += error.problems


def _check_registries(findings: Findings) -> None:
    """Schemas need both registries, and one login for each."""
    given = {name: setting for name, setting in findings.flow.connector.items() if setting.text.strip()}
    for side, other in (("source", "target"), ("target", "source")):
        own = f"mirror.schemas.{side}"
        if f"{own}.url" in given and f"mirror.schemas.{other}.url" not in given:
            findings.refuse(given[f"{own}.url"], f"schemas go from one registry to another one: mirror.schemas.{other}.url is missing")
        if f"{own}.bearer.auth.token" in given and f"{own}.basic.auth.user.info" in given:
            findings.refuse(given[f"{own}.bearer.auth.token"], f"there are two logins: leave it out, or {own}.basic.auth.user.info")


def _check_worker(findings: Findings) -> None:
    """The Connect worker's own: nothing of it has an effect, but its converters would change bytes."""
    for name, setting in findings.flow.worker_settings.items():
        if name in ("key.converter", "value.converter", "header.converter") and not has_reference(setting.text):
            _try(findings, setting, CATALOGUE[name].parse)
        elif name in WORKER_NAMES and name != "client.id":
            findings.ignore(setting.origin, "there is no Connect worker")


def _try(findings: Findings, setting: Setting, parse: Callable[[str], Any]) -> None:
    try:
        parse(setting.text)
    except ValueError as error:
        findings.refuse(setting, str(error))


def _check_clients(findings: Findings, clients: Iterable[tuple[Side, Role]]) -> None:
    flow = findings.flow
    for side, role in clients:
        settings = flow.java_settings(side, role)
        unresolved = {name: setting._replace(unresolved=has_reference(setting.text)) for name, setting in settings.items()}
        mapped = client_settings(unresolved, flow.as_client(side, role))
        findings.raw_problems += mapped.problems
        for key, why in mapped.without_effect.items():
            findings.ignore(key, why)


def _check_unknown(findings: Findings, unknown: list[UnknownKey]) -> None:
    strict = "mirror.strict" in findings.flow.connector and findings.flow.connector["mirror.strict"].text.strip().lower() == "true"
    # A class of the user's own may read any property of the flow.
    custom = any(
        name in findings.flow.connector and not findings.flow.connector[name].text.strip().startswith(MIRROR_CLASSES) for name in _CLASSES
    )
    for unknown_key in unknown:
        if custom and unknown_key.flow and not unknown_key.is_own:
            continue
        if unknown_key.is_own or strict:
            findings.refuse(unknown_key.key, unknown_key.message)
        elif unknown_key.flow:
            findings.remarks.append(
                f"{place(unknown_key.key, findings.flow.file, findings.flow.lines)}: {unknown_key.key} {unknown_key.message}."
            )


def unreadable(flow: Flow) -> list[Problem]:
    """Every property whose reference cannot be read, or leads to something that is not allowed there; each once."""
    problems: list[Problem] = []
    for name in flow.connector:
        if name in CATALOGUE and name not in ELSEWHERE:
            try:
                flow.value(name)
            except ConfigurationError as error:
                problems += error.problems
    for side, role in CLIENTS:
        try:
            flow.client(side, role)
        except ConfigurationError as error:
            problems += error.problems
    return locate_problems(problems, flow.file, flow.lines)


def with_unreadable(configuration: Configuration) -> Configuration:
    """Adds what `unreadable` finds to the problems of the invalid flows, so that a person corrects all in one round."""
    return replace(
        configuration,
        invalid=tuple(map(_add_unreadable, configuration.invalid)),
        invalid_beating=tuple(map(_add_unreadable, configuration.invalid_beating)),
    )


def _add_unreadable(invalid: InvalidFlow) -> InvalidFlow:
    if invalid.flow is None:
        return invalid
    problems = (*invalid.error.problems, *unreadable(invalid.flow))
    return replace(invalid, error=invalid.flow.unusable(problems))


def check_readable(flow: Flow) -> None:
    """Raises ConfigurationError with everything that `unreadable` finds."""
    problems = unreadable(flow)
    if problems:
        raise flow.unusable(problems)


def _add_likely_cause(problem: Problem) -> Problem:
    """The problem with its likely cause: a remark after a value, or a reference without a provider."""
    value = problem.value or ""
    if bare := _BARE_REFERENCE.search(value):
        return replace(problem, message=f"{problem.message}. A reference to the environment is ${{env:{bare[1]}}}")
    if _REMARK.search(value):
        return replace(problem, message=f"{problem.message}. A remark stands on a line of its own: after a value, '#' belongs to it")
    return problem


def _find_hints(flow: Flow) -> Iterator[str]:
    """Sentences without file and line, about properties that are valid by themselves."""
    yield from _find_bare_references(flow)
    yield from _find_unused_separators(flow)
    yield from _find_odd_patterns(flow)
    yield from _find_lost_defaults(flow)
    yield from _find_exposures(flow)


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


def _find_exposures(flow: Flow) -> Iterator[str]:
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
