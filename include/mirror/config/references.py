"""References in values: `${env:VAR}`, `${file:path:key}`, `${dir:path:file}`, and what `config.providers` declares of the same kinds.

They are resolved when a client or value is asked for, never while the file is loaded, and what they give never stands in a message.
The pattern is that of Kafka's `ConfigTransformer`: no recursion, several references in one value.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mirror.config.properties import parse
from mirror.config.setting import Setting
from mirror.errors import ConfigurationError, Problem

_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."

Provider = Callable[[str, str], str]
"""(path, key) -> value. Raises ValueError with the reason, or OSError."""


def has_reference(text: str) -> bool:
    """Whether a text can only be known once its references are resolved."""
    return _REFERENCE.search(text) is not None


@dataclass(frozen=True)
class References:
    """The providers of one file: the three that are always there, and those that it declares."""

    providers: Mapping[str, Provider] = field(repr=False)
    unsupported: Mapping[str, str] = field(repr=False, default_factory=dict)
    """Provider name -> why it cannot be used."""

    def resolve(self, setting: Setting) -> str:
        """The text with every reference replaced. Raises ConfigurationError that names property and reference."""
        problems: list[Problem] = []

        def replace(match: re.Match[str]) -> str:
            provider, path, key = match.group(1), match.group(2) or "", match.group(3)
            try:
                return self._provider(provider)(path, key)
            except (ValueError, OSError) as error:
                reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                problems.append(_problem(setting, provider, match.group(), reason))
                return ""

        text = _REFERENCE.sub(replace, setting.text)
        if problems:
            raise ConfigurationError(problems)
        return text

    def check(self, setting: Setting) -> list[Problem]:
        """What can be said of the references without resolving them: that nobody provides them."""
        problems = []
        for provider, _path, _key in _REFERENCE.findall(setting.text):
            try:
                self._provider(provider)
            except ValueError as error:
                problems.append(_problem(setting, provider, "", str(error)))
        return problems

    def _provider(self, name: str) -> Provider:
        if name in self.providers:
            return self.providers[name]
        raise ValueError(
            self.unsupported.get(name, f"there is no config provider of this name; known are {', '.join(sorted(self.providers))}")
        )


def references(raw: Mapping[str, Setting], environ: Mapping[str, str] | None = None) -> References:
    """A file's providers: env, file and dir, overlaid by its `config.providers`. No `environ`: the process's own at the time of use."""
    providers: dict[str, Provider] = {"env": _environment(environ, ""), "file": _file(""), "dir": _directory("")}
    unsupported = {"conn": "Airflow connections (${conn:…}) cannot be used here yet; use ${env:…}, ${file:…} or ${dir:…}"}
    declared = raw["config.providers"].text if "config.providers" in raw else ""
    for name in (part.strip() for part in declared.split(",")):
        if not name:
            continue
        wanted = _text(raw, f"config.providers.{name}.class").strip()
        paths = _text(raw, f"config.providers.{name}.param.allowed.paths")
        kinds: dict[str, Provider] = {
            _PACKAGE + "EnvVarConfigProvider": _environment(environ, _text(raw, f"config.providers.{name}.param.allowlist.pattern")),
            _PACKAGE + "FileConfigProvider": _file(paths),
            _PACKAGE + "DirectoryConfigProvider": _directory(paths),
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
    return References(providers, unsupported)


def _problem(setting: Setting, provider: str, reference: str, reason: str) -> Problem:
    # The text of an unknown provider's reference is not shown: it may be no reference at all, but a piece of a password.
    what = f"the reference {reference}" if reference else f"the reference ${{{provider}:…}}"
    return Problem(setting.origin, f"{what} cannot be read: {reason}")


def _text(raw: Mapping[str, Setting], name: str) -> str:
    return raw[name].text if name in raw else ""


def _environment(environ: Mapping[str, str] | None, allowed: str) -> Provider:
    def read(path: str, key: str) -> str:
        if path:
            raise ValueError("an environment variable has no path; write ${env:VAR}")
        if allowed and not re.fullmatch(allowed, key):
            raise ValueError("the provider's allowlist.pattern does not allow this variable")
        variables = os.environ if environ is None else environ
        if key not in variables:
            raise ValueError(f"the environment variable {key} is not set")
        return variables[key]

    return read


def _file(allowed: str) -> Provider:
    def read(path: str, key: str) -> str:
        # Unlike mm2.properties itself, Kafka's FileConfigProvider reads UTF-8.
        try:
            found = parse(_allowed(path, allowed).read_text("utf-8"))
        except ValueError as error:
            raise error if isinstance(error, _NotAllowed) else ValueError(f"{path} is not a properties file in UTF-8") from None
        if key not in found:
            raise ValueError(f"{path} has no property '{key}'")
        return found[key]

    return read


def _directory(allowed: str) -> Provider:
    def read(path: str, key: str) -> str:
        if not key or Path(key).name != key:
            raise ValueError(f"'{key}' is not the name of a file in {path}")
        try:
            return (_allowed(path, allowed) / key).read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{path}/{key} is not text in UTF-8") from None

    return read


class _NotAllowed(ValueError):
    """Raised when `allowed.paths` of a provider keeps a path out."""


def _allowed(path: str, allowed: str) -> Path:
    """The path, if one of the comma-separated directories holds it (none: every path), `..` resolved."""
    if not path:
        raise _NotAllowed("no path is given; write ${file:path:key} or ${dir:path:file}")
    wanted = Path(os.path.normpath(path))
    roots = [Path(os.path.normpath(root.strip())) for root in allowed.split(",") if root.strip()]
    if roots and not any(wanted.is_relative_to(root) for root in roots):
        raise _NotAllowed(f"the provider's allowed.paths does not hold {path}")
    return wanted
