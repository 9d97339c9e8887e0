"""Java regular expressions in values."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from kafka_mirror.policy.java_regex import JavaPattern

_ADVICE = (
    "Such names hold letters, digits, '.', '_' and '-' alone; write a list without quotes, with commas between its members, and "
    r"\\ for one backslash"
)


Names = Literal["topic", "config", "group", "subject"]
"""What the names are of that a pattern chooses from."""


def matches_nothing(pattern: str, of: Names) -> str | None:
    """Why no name of this kind can ever match a pattern that compiles, with what to write; None if one may."""
    from kafka_mirror.policy.possible_names import ANY_TEXT, IN_NAMES, LONGEST, impossible, printable

    why = impossible(pattern, IN_NAMES, LONGEST) if of in ("topic", "config") else impossible(pattern, ANY_TEXT)
    if not why:
        return None
    return f"no {of} can ever match '{printable(pattern)}': {why}. {_ADVICE if of in ('topic', 'config') else ''}".rstrip()


def compile_pattern(pattern: str) -> "JavaPattern":
    """The pattern, compiled. Raises ValueError with the reason."""
    # The policies import the configuration, so it imports theirs only when it has something to compile.
    from kafka_mirror.policy.java_regex import compile_java

    return compile_java(pattern)
