"""Fields of our own JSON records, read strictly: what is not exactly of its type is damage."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def parse_json(data: bytes) -> Any:
    """The JSON value of a record's bytes. Raises ValueError."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def whole(number: Any, name: str) -> int:
    """A whole number from 0 up; `name` is for the message. Raises ValueError."""
    if type(number) is not int or number < 0:
        raise ValueError(f"{name} is {number!r}, not a whole number from 0 up")
    return number


def count(fields: Mapping[str, Any], name: str) -> int:
    """A field that is a whole number from 0 up. Raises ValueError or KeyError."""
    return whole(fields[name], name)


def string(fields: Mapping[str, Any], name: str) -> str:
    """A field that is a string, and can be written again. Raises ValueError or KeyError."""
    text = fields[name]
    if type(text) is not str:
        raise ValueError(f"{name} is {text!r}, not a string")
    text.encode()
    return text


def moment(fields: Mapping[str, Any], name: str) -> datetime:
    """A moment with its zone. Raises ValueError or KeyError."""
    text = string(fields, name)
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"the time {text!r} has no zone")
    return time


def moment_text(time: datetime) -> str:
    """A moment in UTC to the millisecond, such as 2026-11-21T08:00:00.000Z."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
