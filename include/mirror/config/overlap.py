"""Whether flows may choose the same topic, judged by their `topics` and `topics.exclude` alone: no broker is asked."""

import re
from collections.abc import Iterable, Sequence
from itertools import combinations

from mirror.config.flow import Flow
from mirror.config.patterns import compile_pattern

_LITERAL = re.compile(r"(?:[A-Za-z0-9_-]|\\[.-])*")
_QUANTIFIERS = ("*", "+", "?", "{")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def may_share(flows: Sequence[Flow]) -> bool:
    """Whether one topic may be chosen by all of them.

    Exact where one of the flows lists plain names. Otherwise each two are compared, and only what is certain counts as no: different
    beginnings, one's choice excluded by the other.
    """
    if any(all(map(_NAME.fullmatch, flow.value("topics"))) for flow in flows):
        names = {member for flow in flows for member in flow.value("topics") if _NAME.fullmatch(member)}
        return any(all(_chooses(flow, name) for flow in flows) for name in names)
    return all(_overlap(one, other) for one, other in combinations(flows, 2))


def _chooses(flow: Flow, name: str) -> bool:
    """Whether a plain name is chosen. It may hold dots: as a pattern it matches more, but the name is what is meant."""
    included, excluded = flow.value("topics"), flow.value("topics.exclude")
    return name not in excluded and (name in included or _matches(included, name)) and not _matches(excluded, name)


def _matches(patterns: Iterable[str], name: str) -> bool:
    return any(compile_pattern(pattern).matches(name) for pattern in patterns)


def _overlap(one: Flow, other: Flow) -> bool:
    return any(
        _members_overlap(mine, theirs) and not _excluded(mine, theirs, one, other)
        for mine in one.value("topics")
        for theirs in other.value("topics")
    )


def _excluded(mine: str, theirs: str, one: Flow, other: Flow) -> bool:
    excluded = (*one.value("topics.exclude"), *other.value("topics.exclude"))
    if mine in excluded or theirs in excluded:
        return True
    return any(_matches(excluded, member) for member in (mine, theirs) if _NAME.fullmatch(member))


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
