"""Thin adapters over the Kafka clients: the only place, beside the copy's `batches/`, that imports them.

`cluster` is one cluster, `admin` its requests with a deadline, `ledger` and `control` the flow's own topics; `client_errors` turns a
client's error into one of ours. `broker_pool`, `broker_connection` and `produce_request` are for whoever sends requests of its own
to brokers.

`sync` and every room above it may import it.
"""
