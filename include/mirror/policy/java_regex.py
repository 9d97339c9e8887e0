"""Java's regular expressions, so that a filter accepts here what it accepts in MirrorMaker 2."""

from functools import lru_cache

import regex

from mirror.policy.java_syntax import translate


class JavaPattern:
    """A compiled Java pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        try:
            self._compiled = regex.compile(translate(pattern))
        except (regex.error, OverflowError, RecursionError) as error:
            raise ValueError(f"it cannot be translated: {error}") from error

    def matches(self, text: str) -> bool:
        """Whether the whole text matches, as `java.util.regex.Pattern.matches` says."""
        return self._compiled.fullmatch(text) is not None

    def __repr__(self) -> str:
        return f"JavaPattern({self.pattern!r})"


@lru_cache(maxsize=256)
def compile_java(pattern: str) -> JavaPattern:
    r"""Compiles a pattern in the syntax and with the meaning of `java.util.regex.Pattern` (no flags).

    Raises ValueError with a short reason for what Java refuses, and for the little that has no counterpart here: canonical equivalence,
    `\b{g}`, references to groups that are not complete yet, and back-references under `(?i)` without `(?u)`. `\b` goes by `\w`, as it is
    documented and as JDK 19 and later do it; older ones also count letters outside ASCII there. `(?iu)` folds case as Unicode does: `ß`
    and `ẞ` are one letter, `i` and the dotless `ı` two. A look-behind may have any length.
    """
    return JavaPattern(pattern)
