"""The bytes of the pairs in a map's holes: for keeps, one a pair where the flow is even, and refused where they are none."""

import base64
from contextlib import suppress
from itertools import accumulate
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.batches.varint import varint
from kafka_mirror.formats.offsets.intervals import Run
from kafka_mirror.formats.offsets.map import OffsetMap, decode_map
from kafka_mirror.formats.offsets.map_bytes import decode_pairs, encode_pairs, numbers
from tests.unit.formats.offsets.flows import PAIRED, Flow, reread

steps = st.tuples(st.integers(1, 2**45) | st.sampled_from([1, 2, 16, 64, 65, 512]), st.integers(0, 2**45), st.integers(1, 2**20))


def after(last: Run, step: tuple[int, int, int]) -> Run:
    """A thinned run some offsets behind another one, on either side."""
    source, target, length = step
    return Run(last.source + last.length + source, last.target + last.length + target, length, True)


@given(st.integers(0, 2**40), st.lists(steps, max_size=30), st.booleans())
def test_any_pairs_survive_their_encoding(target, steps, single):
    runs = [*accumulate([(source, ahead, 1 if single else length) for source, ahead, length in steps], after, initial=Run(0, target, 1))][
        1:
    ]
    assert decode_pairs(encode_pairs(runs)) == tuple(runs)


def test_the_bytes_are_for_keeps():
    pairs = [Run(5632, 6195, 1), Run(6144, 6758, 1), Run(6656, 7321, 1), Run(7168, 7885, 1), Run(7681, 8449, 1), Run(7936, 8727, 40)]
    pairs += [Run(8192, 9009, 1)]
    data = bytes.fromhex("cd1181180c014b01090100040302070108280c")
    assert encode_pairs(pairs) == data
    assert decode_pairs(data) == tuple(run._replace(thinned=True) for run in pairs)


def test_a_pair_of_an_even_flow_takes_a_byte():
    [built] = Flow(Random(7), 10, even=True).grown(10_080, 10_080)
    _, pairs = built.parts
    assert len(pairs.runs) >= 400
    assert len(pairs.data) <= 1.2 * len(pairs.runs)


@given(st.binary(max_size=30) | st.lists(st.sampled_from([0, 1, 2, 3, 5, 0x7F, 0x81, 0xFF]), max_size=20).map(bytes))
def test_any_bytes_are_refused_or_are_pairs_in_order(data):
    with suppress(ValueError):
        runs, last = decode_pairs(data), Run(0, 0, 0)
        for run in runs:
            assert run.source >= last.source + last.length
            assert run.target >= last.target + last.length
            assert run.length >= 1
            assert run.thinned
            last = run


@pytest.mark.parametrize("found", [[1], [1, 1], [1, 1, 3], [1, 1, 64, 1], [1, 1, 3, 0], [0, 9]])
def test_bytes_that_are_no_pairs_are_refused(found):
    data = bytearray()
    for number in found:
        data += varint(number)
    assert numbers(bytes(data)) == found
    with pytest.raises(ValueError, match="the offset map"):
        decode_pairs(bytes(data))


def test_pairs_belong_to_the_very_runs_beside_which_they_were_written():
    text, pairs = PAIRED.encode()
    assert reread(PAIRED) == PAIRED
    assert PAIRED.runs == (Run(0, 0, 100), Run(512, 520, 1, True), Run(1024, 1040, 1, True), Run(2000, 2030, 10, True))
    another, _ = OffsetMap((Run(0, 0, 100), Run(800, 830, 10, True))).encode()
    with pytest.raises(ValueError, match="not of this map"):
        decode_map(another, pairs)
    changed = bytearray(base64.b64decode(pairs))
    changed[-1] ^= 2
    with pytest.raises(ValueError, match="not of this map"):
        decode_map(text, base64.b64encode(changed).decode())


@pytest.mark.parametrize("pairs", ["", "AAAA", "AAAAAA==", "AAAAAAA=", "not base64!"])
def test_text_that_is_no_pairs_is_refused(pairs):
    with pytest.raises(ValueError, match=r"."):
        decode_map("AADIAQ==", pairs)
