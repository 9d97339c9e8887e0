"""Translates a source offset to a target offset: by the ledger's offset map, or by MirrorMaker 2's offset syncs. Pure.

`translate` answers exact, early or not at all, never late; `offset_sync_store` is MirrorMaker 2's OffsetSyncStore; `group_rules` says
which translated offsets become checkpoints.

`logins` and every room above it may import it.
"""
