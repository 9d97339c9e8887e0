"""What a property is: its type, its default, and which values it may have, parsed as Kafka parses them (`ConfigDef.parseType`)."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from kafka_mirror.config.policies import check_class
from kafka_mirror.errors import ConfigurationError
from kafka_mirror.policy.filters import Names, matches_nothing
from kafka_mirror.policy.java_regex import compile_java
from kafka_mirror.policy.rename import Renames, parse_contexts

Type = Literal["BOOLEAN", "SHORT", "INT", "LONG", "DOUBLE", "STRING", "PASSWORD", "CLASS", "LIST", "PER-TOPIC"]

_BITS = {"SHORT": 16, "INT": 32, "LONG": 64}
_NUMBER = re.compile(r"[+-]?[0-9]+")
_COMMA = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")
_JAVA_TRIM = "".join(map(chr, range(33)))


@dataclass(frozen=True)
class Valid:
    """What a value may be: the words for the documentation, and a check that gives the complaint or None."""

    text: str
    check: Callable[[Any], str | None]


def parse_value(type: Type, text: str) -> Any:
    """The typed value: bool, int, float, str or a tuple of str. Raises ValueError that says what is allowed."""
    trimmed = text.strip(_JAVA_TRIM)
    if type == "BOOLEAN":
        return _parse_boolean(trimmed)
    if type in _BITS:
        return _parse_integer(trimmed, _BITS[type])
    if type == "DOUBLE":
        return _parse_double(trimmed)
    if type in ("LIST", "PER-TOPIC"):
        return parse_list(trimmed)
    return trimmed


def parse_list(text: str) -> tuple[str, ...]:
    """The members of a LIST: duplicates dropped, the first kept (KIP-1161). Raises ValueError for an empty member."""
    trimmed = text.strip(_JAVA_TRIM)
    members = _COMMA.split(trimmed) if trimmed else []
    if "" in members:
        raise ValueError("has an empty member; take out the comma too many")
    return tuple(dict.fromkeys(members))


def _parse_boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return text.lower() == "true"


def _parse_integer(text: str, bits: int) -> int:
    limit = 2 ** (bits - 1)
    if not _NUMBER.fullmatch(text) or not -limit <= int(text) < limit:
        raise ValueError(f"must be a whole number of {bits} bits")
    return int(text)


def _parse_double(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("must be a number") from None


def between(least: int, most: int | None = None) -> Valid:
    """A number from `least` to `most`, both included."""
    text = f"at least {least}" if most is None else f"{least} to {most}"
    return Valid(text, lambda value: None if least <= value and (most is None or value <= most) else f"must be {text}")


def allow_one_of(*words: str) -> Valid:
    """One of these words, exactly; for a list: each member."""
    text = " or ".join(words)

    def check(value: Any) -> str | None:
        """What the value must be, if it is not."""
        wrong = [word for word in (value if isinstance(value, tuple) else (value,)) if word not in words]
        return f"must be {text}" if wrong else None

    return Valid(text, check)


def allow_several_of(*words: str) -> Valid:
    """A list of these words, exactly; at least one."""
    member = allow_one_of(*words)
    text = f"{member.text}, or several"
    return Valid(text, lambda value: member.check(value) if value else f"must not be empty; it must be {text}")


def allow_any_case(*words: str) -> Valid:
    """One of these words, in any case."""
    text = " or ".join(words)
    return Valid(text, lambda value: None if value.strip().lower() in words else f"must be {text}")


def factor() -> Valid:
    """A replication factor: -1 for the broker's default, or at least 1."""
    return Valid("-1 or at least 1", lambda value: None if value == -1 or value >= 1 else "must be -1 (the broker's default) or at least 1")


def policy_class(name: str) -> Valid:
    """One of MirrorMaker 2's own policies or filters, or a Python class that can be imported; `name` is the property's."""
    return Valid("a class of MirrorMaker 2, or a Python class", lambda value: _complain(check_class, name, value))


def rename_rules() -> Valid:
    """A list of rules `pattern -> replacement` that can be read backwards."""
    return Valid("rules: pattern -> replacement", lambda value: _complain(Renames.parse, value))


def context_rules() -> Valid:
    """A list of rules `.context -> .context`."""
    return Valid("rules: .context -> .context", lambda value: _complain(parse_contexts, value))


def _complain(parse: Callable[..., object], *arguments: Any) -> str | None:
    """What `parse` says against these; None if it takes them."""
    try:
        parse(*arguments)
    except ConfigurationError as error:
        return error.problems[0].message
    except ValueError as error:
        return str(error)
    return None


def regexes(of: Names) -> Valid:
    """A list of Java regular expressions for names of this kind, each of which some name could match.

    MM2 compiles them joined by `|` alone, so that `(a,b)` is valid, and so does the check.
    """

    def complaint(pattern: str) -> str | None:
        why = _complain(compile_java, pattern)
        return f"the regular expression '{pattern}' cannot be used: {why}" if why else None

    def check(value: Any) -> str | None:
        """What Java would say of the expressions as they are joined, of the one that is wrong if it is wrong alone; or which matches no
        name."""
        wrong, whole = [complaint(pattern) for pattern in value], complaint("|".join(value))
        if whole:
            return next(filter(None, wrong), whole)
        alone = ["|".join(value)] if any(wrong) else value
        return next(filter(None, (matches_nothing(pattern, of) for pattern in alone)), None)

    return Valid("regular expressions of Java", check)


@dataclass(frozen=True)
class Property:
    """One property: defined here once, for parsing, validation and the handbook's table alike."""

    name: str
    type: Type
    default: Any
    """The typed default; None: there is none, or it is taken from `default_from`."""
    doc: str
    valid: Valid | None = None
    group: str = "mirror"
    """Under which heading the handbook has it."""
    default_from: str = ""
    """The property whose value stands in if this one is not set."""
    top_level: bool = True
    """Whether the top level of the file reaches it; otherwise only `S->T.<name>` does."""
    effect: str = ""
    """Why the property has no meaning in a batch mirror; empty: it has one."""
    refused: str = ""
    """Why every value but the default is refused; empty: `valid` says what is possible."""

    def parse(self, text: str) -> Any:
        """The typed, valid value of a text. Raises ValueError that says what is allowed."""
        value = parse_value(self.type, text)
        complaint = self.valid.check(value) if self.valid else None
        if self.refused and value != self.default:
            complaint = self.refused
        if complaint:
            raise ValueError(complaint)
        return value


def group_under(group: str, *properties: Property) -> tuple[Property, ...]:
    """The properties under this heading of the handbook."""
    return tuple(replace(one, group=group) for one in properties)
