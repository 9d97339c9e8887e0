"""Azure's own library, asked of an endpoint that answers as a managed identity's does."""

import time
from typing import NamedTuple

import azure.identity
import pytest

from kafka_mirror.logins.azure_entra import EntraTokens

NAMESPACE = {"bootstrap.servers": "shop.servicebus.windows.net:9093"}


class AccessToken(NamedTuple):
    """As azure-core's."""

    token: str
    expires_on: int


@pytest.fixture
def made(monkeypatch):
    """What the default credential was made with, and asked."""
    calls = []

    class Credential:
        def __init__(self, **how):
            calls.append(how)

        def get_token(self, *scopes):
            calls.append(scopes)
            return AccessToken("abc", int(time.time()) + 3600)

    monkeypatch.setattr(azure.identity, "DefaultAzureCredential", Credential)
    return calls


def test_the_scope_of_event_hubs_follows_from_its_address(made):
    provider = EntraTokens(NAMESPACE)
    token = provider.token()
    provider.token()
    assert (token.value, 3590 < token.expires - time.time() <= 3600) == ("abc", True)
    assert made == [{}, ("https://shop.servicebus.windows.net/.default",), ("https://shop.servicebus.windows.net/.default",)]


def test_another_scope_and_the_client_of_a_managed_identity_are_said(made):
    EntraTokens({"bootstrap.servers": "b:1", "scope": "api://kafka/.default", "clientId": "me", "extension_logicalCluster": "x"}).token()
    assert made == [{"managed_identity_client_id": "me"}, ("api://kafka/.default",)]


def test_without_a_scope_the_address_has_to_be_a_namespace():
    with pytest.raises(ValueError, match=r"sasl.oauthbearer.scope is missing"):
        EntraTokens({"bootstrap.servers": "b:1"})
