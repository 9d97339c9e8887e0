r"""Java patterns as trees of sets of topic name characters: what of a pattern an automaton can express.

Look-around, back-references, word boundaries and possessive groups it cannot. A `wide` tree takes such a thing for more than it matches, a
narrow one for nothing: whoever looks for a common name overlooks none, and excludes only what is certain.
"""

import string
from dataclasses import dataclass
from functools import lru_cache

import regex

from mirror.policy.java_class import character_class, escaped_character, escaped_set, one_character
from mirror.policy.java_properties import Flags
from mirror.policy.java_reader import END, Reader

_LETTERS = string.ascii_letters + string.digits + "._-"
_MOST_REPEATS = 256


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
class Repeated:
    """The part at least and at most so often; None: without end."""

    part: "Part"
    least: int
    most: int | None


Part = Letters | Sequence | Alternatives | Repeated

ANY = Letters((1 << len(_LETTERS)) - 1)
NOTHING = Letters(0)
_EMPTY = Sequence(())
_ANYTHING = Repeated(ANY, 0, None)


def parsed(pattern: str, wide: bool) -> Part:
    """The tree of a pattern. One that Java refuses is taken like a construct that an automaton cannot express."""
    try:
        return _Parser(pattern, wide).whole()
    except (ValueError, RecursionError):
        return _ANYTHING if wide else NOTHING


class _Parser:
    def __init__(self, pattern: str, wide: bool) -> None:
        self._reader = Reader(pattern)
        self._wide = wide
        self._depth = 0

    def whole(self) -> Part:
        """The whole pattern."""
        found = self._alternatives()
        if self._reader.peek() != END:
            raise ValueError("')' closes no group")
        return found

    def _alternatives(self) -> Part:
        found = [self._sequence()]
        while self._reader.accept("|"):
            found.append(self._sequence())
        return Alternatives(tuple(found))

    def _sequence(self) -> Part:
        found: list[Part] = []
        while True:
            self._reader.skip_comments()
            if self._reader.peek() in (END, "|", ")"):
                return Sequence(tuple(found))
            found.append(self._repeated(self._atom(first=not found)))

    def _repeated(self, part: Part) -> Part:
        reader = self._reader
        reader.skip_comments()
        mark = reader.peek()
        if mark == END or mark not in "?*+{":
            return part
        reader.take()
        least, most = self._count() if mark == "{" else _OFTEN[mark]
        reader.skip_comments()
        manner = reader.take() if reader.peek() in ("?", "+") else ""
        # What a possessive quantifier does not give back is not told, only that it matches no more than a greedy one.
        return self._unknown(Repeated(part, least, most)) if manner == "+" else Repeated(part, least, most)

    def _count(self) -> tuple[int, int | None]:
        """The `{n}`, `{n,}` or `{n,m}` that comes next, behind its brace."""
        first, found, last = self._reader.until("}", "a repeat count").partition(",")
        least, most = int(first), (int(last) if last else None) if found else int(first)
        if max(least, most or 0) > _MOST_REPEATS:
            raise ValueError("too many repeats")
        return least, most

    def _atom(self, first: bool) -> Part:
        character = self._reader.take()
        match character:
            case "(":
                return self._group()
            case "[":
                return _letters(character_class(self._reader))
            case "\\":
                return self._escape(first)
            case ".":
                return ANY
            case "^":
                return self._start(first)
            case "$":
                return self._stop()
            case "*" | "+" | "?" | "{":
                raise ValueError("nothing to repeat")
        return self._one(ord(character))

    def _one(self, code_point: int) -> Part:
        return _letters(one_character(code_point, self._reader.flags))

    def _unknown(self, most: Part) -> Part:
        """What cannot be expressed and matches no more than `most`."""
        return most if self._wide else NOTHING

    def _start(self, first: bool) -> Part:
        return _EMPTY if first and self._depth == 0 else self._unknown(_EMPTY)

    def _stop(self) -> Part:
        return _EMPTY if self._depth == 0 and self._reader.peek() in (END, "|") else self._unknown(_EMPTY)

    def _escape(self, first: bool) -> Part:
        found = escaped_set(self._reader)
        if found is not None:
            return _letters(found)
        letter = self._reader.peek()
        match letter:
            case "A" | "z" | "Z":
                self._reader.take()
                return self._start(first) if letter == "A" else self._stop()
            case "b" | "B" | "G":
                self._reader.take()
                return self._unknown(_EMPTY)
        if letter and letter in "123456789kRX":
            raise ValueError(f"\\{letter} refers to what was matched before, or stands for several characters")
        return self._one(escaped_character(self._reader))

    # ------------------------------------------------------------ groups

    def _group(self) -> Part:
        reader, outside = self._reader, self._reader.flags
        reader.skip_comments()
        if not reader.accept("?"):
            return self._closing(outside)
        if reader.accept(":"):
            return self._closing(outside)
        if reader.accept(">"):
            return self._unknown(self._closing(outside))
        if any(reader.accept(opening) for opening in ("=", "!", "<=", "<!")):
            self._closing(outside)
            return self._unknown(_EMPTY)
        if reader.accept("<"):
            reader.until(">", "a group's name")
            return self._closing(outside)
        reader.flags = self._inline_flags(outside)
        if reader.accept(")"):
            return _EMPTY
        if not reader.accept(":"):
            raise ValueError("no group that Java knows")
        return self._closing(outside)

    def _closing(self, outside: Flags) -> Part:
        self._depth += 1
        inside = self._alternatives()
        self._depth -= 1
        if not self._reader.accept(")"):
            raise ValueError("a group is not closed by ')'")
        self._reader.flags = outside
        return inside

    def _inline_flags(self, outside: Flags) -> Flags:
        added = frozenset(self._reader.digits("idmsux", 6))
        removed = frozenset(self._reader.digits("idmsux", 6)) if self._reader.accept("-") else frozenset()
        return (outside | added) - removed


_OFTEN: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}


@lru_cache(maxsize=512)
def _letters(expression: str) -> Letters:
    """The characters of names that an expression of the `regex` package matches, one at a time."""
    compiled = regex.compile(expression)
    return Letters(sum(1 << place for place, letter in enumerate(_LETTERS) if compiled.fullmatch(letter)))
