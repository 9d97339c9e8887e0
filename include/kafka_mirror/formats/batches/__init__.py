"""Closed batches as brokers store them: read, compressed and unpacked, opened, joined and re-encoded. Pure.

`record_batch` is the header, `batch_records` what is inside, `batch_rewrite` makes one batch of others.
"""
