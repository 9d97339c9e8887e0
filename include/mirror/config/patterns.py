"""Java regular expressions in values."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mirror.policy.java_regex import JavaPattern


def compile_pattern(pattern: str) -> "JavaPattern":
    """The pattern, compiled. Raises ValueError with the reason."""
    # The policies import the configuration, so it imports theirs only when it has something to compile.
    from mirror.policy.java_regex import compile_java

    return compile_java(pattern)


def have_common_name(included: "Sequence[str]", excluded: "Sequence[str]") -> bool:
    """Whether a topic's name may match all of the included patterns and none of the excluded ones."""
    from mirror.policy.name_automaton import automaton, has_common_name

    return has_common_name([automaton(each, True) for each in included], [automaton(each, False) for each in excluded])
