"""Text in messages: names that others chose, lists, counts and durations.

Every user of a cluster chooses the names of groups, members and clients. So a name stands in a message by `show`, and in a command by
`shlex.quote`; and what reaches a terminal or a log passes `visible`: nothing in it moves a cursor, begins a line, or passes unseen.
"""

import unicodedata
from collections.abc import Iterable

_UNSEEN = frozenset(("Cc", "Cs", "Zl", "Zp"))
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""What changes the direction of the text after it."""
_LONGEST, _SHOWN = 200, 60


def visible(text: str, keep: str = "\n") -> str:
    """The text with everything escaped (`\\x1b`) that a terminal would act on, or show as nothing; but for what is in `keep`."""
    if text.isprintable():
        return text if _TURNING.isdisjoint(text) else "".join(map(_escape, text))
    return "".join(letter if letter in keep else _escape(letter) for letter in text)


def show(name: str) -> str:
    """A name in a message: quoted where it is empty, has a blank or needed an escape, and cut where it is very long."""
    clear = visible(name, keep="")
    plain = clear == name and name != "" and not any(map(str.isspace, name))
    if len(clear) > _LONGEST:
        clear = f"{clear[:_SHOWN]}… ({len(name):,} characters)"
    return clear if plain else f"'{clear}'"


def _escape(character: str) -> str:
    kind = unicodedata.category(character)
    is_seen = kind not in _UNSEEN and character not in _TURNING and (kind != "Zs" or character == " ")
    return character if is_seen else character.encode("unicode_escape").decode("ascii")


def first_few(items: Iterable[object], most: int = 5, separator: str = ", ") -> str:
    """The first items, and how many more there are: `a, b and 1,200 more`."""
    texts = list(map(str, items))
    return separator.join(texts[:most]) + (f" and {len(texts) - most:,} more" if len(texts) > most else "")


def first_lines(lines: Iterable[object], most: int, rest: str = "more") -> list[str]:
    """The first lines, and one that says how many more there are: `… and 1,200 more`."""
    texts = list(map(str, lines))
    return texts[:most] + ([f"… and {len(texts) - most:,} {rest}"] if len(texts) > most else [])


def count_text(number: int, noun: str, plural: str = "") -> str:
    """A number of things: `1 record`, `1,200 records`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def duration(seconds: float) -> str:
    """Seconds in the two largest units that matter to a reader: `42 s`, `3 min 20 s`, `2 h 5 min`, `4 d 1 h`."""
    whole = int(seconds)
    for size, name, smaller, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {name}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"
