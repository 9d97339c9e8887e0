"""What is wrong with a flow, all of it at once: while it is loaded without resolving a secret, and before anything is written with all
references resolved."""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.config.catalogue.connect import WORKER_NAMES
from kafka_mirror.config.catalogue.mm2 import MIRROR_CLASSES
from kafka_mirror.config.catalogue.per_topic import reset_position
from kafka_mirror.config.clients.mapping import client_settings
from kafka_mirror.config.deadlines import HEARTBEAT_CLIENTS, HEARTBEAT_PROPERTIES, slower_interval_notice
from kafka_mirror.config.file import locate_problems, place
from kafka_mirror.config.flow import CLIENTS, Configuration, Flow, InvalidFlow, Role, Side
from kafka_mirror.config.hints import hints, with_likely_cause
from kafka_mirror.config.references import has_reference
from kafka_mirror.config.setting import DEFAULT, Setting
from kafka_mirror.config.unknown_keys import UnknownKey
from kafka_mirror.errors import ConfigurationError, Problem

_IDENTITY = "For topics that keep their names set replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
_SEPARATOR = "becomes part of topic names, so only letters, digits, '.', '_' and '-' are possible (a blank at its end counts)"
_CLASSES = ("replication.policy.class", "topic.filter.class", "group.filter.class", "config.property.filter.class")
_IN_TOPIC_NAMES = re.compile(r"[A-Za-z0-9._-]+")

ELSEWHERE = frozenset({"mirror.metrics.token"})
"""Properties that the api-server alone reads: what they refer to need not be known where tasks run."""


class Findings:
    """Problems and notices of one flow, each once, in the order in which they were found."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._problems: dict[Problem, None] = {}
        self._without_effect: dict[str, list[str]] = {}
        self._notices: list[str] = []

    @property
    def problems(self) -> list[Problem]:
        """Everything that keeps the flow from running."""
        return [with_likely_cause(problem) for problem in self._problems]

    @property
    def notices(self) -> tuple[str, ...]:
        """Everything that does not, but should be known."""
        grouped = (f"{', '.join(keys)}: no effect here, because {why}." for why, keys in self._without_effect.items())
        return (*self._notices, *grouped)

    def refuse(self, what: Setting | str, why: str) -> None:
        """Note a problem of a setting or property."""
        key, text = (what, None) if isinstance(what, str) else (what.origin, what.display_text)
        self._problems[Problem(key, why, text)] = None

    def add(self, problems: list[Problem]) -> None:
        """Note problems that others found."""
        self._problems |= dict.fromkeys(problems)

    def notice(self, text: str) -> None:
        """Note something that does no harm."""
        self._notices.append(text)

    def without_effect(self, key: str, why: str) -> None:
        """Note a property that is read by MM2, but means nothing here. A default is not noted."""
        if key != DEFAULT and key not in self._without_effect.setdefault(why, []):
            self._without_effect[why].append(key)


def validate(flow: Flow, unknown: list[UnknownKey]) -> Findings:
    """Everything that can be said of a flow when it is loaded. `unknown`: the keys that are not read and that could be meant for it."""
    findings = Findings(flow)
    _check_names(findings)
    _check_values(findings, flow.connector)
    _check_worker(findings)
    _check_clients(findings, CLIENTS)
    _check_start(findings)
    _check_registries(findings)
    for setting in {id(setting): setting for setting in (*flow.connector.values(), *flow.worker_settings.values())}.values():
        findings.add(flow.references.check(setting))
    _check_unknown(findings, unknown)
    for hint in hints(flow):
        findings.notice(hint)
    _check_cadence(findings)
    return findings


def validate_heartbeat_pair(flow: Flow) -> Findings:
    """Validates a pair that is no enabled flow: only what its heartbeats depend on."""
    findings = Findings(flow)
    settings = {name: flow.connector[name] for name in HEARTBEAT_PROPERTIES if name in flow.connector}
    _check_values(findings, settings)
    _check_clients(findings, HEARTBEAT_CLIENTS)
    clients = [setting for side, role in HEARTBEAT_CLIENTS for setting in flow.java_settings(side, role).values()]
    for setting in {id(setting): setting for setting in (*settings.values(), *clients)}.values():
        findings.add(flow.references.check(setting))
    _check_cadence(findings)
    return findings


def _check_cadence(findings: Findings) -> None:
    if findings.problems:
        return
    with suppress(ConfigurationError):  # a reference that leads nowhere is an error when the value is needed
        notice = slower_interval_notice(findings.flow)
        if notice is not None:
            findings.notice(notice)


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
            findings.refuse(
                setting,
                f"must be '{alias}' for this flow; leave it out. {_IDENTITY}",
            )
    separator = flow.connector.get("replication.policy.separator")
    if separator is not None and not has_reference(separator.text) and not _IN_TOPIC_NAMES.fullmatch(separator.text):
        findings.refuse(separator, _SEPARATOR if separator.text else "must not be empty, or every topic would look mirrored. " + _IDENTITY)


def _check_values(findings: Findings, settings: Mapping[str, Setting]) -> None:
    for name, setting in settings.items():
        definition = CATALOGUE.get(name)
        if definition is None:
            continue
        if definition.effect:
            findings.without_effect(setting.origin, definition.effect)
        early = findings.flow.references.while_parsing().check(setting)
        findings.add(early)
        if not has_reference(setting.text):
            _try(findings, setting, definition.parse)
        elif not early and definition.type == "BOOLEAN" and name.endswith("enabled"):
            # Which DAGs exist depends on it.
            try:
                findings.flow.value(name)
            except ConfigurationError as error:
                findings.add(list(error.problems))


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
            findings.without_effect(setting.origin, "there is no Connect worker")


def _try(findings: Findings, setting: Setting, parse: Callable[[str], Any]) -> None:
    try:
        parse(setting.text)
    except ValueError as error:
        findings.refuse(setting, str(error))


def _check_clients(findings: Findings, clients: Iterable[tuple[Side, Role]]) -> None:
    flow = findings.flow
    for side, role in clients:
        mapped = client_settings(_find_unresolved(flow.java_settings(side, role)), flow.as_client(side, role))
        findings.add(mapped.problems)
        for key, why in mapped.without_effect.items():
            findings.without_effect(key, why)


def _find_unresolved(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    return {name: setting._replace(unresolved=has_reference(setting.text)) for name, setting in settings.items()}


def _check_start(findings: Findings) -> None:
    reset = findings.flow.java_settings("source", "consumer").get("auto.offset.reset")
    if reset is not None and not has_reference(reset.text):
        _try(findings, reset, reset_position)


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
            findings.notice(f"{place(unknown_key.key, findings.flow.file, findings.flow.lines)}: {unknown_key.key} {unknown_key.message}.")


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
