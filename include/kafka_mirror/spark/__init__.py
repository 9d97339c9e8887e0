"""Starts Spark jobs: their private files, their command line, the frame of their drivers. Only `connect` and `worker_daemon` import Spark.

`start` says how, `driver` is the frame, `files` carries the plan in and the results out. The programs are in jobs/, which imports it.
`connect` runs tasks in a session of a Spark Connect server instead, and `serve` starts one. `worker` is what runs on its workers,
`worker_daemon` what forks them on a local master.

`sync` and every room above it may import it.
"""
