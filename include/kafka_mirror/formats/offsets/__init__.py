"""Calculates with offsets: partitions and their lanes, intervals, the offset map and its holes. Pure.

`map` is the offset map and makes it shorter, `map_bytes` writes it; `partition` has TopicPartition and its lane.
"""
