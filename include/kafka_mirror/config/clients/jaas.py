"""`sasl.jaas.config`: one login module in the syntax of a JAAS file, as Kafka's `JaasConfig` reads it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
      | "(?P<double>(?:[^"\\\r\n]|\\.)*)" | '(?P<single>(?:[^'\\\r\n]|\\.)*)'
      | (?P<mark>[;=]) | (?P<word>[^\s;="']+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_CONTROL = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NAMES = {"\\": "\\\\", '"': '\\"', **{character: f"\\{letter}" for letter, character in _CONTROL.items()}}
_FLAGS = ("required", "requisite", "sufficient", "optional")


@dataclass(frozen=True)
class LoginModule:
    """The Java class and its options; the options hold secrets."""

    name: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def simple_name(self) -> str:
        """The class without its package."""
        return self.name.rpartition(".")[2]


def parse_jaas(text: str) -> LoginModule:
    """The one login module of the text. Raises ValueError that says what is wrong and never quotes the text: it holds a password."""
    tokens = list(_split(text))
    ends = [index for index, (kind, value) in enumerate(tokens) if (kind, value) == ("mark", ";")]
    if not ends or ends[-1] != len(tokens) - 1:
        raise ValueError("has to end with a semicolon")
    if len(ends) > 1:
        raise ValueError(f"holds {len(ends)} login modules; it must be one")
    body = tokens[:-1]
    if len(body) < 2 or any(kind == "mark" for kind, _ in body[:2]) or body[1][1].lower() not in _FLAGS:
        raise ValueError('must be: <login module class> required <option>="<value>" …;')
    options: dict[str, str] = {}
    rest = body[2:]
    for first in range(0, len(rest), 3):
        match rest[first : first + 3]:
            case [("word" | "quoted", name), ("mark", "="), ("word" | "quoted", value)]:
                options[name] = value
            case _:
                raise ValueError('has an option that is not <option>="<value>"; put the value in quotes, and \\ before a quote in it')
    return LoginModule(body[0][1], options)


def jaas_text(module: str, options: Mapping[str, str]) -> str:
    """The text that `parse_jaas` reads as this login module with these options."""
    written = "".join(f' {name}="{_quote(value)}"' for name, value in options.items())
    return f"{module} required{written};"


def _quote(value: str) -> str:
    return "".join(_NAMES.get(character, character) for character in value)


def _split(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError("has a quote that is not closed")
        position = match.end()
        if match.lastgroup in ("double", "single"):
            yield "quoted", _ESCAPE.sub(_unescape, match.group(match.lastgroup))
        elif match.lastgroup:
            yield match.lastgroup, match.group()


def _unescape(match: re.Match[str]) -> str:
    what = match.group(1)
    return chr(int(what, 8)) if what[0] in "01234567" else _CONTROL.get(what, what)
