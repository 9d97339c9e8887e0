"""Reads `mm2.properties`: files in, flows out.

A remote topic tells by its name where it came from, and is not mirrored back there. It does not tell where a policy keeps names
(IdentityReplicationPolicy), and where an alias has the separator in it. There each flow knows the flows that may bring its copies back, and
`TopicSelection` leaves out every topic that they would bring.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kafka_mirror.config import inheritance
from kafka_mirror.config.catalogue import OF_THE_FILE, TOP_LEVEL
from kafka_mirror.config.catalogue.mm2 import DEFAULT_POLICY, IDENTITY_POLICY
from kafka_mirror.config.file import ClusterPair, ConfigurationFile, beating_pairs, enabled_pairs, locate_problems, place, read
from kafka_mirror.config.flow import Configuration, Flow, FlowName, InvalidFlow
from kafka_mirror.config.setting import DEFAULT
from kafka_mirror.config.unknown_keys import UnknownKey, unknown_keys
from kafka_mirror.config.validate import Findings, validate, validate_heartbeat_pair
from kafka_mirror.errors import ConfigurationError, ConfigurationMissing, Problem

CONFIG_VARIABLE, CONFIG_OPTION = "MIRROR_CONFIG", "--config"
"""The two ways to name the files: the environment variable, and the option of the command line."""


def load(paths: Sequence[Path] | None = None, environ: Mapping[str, str] | None = None) -> Configuration:
    """The configuration of one or more files; without `paths` those of MIRROR_CONFIG (comma-separated).

    A flow that cannot be used is in `invalid` with everything that is wrong with it, a file that cannot be read or has no clusters in
    `unreadable`; the others live on. Raises ConfigurationError only if that leaves no file at all, ConfigurationMissing if none is named.
    Nothing is resolved but `clusters` and `…enabled`; `environ` stands in for the process's environment.
    """
    named = paths_of((os.environ if environ is None else environ).get(CONFIG_VARIABLE, "")) if paths is None else paths
    files, unreadable = _read(named, environ, CONFIG_VARIABLE if paths is None else CONFIG_OPTION)
    notices: list[str] = []
    enabled = _draft_enabled(files, notices)
    beating = _draft_beating(files, enabled, notices)
    _check_between_flows(list(enabled.values()))
    if not enabled and not unreadable:
        notices.append("No flow is enabled: set '<source>-><target>.enabled = true', with two aliases of clusters.")
    good, good_beating = (
        tuple(replace(flow, files=tuple(map(str, named))) for flow in _list_valid(drafts.values())) for drafts in (enabled, beating)
    )
    invalid, invalid_beating = _list_invalid(enabled.values()), _list_invalid(beating.values(), taken=enabled.values())
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

    def judge(self, flow: Flow, findings: Findings) -> None:
        self.add(findings.problems)
        self.flow = replace(flow, notices=findings.notices)


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


def paths_of(listed: str) -> list[Path]:
    """The files of a comma-separated list."""
    return [Path(part.strip()) for part in listed.split(",") if part.strip()]


def load_again(flow: Flow) -> Configuration:
    """The configuration that a flow is of, as its files are now. Raises as `load`."""
    return load([Path(file) for file in flow.files])


def _draft_enabled(files: Iterable[ConfigurationFile], notices: list[str]) -> dict[str, _Draft]:
    """The enabled flows by name. One that several files enable is one draft."""
    enabled: dict[str, _Draft] = {}
    for file in files:
        pairs, remarks = enabled_pairs(file)
        unknown = list(unknown_keys(file.raw, file.clusters))
        notices += [*(f"{file.path}: {remark}" for remark in remarks), *_note_file(file, pairs, unknown)]
        for pair in pairs:
            name = FlowName(pair.source, pair.target)
            draft = enabled.setdefault(name.name, _Draft(name))
            draft.files.append(file)
            draft.add(pair.problems)
            if not pair.problems:
                flow = _build_flow(file, pair)
                own = [key for key in unknown if key.cluster in ("", pair.source, pair.target) and key.flow in ("", flow.name)]
                draft.judge(flow, validate(flow, own))
    return enabled


def _draft_beating(files: Iterable[ConfigurationFile], enabled: Mapping[str, _Draft], notices: list[str]) -> dict[str, _Draft]:
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
            flow = _build_flow(file, pair)
            draft.judge(flow, validate_heartbeat_pair(flow))
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


def _list_valid(drafts: Iterable[_Draft]) -> list[Flow]:
    return [draft.flow for draft in drafts if draft.flow and not draft.problems]


def _list_invalid(drafts: Iterable[_Draft], taken: Iterable[_Draft] = ()) -> tuple[InvalidFlow, ...]:
    """`taken`: others whose ids they must not share."""
    wrong = [draft for draft in drafts if draft.problems]
    ids = [draft.name.airflow_name for draft in (*taken, *wrong)]
    invalid = []
    for number, draft in enumerate(wrong, start=len(ids) - len(wrong)):
        error = ConfigurationError(list(draft.problems), file=" and ".join(dict.fromkeys(draft.paths)), flow=draft.name.name)
        notices = draft.flow.notices if draft.flow else ()
        namesake = ids[:number].count(draft.name.airflow_name)
        invalid.append(InvalidFlow(draft.name.source, draft.name.target, error, draft.flow, notices, namesake))
    return tuple(invalid)


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
    twice = [
        f"{place(key, file.path, file.lines)}: {key} stands in line {' and '.join(map(str, lines))} too; the last one counts."
        for key, lines in file.repeated.items()
    ]
    strange = [key for key in unknown if not key.is_own and key.flow not in noted]
    read_by_none = [f"{place(key.key, file.path, file.lines)}: {key.key} {key.message}." for key in strange]
    return [*([without_effect] if drivers else []), *twice, *read_by_none]


def _check_between_flows(drafts: Sequence[_Draft]) -> None:
    """What only shows when all flows are seen together. A flow that is wrong by itself is left out of what follows."""
    for draft in drafts:
        key = f"{draft.name.name}.enabled"
        if len(draft.paths) > 1:
            draft.refuse(key, f"the flow is defined {len(draft.paths)} times, in {' and in '.join(draft.paths)}; keep one")
        same = [other.name.name for other in drafts if other.name.airflow_name == draft.name.airflow_name and other is not draft]
        if same:
            ids = f"{draft.name.airflow_name}.…"
            draft.refuse(key, f"its DAGs would have the same ids ({ids}) as those of {' and '.join(same)}; rename an alias")
    _note_circles(drafts)
    _refuse_renamed_circles(drafts)
    _refuse_idle_ways_back(drafts)


_NAMING = ("replication.policy.class", "replication.policy.separator")


def flows_leading_back(flows: Sequence[Flow]) -> dict[str, tuple[Flow, ...]]:
    """Name of each flow -> the flows by which copies of its topics may come back to its source, whatever topics they choose."""
    by_pair = {(flow.source, flow.target): flow for flow in flows}
    keeping = {flow.name: flow for flow in _find_circles(filter(_keeps_names, flows))}
    leading_back = {}
    for flow in flows:
        opposite = by_pair.get((flow.target, flow.source))
        pair = (flow.name, opposite.name if opposite else flow.name)
        back = [other for name, other in keeping.items() if name not in pair] if flow.name in keeping else []
        leading_back[flow.name] = (*back, *([opposite] if opposite and _is_taken_back(flow, opposite) else []))
    return leading_back


def _note_circles(drafts: Sequence[_Draft]) -> None:
    """Two opposite flows that name the same topics although copies of them may come back."""
    of_pairs = {(draft.flow.source, draft.flow.target): draft for draft in drafts if draft.flow and not draft.problems}
    for (source, target), draft in list(of_pairs.items()):
        opposite = of_pairs.get((target, source))
        if opposite is None or source > target or not draft.flow or not opposite.flow:
            continue
        one, other = draft.flow, opposite.flow
        excluded = {*one.value("topics.exclude"), *other.value("topics.exclude")}
        shared = [member for member in one.value("topics") if member in other.value("topics") and member not in excluded]
        different = [name for name in _NAMING if one.value(name) != other.value(name)]
        both = f"{one.name} and {other.name} name the same topics ('{shared[0]}')" if shared else ""
        notice = ""
        if shared and different:
            values = " and ".join(f"{_say_value(one, name)}, but {_say_value(other, name)}" for name in different)
            notice = (
                f"{both} and name remote topics differently ({values}), so neither knows the other's remote topics again and records may "
                "go round for ever, in MirrorMaker 2 too. Set replication.policy.* alike for both, or let them mirror different topics."
            )
        elif shared and _is_taken_back(one, other):
            notice = (
                f"{both}, and the name of a remote topic does not tell that it came from the other side. A topic that both take would go "
                "round for ever, as in MirrorMaker 2: every plan leaves it out (TopicGoesRound). Let them mirror different topics (topics, "
                "topics.exclude)."
            )
        if notice:
            draft.flow = replace(one, notices=(*one.notices, notice))
            opposite.flow = replace(other, notices=(*other.notices, notice))


def _refuse_renamed_circles(drafts: Sequence[_Draft]) -> None:
    """Flows that give topics other names on a circle of flows that keep them: what comes back has another name than what went, and nothing
    tells that it is the same."""
    circles = {flow.name for flow in _find_circles(filter(_keeps_names, _list_valid(drafts)))}
    for draft in drafts:
        if draft.flow and draft.name.name in circles and "mirror.rename" in draft.flow.connector:
            draft.refuse(
                draft.flow.connector["mirror.rename"].origin,
                f"flows that keep topic names lead from {draft.name.target} back to {draft.name.source}, where renamed topics are not "
                "recognised; rename in flows alone from which no way of flows that keep names leads back, or use the "
                "DefaultReplicationPolicy",
            )


def _refuse_idle_ways_back(drafts: Sequence[_Draft]) -> None:
    """Two flows that wait for each other's cutovers."""
    ways = {(flow.source, flow.target): flow for flow in _list_valid(drafts) if flow.value("mirror.way.back")}
    for draft in drafts:
        other = ways.get((draft.name.target, draft.name.source))
        if other and draft.flow and (draft.name.source, draft.name.target) in ways:
            draft.refuse(
                draft.flow.connector["mirror.way.back"].origin,
                f"{other.name} is a way back too (mirror.way.back), and a way back copies only what a cutover of its opposite moved, so "
                "neither ever copies a topic; set it for the one alone that brings moved topics back",
            )


def _keeps_names(flow: Flow) -> bool:
    return bool(flow.value("replication.policy.class") == IDENTITY_POLICY)


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


def _say_value(flow: Flow, name: str) -> str:
    setting = flow.connector.get(name)
    origin = "by default" if setting is None or setting.origin == DEFAULT else f"by {setting.origin}"
    return f"{name} of {flow.name} is '{flow.value(name)}' {origin}"


def _find_circles(candidates: Iterable[Flow]) -> list[Flow]:
    """The flows whose target leads back to their source, whatever the topics: in large meshes most do not, and are not looked at again."""
    flows = list(candidates)
    beyond = {flow.source: {flow.source} for flow in flows}
    grown = True
    while grown:
        grown = False
        for flow in flows:
            more = beyond.get(flow.target, {flow.target}) - beyond[flow.source]
            beyond[flow.source] |= more
            grown = grown or bool(more)
    return [flow for flow in flows if flow.source in beyond.get(flow.target, ())]
