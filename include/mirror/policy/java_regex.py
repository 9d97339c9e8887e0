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

from mirror.errors import ConfigurationError, Problem

_SECONDS = 20.0
"""CPU time that one name may take. The longest takes milliseconds, unless the pattern tries all ways of a repetition in a repetition."""

_SET = r"\\(?:[dDwWsS]|p\{(?:Alpha|Digit|Alnum|Lower|Upper)\})"
_ESCAPE = r"\\(?:[^A-Za-z0-9]|[tnrfae]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|x\{[0-9A-Fa-f]{1,6}\})"
_TOKEN = regex.compile(
    rf"(?P<set>{_SET})|(?P<character>{_ESCAPE}|[^\\\[(){{*+?|^$.])|(?P<class>\[\^?+(?:{_SET}|{_ESCAPE}|[^\\\[\]&]|&(?!&))+\])|(?P<dot>\.)"
    r"|(?P<anchor>[\^$])|(?P<count>(?:[*+?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})\??+(?![*+?{]))"
    r"|(?P<flag>\(\?-?i\))|(?P<open>\((?:\?(?:-?i:|:|<?[=!])|(?!\?)))|(?P<or>\|)|(?P<close>\))",
    regex.DOTALL,
)
_MEMBER = regex.compile(rf"(?P<set>{_SET})|(?P<first>{_ESCAPE}|[^\\])(?:-(?P<last>{_ESCAPE}|[^\\])|(?!-.))|(?P<wrong>.)", regex.DOTALL)
_QUOTE = regex.compile(r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\.", regex.DOTALL)

_Ranges = list[tuple[int, int]]
_UPPER, _LOWER, _DIGIT = (0x41, 0x5A), (0x61, 0x7A), (0x30, 0x39)
_RANGES: dict[str, _Ranges] = {
    r"\d": [_DIGIT],
    r"\w": [_DIGIT, _UPPER, (0x5F, 0x5F), _LOWER],
    r"\s": [(0x09, 0x0D), (0x20, 0x20)],
    r"\p{Alpha}": [_UPPER, _LOWER],
    r"\p{Digit}": [_DIGIT],
    r"\p{Alnum}": [_DIGIT, _UPPER, _LOWER],
    r"\p{Lower}": [_LOWER],
    r"\p{Upper}": [_UPPER],
}
_LINE_ENDS: _Ranges = [(0x0A, 0x0A), (0x0D, 0x0D), (0x85, 0x85), (0x2028, 0x2029)]
_ANCHORS = {"^": r"\A", "$": r"(?=(?:\r\n|(?<!\r)\n|[\r\x85\u2028\u2029])?\Z)"}
_CONTROLS = dict(zip("tnrfae", (0x09, 0x0A, 0x0D, 0x0C, 0x07, 0x1B), strict=True))
_ADVICE = (
    (r"\[", r"a class is a flat list of characters here; write \[ and \& for these themselves, and (?![bc])[a-z] for [a-z&&[^bc]]"),
    (r"\(\?>", "an atomic group is not supported; write a plain one, and a look-ahead such as (?!x) for what must not follow"),
    (r"\(\?", "of flags and extensions (?i), (?:x), (?=x), (?!x), (?<=x) and (?<!x) are supported; spell out what another one stands for"),
    (r"\{(?![0-9]{1,3}(,[0-9]{0,3})?\})", r"a count is {n}, {n,} or {n,m} with numbers up to 999; write \{ for the brace itself"),
    (r"[*+?{]", "it has nothing to repeat, or is a possessive or second quantifier; write one of * + ? {n,m} behind a character or group"),
    (r"\\[bB]", "boundaries of words are not supported; write the characters, such as (.*[._-])?orders([._-].*)?"),
    (r"\\[1-9k]", "a reference to a group is not supported; spell out what it stands for"),
    (r"\\[pPhHvVRX]", "this set of characters is not supported; list them, such as [A-Za-z]"),
    (r"\\", "this escape is not supported; write the character itself"),
)
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


class _Piece(NamedTuple):
    consumes: bool
    """Whether it takes a character in any case."""
    consumed_before: bool
    """Whether what stands before it in its alternative does."""


@dataclass
class _Group:
    """An open group."""

    looks: bool = False
    """Whether it is a look-around."""
    ignored_case: bool = False
    """What held outside of it."""
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
        self._groups = [_Group()]
        self._ignores_case = False
        self._last: _Piece | None = None
        """What a count that comes next repeats; None: nothing."""
        text, at = _QUOTE.sub(_unquoted, pattern), 0
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None:
                raise _unsupported(text[at:])
            getattr(self, f"_{token.lastgroup}")(token[0])
            at = token.end()
        if len(self._groups) > 1:
            raise ValueError("a group is not closed by ')'")
        self.result = "".join(self._written)

    def _set(self, token: str) -> None:
        self._one_of(_ranges(token))

    def _character(self, token: str) -> None:
        self._one_of([(_code(token), _code(token))])

    def _dot(self, _: str) -> None:
        self._one_of(_LINE_ENDS, negated=True)

    def _class(self, token: str) -> None:
        negated = token.startswith("[^")
        ranges: _Ranges = []
        for member in _MEMBER.finditer(token[1 + negated : -1]):
            if member["wrong"]:
                raise _unsupported(token)
            ranges += _ranges(member["set"]) if member["set"] else [(_code(member["first"]), _code(member["last"] or member["first"]))]
        if any(last < first for first, last in ranges):
            raise ValueError(f"'{token}': a range in a character class ends before it begins")
        self._one_of(ranges, negated)

    def _one_of(self, ranges: _Ranges, negated: bool = False) -> None:
        if self._ignores_case:
            within = [(max(low, first), min(high, last)) for low, high in ranges for first, last in (_UPPER, _LOWER)]
            ranges = ranges + [(low ^ 0x20, high ^ 0x20) for low, high in within if low <= high]
        # Never as [^…]: `regex` (2026.11.15) takes `[^a]|[^b]` for one set, in which neither letter is.
        ranges = _complement(ranges) if negated else ranges
        if self._groups[-1].behind and any(high > 0xFFFF for _, high in ranges):
            raise ValueError(_BEHIND)
        inside = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
        self._piece(f"[{inside}]" if inside else "(?!)", consumes=True)

    def _anchor(self, token: str) -> None:
        self._not_behind()
        self._piece(_ANCHORS[token], consumes=False)

    def _piece(self, written: str, consumes: bool) -> None:
        group = self._groups[-1]
        self._last = _Piece(consumes, group.consumes)
        group.consumes |= consumes
        self._written.append(written)

    def _count(self, token: str) -> None:
        self._not_behind()
        if self._last is None:
            raise _unsupported(token)
        if not self._last.consumes and token[0] != "?":
            raise ValueError(f"'{token}' repeats what may be empty, such as (a*)*; write a character into each of its alternatives")
        if token[0] in "*?" or regex.match(r"\{0+[,}]", token):
            self._groups[-1].consumes = self._last.consumed_before
        self._last = None
        self._written.append(token)

    def _not_behind(self) -> None:
        if self._groups[-1].behind:
            raise ValueError(_BEHIND)

    def _flag(self, token: str) -> None:
        self._ignores_case = "-" not in token
        self._last = None

    def _open(self, token: str) -> None:
        looks = token[-1] in "=!"
        if looks:
            self._not_behind()
        self._groups.append(_Group(looks, self._ignores_case, self._groups[-1].behind or "<" in token))
        if "i" in token:
            self._flag(token)
        self._last = None
        self._written.append(token if looks else "(?:")

    def _or(self, token: str) -> None:
        group = self._groups[-1]
        group.may_be_empty |= not group.consumes
        group.consumes = False
        self._last = None
        self._written.append(token)

    def _close(self, token: str) -> None:
        group = self._groups.pop()
        if not self._groups:
            raise ValueError("')' closes no group")
        self._ignores_case = group.ignored_case
        self._piece(token, consumes=group.consumes and not group.may_be_empty and not group.looks)


def _unquoted(found: "regex.Match[str]") -> str:
    return str(found[0]) if found["quoted"] is None else "".join(f"\\x{{{ord(character):x}}}" for character in found["quoted"])


def _ranges(token: str) -> _Ranges:
    """The characters of an escape that stands for a set."""
    return _complement(_RANGES[token.lower()]) if token[1].isupper() else _RANGES[token]


def _complement(ranges: _Ranges) -> _Ranges:
    """All other characters."""
    found, start = [], 0
    for low, high in sorted(ranges):
        if start < low:
            found.append((start, low - 1))
        start = max(start, high + 1)
    return [*found, (start, 0x10FFFF)] if start <= 0x10FFFF else found


def _code(token: str) -> int:
    """The code point of one character or of its escape."""
    if len(token) > 2:
        code = int(token[2:].strip("{}"), 16)
    else:
        code = _CONTROLS[token[1]] if token[0] == "\\" and token[1:] in _CONTROLS else ord(token[-1])
    if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        raise ValueError(f"'{token}' is half of a character or none; write the character itself")
    return code


def _unsupported(rest: str) -> ValueError:
    """The complaint about the construct with which the rest of the pattern begins."""
    advice = next((advice for construct, advice in _ADVICE if regex.match(construct, rest)), "")
    return ValueError(f"at '{rest[:12]}': {advice}")
