"""Packed records, judged by the encoders of the formats' own makers."""

import gzip
import struct

import pyarrow
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from mirror.formats.compression import decompressed

texts = st.binary(max_size=3000) | st.lists(st.sampled_from([b"a", b"order", b"\0" * 70, b"x" * 300]), max_size=60).map(b"".join)
LONG = b"".join(b"%d orders of customer %d;" % (number, number % 7) for number in range(9000))


def xerial(data, size=1000):
    """As Java's producers frame Snappy."""
    blocks = [pyarrow.compress(data[at : at + size], codec="snappy", asbytes=True) for at in range(0, len(data), size)]
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


PACKED = {
    "uncompressed": [bytes],
    "gzip": [gzip.compress],
    "lz4": [lambda data: pyarrow.compress(data, codec="lz4", asbytes=True)],
    "snappy": [lambda data: pyarrow.compress(data, codec="snappy", asbytes=True), xerial],
    "zstd": [zstandard.ZstdCompressor().compress, lambda data: b"".join(map(zstandard.ZstdCompressor().compress, (data[:9], data[9:])))],
}
encoders = pytest.mark.parametrize(("codec", "pack"), [(codec, pack) for codec, packs in PACKED.items() for pack in packs])


@encoders
@given(texts)
@example(LONG)
def test_what_was_packed_is_what_comes_out(codec, pack, data):
    assert bytes(decompressed(codec, memoryview(pack(data)))) == data


@encoders
@given(st.data())
def test_what_is_cut_off_or_spoilt_is_refused_or_gives_something_else_and_nothing_hangs(codec, pack, data):
    packed = bytearray(pack(LONG[:2000]))
    packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        opened = decompressed(codec, memoryview(packed)[: data.draw(st.integers(0, len(packed)))])
    except ValueError as refused:
        assert codec in str(refused) or "packed records" in str(refused)
    else:
        assert len(opened) <= 1024 * 1024  # what is spoilt makes no bomb of two thousand bytes


def test_a_codec_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="packed by codec 5"):
        decompressed("codec 5", memoryview(b""))
