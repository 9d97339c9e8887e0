"""What looks as if a schema registry's serializer wrote it, and what only looks a little like it."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.record import VALUE_HEADER, has_id_in_header, schema_id


@given(st.integers(1, 10_000_000), st.binary(min_size=1).filter(lambda data: len(data) != 3))
def test_an_id_in_front_of_a_value_is_found(number, payload):
    assert schema_id(b"\x00" + number.to_bytes(4, "big") + payload) == number


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"\x00",
        b"\x00\x00\x00\x00\x07",
        b'{"a": 1}',
        b"\x01\x00\x00\x00\x07payload",
        b"\x00\x00\x00\x00\x00payload",
        b"\x00\xff\xff\xff\xffpayload",
        struct.pack(">q", 1_795_000_000_000),
        struct.pack(">i", 7),
    ],
    ids=repr,
)
def test_other_values_carry_none(value):
    assert schema_id(value) is None


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([(VALUE_HEADER, b"\x01" + bytes(16))], True),
        ([("other", b"x"), (VALUE_HEADER, b"\x01" + bytes(16))], True),
        ([(VALUE_HEADER, None)], False),
        ([(VALUE_HEADER, bytes(17))], False),
        ([(VALUE_HEADER, b"\x01")], False),
        ([("__key_schema_id", b"\x01" + bytes(16))], False),
        ([], False),
    ],
)
def test_an_id_may_stand_in_a_header(headers, expected):
    assert has_id_in_header(headers) is expected
