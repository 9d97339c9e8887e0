"""What flows of opposite directions have to agree upon.

Of one flow the three connectors get the same properties, so a file cannot make them disagree. Two flows can: with other names for remote
topics, neither knows the other's again, and what was mirrored is mirrored back.

Cycles of flows that keep topic names.

With the IdentityReplicationPolicy nothing says where a record comes from, so in a cycle it would go round for ever.

Whether flows may choose the same topic, judged by their `topics` and `topics.exclude` alone: no broker is asked.

Every member of the two lists is a pattern, as in the filter that chooses topics: `orders.v1` takes `orders-v1` as well.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from mirror.config.catalogue.mm2 import DEFAULT_POLICY, IDENTITY_POLICY
from mirror.config.flow import Flow
from mirror.config.patterns import compile_pattern, have_common_name
from mirror.config.setting import DEFAULT

_ONE_NAME = re.compile(r"(?:[A-Za-z0-9_-]|\\[.-])+")
_REACHES_FURTHER = ("(?", r"\Q")
"""A member with one of these may change what the members behind it mean."""

_NEVER_MIRRORED = r"(__|\.).*"
"""Names that every replication policy takes for internal (`ReplicationPolicy.isInternalTopic`)."""

_NAMING = ("replication.policy.class", "replication.policy.separator")


@dataclass(frozen=True)
class Choice:
    """What a flow chooses among the topics of its source."""

    included: tuple[str, ...]
    excluded: tuple[str, ...]

    @classmethod
    def of(cls, flow: Flow) -> "Choice":
        """By `topics` and `topics.exclude`."""
        return cls(flow.value("topics"), flow.value("topics.exclude"))

    @cached_property
    def names(self) -> frozenset[str]:
        """The members that are the pattern of one name each: they are looked up, which is quick for long lists too."""
        return frozenset(member.replace("\\", "") for member in self.included if self._stands_alone and _ONE_NAME.fullmatch(member))

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """The other members."""
        return tuple(member for member in self.included if not (self._stands_alone and _ONE_NAME.fullmatch(member)))

    def takes(self, name: str) -> bool:
        """Whether a topic is chosen."""
        return _matches(self.included, name) and not _matches((*self.excluded, _NEVER_MIRRORED), name)

    @cached_property
    def _stands_alone(self) -> bool:
        """Whether each member means by itself what it means among the others."""
        try:
            for member in self.included:
                compile_pattern(member)
        except ValueError:
            return False
        return not any(mark in member for member in self.included for mark in _REACHES_FURTHER)


def may_share(choices: Sequence[Choice]) -> bool:
    """Whether one topic may be in all of them: exactly, but for patterns that no automaton can express; there it may say so in vain."""
    return _may_share(frozenset(choices))


@lru_cache(maxsize=10_000)
def _may_share(choices: frozenset[Choice]) -> bool:
    names = frozenset[str]().union(*(choice.names for choice in choices))
    if any(all(choice.takes(name) for choice in choices) for name in names):
        return True
    if not all(choice.patterns for choice in choices):
        return False
    excluded = [_joined(choice.excluded) for choice in choices if choice.excluded]
    return have_common_name([_joined(choice.patterns) for choice in choices], [*excluded, _NEVER_MIRRORED])


def _joined(members: Sequence[str]) -> str:
    return "|".join(members)


def _matches(members: Sequence[str], name: str) -> bool:
    return bool(members) and compile_pattern(_joined(members)).matches(name)


def naming_disagreements(flows: Iterable[Flow]) -> Iterator[tuple[Flow, Flow, str]]:
    """Two flows of opposite directions that name remote topics differently and may choose the same ones, and what to say of them."""
    known = {(flow.source, flow.target): flow for flow in flows}
    for (source, target), one in known.items():
        other = known.get((target, source))
        if other is None or source > target:
            continue
        different = [name for name in _NAMING if one.value(name) != other.value(name)]
        if different and may_share([Choice.of(one), Choice.of(other)]):
            values = " and ".join(f"{_shown(one, name)}, but {_shown(other, name)}" for name in different)
            yield (
                one,
                other,
                f"{one.name} and {other.name} name remote topics differently ({values}), so neither knows the other's remote topics again "
                "and records may go round for ever, in MirrorMaker 2 too. Set replication.policy.* alike for both, or let them mirror "
                "different topics.",
            )


def unseen_cycles(flows: Iterable[Flow]) -> dict[str, str]:
    """Name of each flow whose topics come back to it unseen -> why. The DefaultReplicationPolicy tells where a topic came from by what
    stands before the first separator, which is no alias if an alias has a separator itself."""
    plain = {(flow.source, flow.target): flow for flow in flows if flow.value(_NAMING[0]) == DEFAULT_POLICY}
    found = {}
    for (source, target), one in plain.items():
        separator, other = one.value(_NAMING[1]), plain.get((target, source))
        unclear = [alias for alias in (source, target) if separator in alias]
        if other is not None and unclear and may_share([Choice.of(one), Choice.of(other)]):
            found[one.name] = (
                f"the alias '{unclear[0]}' has the separator '{separator}' in it, so nobody can tell by a topic's name that it came from "
                f"there, and {one.name} and {other.name} would mirror each other's remote topics"
            )
    return found


def idle_ways_back(flows: Iterable[Flow]) -> dict[str, str]:
    """Name of each flow that is the way back of one that is its own way back -> why neither copies anything."""
    ways = {(flow.source, flow.target): flow for flow in flows if flow.value("mirror.way.back")}
    return {
        flow.name: f"{other.name} is a way back too (mirror.way.back), and a way back copies only what a cutover of its opposite moved, so "
        "neither ever copies a topic"
        for (source, target), flow in ways.items()
        if (other := ways.get((target, source))) is not None
    }


def _shown(flow: Flow, name: str) -> str:
    setting = flow.connector.get(name)
    origin = "by default" if setting is None or setting.origin == DEFAULT else f"by {setting.origin}"
    return f"{name} of {flow.name} is '{flow.value(name)}' {origin}"


def identity_cycles(flows: Iterable[Flow]) -> dict[str, str]:
    """Name of each flow that is part of such a cycle -> the cycle, written out ('east -> west -> east'); of several the shortest."""
    able = _on_circles([flow for flow in flows if flow.value("replication.policy.class") == IDENTITY_POLICY])
    choices = {flow: Choice.of(flow) for flow in able}
    found: dict[str, str] = {}
    for start in able:
        if start.name not in found:
            cycle = _shortest_cycle(start, choices)
            text = " -> ".join([start.source, *(flow.target for flow in cycle)])
            for flow in cycle:
                found.setdefault(flow.name, text)
    return found


def renamed_circles(flows: Iterable[Flow]) -> dict[str, str]:
    """Name of each flow that renames topics on a circle of flows which keep names otherwise -> why it cannot: what comes back has another
    name than what went, and nothing tells that it is the same."""
    keeping = [flow for flow in flows if flow.value("replication.policy.class") == IDENTITY_POLICY]
    return {
        flow.name: f"flows that keep topic names lead from {flow.target} back to {flow.source}, where nobody knows renamed topics again"
        for flow in _on_circles(keeping)
        if "mirror.rename" in flow.connector
    }


def _is_way_back(path: Sequence[Flow]) -> bool:
    """Whether it leads forth and back by a flow that copies only what a cutover took from the other one: no topic goes both ways at once.
    A longer way round is one all the same, for a flow in between knows of no cutover."""
    return len(path) == 2 and any(flow.value("mirror.way.back") for flow in path)


def _on_circles(flows: Sequence[Flow]) -> list[Flow]:
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


def _shortest_cycle(start: Flow, choices: Mapping[Flow, Choice]) -> list[Flow]:
    """The flows of the shortest way round that begins with `start` and that one topic may take; empty if there is none."""
    onwards: dict[str, list[Flow]] = {}
    for flow in choices:
        onwards.setdefault(flow.source, []).append(flow)
    paths = deque([[start]])
    while paths:
        path = paths.popleft()
        if path[-1].target == start.source:
            if _is_way_back(path):
                continue
            return path
        been = {flow.target for flow in path}
        for following in onwards[path[-1].target]:
            longer = [*path, following]
            if following.target not in been and may_share([choices[flow] for flow in longer]):
                paths.append(longer)
    return []
