"""Cycles of flows that keep topic names.

With the IdentityReplicationPolicy nothing says where a record comes from, so in a cycle it would go round for ever.
"""

import re
from collections.abc import Iterable, Iterator

from mirror.config.catalogue_connectors import IDENTITY_POLICY
from mirror.config.flow import Flow
from mirror.config.patterns import compile_pattern

_LITERAL = re.compile(r"(?:[A-Za-z0-9_-]|\\[.-])*")
_QUANTIFIERS = ("*", "+", "?", "{")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def identity_cycles(flows: Iterable[Flow]) -> dict[str, str]:
    """Name of each flow that is part of such a cycle -> the cycle, written out ('east -> west -> east')."""
    identical = [flow for flow in flows if flow.value("replication.policy.class") == IDENTITY_POLICY]
    found: dict[str, str] = {}
    for start in identical:
        for cycle in _cycles([start], identical):
            text = " -> ".join([*(flow.source for flow in cycle), start.source])
            for flow in cycle:
                found.setdefault(flow.name, text)
    return found


def _cycles(path: list[Flow], flows: list[Flow]) -> Iterator[list[Flow]]:
    for following in flows:
        if following.source != path[-1].target or not all(may_overlap(following, flow) for flow in path):
            continue
        if following is path[0]:
            yield path
        elif following.target not in [flow.target for flow in path]:
            yield from _cycles([*path, following], flows)


def may_overlap(one: Flow, other: Flow) -> bool:
    """Whether a topic may be chosen by both.

    Only what is certain counts as no: plain names, different beginnings, one's choice excluded by the other.
    """
    return any(
        _members_overlap(mine, theirs) and not _excluded(mine, theirs, one, other)
        for mine in one.value("topics")
        for theirs in other.value("topics")
    )


def _excluded(mine: str, theirs: str, one: Flow, other: Flow) -> bool:
    excluded = (*one.value("topics.exclude"), *other.value("topics.exclude"))
    if mine in excluded or theirs in excluded:
        return True
    names = [member for member in (mine, theirs) if _NAME.fullmatch(member)]
    return any(compile_pattern(pattern).matches(name) for pattern in excluded for name in names)


def _members_overlap(mine: str, theirs: str) -> bool:
    # A plain name may hold dots: as a pattern it matches more, but names are what is meant and what is compared.
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
