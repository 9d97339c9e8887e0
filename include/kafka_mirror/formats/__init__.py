"""The bytes that persist in users' clusters, each format written and read in one file. Pure.

`ledger` and `ledger_codec` are the ledger's records, `control` the control topic's, `mm2` MirrorMaker 2's, `connect_offsets` Kafka
Connect's; `record` is a record as both clusters carry it, `record_batch` a batch of them as brokers store it. `documents` writes and reads
what does not persist there: values as JSON, by their classes.

`decisions`, `policy`, `translation` and every room above them may import it.
"""
