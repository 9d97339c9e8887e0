"""The copy's engine that carries record batches as they are: what stands in front of their records is set anew, the records stay closed.

Only whoever opens an engine imports it (`mirror.copy.engine` says what one is), for it needs the client.
"""
