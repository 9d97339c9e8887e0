"""The differences from MirrorMaker 2 that are meant, each with its reason. Whatever is not in here has to be equal.

The tests leave out by these rules what they would otherwise report, and `test_intended.py` shows that each of them is still one.
"""

from typing import NamedTuple


class RefusedPattern(NamedTuple):
    """A pattern that Java takes and the mirror refuses, the words of its complaint, and why."""

    pattern: str
    complaint: str
    reason: str


REFUSED_PATTERNS = (
    RefusedPattern("(?c)a", "(?c), is not supported", "`regex` cannot compare characters in their decomposed form"),
    RefusedPattern(r"\b{g}a", r"\b{g} is not supported", "the boundaries of what a reader takes for one character"),
    RefusedPattern(r"(a\1)", "refers to a group that is not complete before it", "Java lets it fail to match, `regex` refuses it"),
    RefusedPattern(r"(?i)(a)\1", "supported with (?iu) only", "Java folds the ASCII letters alone here, `regex` every letter"),
    RefusedPattern("[a&&]", "'&&' in a character class has nothing behind it", "Java takes it, and overflows its stack while matching"),
)

TAKEN_PATTERNS = {
    r"(?<=(ab)*)c": "a look-behind of any length: Java refuses most of them, and matches some where it should not",
}

BOUNDARIES = "\\b goes by \\w, as Java documents it and as JDK 19 and later do; JDK 17 also counts letters outside ASCII there"


def refused_here_alone(complaint: str) -> bool:
    """Whether a refusal of the mirror is one that Java does not share."""
    return any(row.complaint in complaint for row in REFUSED_PATTERNS)


def is_ours(name: str) -> bool:
    """Whether a property is the mirror's own, which reaches every flow from the top level and MirrorMaker 2 does not know."""
    return name.startswith("mirror.")
