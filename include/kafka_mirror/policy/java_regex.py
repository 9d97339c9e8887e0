"""Java's regular expressions, so that a filter accepts here what it accepts in MirrorMaker 2: exactly, or not at all.

What is translated says only *which* texts match: characters, classes, alternatives, repetition, look-around. The order in which an engine
tries things cannot be seen in the answer, so both engines have to agree. Refused is what depends on that order (back references, atomic
groups, possessive quantifiers), on the version of the JDK (word boundaries) or on tables of Unicode, and the few forms in which Java
departs from its own rule: an anchor in a repetition that may be empty, a look-behind that is not made of single characters.

Classes, anchors, `.` and letter case are spelled out, so the result relies on no default of the `regex` package.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, cast

import regex

from kafka_mirror.errors import ConfigurationError, Problem

Ranges = list[tuple[int, int]]
"""The first and the last code point of each."""
Kind = Literal["one", "anchor", "count", "open", "or", "close"]


class Token(NamedTuple):
    """A part of a pattern. Flags are none: they are in the ranges."""

    kind: Kind
    """`one`: a character of a set; `anchor`: `^` or `$`; `count`: repeats what stands before it; `open`: of a group or look-around."""
    text: str
    ranges: Ranges
    """The set of `one`, with both cases of a letter where case is ignored."""

    @property
    def looks(self) -> bool:
        """Whether it begins a look-around."""
        return self.kind == "open" and self.text[-1] in "=!"

    @property
    def often(self) -> tuple[int, int | None]:
        """How often `count` lets it stand there, at least and at most; None: without end."""
        if self.text[0] in _OFTEN:
            return _OFTEN[self.text[0]]
        least, comma, most = self.text.strip("{}?").partition(",")
        return int(least), (int(most) if most else None) if comma else int(least)


_SET = r"\\(?:[dDwWsS]|p\{(?:Alpha|Digit|Alnum|Lower|Upper)\})"
_ESCAPE = r"\\(?:[^A-Za-z0-9]|[tnrfae]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|x\{[0-9A-Fa-f]{1,6}\})"
_TOKEN = regex.compile(
    rf"(?P<one>{_SET}|{_ESCAPE}|[^\\\[(){{*+?|^$]|\[\^?+(?:{_SET}|{_ESCAPE}|[^\\\[\]&]|&(?!&))+\])"
    r"|(?P<anchor>[\^$])|(?P<count>(?:[*+?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})\??+(?![*+?{]))"
    r"|(?P<flag>\(\?-?i\))|(?P<open>\((?:\?(?:-?i:|:|<?[=!])|(?!\?)))|(?P<or>\|)|(?P<close>\))",
    regex.DOTALL,
)
_MEMBER = regex.compile(rf"(?P<set>{_SET})|(?P<first>{_ESCAPE}|[^\\])(?:-(?P<last>{_ESCAPE}|[^\\])|(?!-.))|(?P<wrong>.)", regex.DOTALL)
_QUOTE = regex.compile(r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\.", regex.DOTALL)

_UPPER, _LOWER, _DIGIT = (0x41, 0x5A), (0x61, 0x7A), (0x30, 0x39)
_RANGES: dict[str, Ranges] = {
    r"\d": [_DIGIT],
    r"\w": [_DIGIT, _UPPER, (0x5F, 0x5F), _LOWER],
    r"\s": [(0x09, 0x0D), (0x20, 0x20)],
    r"\p{Alpha}": [_UPPER, _LOWER],
    r"\p{Digit}": [_DIGIT],
    r"\p{Alnum}": [_DIGIT, _UPPER, _LOWER],
    r"\p{Lower}": [_LOWER],
    r"\p{Upper}": [_UPPER],
}
LINE_ENDS: Ranges = [(0x0A, 0x0A), (0x0D, 0x0D), (0x85, 0x85), (0x2028, 0x2029)]
_OFTEN: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_CONTROLS = dict(zip("tnrfae", (0x09, 0x0A, 0x0D, 0x0C, 0x07, 0x1B), strict=True))
_ADVICE = (
    (r"\[", r"a class is a flat list of characters here; write \[ and \& for these themselves, and (?![bc])[a-z] for [a-z&&[^bc]]"),
    (r"\(\?>", "an atomic group is not supported; write a plain one, and a look-ahead such as (?!x) for what must not follow"),
    (r"\(\?", "of flags and extensions (?i), (?:x), (?=x), (?!x), (?<=x) and (?<!x) are supported; spell out what another one stands for"),
    (r"\{(?![0-9]{1,3}(,[0-9]{0,3})?\})", r"a count is {n}, {n,} or {n,m} with numbers up to 999; write \{ for the brace itself"),
    (r"[*+?{]", "it has nothing to repeat, or is a possessive or second quantifier; write one of * + ? {n,m} after a character or group"),
    (r"\\[bB]", "boundaries of words are not supported; write the characters, such as (.*[._-])?orders([._-].*)?"),
    (r"\\[1-9k]", "a reference to a group is not supported; spell out what it stands for"),
    (r"\\[pPhHvVRX]", "this set of characters is not supported; list them, such as [A-Za-z]"),
    (r"\\", "this escape is not supported; write the character itself"),
)


def tokens(pattern: str) -> Iterator[Token]:
    """The tokens in their order. Raises ValueError, with the construct and what to write instead, where there is none."""

    def unquote(match: "regex.Match[str]") -> str:
        return str(match[0]) if match["quoted"] is None else "".join(f"\\x{{{ord(character):x}}}" for character in match["quoted"])

    text, at, last = _QUOTE.sub(unquote, pattern), 0, ""
    ignores_case = [False]
    """Of each open group, the pattern itself first."""
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or (match.lastgroup == "count" and last not in ("one", "anchor", "close")):
            raise _refuse(text[at:])
        at, last, token = match.end(), str(match.lastgroup), match[0]
        if last == "open":
            ignores_case.append(ignores_case[-1])
        if last == "close" and len(ignores_case) == 1:
            raise ValueError("')' closes no group")
        if last == "close":
            ignores_case.pop()
        if last in ("open", "flag") and "i" in token:
            ignores_case[-1] = "-" not in token
        if last != "flag":
            yield Token(cast(Kind, last), token, _read_one_of(token, ignores_case[-1]) if last == "one" else [])
    if len(ignores_case) > 1:
        raise ValueError("a group is not closed by ')'")


def _read_one_of(token: str, ignores_case: bool) -> Ranges:
    """The characters that a token stands for."""
    negated = token.startswith("[^")
    ranges = _read_members(token[1 + negated : -1], token) if token[0] == "[" else _find_ranges(token)
    if ignores_case:
        within = [(max(low, first), min(high, last)) for low, high in ranges for first, last in (_UPPER, _LOWER)]
        ranges = ranges + [(low ^ 0x20, high ^ 0x20) for low, high in within if low <= high]
    return _invert(ranges) if negated else ranges


def _read_members(inside: str, token: str) -> Ranges:
    """The characters that stand in a class."""
    ranges: Ranges = []
    for member in _MEMBER.finditer(inside):
        if member["wrong"]:
            raise _refuse(token)
        ranges += (
            _find_ranges(member["set"]) if member["set"] else [(_read_code(member["first"]), _read_code(member["last"] or member["first"]))]
        )
    if any(last < first for first, last in ranges):
        raise ValueError(f"'{token}': a range in a character class ends before it begins")
    return ranges


def _find_ranges(text: str) -> Ranges:
    """The characters of one that stands outside of classes, or of an escape for a set."""
    if text == ".":
        return _invert(LINE_ENDS)
    if text not in _RANGES and text.lower() in _RANGES:
        return _invert(_RANGES[text.lower()])
    return _RANGES.get(text) or [(_read_code(text), _read_code(text))]


def _invert(ranges: Ranges) -> Ranges:
    """All other characters."""
    gaps, start = [], 0
    for low, high in sorted(ranges):
        if start < low:
            gaps.append((start, low - 1))
        start = max(start, high + 1)
    return [*gaps, (start, 0x10FFFF)] if start <= 0x10FFFF else gaps


def _read_code(token: str) -> int:
    """The code point of one character or of its escape."""
    if len(token) > 2:
        code = int(token[2:].strip("{}"), 16)
    else:
        code = _CONTROLS[token[1]] if token[0] == "\\" and token[1:] in _CONTROLS else ord(token[-1])
    if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        raise ValueError(f"'{token}' is half of a character or none; write the character itself")
    return code


def _refuse(rest: str) -> ValueError:
    """The complaint about the construct with which the rest of the pattern begins."""
    advice = next((advice for construct, advice in _ADVICE if regex.match(construct, rest)), "")
    return ValueError(f"at '{rest[:12]}': {advice}")


_SECONDS = 20.0
"""CPU time that one name may take. The longest takes milliseconds, unless the pattern tries all ways of a repetition in a repetition."""

_ANCHORS = {"^": r"\A", "$": r"(?=(?:\r\n|(?<!\r)\n|[\r\x85\u2028\u2029])?\Z)"}
_BEHIND = "a look-behind takes characters, classes and alternatives of them alone; name what must stand there, such as (?<!_dlq|[._-]retry)"


class JavaPattern:
    """A compiled Java pattern. `expression`: the same for the package `regex`, with no group that captures."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        try:
            self.expression = _Translation(pattern).result
            self._compiled = regex.compile(self.expression)
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
