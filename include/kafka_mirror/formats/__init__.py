"""Bytes and documents that persist, each format written and read in one place. Pure.

`mm2` has what MirrorMaker 2 stores on clusters, `record` is a record as both clusters carry it. `batches` are closed batches as brokers
store them, `offsets` partitions, intervals and the offset map. `documents` is the codec of all JSON that is our own.

`config`, `kafka` and every room above them may import it.
"""
