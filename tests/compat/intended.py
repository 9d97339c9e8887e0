"""The differences from MirrorMaker 2 that are meant, each with its reason. Whatever is not in here has to be equal.

The tests leave out by these rules what they would otherwise report, and `test_intended.py` shows that each of them is still one.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple


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
    r"(a)(?<=\1)": "a reference in a look-behind, whose length Java cannot tell",
}
_LOOK_BEHIND = "Look-behind group does not have an obvious maximum length"

BOUNDARIES = "\\b goes by \\w, as Java documents it and as JDK 19 and later do; JDK 17 also counts letters outside ASCII there"


def refused_here_alone(complaint: str) -> bool:
    """Whether a refusal of the mirror is one that Java does not share."""
    return any(row.complaint in complaint for row in REFUSED_PATTERNS)


def taken_here_alone(refusal: str) -> bool:
    """Whether Java's refusal of a pattern is one that the mirror does not share."""
    return _LOOK_BEHIND in refusal


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
        "a regular expression that does not compile: MirrorMaker 2 takes it, and the connector then fails to start",
    ),
)

DEFAULTS = {
    "enabled": "MirrorMaker 2's driver fills in false",
    "key.converter": "MirrorMaker 2's driver fills in the ByteArrayConverter in the worker, from which this comes",
    "value.converter": "likewise",
    "header.converter": "likewise",
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
