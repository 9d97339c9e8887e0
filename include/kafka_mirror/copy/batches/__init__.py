"""Moves a lane's records, batch by batch: forwarded closed, joined with their neighbours, or rewritten.

A batch that is forwarded gets another header, and its records stay the bytes that they were. `kafka_mirror.copy.model` says what goes in
and out.
"""
