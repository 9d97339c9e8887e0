"""One configuration file, read: its settings, its providers, its clusters, and the flows that it enables."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kafka_mirror.config.catalogue.values import parse_list
from kafka_mirror.config.properties import entries
from kafka_mirror.config.references import References, read_providers
from kafka_mirror.config.setting import Setting
from kafka_mirror.config.unknown_keys import nearest
from kafka_mirror.errors import ConfigurationError, Problem

_ENABLED = re.compile(r"(.+?)->([^.]+)\.enabled")


@dataclass(frozen=True)
class ConfigurationFile:
    """A file's settings as they stand there, and what is known before any flow is looked at."""

    path: str
    raw: Mapping[str, Setting]
    references: References
    clusters: tuple[str, ...]
    lines: Mapping[str, int] = field(default_factory=dict)
    """Key -> the number of the line on which it stands."""
    repeated: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Key -> the lines on which it stands before, in vain."""


@dataclass(frozen=True)
class ClusterPair:
    """An ordered pair of clusters: an enabled flow, or one that only beats; and what is wrong with saying so."""

    source: str
    target: str
    problems: tuple[Problem, ...] = ()


def read(path: Path, environ: Mapping[str, str] | None, named_by: str) -> ConfigurationFile:
    """Raises ConfigurationError if the file cannot be read, is no properties file or has no clusters. `named_by`: what names the file."""
    try:
        file_entries = entries(Path(path).read_bytes())
    except OSError as error:
        raise _refuse(path, Problem(named_by, f"the file cannot be read: {error.strerror or error}")) from None
    except ValueError as error:
        raise _refuse(path, Problem(named_by, f"the file is not in the format of Java properties; {error}")) from None
    raw = {key: Setting(entry.value, key) for key, entry in file_entries.items()}
    lines = {key: entry.line for key, entry in file_entries.items()}
    repeated = {key: entry.earlier for key, entry in file_entries.items() if entry.earlier}
    providers = read_providers(raw, environ)
    return ConfigurationFile(str(path), raw, providers, _list_clusters(path, raw, lines, providers), lines, repeated)


def place(key: str, file: str, lines: Mapping[str, int]) -> str:
    """'file:line' of a key."""
    return f"{file}:{lines[key]}" if key in lines else file


def locate_problems(problems: Iterable[Problem], file: str, lines: Mapping[str, int]) -> list[Problem]:
    """The problems in the order of the file, each once, with the file and the line of its property; last those that stand in no line."""
    placed = [problem if problem.file else replace(problem, file=file, line=lines.get(problem.property)) for problem in problems]
    return sorted(dict.fromkeys(placed), key=lambda problem: (problem.line is None, problem.line))


def enabled_pairs(file: ConfigurationFile) -> tuple[list[ClusterPair], list[str]]:
    """The pairs whose `S->T.enabled` is the word true in any case, blanks not trimmed as MM2 has it; and notices of near misses."""
    possible = _list_pairs(file)
    switches = {pair: file.raw[key] for pair in possible if (key := f"{pair[0]}->{pair[1]}.enabled") in file.raw}
    pairs, near = _select_enabled(file, switches)
    return [*pairs, *_find_impossible_pairs(file, possible)], [f"{miss}, so the flow is off, as in MirrorMaker 2." for miss in near]


def beating_pairs(file: ConfigurationFile) -> tuple[list[ClusterPair], list[str]]:
    """The pairs for which MM2 beats whether they are enabled flows or not: by default all of them (`MirrorMakerConfig.clusterPairs`).

    `S->T.emit.heartbeats.enabled` counts, else `emit.heartbeats.enabled`, and blanks are not trimmed either. With notices of near misses.
    """
    name = "emit.heartbeats.enabled"
    of_all = file.raw.get(name, Setting("true", name))
    switches = {pair: file.raw.get(f"{pair[0]}->{pair[1]}.{name}", of_all) for pair in _list_pairs(file)}
    pairs, near = _select_enabled(file, switches)
    return pairs, [f"{miss}, so no pair beats by it alone." for miss in near]


def _select_enabled(file: ConfigurationFile, switches: Mapping[tuple[str, str], Setting]) -> tuple[list[ClusterPair], list[str]]:
    """The pairs whose setting is the word true, or cannot be read; and what is to be said of words that are neither true nor false."""
    pairs: list[ClusterPair] = []
    near: dict[str, None] = {}
    for (source, target), setting in switches.items():
        try:
            text = file.references.without_connections().resolve(setting)
        except ConfigurationError as error:
            pairs.append(ClusterPair(source, target, tuple(error.problems)))
            continue
        if text.lower() == "true":
            pairs.append(ClusterPair(source, target))
        elif text.lower() != "false":
            near[f"{setting.origin} is '{text}', which is not the word true (blanks count)"] = None
    return pairs, list(near)


def _list_pairs(file: ConfigurationFile) -> list[tuple[str, str]]:
    return [(source, target) for source in file.clusters for target in file.clusters if source != target]


def _find_impossible_pairs(file: ConfigurationFile, possible: list[tuple[str, str]]) -> list[ClusterPair]:
    """Flows that are enabled between aliases that `clusters` does not have: MM2 says nothing of them, and nothing is mirrored."""
    pairs = []
    for key, setting in file.raw.items():
        match = _ENABLED.fullmatch(key)
        if match is None or setting.text.lower() != "true" or any(key.startswith(f"{source}->{target}.") for source, target in possible):
            continue
        source, target = match.groups()
        missing = [alias for alias in (source, target) if alias not in file.clusters]
        problems = []
        for alias in missing:
            near = nearest(alias, file.clusters)
            hint = f"; did you mean '{near}'" if near else ""
            problems.append(Problem(key, f"'{alias}' is not among the clusters ({', '.join(file.clusters)}){hint}"))
        pairs.append(ClusterPair(source, target, tuple(problems) or (Problem(key, "a flow leads from one cluster to another one"),)))
    return pairs


def _list_clusters(path: Path, raw: Mapping[str, Setting], lines: Mapping[str, int], providers: References) -> tuple[str, ...]:
    setting = raw.get("clusters", Setting("", "clusters"))
    try:
        clusters = parse_list(providers.without_connections().resolve(setting))
    except ConfigurationError as error:
        raise _refuse(path, *locate_problems(error.problems, str(path), lines)) from None
    except ValueError as error:
        raise _refuse(path, *locate_problems([Problem("clusters", str(error), setting.display_text)], str(path), lines)) from None
    if not clusters:
        near = nearest("clusters", (key for key in raw if "." not in key)) if "clusters" not in raw else None
        hint = f"; did you mean '{near}' in line {lines[near]}" if near else ""
        missing = Problem("clusters", f"is missing or empty; it has to list the aliases of the clusters, such as: east, west{hint}")
        raise _refuse(path, *locate_problems([missing], str(path), lines))
    return clusters


def _refuse(path: Path, *problems: Problem) -> ConfigurationError:
    return ConfigurationError(list(problems), file=str(path))
