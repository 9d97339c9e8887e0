"""References in values: `${env:VAR}`, `${file:path:key}`, `${dir:path:file}`, `${conn:connection:field}`, and what `config.providers`
declares of the first three kinds.

They are resolved when a client or value is asked for, never while the file is loaded, and what they give never stands in a message.
The pattern is that of Kafka's `ConfigTransformer`: no recursion, several references in one value.

`${conn:<Airflow connection>:<field>}`: settings of Kafka clients out of Airflow's connections, whatever secret backend they come from.

The configuration knows no Airflow: `provide` tells it whom to ask. A Spark job's driver is no Airflow task and may not ask; who starts it
hands it the values in its environment, where neither a command line nor a file shows them.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka_mirror.config.properties import parse
from kafka_mirror.config.setting import Setting
from kafka_mirror.errors import ConfigurationError, Problem
from kafka_mirror.policy.java_regex import compile_java

HANDED_OVER = "MIRROR_CONNECTIONS"
"""The environment variable of a job's process with what it needs of the connections: JSON, `<connection>:<field>` -> value."""

EXTRA = "extra"
"""The field with the whole extra, which no reference names."""
FIELDS = ("host", "port", "login", "password", "schema")
_EXTRA = ("extra.", "extra__")

Lookup = Callable[[str, str], str]
"""(connection, field) -> value. Raises ValueError with the reason."""

_lookup: list[Lookup] = []

_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_NOT_WHILE_PARSING = (
    "this is read while DAG files are parsed, and Airflow's connections only when a task runs; they can give the settings of Kafka clients "
    "alone: use ${env:…}, ${file:…} or ${dir:…} here"
)
_PACKAGE = "org.apache.kafka.common.config.provider."

Provider = Callable[[str, str], str]
"""(path, key) -> value. Raises ValueError with the reason, or OSError."""


def provide(lookup: Lookup) -> None:
    """Makes this the way to ask Airflow."""
    _lookup[:] = [lookup]


def extra_key(field: str) -> str | None:
    """The key inside the connection's extra that `extra.<key>` or `extra__<key>` names; None for any other field."""
    return next((field.removeprefix(prefix) for prefix in _EXTRA if field.startswith(prefix) and field != prefix), None)


class Connections:
    """The provider `conn`. It is called when a task runs, never while DAG files are parsed."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = environ

    def check(self, connection: str, field: str) -> None:
        """Raises ValueError if this cannot be a reference to a connection, whatever connections there are."""
        if not connection:
            raise ValueError("no connection is named; write ${conn:<Airflow connection>:<field>}")
        if field not in FIELDS and extra_key(field) is None:
            raise ValueError(f"a connection has no such field; known are {', '.join(FIELDS)} and extra.<key>")

    def __call__(self, connection: str, field: str) -> str:
        """The value of the field. Raises ValueError with the reason why there is none."""
        self.check(connection, field)
        return self._read_value(connection, field)

    def _read_value(self, connection: str, field: str) -> str:
        variables = os.environ if self._environ is None else self._environ
        handed_over = json.loads(variables.get(HANDED_OVER, "{}"))
        if f"{connection}:{field}" in handed_over:
            return str(handed_over[f"{connection}:{field}"])
        if not _lookup:
            raise ValueError("Airflow's connections are known to Airflow's tasks alone; use ${env:…}, ${file:…} or ${dir:…} here")
        return _lookup[0](connection, field)

    def read_extra(self, connection: str, kind: str) -> dict[str, Any]:
        """The whole extra of a connection, which must be of this type. Raises as a call."""
        if _lookup and (actual := self.read_type(connection)) != kind:
            raise ValueError(f"Airflow's connection '{connection}' is of the type {actual}, and must be of the type {kind}")
        document: dict[str, Any] = json.loads(self._read_value(connection, EXTRA))
        return document

    def read_type(self, connection: str) -> str:
        """The type of the connection, such as `spark`; '' where Airflow cannot be asked. Raises as a call."""
        return _lookup[0](connection, "conn_type") if _lookup else ""


def has_reference(text: str) -> bool:
    """Whether a text can only be known once its references are resolved."""
    return _REFERENCE.search(text) is not None


@dataclass(frozen=True)
class References:
    """The providers of one file: the four that are always there, and those that it declares."""

    providers: Mapping[str, Provider] = field(repr=False)
    unsupported: Mapping[str, str] = field(repr=False, default_factory=dict)
    """Provider name -> why it cannot be used."""
    environ: Mapping[str, str] | None = field(repr=False, default=None)
    """None: the process's own, when it is used."""

    def resolve(self, setting: Setting) -> str:
        """The text with every reference replaced. Raises ConfigurationError that names property and reference."""
        values = self.values(setting)
        return _REFERENCE.sub(lambda match: values[match.group()], setting.text)

    def values(self, setting: Setting) -> dict[str, str]:
        """Each reference in the text, as it is written, with what it leads to. Raises as `resolve`."""
        return self._find_values(setting, _REFERENCE.finditer(setting.text))

    def extra_of(self, connection: Setting, kind: str) -> dict[str, Any]:
        """The extra of the Airflow connection that a setting names, of this type. Raises ConfigurationError that names the property."""
        try:
            return Connections(self.environ).read_extra(connection.text.strip(), kind)
        except ValueError as error:
            problem = Problem(connection.origin, f"cannot be read: {error}", connection.display_text)
            raise ConfigurationError([problem]) from None

    def find_connection_values(self, setting: Setting) -> dict[str, str]:
        """`<connection>:<field>` -> value for each reference to an Airflow connection in the text. Raises as `resolve`."""
        matches = [match for match in _REFERENCE.finditer(setting.text) if isinstance(self.providers.get(match.group(1)), Connections)]
        values = self._find_values(setting, matches)
        return {f"{match.group(2) or ''}:{match.group(3)}": values[match.group()] for match in matches}

    def without_connections(self) -> "References":
        """The references without Airflow's connections: what is read while DAG files are parsed must not ask for them."""
        others = {name: reader for name, reader in self.providers.items() if not isinstance(reader, Connections)}
        return References(others, {"conn": _NOT_WHILE_PARSING, **self.unsupported}, self.environ)

    def _find_values(self, setting: Setting, matches: Iterable[re.Match[str]]) -> dict[str, str]:
        values: dict[str, str] = {}
        problems: list[Problem] = []
        for match in matches:
            provider, path, key = match.group(1), match.group(2) or "", match.group(3)
            try:
                values[match.group()] = self._find_provider(provider)(path, key)
            except (ValueError, OSError) as error:
                reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                problems.append(_describe_problem(setting, provider, match.group(), reason))
        if problems:
            raise ConfigurationError(problems)
        return values

    def check(self, setting: Setting) -> list[Problem]:
        """What can be said of the references without resolving them: that no provider is named, or that no connection has the field."""
        problems = []
        for provider, path, key in _REFERENCE.findall(setting.text):
            try:
                reader = self._find_provider(provider)
                if isinstance(reader, Connections):
                    reader.check(path, key)
            except ValueError as error:
                problems.append(_describe_problem(setting, provider, "", str(error)))
        return problems

    def _find_provider(self, name: str) -> Provider:
        if name in self.providers:
            return self.providers[name]
        raise ValueError(
            self.unsupported.get(name, f"there is no config provider of this name; known are {', '.join(sorted(self.providers))}")
        )


def read_providers(raw: Mapping[str, Setting], environ: Mapping[str, str] | None = None) -> References:
    """A file's providers: env, file, dir and conn, overlaid by its `config.providers`. No `environ`: the process's own when it is used."""
    providers: dict[str, Provider] = {
        "env": _provide_environment(environ, ""),
        "file": _provide_file(""),
        "dir": _provide_directory(""),
        "conn": Connections(environ),
    }
    unsupported: dict[str, str] = {}
    declared = raw["config.providers"].text if "config.providers" in raw else ""
    for name in (part.strip() for part in declared.split(",")):
        if not name:
            continue
        wanted = _write_text(raw, f"config.providers.{name}.class").strip()
        paths = _write_text(raw, f"config.providers.{name}.param.allowed.paths")
        kinds: dict[str, Provider] = {
            _PACKAGE + "EnvVarConfigProvider": _provide_environment(
                environ, _write_text(raw, f"config.providers.{name}.param.allowlist.pattern")
            ),
            _PACKAGE + "FileConfigProvider": _provide_file(paths),
            _PACKAGE + "DirectoryConfigProvider": _provide_directory(paths),
        }
        if wanted in kinds:
            providers[name] = kinds[wanted]
        else:
            providers.pop(name, None)
            unsupported[name] = (
                f"config.providers.{name}.class is "
                + (f"'{wanted}', a Java class that cannot be loaded here" if wanted else "missing")
                + "; known are EnvVarConfigProvider, FileConfigProvider and DirectoryConfigProvider of "
                + _PACKAGE[:-1]
            )
    return References(providers, unsupported, environ)


def _describe_problem(setting: Setting, provider: str, reference: str, reason: str) -> Problem:
    # The text of an unknown provider's reference is not shown: it may be no reference at all, but a piece of a password.
    what = f"the reference {reference}" if reference else f"the reference ${{{provider}:…}}"
    return Problem(setting.origin, f"{what} cannot be read: {reason}")


def _write_text(raw: Mapping[str, Setting], name: str) -> str:
    return raw[name].text if name in raw else ""


def _provide_environment(environ: Mapping[str, str] | None, allowed: str) -> Provider:
    def read(path: str, key: str) -> str:
        """The variable of this name. Raises ValueError."""
        if path:
            raise ValueError("an environment variable has no path; write ${env:VAR}")
        if allowed and not compile_java(allowed).matches(key):
            raise ValueError("the provider's allowlist.pattern does not allow this variable")
        variables = os.environ if environ is None else environ
        if key not in variables:
            raise ValueError(f"the environment variable {key} is not set")
        return variables[key]

    return read


def _provide_file(allowed: str) -> Provider:
    def read(path: str, key: str) -> str:
        """The key's value in the properties file at this path. Raises ValueError."""
        # Unlike mm2.properties itself, Kafka's FileConfigProvider reads UTF-8.
        file = _check_allowed(path, allowed)
        try:
            properties = parse(file.read_text("utf-8"))
        except ValueError:
            raise ValueError(f"{path} is not a properties file in UTF-8") from None
        if key not in properties:
            raise ValueError(f"{path} has no property '{key}'")
        return properties[key]

    return read


def _provide_directory(allowed: str) -> Provider:
    def read(path: str, key: str) -> str:
        """The content of the file of this name in the directory. Raises ValueError."""
        if not key or Path(key).name != key:
            raise ValueError(f"'{key}' is not the name of a file in {path}")
        try:
            return (_check_allowed(path, allowed) / key).read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{path}/{key} is not text in UTF-8") from None

    return read


def _check_allowed(path: str, allowed: str) -> Path:
    """The path, if one of the comma-separated directories holds it (none: every path), `..` resolved."""
    if not path:
        raise ValueError("no path is given; write ${file:path:key} or ${dir:path:file}")
    wanted = Path(os.path.normpath(path))
    roots = [Path(os.path.normpath(root.strip())) for root in allowed.split(",") if root.strip()]
    if roots and not any(wanted.is_relative_to(root) for root in roots):
        raise ValueError(f"the provider's allowed.paths does not hold {path}")
    return wanted
