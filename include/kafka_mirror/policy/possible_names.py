"""Whether a name can match a Java pattern at all: one with a quote or a blank in it never matches the name of a topic."""

from dataclasses import dataclass, field
from math import inf
from typing import Literal

from kafka_mirror.policy.java_regex import LINE_ENDS, Ranges, Token, tokens

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
    why = impossible(pattern, IN_NAMES, LONGEST) if is_strict else impossible(pattern, ANY_TEXT)
    if not why:
        return None
    return f"no {of} can ever match '{printable(pattern)}': {why}. {_ADVICE if is_strict else ''}".rstrip()


def impossible(pattern: str, letters: Ranges, longest: float = inf) -> str:
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
