"""Plans one run: which topics and which bounded ranges of source offsets are owed, and which partitions cannot be copied.

`run` makes the plan, `source_partitions` says which partitions there are, `ranges` decides about one of them. `left_on_source` names what
no plan copies any more: records of topics that a cutover moved. `target_checks` are the rules that lanes apply too.
"""
