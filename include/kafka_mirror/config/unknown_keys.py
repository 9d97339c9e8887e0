"""Which keys of a file are read, and the nearest name for the others.

A key is known if MirrorMaker 2 or the mirror reads it where it stands: at the top level, under a cluster or under a flow. That it has no
effect in batch is another matter (`effect`).

The nearest known name to an unknown one.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kafka_mirror.config.catalogue import CATALOGUE, OF_THE_FILE
from kafka_mirror.config.catalogue.mm2 import WORKER_NAMES
from kafka_mirror.config.clients.airflow_connection import CONNECTION
from kafka_mirror.config.clients.catalogue import CLIENT_KEYS, CLIENT_PROPERTIES, ROLES
from kafka_mirror.config.clients.mapping import is_known
from kafka_mirror.config.inheritance import WORKER_PREFIXES
from kafka_mirror.config.setting import Setting

# Read by Connect under these prefixes, whatever follows: topic settings, and what a converter or a provider wants.
_FREE_PREFIXES = ("offset.storage.", "config.storage.", "status.storage.", "key.converter.", "value.converter.", "header.converter.")
_FREE_FLOW_PREFIXES = ("topic.creation.", "transforms.", "predicates.", "key.converter.", "value.converter.", "header.converter.")
_SIDED = re.compile(r"(?:(?P<side>source|target)\.)?(?P<role>consumer|producer|admin)\.(?P<override>override\.)?(?P<name>.+)")
_ANY_FLOW = re.compile(r"(?P<source>.+?)->(?P<target>[^.]+)\.(?P<name>.+)")

# Names that Kafka 4.0 took away, and what took their place.
_REMOVED = {
    "topics.blacklist": "topics.exclude",
    "groups.blacklist": "groups.exclude",
    "config.properties.blacklist": "config.properties.exclude",
    "use.incremental.alter.configs": "",
    "add.source.alias.to.metrics": "",
    "auto.include.jmx.reporter": "",
}

# What MirrorMaker 1 and others call the lists: difflib would take a list of what is taken for one of what is left out.
_OTHER_WORDS = {
    **dict.fromkeys(("topics.whitelist", "topic.whitelist", "whitelist", "topics.include", "topics.regex", "topics.pattern"), "topics"),
    **dict.fromkeys(("topic.blacklist", "blacklist", "topics.blocklist", "topic.exclude"), "topics.exclude"),
    **dict.fromkeys(("groups.whitelist", "group.whitelist", "groups.include", "groups.pattern"), "groups"),
    **dict.fromkeys(("group.blacklist", "groups.blocklist", "group.exclude"), "groups.exclude"),
}
_BLANK = ", because a blank ends the key: the name of a flow has none"
_ARROW = re.compile("\u2192|\xe2\x86\x92|\u21d2|\xe2\x87\x92|--+>|[\u2013\u2014]>|\xe2\x80[\x93\x94]>")
"""Arrows that are not `->`: as such, and as a file in UTF-8 shows them to Java, which reads ISO-8859-1."""


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The known name that is most like this one, or None if none is like it."""
    close = difflib.get_close_matches(name, list(candidates), n=5, cutoff=0.6)
    # Swapped letters are the commonest slip, and difflib does not know it: to it 'esat' is as near to 'west' as to 'east'.
    return min(close, key=lambda candidate: edits(name, candidate), default=None)


def edits(one: str, other: str) -> int:
    """How many characters to insert, delete, change or swap with their neighbour (optimal string alignment distance)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, here in enumerate(one, start=1):
        before, above, row = row, before, [i]
        for j, there in enumerate(other, start=1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (here != there)))
            if i > 1 and j > 1 and (here, there) == (other[j - 2], one[i - 2]):
                row[j] = min(row[j], above[j - 2] + 1)
    return row[-1]


@dataclass(frozen=True)
class UnknownKey:
    """A key that is not read."""

    key: str
    name: str
    """Without the prefix of cluster or flow."""
    cluster: str = ""
    """The cluster whose prefix it has, if any."""
    flow: str = ""
    """The flow whose prefix it has, if any."""
    suggestion: str = ""
    """The nearest key that is read."""
    reason: str = ""
    text: str = field(default="", repr=False)
    """Its value."""

    @property
    def is_own(self) -> bool:
        """Whether it would be one of our own properties, of which none may be unknown."""
        return self.name.startswith("mirror.")

    @property
    def message(self) -> str:
        """For the user, after the key."""
        meant = f"; did you mean '{self.suggestion}'" if self.suggestion else ""
        if self.is_own:
            return (self.reason or "is not a property of the mirror") + meant
        return f"has no effect, in MirrorMaker 2 neither{self.reason}{meant}"


def unknown_keys(raw: Mapping[str, Setting], clusters: Iterable[str]) -> Iterator[UnknownKey]:
    """Every key of the file that is not read, in the file's order."""
    aliases = sorted(clusters, key=len, reverse=True)
    flows = [f"{source}->{target}" for source in aliases for target in aliases if source != target]
    for key in raw:
        unknown = _find_unknown(key, aliases, flows, raw[key].text)
        if unknown is not None:
            yield unknown


def _find_unknown(key: str, aliases: list[str], flows: list[str], text: str) -> UnknownKey | None:
    flow = next((flow for flow in flows if key.startswith(flow + ".")), "")
    if flow:
        name = key[len(flow) + 1 :]
        return None if _is_read_by_flow(name) else _add_nearest(UnknownKey(key, name, flow=flow), flow + ".", _list_flow_names(name))
    if _is_read_at_top(key):
        return None
    cluster = next((alias for alias in aliases if key.startswith(alias + ".")), "")
    if cluster:
        name = key[len(cluster) + 1 :]
        return None if _is_read_by_cluster(name) else _judge_cluster_key(UnknownKey(key, name, cluster=cluster))
    return _judge_top_level_key(UnknownKey(key, key, text=text), aliases)


def _judge_cluster_key(unknown: UnknownKey) -> UnknownKey:
    if unknown.name in CLIENT_PROPERTIES:
        roles = [role for role in ("consumer", "producer", "admin") if is_known(unknown.name, role)]
        return _explain(unknown, f"{unknown.cluster}.{roles[0]}.{unknown.name}", ", unless it says for which client")
    if unknown.name in CATALOGUE:
        return _explain(
            unknown, unknown.name, "belongs to a flow and not to a cluster" if unknown.is_own else ", because it belongs to a flow"
        )
    return _add_nearest(unknown, unknown.cluster + ".", _list_cluster_names(unknown.name))


def _judge_top_level_key(unknown: UnknownKey, aliases: list[str]) -> UnknownKey:
    if _ARROW.search(unknown.key):
        return _explain(unknown, _ARROW.sub("->", unknown.key), ", because the arrow of a flow is written '->'")
    if unknown.text.startswith("->"):
        return _explain(unknown, f"{unknown.key}{re.sub(r'^-> *', '->', unknown.text).partition(' ')[0].partition('=')[0]}", _BLANK)
    foreign = _ANY_FLOW.fullmatch(unknown.key)
    if foreign:
        missing = next((alias for alias in foreign.group("source", "target") if alias not in aliases), "")
        pair = [nearest(alias, aliases) or alias for alias in foreign.group("source", "target")]
        meant = f"{pair[0]}->{pair[1]}.{foreign.group('name')}" if set(pair) <= set(aliases) and pair[0] != pair[1] else ""
        reason = f", because '{missing}' is not in clusters" if missing else ", because a flow leads from one cluster to another"
        flow = f"{foreign.group('source')}->{foreign.group('target')}"
        return UnknownKey(unknown.key, foreign.group("name"), flow=flow, suggestion=meant, reason=reason)
    if unknown.name in CATALOGUE or _SIDED.fullmatch(unknown.name):
        where = "<cluster>" if _SIDED.fullmatch(unknown.name) else "<source>-><target>"
        return _explain(unknown, f"{where}.{unknown.name}", ", at the top level of the file")
    prefix, _, rest = unknown.key.partition(".")
    alias = nearest(prefix, aliases)
    if alias and _is_read_by_cluster(rest):
        return _explain(unknown, f"{alias}.{rest}", f", because '{prefix}' is not in clusters")
    return _add_nearest(unknown, "", _list_top_level_names())


def _add_nearest(unknown: UnknownKey, prefix: str, names: Iterable[str]) -> UnknownKey:
    if unknown.is_own:
        names = [name for name in CATALOGUE if name.startswith("mirror.")]
    meant = _OTHER_WORDS.get(unknown.name) or _REMOVED.get(unknown.name)
    if meant is None:
        meant = nearest(unknown.name, names)
    reason = " (Kafka 4.0 removed it)" if unknown.name in _REMOVED else ""
    return _explain(unknown, prefix + meant if meant else "", reason)


def _explain(unknown: UnknownKey, meant: str, reason: str) -> UnknownKey:
    return replace(unknown, suggestion=meant, reason=reason)


def _is_read_at_top(name: str) -> bool:
    return (
        name in OF_THE_FILE
        or name in CLIENT_KEYS
        or (name in CATALOGUE and CATALOGUE[name].top_level)
        or (name in WORKER_NAMES and name.startswith(WORKER_PREFIXES))
        or name.startswith(("config.providers", *_FREE_PREFIXES))
    )


def _is_read_by_cluster(name: str) -> bool:
    role, _, rest = name.partition(".")
    if role in ROLES and rest:
        return is_known(rest, role)
    return name in CLIENT_KEYS or name == CONNECTION or name in WORKER_NAMES or name.startswith(("config.providers", *_FREE_PREFIXES))


def _is_read_by_flow(name: str) -> bool:
    if name in CATALOGUE or name.startswith(("config.providers", *_FREE_FLOW_PREFIXES)):
        return True
    for side in ("source", "target"):
        if name.startswith(f"{side}.cluster."):
            return name[len(f"{side}.cluster.") :] in (*CLIENT_KEYS, CONNECTION)
    sided = _SIDED.fullmatch(name)
    return sided is not None and is_known(sided.group("name"), sided.group("role"))


def _list_top_level_names() -> list[str]:
    return [name for name in (*CATALOGUE, *CLIENT_KEYS, *OF_THE_FILE) if name not in CATALOGUE or CATALOGUE[name].top_level]


def _list_cluster_names(name: str) -> list[str]:
    role = name.partition(".")[0]
    if role in ROLES:
        return [f"{role}.{setting}" for setting in (*CLIENT_PROPERTIES, *CLIENT_KEYS) if is_known(setting, role)]
    return [*CLIENT_KEYS, CONNECTION, *WORKER_NAMES]


def _list_flow_names(name: str) -> list[str]:
    sided = _SIDED.fullmatch(name)
    if sided:
        prefix = name[: -len(sided.group("name"))]
        return [prefix + setting for setting in (*CLIENT_PROPERTIES, *CLIENT_KEYS) if is_known(setting, sided.group("role"))]
    return [*CATALOGUE, *(f"{side}.cluster.{key}" for side in ("source", "target") for key in CLIENT_KEYS)]
