"""Reads `mm2.properties`: files in, flows out.

A remote topic tells by its name where it came from, and is not mirrored back there. It does not tell where a policy keeps names
(IdentityReplicationPolicy), and where an alias has the separator in it. There each flow knows the flows that may bring its copies back, and
`TopicSelection` leaves out every topic that they would bring.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kafka_mirror.config import inheritance
from kafka_mirror.config.catalogue import OF_THE_FILE, TOP_LEVEL
from kafka_mirror.config.catalogue.mm2 import DEFAULT_POLICY, IDENTITY_POLICY
from kafka_mirror.config.file import ClusterPair, ConfigurationFile, beating_pairs, enabled_pairs, locate_problems, place, read
from kafka_mirror.config.flow import Configuration, Flow, FlowName, InvalidFlow
from kafka_mirror.config.setting import DEFAULT
from kafka_mirror.config.unknown_keys import UnknownKey, unknown_keys
from kafka_mirror.config.validate import validate, validate_heartbeat_pair
from kafka_mirror.errors import ConfigurationError, ConfigurationMissing, Problem

CONFIG_VARIABLE, CONFIG_OPTION = "MIRROR_CONFIG", "--config"
"""The two ways to name the files: the environment variable, and the option of the command line."""


def load(paths: Sequence[Path] | None = None, environ: Mapping[str, str] | None = None) -> Configuration:
    """The configuration of one or more files; without `paths` those of MIRROR_CONFIG (comma-separated).

    A flow that cannot be used is in `invalid` with everything that is wrong with it, a file that cannot be read or has no clusters in
    `unreadable`; the others live on. Raises ConfigurationError only if that leaves no file at all, ConfigurationMissing if none is named.
    Nothing is resolved but `clusters` and `…enabled`; `environ` stands in for the process's environment.
    """
    named = _find_configured(environ) if paths is None else paths
    files, unreadable = _read(named, environ, CONFIG_VARIABLE if paths is None else CONFIG_OPTION)
    enabled: dict[str, _Draft] = {}
    notices: list[str] = []
    for file in files:
        pairs, remarks = enabled_pairs(file)
        unknown = list(unknown_keys(file.raw, file.clusters))
        notices += [*(f"{file.path}: {remark}" for remark in remarks), *_note_file(file, pairs, unknown)]
        for pair in pairs:
            draft = enabled.setdefault(FlowName(pair.source, pair.target).name, _Draft(FlowName(pair.source, pair.target)))
            draft.files.append(file)
            _add(draft, file, pair, unknown)
    beating = _find_beating(files, enabled, notices)
    _check_between_flows(list(enabled.values()))
    if not enabled and not unreadable:
        notices.append("No flow is enabled: set '<source>-><target>.enabled = true', with two aliases of clusters.")
    invalid = _list_invalid([draft for draft in enabled.values() if draft.problems])
    invalid_beating = _list_invalid(
        [draft for draft in beating.values() if draft.problems], taken=[draft.name for draft in enabled.values()]
    )
    good, good_beating = (
        tuple(replace(flow, files=tuple(map(str, named))) for flow in _select_valid(pairs)) for pairs in (enabled, beating)
    )
    return Configuration(_add_others(good), invalid, tuple(notices), tuple(unreadable), good_beating, invalid_beating)


@dataclass
class _Draft:
    """An enabled flow, or a pair that only beats, while it is judged."""

    name: FlowName
    files: list[ConfigurationFile] = field(default_factory=list)
    flow: Flow | None = None
    problems: dict[Problem, None] = field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        return [file.path for file in self.files]

    def add(self, problems: Iterable[Problem]) -> None:
        """Notes problems of the file that was added last."""
        self.problems |= dict.fromkeys(locate_problems(problems, self.files[-1].path, self.files[-1].lines))

    def refuse(self, key: str, why: str) -> None:
        self.add([Problem(key, why)])


def _read(
    paths: Sequence[Path], environ: Mapping[str, str] | None, named_by: str
) -> tuple[list[ConfigurationFile], list[ConfigurationError]]:
    if not paths:
        raise ConfigurationMissing(CONFIG_VARIABLE, CONFIG_OPTION)
    files: list[ConfigurationFile] = []
    unreadable: list[ConfigurationError] = []
    for path in paths:
        try:
            files.append(read(path, environ, named_by))
        except ConfigurationError as error:
            unreadable.append(error)
    if not files:
        raise join_errors(unreadable)
    return files, unreadable


def join_errors(errors: Sequence[ConfigurationError]) -> ConfigurationError:
    """Returns one error with the problems of all; a single error is returned as it is."""
    if len(errors) == 1:
        return errors[0]
    problems = [problem if problem.file else replace(problem, file=error.file) for error in errors for problem in error.problems]
    return ConfigurationError(list(dict.fromkeys(problems)))


def _find_configured(environ: Mapping[str, str] | None) -> list[Path]:
    return paths_of((os.environ if environ is None else environ).get(CONFIG_VARIABLE, ""))


def paths_of(listed: str) -> list[Path]:
    """The files of a comma-separated list."""
    return [Path(part.strip()) for part in listed.split(",") if part.strip()]


def load_again(flow: Flow) -> Configuration:
    """The configuration that a flow is of, as its files are now. Raises as `load`."""
    return load([Path(file) for file in flow.files])


def _add(draft: _Draft, file: ConfigurationFile, pair: ClusterPair, unknown: Iterable[UnknownKey]) -> None:
    draft.add(pair.problems)
    if pair.problems:
        return
    flow = _build_flow(file, pair)
    findings = validate(flow, [key for key in unknown if key.cluster in ("", pair.source, pair.target) and key.flow in ("", flow.name)])
    draft.add(findings.problems)
    draft.flow = replace(flow, notices=findings.notices)


def _find_beating(files: Iterable[ConfigurationFile], enabled: Mapping[str, _Draft], notices: list[str]) -> dict[str, _Draft]:
    """The pairs that are no enabled flows and beat all the same. Where several files have one, the first says how; it is one pair."""
    beating: dict[str, _Draft] = {}
    ids = {draft.name.airflow_name for draft in enabled.values()}
    for file in files:
        pairs, remarks = beating_pairs(file)
        notices += [f"{file.path}: {remark}" for remark in remarks]
        for pair in pairs:
            draft = _Draft(FlowName(pair.source, pair.target), [file])
            draft.add(pair.problems)
            if draft.name.name in enabled or draft.name.name in beating:
                continue
            beating[draft.name.name] = draft
            draft.flow = _build_flow(file, pair)
            findings = validate_heartbeat_pair(draft.flow)
            draft.add(findings.problems)
            draft.flow = replace(draft.flow, notices=findings.notices)
            if draft.name.airflow_name in ids:
                draft.refuse("clusters", f"the id of its DAG ({draft.name.dag_id('heartbeats')}) is that of another pair; rename an alias")
            ids.add(draft.name.airflow_name)
    return beating


def _build_flow(file: ConfigurationFile, pair: ClusterPair) -> Flow:
    connector = inheritance.connector_properties(file.raw, pair.source, pair.target, TOP_LEVEL)
    worker = inheritance.worker_properties(file.raw, pair.source, pair.target)
    return Flow(
        pair.source, pair.target, connector, worker, file.references, file=file.path, lines=file.lines, clusters=tuple(file.clusters)
    )


def _select_valid(drafts: Mapping[str, _Draft]) -> tuple[Flow, ...]:
    return tuple(draft.flow for draft in drafts.values() if draft.flow and not draft.problems)


def _add_others(flows: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """The flows with the others that each of them asks."""
    by_pair = {(flow.source, flow.target): flow for flow in flows}
    paired = tuple(replace(flow, opposite=by_pair.get((flow.target, flow.source))) for flow in flows)
    leading_back = flows_leading_back(paired)
    return tuple(replace(flow, leading_back=leading_back[flow.name]) for flow in paired)


def _note_file(file: ConfigurationFile, pairs: Iterable[ClusterPair], unknown: Iterable[UnknownKey]) -> list[str]:
    """What is to be said of keys that belong to no flow alone; those of a flow are named with the flow."""
    noted = {f"{pair.source}->{pair.target}" for pair in pairs}
    noted |= {f"{source}->{target}" for source in file.clusters for target in file.clusters}
    drivers = ", ".join(key for key in file.raw if key in OF_THE_FILE and OF_THE_FILE[key].effect)
    without_effect = f"{file.path}: {drivers}: no effect here, because there is no Connect worker and no REST server."
    strange = [key for key in unknown if not key.is_own and key.flow not in noted]
    twice = [
        f"{place(key, file.path, file.lines)}: {key} stands in line {' and '.join(map(str, lines))} too; the last one counts."
        for key, lines in file.repeated.items()
    ]
    notices = [*twice, *(f"{place(key.key, file.path, file.lines)}: {key.key} {key.message}." for key in strange)]
    return [without_effect, *notices] if drivers else notices


def _check_between_flows(drafts: Sequence[_Draft]) -> None:
    """What only shows when all flows are seen together."""
    for draft in drafts:
        key = f"{draft.name.name}.enabled"
        if len(draft.paths) > 1:
            draft.refuse(key, f"the flow is defined {len(draft.paths)} times, in {' and in '.join(draft.paths)}; keep one")
        same = [other.name.name for other in drafts if other.name.airflow_name == draft.name.airflow_name and other is not draft]
        if same:
            ids = f"{draft.name.airflow_name}.…"
            draft.refuse(key, f"its DAGs would have the same ids ({ids}) as those of {' and '.join(same)}; rename an alias")
    for one, other, notice in list(circle_notices([draft.flow for draft in drafts if draft.flow and not draft.problems])):
        for draft in drafts:
            if draft.flow in (one, other):
                draft.flow = replace(draft.flow, notices=(*draft.flow.notices, notice))
    _refuse_circles(drafts)
    _refuse_idle_ways_back(drafts)


def _refuse_idle_ways_back(drafts: Sequence[_Draft]) -> None:
    """Two flows that wait for each other's cutovers. The own problems of a wrong one come first."""
    idle = idle_ways_back([draft.flow for draft in drafts if draft.flow and not draft.problems])
    for draft in drafts:
        if draft.flow and draft.name.name in idle:
            step = "set it for the one alone that brings moved topics back"
            draft.refuse(draft.flow.connector["mirror.way.back"].origin, f"{idle[draft.name.name]}; {step}")


def _refuse_circles(drafts: Sequence[_Draft]) -> None:
    """Flows that give topics other names on a circle of flows that keep them."""
    renamed = renamed_circles([draft.flow for draft in drafts if draft.flow and not draft.problems])
    for draft in drafts:
        if draft.flow and draft.name.name in renamed:
            draft.refuse(
                draft.flow.connector["mirror.rename"].origin,
                f"{renamed[draft.name.name]}; rename in flows alone from which no way of flows that keep names leads back, or use the "
                "DefaultReplicationPolicy",
            )


def _list_invalid(drafts: Sequence[_Draft], taken: Sequence[FlowName] = ()) -> tuple[InvalidFlow, ...]:
    """`taken`: the names of others whose ids they must not share."""
    invalid = []
    names = [*taken, *(draft.name for draft in drafts)]
    for number, draft in enumerate(drafts):
        error = ConfigurationError(list(draft.problems), file=" and ".join(dict.fromkeys(draft.paths)), flow=draft.name.name)
        namesake = sum(other.airflow_name == draft.name.airflow_name for other in names[: len(taken) + number])
        notices = draft.flow.notices if draft.flow else ()
        invalid.append(InvalidFlow(draft.name.source, draft.name.target, error, draft.flow, notices, namesake))
    return tuple(invalid)


_NAMING = ("replication.policy.class", "replication.policy.separator")


def flows_leading_back(flows: Sequence[Flow]) -> dict[str, tuple[Flow, ...]]:
    """Name of each flow -> the flows by which copies of its topics may come back to its source, whatever topics they choose."""
    by_pair = {(flow.source, flow.target): flow for flow in flows}
    keeping = {
        flow.name: flow for flow in _find_circles([flow for flow in flows if flow.value("replication.policy.class") == IDENTITY_POLICY])
    }
    leading_back = {}
    for flow in flows:
        opposite = by_pair.get((flow.target, flow.source))
        pair = (flow.name, opposite.name if opposite else flow.name)
        back = [other for name, other in keeping.items() if name not in pair] if flow.name in keeping else []
        leading_back[flow.name] = (*back, *([opposite] if opposite and _is_taken_back(flow, opposite) else []))
    return leading_back


def circle_notices(flows: Sequence[Flow]) -> Iterator[tuple[Flow, Flow, str]]:
    """Two opposite flows that name the same topics although copies of them may come back, and what to say of them."""
    by_pair = {(flow.source, flow.target): flow for flow in flows}
    for (source, target), one in by_pair.items():
        other = by_pair.get((target, source))
        if other is None or source > target:
            continue
        shared, different = _find_shared_names(one, other), [name for name in _NAMING if one.value(name) != other.value(name)]
        both = f"{one.name} and {other.name}"
        if shared and different:
            values = " and ".join(f"{_list_names(one, name)}, but {_list_names(other, name)}" for name in different)
            notice = (
                f"{both} name the same topics ('{shared[0]}') and name remote topics differently ({values}), so neither knows the other's "
                "remote topics again and records may go round for ever, in MirrorMaker 2 too. Set replication.policy.* alike for both, or "
                "let them mirror different topics."
            )
            yield one, other, notice
        elif shared and _is_taken_back(one, other):
            notice = (
                f"{both} name the same topics ('{shared[0]}'), and the name of a remote topic does not tell that it came from the other "
                "side. A topic that both take would go round for ever, as in MirrorMaker 2: every plan leaves it out (TopicGoesRound). Let "
                "them mirror different topics (topics, topics.exclude)."
            )
            yield one, other, notice


def idle_ways_back(flows: Iterable[Flow]) -> dict[str, str]:
    """Name of each flow that is the way back of one that is its own way back -> why neither copies anything."""
    ways = {(flow.source, flow.target): flow for flow in flows if flow.value("mirror.way.back")}
    return {
        flow.name: f"{other.name} is a way back too (mirror.way.back), and a way back copies only what a cutover of its opposite moved, so "
        "neither ever copies a topic"
        for (source, target), flow in ways.items()
        if (other := ways.get((target, source))) is not None
    }


def renamed_circles(flows: Iterable[Flow]) -> dict[str, str]:
    """Name of each flow that renames topics on a circle of flows which keep names otherwise -> why it cannot: what comes back has another
    name than what went, and nothing tells that it is the same."""
    keeping = [flow for flow in flows if flow.value("replication.policy.class") == IDENTITY_POLICY]
    return {
        flow.name: f"flows that keep topic names lead from {flow.target} back to {flow.source}, where renamed topics are not recognised"
        for flow in _find_circles(keeping)
        if "mirror.rename" in flow.connector
    }


def _is_taken_back(one: Flow, other: Flow) -> bool:
    """Whether one of two opposite flows may take what the other wrote. A way back copies only what a cutover took from its opposite, so no
    topic goes both ways at once. A policy of the user's own says itself where a topic came from."""
    policy = one.value("replication.policy.class")
    if policy != other.value("replication.policy.class"):
        return False
    if policy == IDENTITY_POLICY:
        return not any(flow.value("mirror.way.back") for flow in (one, other))
    # What stands before the first separator of a remote topic's name is no alias then.
    return policy == DEFAULT_POLICY and any(
        flow.value("replication.policy.separator") in alias for flow in (one, other) for alias in (one.source, one.target)
    )


def _find_shared_names(one: Flow, other: Flow) -> list[str]:
    excluded = {*one.value("topics.exclude"), *other.value("topics.exclude")}
    return [member for member in one.value("topics") if member in other.value("topics") and member not in excluded]


def _list_names(flow: Flow, name: str) -> str:
    setting = flow.connector.get(name)
    origin = "by default" if setting is None or setting.origin == DEFAULT else f"by {setting.origin}"
    return f"{name} of {flow.name} is '{flow.value(name)}' {origin}"


def _find_circles(flows: Sequence[Flow]) -> list[Flow]:
    """The flows whose target leads back to their source, whatever the topics: in large meshes most do not, and are not looked at again."""
    beyond = {flow.source: {flow.source} for flow in flows}
    grown = True
    while grown:
        grown = False
        for flow in flows:
            more = beyond.get(flow.target, {flow.target}) - beyond[flow.source]
            beyond[flow.source] |= more
            grown = grown or bool(more)
    return [flow for flow in flows if flow.source in beyond.get(flow.target, ())]
