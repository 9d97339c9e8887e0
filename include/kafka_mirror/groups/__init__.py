"""Consumer groups: where each would go on on the target, checkpoints, offset syncs, and offsets committed there.

`translation` answers exact, early or not at all, never late: by the ledger's offset map, or by MirrorMaker 2's offset syncs, of which
`offset_sync_store` knows the rules. `find` finds the groups, `group_translation` translates them; `checkpoints` and `group_offsets` are the
two steps that write, and `job` runs them, here or as a Spark job. `offset_syncs` are written after a copy.

`copy` and every room above it may import it.
"""
