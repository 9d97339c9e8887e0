"""Properties that may differ by topic: a comma-separated list of `[<topic regex>=]<word>`, of which the first that matches wins."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pendulum

from kafka_mirror.config.catalogue.values import Valid
from kafka_mirror.policy.filters import matches_nothing
from kafka_mirror.policy.java_regex import compile_java

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


def allow_start() -> Valid:
    """The rules of `mirror.start`."""
    return _allow_rules("earliest, latest, timestamp:<ISO 8601, UTC unless it says otherwise>, offset:<n>", start_position)


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
