"""What is known of a flow on its target: how far each partition is, what people decided, and which clusters the flow has.

`record` is what the ledger says of one partition and of a lane, `codec` its bytes, `topic` the topic that holds it. `control_records` and
`control` are the same for the control topic. `compare_and_set` writes only where no other client wrote meanwhile. `decisions` says which
decisions are in force, `apply_decisions` what they make of a ledger record. `clusters` opens a flow's clusters, `checks` says whose the
ledger is.

`topics`, `groups` and every room above them may import it.
"""
