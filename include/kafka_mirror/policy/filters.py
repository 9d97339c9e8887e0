"""Which topics, groups and topic configs a flow takes (KIP-382); and which patterns of a list take nothing now, or never will.

The members of a list are joined by `|` and have to match the whole name, an exclude wins, and an empty include takes nothing. As in
MirrorMaker 2, an inline flag or an open group in one member therefore reaches into the next. A pattern with a quote or a blank in it never
matches the name of a topic.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from kafka_mirror.errors import ConfigurationError, Problem
from kafka_mirror.errors.words import first_few
from kafka_mirror.policy.java_regex import LINE_ENDS, JavaPattern, Ranges, Token, compile_java, tokens

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
    """By two lists of the configuration: what it takes, and what of that it does not."""

    def __init__(self, name: str, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include, self._exclude = _compile_patterns((name, include), (f"{name}.exclude", exclude))
        self._members = tuple(include)

    def should_replicate(self, name: str) -> bool:
        included = self._include is not None and self._include.matches(name)
        return included and not (self._exclude is not None and self._exclude.matches(name))

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the list that includes."""
        return self._members


class DefaultTopicFilter(_NameFilter, TopicFilter):
    """By `topics` and `topics.exclude`."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        super().__init__("topics", include, exclude)
        self._literal_names = tuple(member for member in include if _TOPIC_NAME.fullmatch(member))

    @property
    def literal_names(self) -> tuple[str, ...]:
        """The members of `topics` that are written like a name (a dot in them is taken for a dot)."""
        return self._literal_names


class DefaultGroupFilter(_NameFilter, GroupFilter):
    """By `groups` and `groups.exclude`."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        super().__init__("groups", include, exclude)


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


# ------------------------------------------------------------ names that no pattern can match

IN_NAMES: Ranges = [(0x2D, 0x2E), (0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]
"""The characters of topics' names, and of the names of their configs: letters, digits, `.`, `_` and `-`."""
ANY_TEXT: Ranges = [(0, 0x10FFFF)]
"""Those of group ids and subjects, which may be any text."""
LONGEST = 249
"""How long Kafka lets a topic's name be."""
Names = Literal["topic", "config", "group", "subject"]
"""What the names are of that a pattern chooses from."""

_ADVICE = (
    "Such names hold letters, digits, '.', '_' and '-' alone; write a list without quotes, with commas between its members, and "
    r"\\ for one backslash"
)


@dataclass
class _GroupLength:
    """An open group, and the alternative of it that is being read."""

    begun: bool
    """Whether a character stands before it in any case: no `^` matches after that."""
    ended: bool
    """Whether `$` stands before it: after that a line may end, and nothing else comes."""
    looks: bool = False
    shortest: float = inf
    """The length of the shortest text that matches an alternative that was read; `inf`: none does."""
    length: float = 0
    """The same of what was read of this alternative."""
    before_last: float = 0
    """The same without its last piece, which a count may repeat."""
    ended_here: bool = False
    culprits: list[str] = field(default_factory=list)
    """What can match nothing, as it is written."""
    culprits_before_last: int = 0

    def add(self, length: float) -> None:
        """A piece whose shortest match is so long."""
        self.before_last, self.length = self.length, self.length + length

    def end_alternative(self) -> None:
        """At `|`, or at the end of the group."""
        self.shortest = min(self.shortest, self.length)
        self.length, self.ended_here = 0, False


def matches_nothing(pattern: str, of: Names) -> str | None:
    """Why no name of this kind can ever match a pattern that compiles, with what to write; None if one may."""
    is_strict = of in ("topic", "config")
    why = explain_impossible(pattern, IN_NAMES, LONGEST) if is_strict else explain_impossible(pattern, ANY_TEXT)
    if not why:
        return None
    return f"no {of} can ever match '{printable(pattern)}': {why}. {_ADVICE if is_strict else ''}".rstrip()


def explain_impossible(pattern: str, letters: Ranges, longest: float = inf) -> str:
    """Why no name of these letters matches a pattern that `compile_java` takes; empty if one may. Look-around is taken for matched."""
    groups = [_GroupLength(False, False)]
    for token in tokens(pattern):
        group = groups[-1]
        if token.kind in ("one", "anchor", "open"):
            group.culprits_before_last = len(group.culprits)
        match token:
            case Token("one"):
                _take_one(token, group, letters)
            case Token("anchor"):
                _take_anchor(token, group)
            case Token("count"):
                _take_count(token, group)
            case Token("or"):
                group.end_alternative()
            case Token("open"):
                groups.append(_GroupLength(group.begun or group.length > 0, group.ended or group.ended_here, token.looks))
            case Token("close"):
                group.end_alternative()
                groups.pop()
                groups[-1].add(0 if group.looks else group.shortest)
                groups[-1].culprits += [] if group.looks else group.culprits
    whole = groups[0]
    whole.end_alternative()
    if whole.shortest == inf:
        return f"'{printable(whole.culprits[0])}' cannot stand there"
    return f"it takes {whole.shortest:g} characters at least, and a name has at most {longest}" if whole.shortest > longest else ""


def _take_one(token: Token, group: _GroupLength, letters: Ranges) -> None:
    allowed = _intersect(letters, LINE_ENDS) if group.ended or group.ended_here else letters
    possible = bool(_intersect(token.ranges, allowed))
    group.culprits += [] if possible else [token.text]
    group.add(1 if possible else inf)


def _take_anchor(token: Token, group: _GroupLength) -> None:
    if token.text == "$":
        group.ended_here = True
    dead = token.text == "^" and (group.begun or group.length > 0)
    group.culprits += [token.text] if dead else []
    group.add(inf if dead else 0)


def _take_count(token: Token, group: _GroupLength) -> None:
    least, last = token.often[0], group.length - group.before_last if group.length < inf else inf
    if least == 0:
        del group.culprits[group.culprits_before_last :]
    group.length = group.before_last + (least * last if least else 0)


def _intersect(one: Ranges, other: Ranges) -> Ranges:
    return [(max(low, first), min(high, last)) for low, high in one for first, last in other if max(low, first) <= min(high, last)]


def printable(text: str) -> str:
    r"""A text on one line in which every character is seen: a carriage return as `\r`."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
