"""Operators' decisions: which are in force, and what they make of a ledger record. Pure.

`in_force` lists them, `apply` applies them. `kafka_mirror.decide` takes a new one.

`logins` and every room above it may import it.
"""
