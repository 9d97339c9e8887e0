"""Consumer groups: which are translated, checkpoints, and offsets committed on the target.

As `sync`. `job` runs both steps, here or as a Spark job.
"""
