"""Backfill: a time interval brought to the target, as offset intervals of each partition.

    log start                 start of the partition in the ledger            watermark          end
    ────┼────────── history ──────────────┼──────────────── live ─────────────────┼───── live ─────┤
        └─ copied only by a backfill      └─ copied by the copy, contiguously     └─ owed to the copy

The interval is cut at the partition's start in the ledger. Its live part is done when the copy has passed it, its history part is written
by the same lanes, into another topic or, when asked for, into the remote topic.
"""
