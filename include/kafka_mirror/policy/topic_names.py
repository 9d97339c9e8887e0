"""Which names Kafka takes for a topic (org.apache.kafka.common.internals.Topic)."""

import re

_LONGEST_NAME = 249
_ILLEGAL = re.compile(r"[^A-Za-z0-9._-]")


def unusable(name: str) -> str:
    """Why Kafka would not take this as a topic's name; empty if it would."""
    if len(name) > _LONGEST_NAME:
        return f"has {len(name)} characters, and Kafka takes {_LONGEST_NAME} at most"
    illegal = sorted(set(_ILLEGAL.findall(name)))
    if illegal:
        characters = ", ".join(repr(character) for character in illegal)
        return f"contains {characters}, and Kafka takes letters, digits, '.', '_' and '-' only"
    return "cannot be a topic's name" if name in ("", ".", "..") else ""
