"""Tokens with which clients log in (OAUTHBEARER): who gives them, and when the next one is needed. Knows no flow and no Kafka client.

`token` has the interface, from which users' own classes derive, and keeps one token for all clients of a process. `oauth`, `clouds` and
`azure_entra` get tokens. Which of them a cluster has is for `config` to say, by names and texts alone, so that they travel to Spark's
workers.

`config`, `kafka` and every room above them may import it.
"""

from kafka_mirror.logins.token import LoginToken, TokenProvider

__all__ = ["LoginToken", "TokenProvider"]
