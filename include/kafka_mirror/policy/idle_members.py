"""Members of a list of patterns that take nothing now: a misspelt one chooses nothing, and would go unnoticed."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from kafka_mirror.errors.words import first_few
from kafka_mirror.policy.java_regex import compile_java
from kafka_mirror.policy.possible_names import printable

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
