"""Keeps topics the same on both clusters, and what belongs to them: partitions, configs, ACLs, schemas; and writes heartbeats.

`topics`, `topic_configs`, `topic_acls` and `heartbeats` are a step each, and `schemas` the step for registries.

`copy` and every room above it may import it.
"""
