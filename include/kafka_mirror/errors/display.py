"""Text that others chose, as people may see it: nothing in it moves a cursor, begins a line, or passes unseen.

Every user of a cluster chooses the names of groups, members and clients. So a name stands in a message by `show`, and in a command by
`shlex.quote`; and what reaches a terminal or a log passes `visible`.
"""

import unicodedata

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
