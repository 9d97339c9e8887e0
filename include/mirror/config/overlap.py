"""Whether flows may choose the same topic, judged by their `topics` and `topics.exclude` alone: no broker is asked."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from mirror.config.flow import Flow
from mirror.config.patterns import compile_pattern

_LITERAL = re.compile(r"(?:[A-Za-z0-9_-]|\\[.-])*")
_QUANTIFIERS = ("*", "+", "?", "{")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Choice:
    """What a flow chooses among the topics of its source."""

    included: tuple[str, ...]
    excluded: tuple[str, ...]

    @classmethod
    def of(cls, flow: Flow) -> "Choice":
        """By `topics` and `topics.exclude`."""
        return cls(flow.value("topics"), flow.value("topics.exclude"))

    @property
    def names(self) -> set[str]:
        """What of it is a plain name. It may hold dots: as a pattern it matches more, but the name is what is meant."""
        return {member for member in self.included if _NAME.fullmatch(member)}

    def takes(self, name: str) -> bool:
        """Whether a topic is chosen."""
        return (name in self.included or _matches(self.included, name)) and not self.refuses(name)

    def refuses(self, member: str) -> bool:
        """Whether a member of another choice is excluded here, as far as that is plain to see."""
        return member in self.excluded or (_NAME.fullmatch(member) is not None and _matches(self.excluded, member))


def may_share(choices: Sequence[Choice]) -> bool:
    """Whether one topic may be in all of them.

    Exact where one of them lists plain names. Otherwise each two are compared, and only what is certain counts as no: different
    beginnings, one's choice excluded by the other.
    """
    if any(len(each.names) == len(each.included) for each in choices):
        names = set().union(*(each.names for each in choices))
        return any(all(each.takes(name) for each in choices) for name in names)
    return all(_overlap(one, other) for one, other in combinations(choices, 2))


@lru_cache(maxsize=10_000)
def _overlap(one: Choice, other: Choice) -> bool:
    return any(
        _members_overlap(mine, theirs) and not any(choice.refuses(member) for choice in (one, other) for member in (mine, theirs))
        for mine in one.included
        for theirs in other.included
    )


def _matches(patterns: Iterable[str], name: str) -> bool:
    return any(compile_pattern(pattern).matches(name) for pattern in patterns)


def _members_overlap(mine: str, theirs: str) -> bool:
    if _NAME.fullmatch(mine):
        return compile_pattern(theirs).matches(mine) or mine == theirs
    if _NAME.fullmatch(theirs):
        return compile_pattern(mine).matches(theirs)
    first, second = _beginning(mine), _beginning(theirs)
    return first.startswith(second) or second.startswith(first)


def _beginning(pattern: str) -> str:
    """What every match begins with, as far as that is plain to see."""
    if "|" in pattern or "(?" in pattern:
        return ""
    match = _LITERAL.match(pattern)
    assert match is not None
    text, end = match.group(), match.end()
    if pattern.startswith(_QUANTIFIERS, end):
        # The quantifier belongs to the last character, which may then be missing.
        text = re.sub(r"\\?.$", "", text)
    return text.replace("\\", "")
