"""Reading `mm2.properties`: files in, flows out."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mirror.config import flatten
from mirror.config.agreement import naming_disagreements, unseen_circles
from mirror.config.catalogue import OF_THE_FILE, TOP_LEVEL
from mirror.config.file import ConfigurationFile, Pair, beating_pairs, enabled_pairs, read
from mirror.config.flow import Configuration, Flow, InvalidFlow
from mirror.config.identity import identity_cycles
from mirror.config.known import Unknown, unknown_keys
from mirror.config.names import FlowName
from mirror.config.validate import validate, validate_beating
from mirror.errors import ConfigurationError, Problem

_DEFAULT_PATH = Path(__file__).parents[2] / "mm2.properties"


def load(paths: Sequence[Path] | None = None, environ: Mapping[str, str] | None = None) -> Configuration:
    """The configuration of one or more files; default: those of MIRROR_CONFIG (comma-separated), else the shipped `mm2.properties`.

    A flow that cannot be used is in `invalid` with everything that is wrong with it, a file that cannot be read or has no clusters in
    `unreadable`; the others live on. Raises ConfigurationError only if that leaves no file at all. Nothing is resolved but `clusters` and
    `…enabled`; `environ` stands in for the process's environment.
    """
    files, unreadable = _read(_configured(environ) if paths is None else paths, environ)
    found: dict[str, _Found] = {}
    notices: list[str] = []
    for file in files:
        pairs, told = enabled_pairs(file)
        unknown = list(unknown_keys(file.raw, file.clusters))
        notices += [f"{file.path}: {each}" for each in (*told, *_file_notices(file, pairs, unknown))]
        for pair in pairs:
            each = found.setdefault(FlowName(pair.source, pair.target).name, _Found(FlowName(pair.source, pair.target)))
            each.paths.append(file.path)
            _add(each, file, pair, unknown)
    beating = _beating(files, found, notices)
    _between_flows(list(found.values()))
    if not found and not unreadable:
        notices.append("No flow is enabled: set '<source>-><target>.enabled = true', with two aliases of clusters.")
    invalid = _invalid([each for each in found.values() if each.problems])
    invalid_beating = _invalid([each for each in beating.values() if each.problems], taken=[each.name for each in found.values()])
    return Configuration(_good(found), invalid, tuple(notices), tuple(unreadable), _good(beating), invalid_beating)


@dataclass
class _Found:
    """An enabled flow, or a pair that only beats, while it is judged."""

    name: FlowName
    paths: list[str] = field(default_factory=list)
    flow: Flow | None = None
    problems: dict[Problem, None] = field(default_factory=dict)

    def refuse(self, key: str, why: str) -> None:
        self.problems[Problem(key, why)] = None


def _read(paths: Sequence[Path], environ: Mapping[str, str] | None) -> tuple[list[ConfigurationFile], list[ConfigurationError]]:
    files: list[ConfigurationFile] = []
    unreadable: list[ConfigurationError] = []
    for path in paths:
        try:
            files.append(read(path, environ))
        except ConfigurationError as error:
            unreadable.append(error)
    if not files:
        raise together(unreadable)
    return files, unreadable


def together(errors: Sequence[ConfigurationError]) -> ConfigurationError:
    """Several errors as one; of a single one, itself."""
    if len(errors) == 1:
        return errors[0]
    problems = [Problem(f"{each.property} ({error.file})", each.message, each.value) for error in errors for each in error.problems]
    return ConfigurationError(list(dict.fromkeys(problems)))


def _configured(environ: Mapping[str, str] | None) -> list[Path]:
    listed = (os.environ if environ is None else environ).get("MIRROR_CONFIG", "")
    return [Path(part.strip()) for part in listed.split(",") if part.strip()] or [_DEFAULT_PATH]


def _add(found: _Found, file: ConfigurationFile, pair: Pair, unknown: Iterable[Unknown]) -> None:
    found.problems |= dict.fromkeys(pair.problems)
    if pair.problems:
        return
    flow = _flow(file, pair)
    judged = validate(flow, [each for each in unknown if each.cluster in ("", pair.source, pair.target) and each.flow in ("", flow.name)])
    found.problems |= dict.fromkeys(judged.problems)
    found.flow = replace(flow, notices=judged.notices)


def _beating(files: Iterable[ConfigurationFile], enabled: Mapping[str, _Found], notices: list[str]) -> dict[str, _Found]:
    """The pairs that are no enabled flows and beat all the same. Where several files have one, the first says how; it is one pair."""
    found: dict[str, _Found] = {}
    ids = {each.name.airflow_name for each in enabled.values()}
    for file in files:
        pairs, told = beating_pairs(file)
        notices += [f"{file.path}: {each}" for each in told]
        for pair in pairs:
            each = _Found(FlowName(pair.source, pair.target), [file.path], problems=dict.fromkeys(pair.problems))
            if each.name.name in enabled or each.name.name in found:
                continue
            found[each.name.name] = each
            each.flow = _flow(file, pair)
            judged = validate_beating(each.flow)
            each.problems |= dict.fromkeys(judged.problems)
            each.flow = replace(each.flow, notices=judged.notices)
            if each.name.airflow_name in ids:
                each.refuse("clusters", f"the id of its DAG ({each.name.dag_id('heartbeats')}) is that of another pair; rename an alias")
            ids.add(each.name.airflow_name)
    return found


def _flow(file: ConfigurationFile, pair: Pair) -> Flow:
    connector = flatten.connector_properties(file.raw, pair.source, pair.target, TOP_LEVEL)
    worker = flatten.worker_properties(file.raw, pair.source, pair.target)
    return Flow(pair.source, pair.target, connector, worker, file.references, file=file.path)


def _good(found: Mapping[str, _Found]) -> tuple[Flow, ...]:
    return tuple(each.flow for each in found.values() if each.flow and not each.problems)


def _file_notices(file: ConfigurationFile, pairs: Iterable[Pair], unknown: Iterable[Unknown]) -> list[str]:
    """What is to be said of keys that belong to no flow alone; those of a flow are told with the flow."""
    told = {f"{pair.source}->{pair.target}" for pair in pairs}
    told |= {f"{source}->{target}" for source in file.clusters for target in file.clusters}
    drivers = ", ".join(key for key in file.raw if key in OF_THE_FILE and OF_THE_FILE[key].effect)
    without_effect = [f"{drivers}: no effect here, because there is no Connect worker and no REST server."] if drivers else []
    return without_effect + [f"{each.key} {each.message}." for each in unknown if not each.ours and each.flow not in told]


def _between_flows(found: Sequence[_Found]) -> None:
    """What only shows when all flows are seen together."""
    for each in found:
        key = f"{each.name.name}.enabled"
        if len(each.paths) > 1:
            each.refuse(key, f"the flow is defined {len(each.paths)} times, in {' and in '.join(each.paths)}; keep one")
        same = [other.name.name for other in found if other.name.airflow_name == each.name.airflow_name and other is not each]
        if same:
            ids = f"{each.name.airflow_name}.…"
            each.refuse(key, f"its DAGs would have the same ids ({ids}) as those of {' and '.join(same)}; rename an alias")
    for one, other, notice in list(naming_disagreements(each.flow for each in found if each.flow and not each.problems)):
        for each in found:
            if each.flow in (one, other):
                each.flow = replace(each.flow, notices=(*each.flow.notices, notice))
    _refuse_circles(found)


def _refuse_circles(found: Sequence[_Found]) -> None:
    """Flows between which records would go round for ever."""
    sound = [each.flow for each in found if each.flow and not each.problems]
    unseen, kept = unseen_circles(sound), identity_cycles(sound)
    for each in found:
        if each.flow and each.name.name in unseen:
            each.refuse(
                f"{each.name.name}.enabled",
                f"{unseen[each.name.name]}, in MirrorMaker 2 too; rename the alias, set another replication.policy.separator, or let the "
                "flows mirror different topics (topics, topics.exclude)",
            )
        if each.flow and each.name.name in kept:
            each.refuse(
                each.flow.connector["replication.policy.class"].origin,
                f"with the IdentityReplicationPolicy records would go round for ever: {kept[each.name.name]}; let the flows mirror "
                "different topics (topics, topics.exclude), or use the DefaultReplicationPolicy",
            )


def _invalid(found: Sequence[_Found], taken: Sequence[FlowName] = ()) -> tuple[InvalidFlow, ...]:
    """`taken`: the names of others whose ids they must not share."""
    made = []
    names = [*taken, *(each.name for each in found)]
    for number, each in enumerate(found):
        error = ConfigurationError(list(each.problems), file=" and ".join(dict.fromkeys(each.paths)), flow=each.name.name)
        namesake = sum(other.airflow_name == each.name.airflow_name for other in names[: len(taken) + number])
        made.append(InvalidFlow(each.name.source, each.name.target, error, each.flow.notices if each.flow else (), namesake))
    return tuple(made)
