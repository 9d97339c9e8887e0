"""The intended differences from MirrorMaker 2, each with its reason. Everything else must be equal.

The tests leave out by these rules what they would otherwise report, and `test_differences.py` shows that each of them is still one.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple


class RefusedPattern(NamedTuple):
    """A pattern that Java takes and the mirror refuses, the words of its complaint, and why."""

    pattern: str
    complaint: str
    reason: str


_ORDER = "what it matches depends on the order in which Java's engine tries things"
_UNICODE = "it depends on the tables of the JDK's version of Unicode"
_RARE = "it can be written in a simpler way, and not everything that Java takes there is what its documentation says"

REFUSED_PATTERNS = (
    RefusedPattern("(?s)a", "of flags and extensions", _RARE),
    RefusedPattern("(?iu)a", "of flags and extensions", _UNICODE),
    RefusedPattern("(?c)a", "of flags and extensions", "`regex` cannot compare characters in their decomposed form"),
    RefusedPattern("(?<name>a)", "of flags and extensions", "a name is of use to a reference alone"),
    RefusedPattern("(?>a|ab)c", "an atomic group is not supported", _ORDER),
    RefusedPattern("(a|ab){2}+c", "it has nothing to repeat, or is a possessive", "possessive: " + _ORDER),
    RefusedPattern("a{2}{3}", "it has nothing to repeat, or is a possessive", "Java takes the second count as one of the empty text"),
    RefusedPattern("-(?i){2}", "it has nothing to repeat, or is a possessive", "Java takes the count as one of the empty text"),
    RefusedPattern("a{1000}", "a count is {n}", "a count of this size is a mistake"),
    RefusedPattern("((?=b)|b){2}", "repeats what may be empty", "Java leaves a repetition at its first empty turn"),
    RefusedPattern("(?<=a{1,2})b", "a look-behind takes characters", "Java counts its length in halves of characters"),
    RefusedPattern(r"(a)\1", "a reference to a group is not supported", _ORDER),
    RefusedPattern(r"\ba", "boundaries of words are not supported", "JDK 17 counts letters outside ASCII, JDK 19 and later do not"),
    RefusedPattern(r"\p{L}", "this set of characters is not supported", _UNICODE),
    RefusedPattern(r"\0101", "this escape is not supported", _RARE),
    RefusedPattern(r"\uD83D\uDE00", "is half of a character or none", _RARE),
    RefusedPattern("[a&&]", "a class is a flat list", "Java takes it, and overflows its stack while matching"),
    RefusedPattern("[a-z&&[^b]]", "a class is a flat list", _RARE),
)


def refused_here_alone(complaint: str) -> bool:
    """Whether a refusal of the mirror is one that Java need not share."""
    return any(row.complaint in complaint for row in REFUSED_PATTERNS)


def is_ours(name: str) -> bool:
    """Whether a property is the mirror's own, which reaches every flow from the top level and MirrorMaker 2 does not know."""
    return name.startswith("mirror.")


class Stricter(NamedTuple):
    """Values that MirrorMaker 2's definitions take and the mirror refuses: of which properties, which values, and why."""

    names: str
    refused: Callable[[Any], bool]
    reason: str


_POSITIVE = "a time of nothing, or less, means something else in each place of MirrorMaker 2; `….enabled=false` switches off"
_NO_JAVA = "a Java class cannot be loaded here"
_BYTES = "records are mirrored byte for byte"

STRICTER_VALUES = (
    Stricter(r".+\.interval\.seconds|admin\.timeout\.ms", lambda value: value < 1, _POSITIVE),
    Stricter(r"(.+\.)?replication\.factor", lambda value: value < 1 and value != -1, "the broker would refuse each topic, one by one"),
    Stricter(
        r"offset\.lag\.max|consumer\.poll\.timeout\.ms", lambda value: value < 0, "there is no such number of records or milliseconds"
    ),
    Stricter(r"(key|value|header)\.converter", lambda value: not value.endswith(".ByteArrayConverter"), _BYTES),
    Stricter("transforms|predicates", bool, _BYTES),
    Stricter(r"(replication\.policy|forwarding\.admin|.+\.filter)\.class", lambda value: True, _NO_JAVA),
    Stricter(
        r"(topics|groups)(\.exclude)?|config\.properties\.exclude",
        lambda value: True,
        "a regular expression that does not compile, at which MirrorMaker 2's connector fails, or that no name can match",
    ),
)

_CONVERTER = "MirrorMaker 2's driver fills in the ByteArrayConverter in the worker, from which this comes"
DEFAULTS = {
    "enabled": "MirrorMaker 2's driver fills in false",
    "key.converter": _CONVERTER,
    "value.converter": _CONVERTER,
    "header.converter": _CONVERTER,
    "connector.class": "each of the three connectors has its own",
    "name": "each of the three connectors has its own",
}


def stricter(name: str, value: object) -> bool:
    """Whether the mirror may refuse this value of a property, which MirrorMaker 2 takes."""
    return any(re.fullmatch(row.names, name) and row.refused(value) for row in STRICTER_VALUES)


class Laxer(NamedTuple):
    """Texts that MirrorMaker 2's connectors refuse and the mirror takes: of which properties, which texts, and why."""

    names: str
    taken: Callable[[str], bool]
    reason: str


LAXER_VALUES = (
    Laxer(
        ".+",
        lambda text: len(set(text.split(","))) < len(text.split(",")),
        "a member that stands twice in a list counts once; MirrorMaker 2's workers drop it too, but its connectors are not created",
    ),
    Laxer(r"name|metric\.names\.formats", lambda text: not text.strip(), "a property without effect here"),
)


def laxer(name: str, text: str) -> bool:
    """Whether the mirror may take this text of a property, which MirrorMaker 2 refuses."""
    return any(re.fullmatch(row.names, name) and row.taken(text) for row in LAXER_VALUES)


class NotCreated(NamedTuple):
    """Lines of a file, the connectors that MirrorMaker 2 does not create because of them, whether the flow is invalid here, and why."""

    lines: str
    connectors: tuple[str, ...]
    invalid_here: bool
    reason: str = "both refuse"


_SOURCE, _CHECKPOINT, _HEARTBEAT = "MirrorSourceConnector", "MirrorCheckpointConnector", "MirrorHeartbeatConnector"
_JUST_OFF = "what is switched off is not done; everything else goes on, as in MirrorMaker 2"

CONNECTORS_NOT_CREATED = (
    NotCreated("emit.checkpoints.enabled=false", (_CHECKPOINT,), False, _JUST_OFF),
    NotCreated("emit.offset-syncs.enabled=false", (_CHECKPOINT,), False, _JUST_OFF),
    NotCreated(
        "emit.offset-syncs.enabled=false\noffset-syncs.topic.replication.factor=1",
        (_SOURCE, _CHECKPOINT),
        False,
        "a setting of what is switched off has no effect; MirrorMaker 2 then mirrors nothing at all",
    ),
    NotCreated("A->B.exactly.once.support=required", (_SOURCE,), False, "the copy is exactly-once, and read_committed, by default"),
    NotCreated("topics=a,a", (_SOURCE,), False, "see LAXER_VALUES"),
    NotCreated("offset-syncs.topic.location=Target", (_SOURCE, _CHECKPOINT), True),
    NotCreated("topics=a,,b", (_SOURCE,), True),
    NotCreated("tasks.max=0", (_SOURCE, _CHECKPOINT, _HEARTBEAT), True),
    NotCreated("replication.policy.class=no.such.Class", (_SOURCE, _CHECKPOINT, _HEARTBEAT), True),
    NotCreated("topics=(", (), True, "see STRICTER_VALUES"),
)
