"""Java's client settings as librdkafka's: names, SASL, TLS, key stores.

The rest of `config` imports it; others ask a flow for the settings of a client.
"""
