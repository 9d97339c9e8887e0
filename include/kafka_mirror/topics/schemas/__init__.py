"""Schema registries of Confluent's API: what a target's registry lacks of the source's, and how it gets it with the same ids.

`model` is what one holds, `plan` compares two, `registry` asks and writes, `run` is the step.
"""
