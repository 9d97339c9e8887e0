"""Java regular expressions in values."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirror.policy.java_regex import JavaPattern


def compile_pattern(pattern: str) -> "JavaPattern":
    """The pattern, compiled. Raises ValueError with the reason."""
    # The policies import the configuration, so it imports theirs only when it has something to compile.
    from mirror.policy.java_regex import compile_java

    return compile_java(pattern)
