"""Java patterns as trees of sets of topic name characters: what of a pattern an automaton can express.

Look-around, and an anchor inside of a pattern, it cannot. A `wide` tree takes such a thing for matched, a narrow one for never matched:
whoever looks for a common name overlooks none, and excludes only what is certain.
"""

import string
from dataclasses import dataclass, field
from itertools import pairwise

from mirror.policy.java_grammar import Ranges, Token, tokens

_LETTERS = string.ascii_letters + string.digits + "._-"


@dataclass(frozen=True)
class Letters:
    """One character of a set: a bit for each that a topic's name may hold."""

    bits: int


@dataclass(frozen=True)
class Sequence:
    """One part behind the other."""

    parts: "tuple[Part, ...]"


@dataclass(frozen=True)
class Alternatives:
    """Any one of the parts."""

    parts: "tuple[Part, ...]"


@dataclass(frozen=True)
class Repetition:
    """The part at least and at most so often; None: without end."""

    part: "Part"
    least: int
    most: int | None


Part = Letters | Sequence | Alternatives | Repetition

ANY = Letters((1 << len(_LETTERS)) - 1)
NOTHING = Letters(0)
ANYTHING = Repetition(ANY, 0, None)
_EMPTY = Sequence(())


@dataclass
class _Group:
    """An open group."""

    looks: bool = False
    """Whether it is a look-around."""
    alternatives: list[Part] = field(default_factory=list)
    """Those that have been read."""
    parts: list[Part] = field(default_factory=list)
    """Of the alternative that is being read."""

    def end_alternative(self) -> None:
        """At `|`, or at the end of the group."""
        self.alternatives.append(Sequence(tuple(self.parts)))
        self.parts = []

    def whole(self) -> Part:
        """The group, at its end."""
        self.end_alternative()
        return Alternatives(tuple(self.alternatives))


def parse(pattern: str, wide: bool) -> Part:
    """The tree of a pattern that `compile_java` takes."""
    unknown = _EMPTY if wide else NOTHING
    groups = [_Group()]
    for token, following in pairwise([*tokens(pattern), None]):
        group = groups[-1]
        match token:
            case Token("one"):
                group.parts.append(_letters(token.ranges))
            case Token("anchor"):
                group.parts.append(_EMPTY if len(groups) == 1 and _at_its_end(token, group, following) else unknown)
            case Token("count"):
                group.parts[-1] = Repetition(group.parts[-1], *token.often)
            case Token("or"):
                group.end_alternative()
            case Token("open"):
                groups.append(_Group(token.looks))
            case Token("close"):
                groups.pop()
                groups[-1].parts.append(unknown if group.looks else group.whole())
    return groups[0].whole()


def _at_its_end(anchor: Token, group: _Group, following: Token | None) -> bool:
    """Whether an anchor stands where it always matches."""
    return not group.parts if anchor.text == "^" else following is None or following.kind == "or"


def _letters(ranges: Ranges) -> Letters:
    """Those of a set that a name may hold."""
    return Letters(sum(1 << place for place, letter in enumerate(_LETTERS) if any(low <= ord(letter) <= high for low, high in ranges)))
