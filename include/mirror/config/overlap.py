"""Whether flows may choose the same topic, judged by their `topics` and `topics.exclude` alone: no broker is asked.

Every member of the two lists is a pattern, as in the filter that chooses topics: `orders.v1` takes `orders-v1` as well.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from mirror.config.flow import Flow
from mirror.config.patterns import compile_pattern, have_common_name

_ONE_NAME = re.compile(r"(?:[A-Za-z0-9_-]|\\[.-])+")
_REACHES_FURTHER = ("(?", r"\Q")
"""A member with one of these may change what the members behind it mean."""

_NEVER_MIRRORED = r"(__|\.).*"
"""Names that every replication policy takes for internal (`ReplicationPolicy.isInternalTopic`)."""


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
    names = frozenset[str]().union(*(each.names for each in choices))
    if any(all(each.takes(name) for each in choices) for name in names):
        return True
    if not all(each.patterns for each in choices):
        return False
    excluded = [_joined(each.excluded) for each in choices if each.excluded]
    return have_common_name([_joined(each.patterns) for each in choices], [*excluded, _NEVER_MIRRORED])


def _joined(members: Sequence[str]) -> str:
    return "|".join(members)


def _matches(members: Sequence[str], name: str) -> bool:
    return bool(members) and compile_pattern(_joined(members)).matches(name)
