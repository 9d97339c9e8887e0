r"""Java's regular expressions, so that a filter accepts here what it accepts in MirrorMaker 2: exactly, or not at all.

What is translated says only *which* texts match: characters, classes, alternatives, repetition, look-around. The order in which an engine
tries things cannot be seen in the answer, so both engines have to agree. Refused is what depends on that order (back references, atomic
groups, possessive quantifiers), on the version of the JDK (`\b`) or on tables of Unicode (`\p{L}`, `(?u)`), and the few forms in which Java
departs from its own rule: an anchor in a repetition that may be empty, a look-behind that is not made of single characters.

Classes, anchors, `.` and letter case are spelled out, so the result relies on no default of the `regex` package.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import regex

from kafka_mirror.errors import ConfigurationError, Problem
from kafka_mirror.policy.java_grammar import Token, tokens

_SECONDS = 20.0
"""CPU time that one name may take. The longest takes milliseconds, unless the pattern tries all ways of a repetition in a repetition."""

_ANCHORS = {"^": r"\A", "$": r"(?=(?:\r\n|(?<!\r)\n|[\r\x85\u2028\u2029])?\Z)"}
_BEHIND = "a look-behind takes characters, classes and alternatives of them alone; name what must stand there, such as (?<!_dlq|[._-]retry)"


class JavaPattern:
    """A compiled Java pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        try:
            self._compiled = regex.compile(_Translation(pattern).result)
        except (regex.error, OverflowError, RecursionError) as error:
            raise ValueError(f"it cannot be translated: {error}") from error

    def matches(self, text: str) -> bool:
        """Whether the whole text matches, as `java.util.regex.Pattern.matches` says. Raises ConfigurationError if that takes too long."""
        try:
            return self._compiled.fullmatch(text, timeout=_SECONDS) is not None
        except TimeoutError as error:
            reason = f"takes more than {_SECONDS:.0f} s to match '{text}'; write no repetition inside a repetition, as in (a+)+"
            raise ConfigurationError([Problem("a regular expression", reason, self.pattern)]) from error

    def __repr__(self) -> str:
        return f"JavaPattern({self.pattern!r})"


@lru_cache(maxsize=256)
def compile_java(pattern: str) -> JavaPattern:
    """Compiles a pattern in the syntax and with the meaning of `java.util.regex.Pattern` (no flags).

    Raises ValueError, with the construct and what to write instead, for what Java refuses and for what might mean something else here.
    """
    return JavaPattern(pattern)


@lru_cache(maxsize=256)
def translated(pattern: str) -> str:
    """The pattern as an expression of the package `regex`, with no group that captures. Raises ValueError if it is not supported."""
    return _Translation(pattern).result


class _Piece(NamedTuple):
    consumes: bool
    """Whether it takes a character in any case."""
    consumed_before: bool
    """Whether what stands before it in its alternative does."""


@dataclass
class _OpenGroup:
    """An open group."""

    looks: bool = False
    """Whether it is a look-around."""
    behind: bool = False
    """Whether it is, or stands in, a look-behind."""
    consumes: bool = False
    """Whether the alternative that is being read takes a character in any case."""
    may_be_empty: bool = False
    """Whether one before it may match without a character."""


class _Translation:
    """The pattern in the language of `regex`, token by token. Raises ValueError at the first that might mean something else there."""

    def __init__(self, pattern: str) -> None:
        self._written: list[str] = []
        self._groups = [_OpenGroup()]
        self._last = _Piece(consumes=False, consumed_before=False)
        """What a count that comes next repeats."""
        for token in tokens(pattern):
            getattr(self, f"_add_{token.kind}")(token)
        self.result = "".join(self._written)

    def _add_one(self, token: Token) -> None:
        if self._groups[-1].behind and any(high > 0xFFFF for _, high in token.ranges):
            raise ValueError(_BEHIND)
        # Never as [^…]: `regex` (2026.11.15) takes `[^a]|[^b]` for one set, in which neither letter is.
        inside = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in token.ranges)
        self._add_piece(f"[{inside}]" if inside else "(?!)", consumes=True)

    def _add_anchor(self, token: Token) -> None:
        self._refuse_lookbehind()
        self._add_piece(_ANCHORS[token.text], consumes=False)

    def _add_piece(self, written: str, consumes: bool) -> None:
        group = self._groups[-1]
        self._last = _Piece(consumes, group.consumes)
        group.consumes |= consumes
        self._written.append(written)

    def _add_count(self, token: Token) -> None:
        self._refuse_lookbehind()
        if not self._last.consumes and token.text[0] != "?":
            raise ValueError(f"'{token.text}' repeats what may be empty, such as (a*)*; write a character into each of its alternatives")
        if token.often[0] == 0:
            self._groups[-1].consumes = self._last.consumed_before
        self._written.append(token.text)

    def _refuse_lookbehind(self) -> None:
        if self._groups[-1].behind:
            raise ValueError(_BEHIND)

    def _add_open(self, token: Token) -> None:
        if token.looks:
            self._refuse_lookbehind()
        self._groups.append(_OpenGroup(token.looks, self._groups[-1].behind or "<" in token.text))
        self._written.append(token.text if token.looks else "(?:")

    def _add_or(self, token: Token) -> None:
        group = self._groups[-1]
        group.may_be_empty |= not group.consumes
        group.consumes = False
        self._written.append(token.text)

    def _add_close(self, token: Token) -> None:
        group = self._groups.pop()
        self._add_piece(token.text, consumes=group.consumes and not group.may_be_empty and not group.looks)
