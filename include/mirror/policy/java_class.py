r"""Character escapes and character classes of Java patterns: `\x41`, `[a-z&&[^b]]`, `[a[b-d]]`.

A set of characters is written as an expression that matches exactly one of them. Union, intersection and complement are built with
alternatives and look-ahead, because the nested sets of `regex` belong to a mode in which letters may also fold to several characters.
"""

import unicodedata

from mirror.policy.java_properties import Flags, named, predefined
from mirror.policy.java_reader import END, Reader

ANY = r"(?s:.)"
_OCTAL, _HEX = "01234567", "0123456789abcdefABCDEF"
_CONTROLS = {"a": 0x07, "e": 0x1B, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09}
_LOW_SURROGATES = (r"\udc", r"\udd", r"\ude", r"\udf")
_SETS = frozenset("dDsSwWhHvV")


def escaped_character(reader: Reader) -> int:
    """The code point of the escape that comes next, behind its backslash. Raises ValueError if it stands for no single character."""
    letter = reader.take()
    if letter in _CONTROLS:
        return _CONTROLS[letter]
    match letter:
        case "0":
            return _octal(reader)
        case "x":
            return _hexadecimal(reader)
        case "u":
            return _utf16(reader)
        case "c":
            control = reader.take()
            if control == END:
                raise ValueError(r"\c needs a character behind it")
            return ord(control) ^ 64
        case "N":
            return _by_name(reader)
    if letter == END:
        raise ValueError("a backslash at the end escapes nothing")
    if letter.isascii() and letter.isalnum():
        raise ValueError(f"\\{letter} is no escape of Java's patterns")
    return ord(letter)


def escaped_set(reader: Reader) -> str | None:
    r"""The set of the `\d`, `\W`, `\p{…}` … that comes next, behind its backslash; None (and nothing is read) if it is something else."""
    letter = reader.peek()
    if letter != END and letter in _SETS:
        return predefined(reader.take(), reader.flags)
    if letter not in ("p", "P"):
        return None
    reader.take()
    name = reader.until("}", "a character property") if reader.accept("{") else reader.take()
    found = named(name, reader.flags)
    return complement(found) if letter == "P" else found


def one_character(code_point: int, flags: Flags) -> str:
    """An expression that matches this character; under (?i) also its other case (of ASCII letters alone, unless (?u))."""
    return written([(code_point, code_point)], flags) if "i" in flags else _escaped(code_point)


def written(ranges: list[tuple[int, int]], flags: Flags) -> str:
    """The set of the characters in these ranges (both ends belong to them), under the flags."""
    inside = "".join(f"{_escaped(first)}-{_escaped(last)}" for first, last in ranges)
    if "i" not in flags:
        return f"[{inside}]"
    if "u" in flags:
        return f"(?i:[{inside}])"
    return f"[{inside}{''.join(_other_case(first, last) for first, last in ranges)}]"


def complement(expression: str) -> str:
    """Every character that the set does not hold."""
    return f"(?:(?!{expression}){ANY})"


def union(expressions: list[str]) -> str:
    """Every character that one of the sets holds."""
    return expressions[0] if len(expressions) == 1 else f"(?:{'|'.join(expressions)})"


def intersection(left: str, right: str) -> str:
    """Every character that both sets hold."""
    return f"(?:(?={left}){right})"


def character_class(reader: Reader) -> str:
    """The set of the character class that comes next, behind its `[`. Raises ValueError for what Java refuses."""
    negated = reader.accept("^")
    found = _members(reader, nested=True)
    return complement(found) if negated else found


def _members(reader: Reader, nested: bool) -> str:
    """The members up to the closing bracket, which is read only if they are `nested`, not the right side of a `&&`."""
    ranges: list[tuple[int, int]] = []
    sets: list[str] = []
    while True:
        reader.skip_comments()
        if reader.peek() == END:
            raise ValueError("a character class is not closed by ']'")
        if reader.peek() == "]" and (ranges or sets):
            if nested:
                reader.take()
            return _collected(ranges, sets, reader.flags)
        if reader.accept("["):
            sets.append(character_class(reader))
        elif reader.accept("&&"):
            sets, ranges = [_intersected(reader, ranges, sets)], []
        else:
            _member(reader, ranges, sets)


def _intersected(reader: Reader, ranges: list[tuple[int, int]], sets: list[str]) -> str:
    right = []
    reader.skip_comments()
    while reader.peek() not in ("]", "&"):
        if reader.peek() == END:
            raise ValueError("a character class is not closed by ']'")
        right.append(character_class(reader) if reader.accept("[") else _members(reader, nested=False))
        reader.skip_comments()
    if not right:
        # Java takes `[a&&]`, and then overflows its stack while matching.
        raise ValueError("'&&' in a character class has nothing behind it")
    if not (ranges or sets):
        return union(right)
    return intersection(_collected(ranges, sets, reader.flags), union(right))


def _collected(ranges: list[tuple[int, int]], sets: list[str], flags: Flags) -> str:
    return union(([written(ranges, flags)] if ranges else []) + sets)


def _member(reader: Reader, ranges: list[tuple[int, int]], sets: list[str]) -> None:
    if reader.accept("\\"):
        found = None if reader.peek() == "v" and reader.peek(1) == "-" else escaped_set(reader)
        if found is not None:
            sets.append(found)
            return
        first = _in_class(reader)
    else:
        first = ord(reader.take())
    reader.skip_comments()
    last = first
    if reader.peek() == "-" and reader.peek(1) not in ("[", "]", END):
        reader.take()
        reader.skip_comments()
        last = _in_class(reader) if reader.accept("\\") else ord(reader.take())
        if last < first:
            raise ValueError("a range in a character class ends before it begins")
    ranges.append((first, last))


def _in_class(reader: Reader) -> int:
    if reader.accept("v"):
        return 0x0B
    return escaped_character(reader)


def _other_case(first: int, last: int) -> str:
    return "".join(
        f"{_escaped(low ^ 32)}-{_escaped(high ^ 32)}"
        for low, high in ((max(first, a), min(last, z)) for a, z in ((0x41, 0x5A), (0x61, 0x7A)))
        if low <= high
    )


def _escaped(code_point: int) -> str:
    character = chr(code_point)
    return character if character.isascii() and character.isalnum() else f"\\U{code_point:08x}"


def _octal(reader: Reader) -> int:
    digits = reader.digits(_OCTAL, 3 if reader.peek() in ("0", "1", "2", "3") else 2)
    if not digits:
        raise ValueError(r"\0 needs octal digits behind it")
    return int(digits, 8)


def _hexadecimal(reader: Reader) -> int:
    digits = reader.until("}", r"\x{") if reader.accept("{") else reader.digits(_HEX, 2).rjust(2, "?")
    if not digits or any(digit not in _HEX for digit in digits) or int(digits, 16) > 0x10FFFF:
        raise ValueError(r"\x needs two hexadecimal digits, or a code point in braces")
    return int(digits, 16)


def _utf16(reader: Reader) -> int:
    first = _four_digits(reader)
    following = "".join(reader.peek(ahead) for ahead in range(4)).lower()
    if not 0xD800 <= first < 0xDC00 or following not in _LOW_SURROGATES:
        return first
    reader.accept(r"\u")
    return 0x10000 + ((first - 0xD800) << 10) + (_four_digits(reader) - 0xDC00)


def _four_digits(reader: Reader) -> int:
    digits = reader.digits(_HEX, 4)
    if len(digits) < 4:
        raise ValueError(r"\u needs four hexadecimal digits")
    return int(digits, 16)


def _by_name(reader: Reader) -> int:
    if not reader.accept("{"):
        raise ValueError(r"\N needs a character's name in braces")
    name = reader.until("}", r"\N{")
    try:
        return ord(unicodedata.lookup(name))
    except (KeyError, TypeError) as error:
        raise ValueError(f"no character is called '{name}'") from error
