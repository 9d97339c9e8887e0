"""Brings a time interval to the target, as offset intervals of each partition.

    log start                 start of the partition in the ledger            watermark          end
    ────┼────────── history ──────────────┼──────────────── live ─────────────────┼───── live ─────┤
        └─ copied only by a backfill      └─ copied by the copy, contiguously     └─ owed to the copy

The interval is cut at the partition's start in the ledger. Its live part is done when the copy has passed it. The same lanes write its
history part, into another topic or, when asked for, into the remote topic.

`resolve` turns times into offsets, `live` and `history` make slices of plans, `model` has what goes in and what is said of it.

`cutover` and every room above it may import it.
"""
