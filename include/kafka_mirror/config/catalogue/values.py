"""What a property is: its type, its default, and which values it may have, parsed as Kafka parses them (`ConfigDef.parseType`).

Properties that may differ by topic are a comma-separated list of `[<topic regex>=]<word>`, of which the first that matches wins.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pendulum

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
        if trimmed.lower() not in ("true", "false"):
            raise ValueError("must be true or false")
        return trimmed.lower() == "true"
    if type in _BITS:
        limit = 2 ** (_BITS[type] - 1)
        if not _NUMBER.fullmatch(trimmed) or not -limit <= int(trimmed) < limit:
            raise ValueError(f"must be a whole number of {_BITS[type]} bits")
        return int(trimmed)
    if type == "DOUBLE":
        try:
            return float(trimmed)
        except ValueError:
            raise ValueError("must be a number") from None
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


FACTOR = Valid("-1 or at least 1", lambda value: None if value == -1 or value >= 1 else "must be -1 (the broker's default) or at least 1")
"""A replication factor: -1 for the broker's default, or at least 1."""


def policy_class(name: str) -> Valid:
    """One of MirrorMaker 2's own policies or filters, or a Python class that can be imported; `name` is the property's."""
    return Valid("a class of MirrorMaker 2, or a Python class", lambda value: _complain(check_class, name, value))


def _complain(parse: Callable[..., object], *arguments: Any) -> str | None:
    """What `parse` says against these; None if it takes them."""
    try:
        parse(*arguments)
    except ConfigurationError as error:
        return error.problems[0].message
    except ValueError as error:
        return str(error)
    return None


RENAME_RULES = Valid("rules: pattern -> replacement", lambda value: _complain(Renames.parse, value))
"""A list of rules `pattern -> replacement` that can be read backwards."""

CONTEXT_RULES = Valid("rules: .context -> .context", lambda value: _complain(parse_contexts, value))


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


_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].+)?")
_DURATION = re.compile(r"P(?:([0-9]+)D)?(?:T(?=.)(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]{0,9})?)S)?)?")


@dataclass(frozen=True)
class StartPosition:
    """Where a partition begins that is seen for the first time: `value` is milliseconds since the epoch, an offset, or None."""

    kind: Literal["earliest", "latest", "timestamp", "offset"]
    value: int | None = None
    from_now: bool = False
    """Whether a timestamp was counted back from now."""

    @property
    def is_fixed(self) -> bool:
        """Whether it is always the same place."""
        return self.kind != "latest" and not self.from_now


EARLIEST = StartPosition("earliest")


@dataclass(frozen=True)
class Rule:
    """One member of the list; a pattern that is None matches every topic."""

    pattern: str | None
    word: str

    def matches(self, topic: str) -> bool:
        """Whether the rule is for this topic: the expression has to match the whole name."""
        return self.pattern is None or compile_java(self.pattern).matches(topic)


def rule(member: str) -> Rule:
    """A member of the list, taken apart at its last `=` (no word holds one)."""
    pattern, equals, word = member.rpartition("=")
    return Rule(pattern.rstrip() if equals else None, word.strip())


def word_for(members: Sequence[str], topic: str) -> str | None:
    """The word of the first rule that matches the topic; None if none does."""
    return next((topic_rule.word for topic_rule in map(rule, members) if topic_rule.matches(topic)), None)


def start_position(word: str) -> StartPosition:
    """What a word of `mirror.start` means. Raises ValueError that says what is allowed."""
    if word in ("earliest", "latest"):
        return StartPosition("earliest" if word == "earliest" else "latest")
    kind, _, value = word.partition(":")
    if kind == "timestamp":
        return StartPosition("timestamp", milliseconds(value))
    if kind == "offset" and re.fullmatch("[0-9]{1,19}", value) and int(value) < 2**63:
        return StartPosition("offset", int(value))
    raise ValueError(f"'{word}' is no start; it must be earliest, latest, timestamp:<ISO 8601> or offset:<number>")


def reset_position(text: str, now_ms: int | None = None) -> StartPosition:
    """What `auto.offset.reset` of the source consumer means; `by_duration:` (KIP-1106) counts back from now. Raises ValueError."""
    word = text.strip().lower()
    if word in ("earliest", "latest"):
        return start_position(word)
    if word == "none":
        raise ValueError("with none every new partition would be an error; say where to begin: earliest, latest or by_duration:<ISO 8601>")
    kind, _, duration = word.partition(":")
    if kind != "by_duration":
        raise ValueError("must be earliest, latest or by_duration:<ISO 8601 duration>")
    now = int(time.time() * 1000) if now_ms is None else now_ms
    return StartPosition("timestamp", max(0, now - _parse_duration(duration.upper())), from_now=True)


def allow_words(*words: str) -> Valid:
    """The rules of a property whose words are these."""

    def check(word: str) -> None:
        """Raises ValueError with the words that are known."""
        if word not in words:
            raise ValueError(f"'{word}' is unknown; it must be {' or '.join(words)}")

    return _allow_rules(", ".join(words), check)


def _allow_rules(text: str, parse_word: Callable[[str], object]) -> Valid:
    def check(members: Any) -> str | None:
        """What is wrong with the first rule that cannot be used; None: nothing."""
        rules = [rule(member) for member in members]
        try:
            for topic_rule in rules:
                parse_word(topic_rule.word)
                if topic_rule.pattern is not None:
                    compile_java(topic_rule.pattern)
                    if complaint := matches_nothing(topic_rule.pattern, "topic"):
                        return complaint
        except ValueError as error:
            return str(error)
        everything = next((position for position, topic_rule in enumerate(rules) if topic_rule.pattern is None), None)
        if everything is not None and everything < len(rules) - 1:
            return f"'{members[everything]}' is for every topic, so nothing after it is ever used; put it last"
        return None

    return Valid(f"list of [<topic regex>=]<word>, the first match wins; words: {text}", check)


START_RULES = _allow_rules("earliest, latest, timestamp:<ISO 8601, UTC unless it says otherwise>, offset:<n>", start_position)
"""The rules of `mirror.start`."""


def _parse_duration(text: str) -> int:
    """An ISO 8601 duration as `java.time.Duration` takes it: days, hours, minutes and seconds, no months and no years."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        raise ValueError("the duration must be of days, hours, minutes and seconds in ISO 8601, such as P1D or PT12H")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return int(pendulum.duration(days=days, hours=hours, minutes=minutes, seconds=seconds).total_seconds() * 1000)


def milliseconds(text: str) -> int:
    """Milliseconds since the epoch of an ISO 8601 date or time, in UTC unless it says otherwise."""
    try:
        moment = pendulum.parse(text) if _DATE.fullmatch(text) else None
    except (ValueError, TypeError):
        moment = None
    if not isinstance(moment, pendulum.DateTime):
        raise ValueError(f"'{text}' is no time in ISO 8601, such as 2026-01-31T12:00:00Z")
    # Rounded up: the first record at or after a time is never one before it.
    milliseconds = moment.int_timestamp * 1000 + -(-moment.microsecond // 1000)
    if milliseconds < 0:
        raise ValueError(f"'{text}' lies before 1970, and no record does")
    return milliseconds
