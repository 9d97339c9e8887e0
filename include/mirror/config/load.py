"""Reading `mm2.properties`: files in, flows out."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mirror.config import flatten
from mirror.config.catalogue import TOP_LEVEL
from mirror.config.flow import Configuration, Flow, InvalidFlow
from mirror.config.names import FlowName
from mirror.config.properties import parse_bytes
from mirror.config.references import References, references
from mirror.config.setting import Setting
from mirror.config.validate import flow_findings
from mirror.config.values import parse_list
from mirror.errors import ConfigurationError, Problem

_DEFAULT_PATH = Path(__file__).parents[2] / "mm2.properties"


@dataclass(frozen=True)
class Source:
    """One file, read: its settings as they stand there, its providers, its clusters."""

    path: str
    raw: Mapping[str, Setting]
    references: References
    clusters: tuple[str, ...]


def load(paths: Sequence[Path] | None = None, environ: Mapping[str, str] | None = None) -> Configuration:
    """The configuration of one or more files; default: those of MIRROR_CONFIG, else the shipped `mm2.properties`.

    A flow that cannot be used is in `invalid` with everything that is wrong with it. Raises ConfigurationError only for a file that cannot
    be read or has no clusters. Secrets are not resolved; only `clusters` and `…enabled` are.
    """
    found = [_read(path, environ) for path in (paths if paths is not None else _configured(environ))]
    flows: list[Flow] = []
    invalid: list[InvalidFlow] = []
    notices: list[str] = []
    for source in found:
        for name in _enabled(source):
            made = _flow(source, name)
            (flows if isinstance(made, Flow) else invalid).append(made)  # type: ignore[arg-type]
    return Configuration(tuple(flows), tuple(invalid), tuple(notices))


def _configured(environ: Mapping[str, str] | None) -> list[Path]:
    listed = (os.environ if environ is None else environ).get("MIRROR_CONFIG", "")
    return [Path(part.strip()) for part in listed.split(",") if part.strip()] or [_DEFAULT_PATH]


def _read(path: Path, environ: Mapping[str, str] | None) -> Source:
    try:
        raw = {key: Setting(text, key) for key, text in parse_bytes(Path(path).read_bytes()).items()}
    except OSError as error:
        raise ConfigurationError(
            [Problem("MIRROR_CONFIG", f"the file cannot be read: {error.strerror or error}")], file=str(path)
        ) from None
    except ValueError as error:
        raise ConfigurationError(
            [Problem("MIRROR_CONFIG", f"the file is not in the format of Java properties, {error}")], file=str(path)
        ) from None
    providers = references(raw, environ)
    return Source(str(path), raw, providers, _clusters(str(path), raw, providers))


def _clusters(path: str, raw: Mapping[str, Setting], providers: References) -> tuple[str, ...]:
    try:
        clusters = parse_list(providers.resolve(raw["clusters"])) if "clusters" in raw else ()
    except ConfigurationError as error:
        raise ConfigurationError(list(error.problems), file=path) from None
    except ValueError as error:
        raise ConfigurationError([Problem("clusters", str(error), raw["clusters"].shown)], file=path) from None
    if not clusters:
        message = "is missing or empty; it has to list the aliases of the clusters, such as: clusters = east, west"
        raise ConfigurationError([Problem("clusters", message)], file=path)
    return clusters


def _enabled(source: Source) -> Iterator[FlowName]:
    """The pairs of clusters whose `S->T.enabled` is the word true in any case, blanks not trimmed (as MM2 has it)."""
    for one in source.clusters:
        for other in source.clusters:
            setting = source.raw.get(f"{one}->{other}.enabled")
            if one != other and setting and source.references.resolve(setting).lower() == "true":
                yield FlowName(one, other)


def _flow(source: Source, name: FlowName) -> Flow | InvalidFlow:
    connector = flatten.connector_properties(source.raw, name.source, name.target, TOP_LEVEL)
    worker = flatten.worker_properties(source.raw, name.source, name.target)
    flow = Flow(name.source, name.target, connector, worker, source.references)
    problems, notices = flow_findings(flow)
    if problems:
        return InvalidFlow(name.source, name.target, ConfigurationError(problems, file=source.path, flow=name.name))
    return Flow(name.source, name.target, connector, worker, source.references, tuple(notices))
