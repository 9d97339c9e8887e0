"""Proves that a copy is complete: reads both sides, counts, digests and compares, or names the first difference.

`run` audits a flow; `prepare` finds the ranges to compare, `batch_reader` compares their closed batches, `compare_ranges` the digests of
what is not the same, and finds the first difference; `parallel` is the Spark job of a large audit.

`status`, `backfill`, `migration` and every room above them may import it.
"""
