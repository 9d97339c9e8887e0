"""How records tell the schema they were written with, where a schema registry's serializers wrote them (Confluent's wire format).

In front of the value: a zero byte and the id as four bytes, the highest first. Or, since 2025, in a header `__value_schema_id`: a byte 1
and a GUID. The ids are those of the registry that the producers used.
"""

from collections.abc import Iterable

VALUE_HEADER = "__value_schema_id"
_MAGIC, _MAGIC_OF_HEADER = 0, 1
_FRAME_BYTES = 5
_GUID_BYTES = 16
_LONG_BYTES = 8
_LARGEST_ID = 10_000_000
"""Registries count from 1; what is larger is hardly an id."""


def schema_id(value: bytes | None) -> int | None:
    """The id in front of a value; None if it does not look as if there was one.

    A number that Kafka's LongSerializer wrote may look the same, so a value of exactly its eight bytes is not taken for one.
    """
    if value is None or len(value) <= _FRAME_BYTES or len(value) == _LONG_BYTES or value[0] != _MAGIC:
        return None
    number = int.from_bytes(value[1:_FRAME_BYTES], "big")
    return number if 0 < number <= _LARGEST_ID else None


def has_id_in_header(headers: Iterable[tuple[str, bytes | None]]) -> bool:
    """Whether a header carries the GUID of the value's schema."""
    return any(
        name == VALUE_HEADER and content is not None and len(content) == 1 + _GUID_BYTES and content[0] == _MAGIC_OF_HEADER
        for name, content in headers
    )
