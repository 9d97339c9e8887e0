"""The way to the brokers: the only place, beside the copy's `batches/`, that imports the Kafka clients.

- What is asked: `cluster` and what it derives from, `asked_cluster`, groups, ACLs, producers. Each is a question to a `broker_pool`.
- What changes a cluster: librdkafka (`admin`).
- What goes as batches: `fetch`, `produce_request` over connections of a pool, `transactions` around them; `writer` outside of any.
- What is read record by record: `reader`, and `log_reader` for topics of our own.

What a client raises or a broker answers becomes an error of ours: `connection_errors`, `admin`. `client_login` logs both clients in.

`ledger`, `spark` and every room above them may import it.
"""
