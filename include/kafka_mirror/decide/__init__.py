"""Takes a person's decision: looks at how things stand, binds the decision to that, writes it into the control topic.

`request` is what is asked for, `run` does all three, and `binding` is pure. `kafka_mirror.ledger` says which decisions are in force.

`status`, `backfill`, `migration` and every room above them may import it.
"""
