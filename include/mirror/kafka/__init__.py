"""Thin adapters over the Kafka clients: the only place, beside the copy's engine, that imports them."""
