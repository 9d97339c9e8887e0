"""Translates a Java pattern, construct by construct, into one for the `regex` package.

The result carries no global flags and relies on none of the defaults in which the two languages differ: sets, boundaries, line
terminators and letter case are spelled out for the flags that hold at each place.
"""

from mirror.policy.java_class import ANY, character_class, escaped_character, escaped_set, one_character
from mirror.policy.java_properties import Flags, predefined
from mirror.policy.java_reader import END, Reader

_MOST_REPEATS = 2**31 - 1


def translate(pattern: str) -> str:
    """The pattern in the language of `regex`. Raises ValueError for what Java refuses and for what has no counterpart."""
    translator = _Translator(Reader(pattern))
    whole = translator.alternatives()
    if translator.reader.peek() != END:
        raise ValueError("')' closes no group")
    return whole


class _Translator:
    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._groups = 0
        self._closed: set[int] = set()
        self._names: dict[str, int] = {}

    def alternatives(self) -> str:
        """What comes up to the end of the group or pattern: sequences with `|` between them."""
        found = [self._sequence()]
        while self.reader.accept("|"):
            found.append(self._sequence())
        return "|".join(found)

    def _sequence(self) -> str:
        found: list[str] = []
        while True:
            self.reader.skip_comments()
            if self.reader.peek() in (END, "|", ")"):
                return "".join(found)
            atom = self._atom()
            if atom is not None:
                found.append(self._repeated(atom))

    def _atom(self) -> str | None:
        """The next thing that can be repeated; None for flags, which stand for nothing themselves."""
        character = self.reader.take()
        match character:
            case "(":
                return self._group()
            case "[":
                return character_class(self.reader)
            case "\\":
                return self._escape()
            case "^":
                return _line_start(self.reader.flags)
            case "$":
                return _line_stop(self.reader.flags)
            case ".":
                return _dot(self.reader.flags)
            case "*" | "+" | "?":
                raise ValueError(f"'{character}' has nothing before it to repeat")
            case "{":
                return self._nothing()
        return one_character(ord(character), self.reader.flags)

    def _nothing(self) -> str:
        # Java takes a count without anything before it, or behind another quantifier, as repeating the empty string.
        self._count()
        return ""

    # ------------------------------------------------------------ quantifiers

    def _repeated(self, atom: str) -> str:
        self.reader.skip_comments()
        mark = self.reader.peek()
        if mark == END or mark not in "?*+{":
            return atom
        self.reader.take()
        count = self._count() if mark == "{" else mark
        self.reader.skip_comments()
        manner = self.reader.take() if self.reader.peek() in ("?", "+") else ""
        return f"(?:{atom}){count}{manner}"

    def _count(self) -> str:
        """The `{n}`, `{n,}` or `{n,m}` that comes next, behind its brace."""
        least = self.reader.digits("0123456789", 20)
        if not least:
            raise ValueError("'{' needs a number behind it (write \\{ for the brace itself)")
        most: str | None = least
        if self.reader.accept(","):
            most = None if self.reader.peek() == "}" else self.reader.digits("0123456789", 20) or "0"
        if not self.reader.accept("}"):
            raise ValueError("a repeat count is not closed by '}'")
        if int(least) > _MOST_REPEATS or (most is not None and not int(least) <= int(most) <= _MOST_REPEATS):
            raise ValueError("the repeat counts are out of range")
        return f"{{{least},{most or ''}}}"

    # ------------------------------------------------------------ groups

    def _group(self) -> str | None:
        outside = self.reader.flags
        self.reader.skip_comments()
        if not self.reader.accept("?"):
            return self._capturing(outside)
        for opening in ("(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"):
            if self.reader.accept(opening[2:]):
                return self._closing(opening, outside)
        if self.reader.accept("<"):
            self._name(self._groups + 1)
            return self._capturing(outside)
        self.reader.flags = self._inline_flags(outside)
        if self.reader.accept(")"):
            return None
        if not self.reader.accept(":"):
            raise ValueError(f"'(?{self.reader.peek()}' opens no group that Java knows")
        return self._closing("(?:", outside)

    def _capturing(self, outside: Flags) -> str:
        self._groups += 1
        number = self._groups
        group = self._closing("(", outside)
        self._closed.add(number)
        return group

    def _closing(self, opening: str, outside: Flags) -> str:
        inside = self.alternatives()
        if not self.reader.accept(")"):
            raise ValueError("a group is not closed by ')'")
        self.reader.flags = outside
        return f"{opening}{inside})"

    def _name(self, number: int) -> None:
        name = self.reader.until(">", "a group's name")
        if not (name.isascii() and name.isalnum() and name[0].isalpha()):
            raise ValueError(f"'{name}' cannot be a group's name: letters and digits only, a letter first")
        if name in self._names:
            raise ValueError(f"two groups are called '{name}'")
        self._names[name] = number

    def _inline_flags(self, outside: Flags) -> Flags:
        added = self._flag_letters()
        removed = self._flag_letters() if self.reader.accept("-") else frozenset()
        return (outside | added) - removed

    def _flag_letters(self) -> Flags:
        letters = set()
        while self.reader.peek() and self.reader.peek() in "idmsuxUc":
            letters.add(self.reader.take())
        if "c" in letters:
            raise ValueError("canonical equivalence, (?c), is not supported")
        return frozenset(letters | ({"u"} if "U" in letters else set()))

    # ------------------------------------------------------------ escapes

    def _escape(self) -> str:
        found = escaped_set(self.reader)
        if found is not None:
            return found
        flags = self.reader.flags
        letter = self.reader.peek()
        if letter and letter in "123456789":
            return self._reference(self._reference_number())
        if letter == "k":
            return self._named_reference()
        if self.reader.accept("b{g}"):
            raise ValueError(r"\b{g} is not supported")
        place = _place(letter, flags)
        if place is not None:
            self.reader.take()
            return place
        return one_character(escaped_character(self.reader), flags)

    def _reference_number(self) -> int:
        """As Java reads it: further digits belong to the number as long as so many groups have been opened."""
        number = int(self.reader.take())
        while self.reader.peek() and self.reader.peek() in "0123456789" and number * 10 + int(self.reader.peek()) <= self._groups:
            number = number * 10 + int(self.reader.take())
        return number

    def _named_reference(self) -> str:
        self.reader.take()
        if not self.reader.accept("<"):
            raise ValueError(r"\k needs a group's name in angle brackets")
        name = self.reader.until(">", r"\k<")
        if name not in self._names:
            raise ValueError(f"no group before it is called '{name}'")
        return self._reference(self._names[name])

    def _reference(self, number: int) -> str:
        if number not in self._closed:
            raise ValueError(f"\\{number} refers to a group that is not complete before it")
        flags = self.reader.flags
        if "i" in flags and "u" not in flags:
            raise ValueError("a back-reference under (?i) is supported with (?iu) only")
        return f"(?i:\\g<{number}>)" if "i" in flags else f"\\g<{number}>"


def _place(letter: str, flags: Flags) -> str | None:
    """Escapes that stand for a place in the text, or for more than one character; None for any other."""
    match letter:
        case "b":
            return _word_boundary(flags)
        case "B":
            return f"(?!{_word_boundary(flags)})"
        case "A" | "G" | "X":
            return f"\\{letter}"
        case "z":
            return r"(?!(?s:.))"
        case "Z":
            return _line_stop(flags - {"m"})
        case "R":
            return r"(?:\r\n|[\n-\r\x85\u2028\u2029])"
    return None


def _dot(flags: Flags) -> str:
    if "s" in flags:
        return ANY
    return r"[^\n]" if "d" in flags else r"[^\n\r\x85\u2028\u2029]"


def _line_start(flags: Flags) -> str:
    r"""The place of `^`: the start and, under (?m), behind each line terminator. Under (?m) never at the very end, be the text empty."""
    if "m" not in flags:
        return r"\A"
    behind_line_end = r"(?<=\n)" if "d" in flags else r"(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n)"
    return rf"(?:(?:\A|{behind_line_end})(?=(?s:.)))"


def _line_stop(flags: Flags) -> str:
    r"""The place of `$`: the end, and the place before the last line terminator or, under (?m), before each; never inside `\r\n`."""
    behind = "" if "m" in flags else r"(?!(?s:.))"
    if "d" in flags:
        return rf"(?:(?!(?s:.))|(?=\n{behind}))"
    return rf"(?:(?!(?s:.))|(?=(?:\r\n|[\r\x85\u2028\u2029]){behind})|(?<!\r)(?=\n{behind}))"


def _word_boundary(flags: Flags) -> str:
    word = predefined("w", flags)
    return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
