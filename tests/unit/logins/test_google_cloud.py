"""Google's own library with a stand-in for its credentials: what the brokers get is what Google's Java class gives them."""

import base64
import json
import time
from datetime import UTC, datetime, timedelta

import google.auth
import pytest

from kafka_mirror.logins.clouds import GoogleTokens


class Credentials:
    """As those of a service account: without a time zone, and valid after a refresh."""

    service_account_email = "mirror@shop.iam.gserviceaccount.com"

    def __init__(self):
        self.refreshed = 0

    def refresh(self, request):
        self.refreshed += 1
        self.token = f"ya29.{self.refreshed}"
        self.expiry = (datetime.now(UTC) + timedelta(hours=1)).replace(tzinfo=None)


class OfAUser(Credentials):
    service_account_email = None


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()


def given(monkeypatch, credentials):
    def default(scopes):
        assert scopes == ["https://www.googleapis.com/auth/cloud-platform"]
        return credentials, "shop"

    monkeypatch.setattr(google.auth, "default", default)
    return GoogleTokens({"bootstrap.servers": "bootstrap.shop.managedkafka.goog:9092"})


def test_googles_token_stands_in_a_jwt_that_names_the_account(monkeypatch):
    provider = given(monkeypatch, Credentials())
    token = provider.token()
    header, claims, signature = map(decoded, token.value.split("."))
    assert json.loads(header) == {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
    assert json.loads(claims) == {
        "exp": int(token.expires),
        "iat": pytest.approx(time.time(), abs=60),
        "scope": "kafka",
        "sub": "mirror@shop.iam.gserviceaccount.com",
    }
    assert (signature, 3590 < token.expires - time.time() <= 3600) == ("ya29.1", True)
    assert decoded(provider.token().value.split(".")[2]) == "ya29.2"


def test_credentials_that_name_no_account_are_told(monkeypatch):
    with pytest.raises(ValueError, match="of the kind OfAUser name no account"):
        given(monkeypatch, OfAUser()).token()
