"""Runs jobs on Spark. Only `connect`, `connect_errors` and `worker` import it.

`run` is where a job begins: its function runs in a session of a Spark Connect server (`connect`), or in a driver that spark-submit starts.
For that `start` says how it is started, and `files` carry its work in and its answer out. `worker` forks the workers on a local master, and
runs on them; `serve` starts a Spark that stays.

`topics`, `groups` and every room above them may import it.
"""
