"""The copy's engine over librdkafka: reads the source, writes a lane's transactions.

Only whoever opens an engine imports it (`mirror.copy.engine` says what one is), for it needs the client.
"""
