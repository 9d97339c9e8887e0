r"""Java's named sets of characters (`\d`, `\p{Alpha}`, `\p{javaLowerCase}`, `\p{IsGreek}` …) as expressions that match one character.

Source of the names and of what they hold: the documentation of `java.util.regex.Pattern` and `java.lang.Character`. A set that the Unicode
database defines is left to the `regex` package; only Java's own ones are spelled out here.
"""

import regex

Flags = frozenset[str]

_LINE_ENDS = r"\n\x0b\x0c\r\x85\u2028\u2029"
_BLANKS = r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"

# Written as the inside of a set. The second is what (?U), UNICODE_CHARACTER_CLASS, makes of it.
_PREDEFINED = {
    "d": ("0-9", r"\p{Nd}"),
    "s": (r" \t\n\x0b\x0c\r", r"\p{White_Space}"),
    "w": ("0-9A-Z_a-z", r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}"),
    "h": (_BLANKS, _BLANKS),
    "v": (_LINE_ENDS, _LINE_ENDS),
}

_POSIX = {
    "Lower": ("a-z", r"\p{Lowercase}"),
    "Upper": ("A-Z", r"\p{Uppercase}"),
    "ASCII": (r"\x00-\x7f", r"\x00-\x7f"),
    "Alpha": ("A-Za-z", r"\p{Alphabetic}"),
    "Digit": ("0-9", r"\p{Nd}"),
    "Alnum": ("0-9A-Za-z", r"\p{Alphabetic}\p{Nd}"),
    "Punct": (r"!-/:-@\[-`{-~", r"\p{P}"),
    "Graph": ("!-~", r"^\p{White_Space}\p{Cc}\p{Cs}\p{Cn}"),
    "Print": (" -~", r"^\t-\r\x85\u2028\u2029\p{Cc}\p{Cs}\p{Cn}"),
    "Blank": (r" \t", r"\p{Zs}\t"),
    "Cntrl": (r"\x00-\x1f\x7f", r"\p{Cc}"),
    "XDigit": ("0-9A-Fa-f", r"\p{Nd}\p{Hex_Digit}"),
    "Space": (r" \t\n\x0b\x0c\r", r"\p{White_Space}"),
}

_UNICODE_POSIX = {name.upper(): inside for name, (_, inside) in _POSIX.items() if name != "ASCII"}

_JAVA = {
    "javaLowerCase": r"\p{Lowercase}",
    "javaUpperCase": r"\p{Uppercase}",
    "javaAlphabetic": r"\p{Alphabetic}",
    "javaIdeographic": r"\p{Ideographic}",
    "javaTitleCase": r"\p{Titlecase_Letter}",
    "javaDigit": r"\p{Nd}",
    "javaDefined": r"^\p{Cn}",
    "javaLetter": r"\p{L}",
    "javaLetterOrDigit": r"\p{L}\p{Nd}",
    "javaSpaceChar": r"\p{Z}",
    "javaWhitespace": r"\t-\r\x1c-\x20\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000",
    "javaISOControl": r"\x00-\x1f\x7f-\x9f",
    "javaMirrored": r"\p{Bidi_Mirrored}",
}

_GENERAL_CATEGORIES = frozenset(
    "Cn Lu Ll Lt Lm Lo Mn Me Mc Nd Nl No Zs Zl Zp Cc Cf Co Cs Pd Ps Pe Pc Po Sm Sc Sk So Pi Pf L M N Z C P S".split()
)
_JAVA_CATEGORIES = {"LC": r"\p{Lu}\p{Ll}\p{Lt}", "LD": r"\p{L}\p{Nd}", "L1": r"\x00-\xff", "all": r"\x00-\U0010ffff"}

_BINARY_PROPERTIES = {
    "ALPHABETIC": r"\p{Alphabetic}",
    "LETTER": r"\p{L}",
    "IDEOGRAPHIC": r"\p{Ideographic}",
    "LOWERCASE": r"\p{Lowercase}",
    "UPPERCASE": r"\p{Uppercase}",
    "TITLECASE": r"\p{Titlecase_Letter}",
    "WHITE_SPACE": r"\p{White_Space}",
    "WHITESPACE": r"\p{White_Space}",
    "CONTROL": r"\p{Cc}",
    "PUNCTUATION": r"\p{P}",
    "HEX_DIGIT": r"\p{Nd}\p{Hex_Digit}",
    "HEXDIGIT": r"\p{Nd}\p{Hex_Digit}",
    "ASSIGNED": r"^\p{Cn}",
    "NONCHARACTER_CODE_POINT": r"\p{Noncharacter_Code_Point}",
    "NONCHARACTERCODEPOINT": r"\p{Noncharacter_Code_Point}",
    "WORD": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}",
    "JOIN_CONTROL": r"\p{Join_Control}",
    "JOINCONTROL": r"\p{Join_Control}",
}

# Under (?i) the sets that differ by case alone stand for each other (JDK-8214245).
_ANY_CASE = {
    r"\p{Lowercase}": r"\p{Lowercase}\p{Uppercase}\p{Lt}",
    r"\p{Uppercase}": r"\p{Lowercase}\p{Uppercase}\p{Lt}",
    r"\p{Titlecase_Letter}": r"\p{Lowercase}\p{Uppercase}\p{Lt}",
    r"\p{Lt}": r"\p{Lu}\p{Ll}\p{Lt}",
    r"\p{Lu}": r"\p{Lu}\p{Ll}\p{Lt}",
    r"\p{Ll}": r"\p{Lu}\p{Ll}\p{Lt}",
    "a-z": "A-Za-z",
    "A-Z": "A-Za-z",
}


def predefined(letter: str, flags: Flags) -> str:
    r"""The set of `\d`, `\s`, `\w`, `\h`, `\v` and of their upper-case complements: ASCII alone for the first three, unless (?U)."""
    ascii_set, unicode_set = _PREDEFINED[letter.lower()]
    return ("[^" if letter.isupper() else "[") + (unicode_set if "U" in flags else ascii_set) + "]"


def named(name: str, flags: Flags) -> str:
    r"""The set of `\p{name}`. Raises ValueError for a name that Java does not know either, or that cannot be translated."""
    if "=" in name:
        key, value = name.split("=", 1)
        inside = _by_key(key, value, flags)
    elif name.startswith("In"):
        inside = _known("Block", name[2:], name)
    elif name.startswith("Is"):
        inside = _unicode(name, flags)
    else:
        inside = _plain(name, flags) or ""
        if not inside:
            raise _unknown(name)
    return f"[{_cased(inside, flags)}]"


def _by_key(key: str, value: str, flags: Flags) -> str:
    whole = f"{key}={value}"
    match key.lower():
        case "sc" | "script":
            return _known("Script", value, whole)
        case "blk" | "block":
            return _known("Block", value, whole)
        case "gc" | "general_category":
            found = _plain(value, flags)
            if found is not None:
                return found
    raise _unknown(whole)


def _unicode(name: str, flags: Flags) -> str:
    bare = name[2:]
    binary = _BINARY_PROPERTIES.get(bare.upper()) or _UNICODE_POSIX.get(bare.upper())
    return binary or _plain(bare, flags) or _known("Script", bare, name)


def _plain(name: str, flags: Flags) -> str | None:
    if name in _POSIX:
        return _POSIX[name]["U" in flags]
    if name in _GENERAL_CATEGORIES:
        return f"\\p{{{name}}}"
    return _JAVA.get(name) or _JAVA_CATEGORIES.get(name)


def _known(key: str, value: str, whole: str) -> str:
    expression = f"\\p{{{key}={value}}}"
    try:
        regex.compile(expression)
    except regex.error as error:
        raise _unknown(whole) from error
    return expression


def _unknown(name: str) -> ValueError:
    return ValueError(f"\\p{{{name}}} is no character property that is known here")


def _cased(inside: str, flags: Flags) -> str:
    return _ANY_CASE.get(inside, inside) if "i" in flags else inside
