"""Packed records, judged by the encoders of the formats' own makers."""

import gzip
import os
import random
import resource
import struct

import pyarrow
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_mirror.formats.batches.compression import UnpacksTooLarge, compress, decompress

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
    assert bytes(decompress(codec, memoryview(pack(data)))) == data


DECODERS = {
    "uncompressed": bytes,
    "gzip": gzip.decompress,
    "lz4": lambda packed: pyarrow.input_stream(pyarrow.BufferReader(packed), compression="lz4").read(),
    "zstd": lambda packed: zstandard.ZstdDecompressor().decompressobj().decompress(packed),
}


@pytest.mark.parametrize("codec", DECODERS)
@given(texts)
@example(LONG)
@example(bytes(random.Random(1).randbytes(200_000)))
def test_what_we_pack_is_what_others_read(codec, data):
    assert DECODERS[codec](compress(codec, data)) == data


@given(texts)
@example(LONG)
def test_snappy_is_packed_in_the_frame_of_javas_producers(data):
    packed = compress("snappy", data)
    assert packed.startswith(xerial(b""))
    assert bytes(decompress("snappy", memoryview(packed))) == data


def test_the_blocks_of_lz4_depend_on_none_before_them():
    """Kafka's readers refuse others: each is read by itself."""
    packed = compress("lz4", LONG)
    at, unpacked = 7, b""
    while size := int.from_bytes(packed[at : at + 4], "little"):
        alone = packed[:7] + packed[at : at + 4 + size] + bytes(4)
        unpacked += DECODERS["lz4"](alone)
        at += 4 + size
    assert unpacked == LONG
    assert packed[4] & 0x20


@encoders
@given(st.data())
def test_what_is_cut_off_or_spoilt_is_refused_or_gives_something_else_and_nothing_hangs(codec, pack, data):
    packed = bytearray(pack(LONG[:2000]))
    packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        opened = decompress(codec, memoryview(packed)[: data.draw(st.integers(0, len(packed)))])
    except ValueError as refused:
        assert codec in str(refused) or "packed records" in str(refused)
    else:
        assert len(opened) <= 1024 * 1024  # what is spoilt makes no bomb of two thousand bytes


def test_a_codec_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="packed by codec 5"):
        decompress("codec 5", memoryview(b""))


def used_by(call):
    """How many bytes Python and the codecs took at once, beyond what was there before: the process's own peak, seen by a child."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            call()
        finally:
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            os.write(writing, str((after - before) * 1024).encode())
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as said:
        return int(said.read())


BOMB = 200_000_000
BOMBS = {
    "gzip": lambda: gzip.compress(bytes(BOMB), 1),
    "lz4": lambda: pyarrow.compress(bytes(BOMB), codec="lz4", asbytes=True),
    "snappy": lambda: pyarrow.compress(bytes(BOMB), codec="snappy", asbytes=True),
    "xerial": lambda: xerial(bytes(BOMB), 1_000_000),
    "zstd": lambda: zstandard.ZstdCompressor().compress(bytes(BOMB)),
    "zstd of no known size": lambda: streamed(BOMB),
    "gzip of many members": lambda: gzip.compress(bytes(1_000_000), 1) * 200,
    "zstd of many frames": lambda: zstandard.ZstdCompressor().compress(bytes(1_000_000)) * 200,
}


def streamed(size):
    """zstd without the length at its front."""
    stream = zstandard.ZstdCompressor().compressobj()
    return stream.compress(bytes(size)) + stream.flush()


@pytest.mark.parametrize("kind", BOMBS)
def test_no_opener_holds_more_than_its_limit_whatever_comes_out(kind):
    packed, limit = BOMBS[kind](), 4_000_000
    codec = {"xerial": "snappy"}.get(kind, kind.split()[0])

    def open_it():
        with pytest.raises(UnpacksTooLarge, match=f"{codec} unpack to more than 4,000,000 bytes"):
            decompress(codec, memoryview(packed), limit)

    open_it()
    assert used_by(open_it) < 10 * limit


@encoders
@given(texts, st.integers(0, 300))
def test_the_limit_itself_is_allowed_and_not_a_byte_more(codec, pack, data, less):
    limit = max(0, len(data) - less)
    packed = memoryview(pack(data))
    if codec == "uncompressed" or limit == len(data):
        assert bytes(decompress(codec, packed, limit)) == data
    else:
        with pytest.raises(UnpacksTooLarge):
            decompress(codec, packed, limit)


def test_eight_bytes_that_claim_four_gigabytes_are_refused_by_what_they_claim():
    with pytest.raises(UnpacksTooLarge):
        decompress("snappy", memoryview(b"\xff\xff\xff\xff\x0f\0\0\0"))
