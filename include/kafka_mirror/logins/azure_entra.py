"""Tokens of Microsoft Entra ID, for Azure Event Hubs and whatever else takes them."""

from collections.abc import Mapping
from typing import Any

from kafka_mirror.logins.token import LoginToken, TokenProvider, extensions, needs

_EVENT_HUBS = ".servicebus."


class EntraTokens(TokenProvider):
    """By Azure's default chain: environment, workload identity, managed identity, Azure's command line.

    `scope` (or sasl.oauthbearer.scope): for what; default: the Event Hubs namespace in bootstrap.servers. `clientId`: of a managed identity
    that is not the host's default.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__(properties)
        needs("azure.identity", "azure")
        self._scope = properties.get("sasl.oauthbearer.scope", properties.get("scope", "")).strip() or _find_namespace(properties)
        self._credential: Any = None

    def token(self) -> LoginToken:
        """Raises what azure-identity raises, which says what it tried."""
        if self._credential is None:
            from azure.identity import DefaultAzureCredential

            client = self.properties.get("clientId")
            self._credential = DefaultAzureCredential(**({"managed_identity_client_id": client} if client else {}))
        access = self._credential.get_token(*self._scope.split())
        return LoginToken(access.token, float(access.expires_on), extensions(self.properties))


def _find_namespace(properties: Mapping[str, str]) -> str:
    host = properties.get("bootstrap.servers", "").split(",")[0].strip().rpartition(":")[0]
    if _EVENT_HUBS not in host:
        raise ValueError(
            "sasl.oauthbearer.scope is missing, and bootstrap.servers is no namespace of Event Hubs from which it would follow"
        )
    return f"https://{host}/.default"
