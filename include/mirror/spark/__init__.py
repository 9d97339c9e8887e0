"""Starts Spark jobs: their private files, their command line, the frame of their drivers. Only `connect` imports Spark.

`start` says how, `driver` is the frame, `files` carries the plan in and the results out. The programs are in jobs/, which imports it.
`connect` runs tasks in a session of a Spark Connect server instead, and `serve` starts one. `worker` is what runs on its workers.

`sync` and every room above it may import it.
"""
