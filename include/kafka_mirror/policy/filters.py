"""Which topics, groups and topic configs a flow takes (KIP-382).

The members of a list are joined by `|` and have to match the whole name, an exclude wins, and an empty include takes nothing. As in
MirrorMaker 2, an inline flag or an open group in one member therefore reaches into the next.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from kafka_mirror.errors import ConfigurationError, Problem
from kafka_mirror.policy.java_regex import JavaPattern, compile_java

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
