"""Which topics, groups and topic configs a flow takes (KIP-382), and which patterns of a list take nothing now.

The members of a list are joined by `|` and have to match the whole name, an exclude wins, and an empty include takes nothing. As in
MirrorMaker 2, an inline flag or an open group in one member therefore reaches into the next.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from kafka_mirror.errors import ConfigurationError, Problem
from kafka_mirror.errors.words import first_few
from kafka_mirror.policy.java_regex import JavaPattern, compile_java
from kafka_mirror.policy.possible_names import printable

_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]+")


class TopicFilter(ABC):
    """Derive from it, taking the flow's properties in the constructor, to choose topics in another way."""

    @abstractmethod
    def should_replicate(self, topic: str) -> bool:
        """Whether a topic of the source is mirrored."""

    @property
    def literal_names(self) -> tuple[str, ...]:
        """The topics that the configuration spells out, if it does; they are expected to be visible on the source."""
        return ()

    @property
    def members(self) -> tuple[str, ...]:
        """The patterns by which it takes topics, if it does; each is expected to take one."""
        return ()


class GroupFilter(ABC):
    """Derive from it, taking the flow's properties in the constructor, to choose groups in another way."""

    @abstractmethod
    def should_replicate(self, group: str) -> bool:
        """Whether the offsets of a consumer group of the source are translated."""

    @property
    def members(self) -> tuple[str, ...]:
        """The patterns by which it takes groups, if it does; each is expected to take one."""
        return ()


class ConfigPropertyFilter(ABC):
    """Derive from it, taking the flow's properties in the constructor, to choose topic configs in another way."""

    @abstractmethod
    def should_replicate(self, name: str) -> bool:
        """Whether a topic config of this name is carried over."""

    @property
    def use_defaults_from_source(self) -> bool:
        """Whether values that are not set on the source are carried over too."""
        return False


class _NameFilter:
    def __init__(self, include: JavaPattern | None, exclude: JavaPattern | None) -> None:
        self._include = include
        self._exclude = exclude

    def should_replicate(self, name: str) -> bool:
        included = self._include is not None and self._include.matches(name)
        return included and not (self._exclude is not None and self._exclude.matches(name))


class DefaultTopicFilter(_NameFilter, TopicFilter):
    """By `topics` and `topics.exclude`."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        super().__init__(*_compile_patterns(("topics", include), ("topics.exclude", exclude)))
        self._members = tuple(include)
        self._literal_names = tuple(member for member in include if _TOPIC_NAME.fullmatch(member))

    @property
    def literal_names(self) -> tuple[str, ...]:
        """The members of `topics` that are written like a name (a dot in them is taken for a dot)."""
        return self._literal_names

    @property
    def members(self) -> tuple[str, ...]:
        """The members of `topics`."""
        return self._members


class DefaultGroupFilter(_NameFilter, GroupFilter):
    """By `groups` and `groups.exclude`."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        super().__init__(*_compile_patterns(("groups", include), ("groups.exclude", exclude)))
        self._members = tuple(include)

    @property
    def members(self) -> tuple[str, ...]:
        """The members of `groups`."""
        return self._members


class DefaultConfigPropertyFilter(ConfigPropertyFilter):
    """By `config.properties.exclude` and `use.defaults.from`."""

    def __init__(self, exclude: Sequence[str], use_defaults_from: str = "target") -> None:
        (self._exclude,) = _compile_patterns(("config.properties.exclude", exclude))
        self._use_defaults_from_source = use_defaults_from == "source"

    def should_replicate(self, name: str) -> bool:
        """Whether no member of the list matches the name."""
        return self._exclude is None or not self._exclude.matches(name)

    @property
    def use_defaults_from_source(self) -> bool:
        """Whether `use.defaults.from` is `source`; every other word means the target."""
        return self._use_defaults_from_source


def _compile_patterns(*lists: tuple[str, Sequence[str]]) -> tuple[JavaPattern | None, ...]:
    """Each list as one pattern, None for an empty one. Raises ConfigurationError with all that cannot be compiled."""
    patterns: list[JavaPattern | None] = []
    problems: list[Problem] = []
    for name, members in lists:
        try:
            patterns.append(compile_java("|".join(members)) if members else None)
        except ValueError as error:
            problems.append(Problem(name, f"is no Java regular expression: {error}", _name_culprit(members)))
    if problems:
        raise ConfigurationError(problems)
    return tuple(patterns)


def _name_culprit(members: Sequence[str]) -> str:
    """The first member that cannot be compiled by itself; all of them if only their joint is wrong."""
    for member in members:
        try:
            compile_java(member)
        except ValueError:
            return member
    return ", ".join(members)


_REACHES_FURTHER = ("(?i)", "(?-i)")
_LISTED = 10


@dataclass(frozen=True)
class IdleMembers:
    """The members of a list that take nothing now; without any, the whole of an empty list or of a filter of one's own."""

    list: str
    """The property."""
    kind: str
    """What it chooses, such as `topic`."""
    cluster: str
    """Where that is looked for."""
    members: tuple[str, ...] = ()
    is_whole_list: bool = False
    """Whether nothing at all is taken."""
    is_expected: bool = False
    """Whether the list would take any name: then it waits for the first one, and nothing is wrong with it."""

    def __str__(self) -> str:
        if self.is_whole_list and not self.members and self.list.endswith(".class"):
            return f"No {self.kind} of {self.cluster} is taken by {self.list}: nothing comes until one is."
        listed = first_few((f"'{printable(member)}'" for member in self.members), most=_LISTED)
        if not self.is_whole_list:
            return f"{self.list}: no {self.kind} of {self.cluster} is taken by {listed}; all that others take is."
        if self.is_expected:
            return f"{self.cluster} has no {self.kind} yet that this flow takes ({self.list}); the first one that comes is taken."
        return f"No {self.kind} of {self.cluster} is taken by {self.list} ({listed or 'empty'}): nothing comes until one is."

    @property
    def is_amiss(self) -> bool:
        """Whether a person has to look: nothing is taken, though the list names something."""
        return self.is_whole_list and not self.is_expected


def idle_members(
    property_name: str,
    members: Sequence[str],
    kind: str,
    cluster: str,
    names: Collection[str],
    takes: Callable[[str], bool],
) -> IdleMembers | None:
    """The members for which no name is found that they match and the whole flow `takes`; None if there is one for each. Without members
    (a filter of one's own) any name will do."""
    patterns = _find_unshared(members)
    idle = tuple(pattern for pattern in patterns if not _has_match(pattern, names, takes))
    is_whole_list = len(idle) == len(patterns) if patterns else not any(map(takes, names))
    if not idle and not is_whole_list:
        return None
    return IdleMembers(property_name, kind, cluster, idle, is_whole_list, is_whole_list and takes("any-name.0"))


def _has_match(pattern: str, names: Collection[str], takes: Callable[[str], bool]) -> bool:
    if pattern in names and takes(pattern):
        return True
    matches = compile_java(pattern).matches
    return any(matches(name) and takes(name) for name in names)


def _find_unshared(members: Sequence[str]) -> Sequence[str]:
    """The members, if each means alone what it means beside the others; else all of them as the one pattern that they are."""
    try:
        for member in members:
            compile_java(member)
    except ValueError:
        return ["|".join(members)]
    return ["|".join(members)] if any(mark in member for member in members for mark in _REACHES_FURTHER) else members
