r"""`java.util.Properties`: the text format of `mm2.properties`, character for character as Java's `Properties.load` reads it.

key = value     the first unescaped `=`, `:` or blank ends the key; blanks around the separator are dropped, at the end of the value kept
# or ! comment  only as the first character of a line that is not blank
a \             an odd number of backslashes at a line's end joins the next line, without its leading blanks
\t \n \r \f \uXXXX are escapes; any other `\c` is just `c`
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_BLANKS = " \t\f"
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_ENDS_IN_BACKSLASH = re.compile(r"\\[\r\n]?\Z")
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_KEY_END = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")


@dataclass(frozen=True)
class Entry:
    """The value of a key, and the number of the line on which the key stands."""

    value: str = field(repr=False)
    line: int
    earlier: tuple[int, ...] = ()
    """The lines in which the key stands before, in vain."""


def entries(data: bytes) -> dict[str, Entry]:
    """The entries of a file as `Properties.load(InputStream)` reads it: ISO-8859-1. Raises ValueError as `parse` does."""
    return _read_entries(data.decode("latin-1"))


def parse(text: str) -> dict[str, str]:
    r"""The properties of a text, in their order; of a key that stands twice the last wins. Raises ValueError for a malformed `\uXXXX`."""
    return {key: entry.value for key, entry in _read_entries(text).items()}


def _read_entries(text: str) -> dict[str, Entry]:
    by_key: dict[str, Entry] = {}
    for number, line in _join_lines(text):
        key_end = _KEY_END.match(line)
        assert key_end is not None
        separator = _SEPARATOR.match(line, key_end.end())
        assert separator is not None
        try:
            key, value = _unescape(key_end.group()), _unescape(line[separator.end() :])
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        before = by_key.pop(key, None)
        by_key[key] = Entry(value, number, () if before is None else (*before.earlier, before.line))
    return by_key


def _join_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number of the first line and text of every logical line: continuations joined, comments and empty lines left out."""
    begun, first = "", 0
    joining = False
    for number, raw in enumerate(_LINE_ENDS.split(text), start=1):
        part = raw.lstrip(_BLANKS)
        if not begun:
            # Java decides by what it has read of the logical line so far: after a lone backslash a comment is a comment again.
            if not part or part[0] in "#!":
                joining = joining and not part
                continue
            first = number
        joining = (len(part) - len(part.rstrip("\\"))) % 2 == 1
        begun += part[:-1] if joining else part
        if not joining:
            yield first, begun
            begun = ""
    # To Java a lone backslash at the very end is a line without key and value.
    if begun or (joining and _ENDS_IN_BACKSLASH.search(text)):
        yield first, begun


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        if match.group(1):
            return chr(int(match.group(1), 16))
        if match.group(2) == "u":
            raise ValueError(r"malformed \uXXXX: four hexadecimal digits have to follow \u")
        return _CONTROL.get(match.group(2), match.group(2))

    # Java's characters are UTF-16 units: an escaped pair of surrogates is one character here.
    return _ESCAPE.sub(replace, text).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
