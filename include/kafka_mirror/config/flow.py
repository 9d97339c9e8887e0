"""One flow: its flattened properties, and what the rest of the mirror asks of them.

What a flow is called: towards people, in Airflow, in messages.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, get_args

from kafka_mirror.config import inheritance
from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.config.catalogue.values import EARLIEST, reset_position, start_position, word_for
from kafka_mirror.config.clients.airflow_connection import CONNECTION, CONNECTION_TYPE, ConnectionSettings, connection_settings
from kafka_mirror.config.clients.mapping import client_settings
from kafka_mirror.config.file import locate_problems
from kafka_mirror.config.references import EXTRA, HANDED_OVER, References, has_reference
from kafka_mirror.config.setting import Client, MappedSettings, Setting, Texts
from kafka_mirror.config.unknown_keys import nearest
from kafka_mirror.errors import ConfigurationError, Problem, UsageError

_NOT_FOR_AIRFLOW = re.compile(r"[^A-Za-z0-9_.-]")

Side = Literal["source", "target"]
Role = Literal["admin", "consumer", "producer"]
CLIENTS: tuple[tuple[Side, Role], ...] = tuple(product(get_args(Side), get_args(Role)))
_FALLBACK_WORDS = {"mirror.on.gap": "fail", "mirror.on.unexplained.target": "fail", "mirror.backfill.on.wild.timestamp": "fail"}


def airflow_id(text: str) -> str:
    """A text in the characters that Airflow takes for an id; any other becomes '_'."""
    return _NOT_FOR_AIRFLOW.sub("_", text)


@dataclass(frozen=True)
class FlowName:
    """One direction between two clusters. Base of `Flow` and `InvalidFlow`, which thereby have the same DAG ids."""

    source: str
    target: str

    @property
    def name(self) -> str:
        """'east->west', as in the file."""
        return f"{self.source}->{self.target}"

    @property
    def airflow_name(self) -> str:
        """'east-to-west': the name in the characters that Airflow takes; any other became '_'."""
        return airflow_id(f"{self.source}-to-{self.target}")

    def dag_id(self, what: str) -> str:
        """The id of one of the flow's DAGs, such as 'east-to-west.copy'."""
        return f"{self.airflow_name}.{what}"

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the flow's DAGs."""
        return ("mirror", self.name)


@dataclass(frozen=True, repr=False)
class Flow(FlowName):
    """An enabled, valid flow. Immutable; nothing in it is resolved before `value` or `client` asks, and its text shows no value."""

    connector: Mapping[str, Setting]
    """The connectors' map (§1.6 of the specification), each value with the key that the user wrote."""
    worker_settings: Mapping[str, Setting]
    """The flattened properties of the Connect worker (§1.5), references unresolved."""
    references: References
    notices: tuple[str, ...] = field(default=())
    file: str = ""
    """The file that the flow stands in."""
    files: tuple[str, ...] = ()
    """All files of its configuration: this one, and those beside it."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Key of that file -> the number of its line, for messages."""
    clusters: tuple[str, ...] = ()
    """The aliases of all clusters of that file."""
    opposite: "Flow | None" = None
    """The enabled flow of the other direction, whose remote topics stand on this one's source; it has no `opposite` itself."""
    leading_back: "tuple[Flow, ...]" = ()
    """The enabled flows by which copies of this one's topics may come back to its source; they have none themselves."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.config_hash})"

    def __hash__(self) -> int:
        return hash((self.name, self.config_hash))

    @cached_property
    def properties(self) -> Mapping[str, str]:
        """The flattened properties of the connectors, references unresolved. Its values may be secrets: never show them."""
        return Texts((name, setting.text) for name, setting in self.connector.items())

    @cached_property
    def worker(self) -> Mapping[str, str]:
        """The flattened properties of the Connect worker, from which the data producer's come, references unresolved."""
        return Texts((name, setting.text) for name, setting in self.worker_settings.items())

    @cached_property
    def config_hash(self) -> str:
        """12 hexadecimal digits that change with any property of the flow (not with what a reference leads to)."""
        renamed_there = [self.opposite.properties["mirror.rename"]] if self.opposite and "mirror.rename" in self.opposite.properties else []
        back = [flow.config_hash for flow in self.leading_back]
        text = json.dumps([self.source, self.target, self.properties, self.worker, *renamed_there, *back], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    def value(self, name: str) -> Any:
        """The value of a property of the catalogue, typed, default applied, references resolved now.

        Raises KeyError for a name not in the catalogue, ConfigurationError if a reference is unreadable or leads to a wrong value.
        """
        definition = CATALOGUE[name]
        setting = self.connector.get(name)
        if setting is None:
            return self.value(definition.default_from) if definition.default_from else definition.default
        return self._parse(setting, definition.parse)

    def text(self, name: str) -> str:
        """The text of a property that is set, blanks and all, references resolved now: what MM2 hands to a policy. Raises as `value`."""
        return self._resolve(self.connector[name]).text

    def per_topic(self, name: str, topic: str) -> Any:
        """The word that a per-topic property has for a topic; a StartPosition for mirror.start. Raises as `value`."""
        word = word_for(self.value(name), topic)
        if name == "mirror.start":
            reset = self.java_settings("source", "consumer").get("auto.offset.reset")
            if word is not None:
                return start_position(word)
            return self._parse(reset, reset_position) if reset else EARLIEST
        return word if word is not None else _FALLBACK_WORDS[name]

    def client(self, side: Side, role: Role) -> dict[str, Any]:
        """librdkafka's settings for one of the flow's clients, references resolved now; ('target', 'producer') writes the records.

        They hold secrets: never log them, never put them into XCom. Raises ConfigurationError with everything that is wrong with them.
        """
        return self.map_client(side, role).settings

    @property
    def reads_committed(self) -> bool:
        """Whether only what is committed on the source is copied: isolation.level of its consumer, which unlike MM2's is read_committed by
        default. Raises as `client`."""
        return bool(self.client("source", "consumer").get("isolation.level") != "read_uncommitted")

    @property
    def request_seconds(self) -> float:
        """How long one request to a cluster may take (admin.timeout.ms). Raises as `value`."""
        return float(self.value("admin.timeout.ms") / 1000)

    def map_client(self, side: Side, role: Role) -> MappedSettings:
        """The client's settings, with the Java settings that each comes from."""
        resolved: dict[str, Setting] = {}
        problems: list[Problem] = []
        for name, setting in self.java_settings(side, role).items():
            try:
                resolved[name] = self._resolve(setting)
            except ConfigurationError as error:
                # What cannot be read is reported as such, and not as missing.
                resolved[name] = setting._replace(unresolved=True)
                problems += error.problems
        mapped = client_settings(resolved, self.as_client(side, role, files=True), self._find_connection(resolved, problems))
        problems += [self._explain_quoting(problem, side, role) for problem in mapped.problems]
        if problems:
            raise self.unusable(problems)
        return mapped

    def _explain_quoting(self, problem: Problem, side: Side, role: Role) -> Problem:
        """The problem; of a login module that cannot be read, with the references that put a quote or a backslash into it."""
        setting = self.java_settings(side, role).get("sasl.jaas.config")
        if setting is None or problem.property != setting.origin or not has_reference(setting.text):
            return problem
        odd = [written for written, value in self.references.values(setting).items() if '"' in value or "\\" in value]
        if not odd:
            return problem
        advice = 'it is put in before the line is read, in MirrorMaker 2 too, so write \\" and \\\\ there'
        return replace(problem, message=f"{problem.message}; what {' and '.join(odd)} gives has a quote or a backslash in it: {advice}")

    def _find_connection(self, resolved: Mapping[str, Setting], problems: list[Problem]) -> ConnectionSettings | None:
        """What the Airflow connection says that stands for the whole cluster; None where none does, or it cannot be read."""
        setting = resolved.get(CONNECTION)
        if setting is None or setting.unresolved:
            return None
        try:
            return connection_settings(self.references.extra_of(setting, CONNECTION_TYPE), setting)
        except ConfigurationError as error:
            problems += error.problems
            return None

    def unusable(self, problems: Iterable[Problem]) -> ConfigurationError:
        """The error that names all of these, each once, with file and line."""
        return ConfigurationError(locate_problems(problems, self.file, self.lines), file=self.file, flow=self.name)

    def as_client(self, side: Side, role: Role, files: bool = False) -> Client:
        """How the mapping of settings knows a client of this flow."""
        return Client(self.name, self.source if side == "source" else self.target, side, role, files)

    def java_settings(self, side: Side, role: Role) -> Mapping[str, Setting]:
        """The settings of a client by their Java names, unresolved, as MM2 would give them to it."""
        if (side, role) == ("target", "producer"):
            return inheritance.data_producer_properties(self.worker_settings, self.connector)
        return inheritance.client_properties(self.connector, side, role)

    def find_bootstrap(self, side: Side) -> str:
        """The bootstrap servers of a side, for messages. Raises ConfigurationError if a reference in them cannot be read."""
        connection = self.connector.get(f"{side}.cluster.{CONNECTION}")
        if connection is not None:
            resolved = self._resolve(connection)
            return str(self.references.extra_of(resolved, CONNECTION_TYPE).get("bootstrap.servers", ""))
        setting = self.connector.get(f"{side}.cluster.bootstrap.servers")
        return self.references.resolve(setting) if setting else ""

    def _parse(self, setting: Setting, parse: Callable[[str], Any]) -> Any:
        resolved = self._resolve(setting)
        try:
            return parse(resolved.text)
        except ValueError as error:
            # The complaint may quote the text, and what a reference leads to may be a secret.
            complaint = "what its reference leads to is not a valid value" if resolved.hidden else str(error)
            raise self.unusable([Problem(setting.origin, complaint, resolved.display_text)]) from None

    def _resolve(self, setting: Setting) -> Setting:
        try:
            text = self.references.resolve(setting)
        except ConfigurationError as error:
            raise self.unusable(error.problems) from None
        return setting._replace(text=text, hidden=has_reference(setting.text))


@dataclass(frozen=True)
class InvalidFlow(FlowName):
    """A flow that is enabled but cannot run; it keeps its DAG ids, so that its DAGs can say so."""

    error: ConfigurationError
    flow: Flow | None = None
    """The flow as the file has it, if the file says enough for one."""
    notices: tuple[str, ...] = ()
    namesake: int = 0
    """With several flows of one id: which of them this is, so that even then no two DAGs share an id."""

    @property
    def airflow_name(self) -> str:
        """As of a valid flow, but numbered if another flow has the same."""
        return super().airflow_name + (f"_{self.namesake + 1}" if self.namesake else "")


@dataclass(frozen=True)
class Configuration:
    """Everything the files say: the enabled flows, valid and invalid, and what to tell the user."""

    flows: tuple[Flow, ...]
    invalid: tuple[InvalidFlow, ...]
    notices: tuple[str, ...]
    unreadable: tuple[ConfigurationError, ...] = ()
    """One error for each file that gives nothing: it cannot be read, or has no clusters."""
    only_beating: tuple[Flow, ...] = ()
    """Pairs that are no enabled flows, and for which MirrorMaker 2 emits heartbeats all the same. Nothing else is done for them."""
    invalid_beating: tuple[InvalidFlow, ...] = ()
    """Those of them that cannot run."""
    kind: Literal["enabled", "beating"] = "enabled"
    """What `flows` are, for messages."""

    @property
    def all_names(self) -> tuple[FlowName, ...]:
        """Every pair that it enables, valid or not, and those that only beat."""
        return (*self.flows, *self.invalid, *self.only_beating, *self.invalid_beating)

    def for_heartbeats(self) -> "Configuration":
        """With the pairs that beat for its flows: enabled ones whose `emit.heartbeats.enabled` is true, and those that do nothing
        else."""
        beating = tuple(flow for flow in self.flows if flow.value("emit.heartbeats.enabled"))
        return replace(self, flows=(*beating, *self.only_beating), invalid=(*self.invalid, *self.invalid_beating), kind="beating")

    def flow(self, name: str) -> Flow:
        """The flow of this name ('east->west').

        Raises its ConfigurationError if it is invalid or may stand in a file that cannot be read, UsageError if there is none.
        """
        for flow in self.flows:
            if flow.name == name:
                return flow
        for invalid in self.invalid:
            if invalid.name == name:
                raise invalid.error
        if self.unreadable:
            raise self.unreadable[0]
        names = [flow_name.name for flow_name in (*self.flows, *self.invalid)]
        near = nearest(name, names)
        hint = f"Did you mean '{near}'? " if near else ""
        switch = "enabled" if self.kind == "enabled" else "emit.heartbeats.enabled"
        none = f"No flow is {self.kind}; set '<source>-><target>.{switch}=true'."
        there = f"{hint}The {self.kind} flows are: {', '.join(names)}." if names else none
        raise UsageError(f"There is no {self.kind} flow '{name}'.", next=there)


def hand_over_connections(flow: "Flow") -> dict[str, str]:
    """What the environment of a job's process has to hold beside everything else: nothing, or one variable, which holds secrets.

    Raises ConfigurationError with every reference that cannot be read.
    """

    values: dict[str, str] = {}
    problems: list[Problem] = []
    for side, role in CLIENTS:
        for name, setting in flow.java_settings(side, role).items():
            try:
                values |= flow.references.find_connection_values(setting)
                if name == CONNECTION:
                    resolved = setting._replace(text=flow.references.resolve(setting))
                    extra = flow.references.extra_of(resolved, CONNECTION_TYPE)
                    values[f"{resolved.text.strip()}:{EXTRA}"] = json.dumps(extra)
            except ConfigurationError as error:
                problems += error.problems
    if problems:
        raise flow.unusable(problems)
    return {HANDED_OVER: json.dumps(values)} if values else {}
