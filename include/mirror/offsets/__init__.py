"""Ranges, lanes, the offset map and translation: pure arithmetic on offsets."""
