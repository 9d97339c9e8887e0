"""Keeps the same on both clusters what goes beside the records: topics, configs, ACLs, heartbeats, offset syncs.

One file for each, and `groups` for consumer groups; `step` is what DAG task and command line share.

`plan`, `schemas` and every room above them may import it.
"""
