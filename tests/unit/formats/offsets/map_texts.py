"""The texts of an offset map in a ledger record."""

from kafka_mirror.formats.offsets.map import OffsetMap, Run, decode_map
from kafka_mirror.formats.offsets.map_bytes import Pairs, Runs

PAIRED = OffsetMap.of(
    Runs((Run(0, 0, 100), Run(2000, 2030, 10, True))), Pairs((Run(512, 520, 1, True), Run(1024, 1040, 1, True))), thinned_behind=False
)
"""A map with pairs in its hole."""


def reread(built: OffsetMap) -> OffsetMap:
    """The map as whoever reads the ledger record has it."""
    text, pairs = built.encode()
    return decode_map(text, pairs, built.thinned_behind)


def text_length(built: OffsetMap) -> int:
    """How many characters both of its texts have."""
    return sum(len(text) for text in built.encode() if text)
