"""AWS's own signer, offline with made-up credentials, and a stand-in for its STS that answers as the API reference says; Google's own
library with a stand-in for its credentials: what the brokers get is what Google's Java class gives them."""

import base64
import hashlib
import hmac
import json
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote, urlsplit

import google.auth
import pytest

from kafka_mirror.logins.clouds import GoogleTokens, MskIamTokens, region_of
from tests.unit.logins.token_providers import endpoint

BOOTSTRAP = {"bootstrap.servers": "b-1.my-cluster-1.abc.c2.kafka.eu-west-1.amazonaws.com:9098,b-2:9098"}
ROLE = {"awsRoleArn": "arn:aws:iam::123456789012:role/msk", "awsStsRegion": "eu-west-1", "awsMaxRetries": "0"}
ASSUMED = b"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult>
<AssumedRoleUser><AssumedRoleId>A:b</AssumedRoleId><Arn>arn:aws:sts::1:assumed-role/msk/b</Arn></AssumedRoleUser>
<Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey><SessionToken>role-session</SessionToken>
<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""
DENIED = b"""<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>AccessDenied</Code>
<Message>not allowed to assume it</Message></Error></ErrorResponse>"""


@pytest.fixture(autouse=True)
def aws(monkeypatch, tmp_path):
    """Credentials in the environment and in one profile, and nothing else of this host."""
    profiles = tmp_path / "credentials"
    profiles.write_text("[other]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = profile-secret\n")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, text in {
        "AWS_ACCESS_KEY_ID": "AKIAENV",
        "AWS_SECRET_ACCESS_KEY": "env-secret",
        "AWS_SHARED_CREDENTIALS_FILE": str(profiles),
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, text)


def signed(token):
    """Host and parameters of the URL that the token is."""
    url = urlsplit(base64.urlsafe_b64decode(token.value + "=" * (-len(token.value) % 4)).decode())
    return url.hostname, dict(parse_qsl(url.query))


def signature(host, parameters, secret):
    """By AWS's description of signature version 4."""
    _, day, region, service, _ = parameters["X-Amz-Credential"].split("/")
    query = "&".join(
        f"{quote(name, safe='-_.~')}={quote(text, safe='-_.~')}"
        for name, text in sorted(parameters.items())
        if name not in ("X-Amz-Signature", "User-Agent")
    )
    request = "\n".join(["GET", "/", query, f"host:{host}", "", "host", hashlib.sha256(b"").hexdigest()])
    scope = f"{day}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", parameters["X-Amz-Date"], scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request", text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex()


def test_a_token_is_a_signed_url_that_lives_a_quarter_of_an_hour():
    token = MskIamTokens(BOOTSTRAP).token()
    host, parameters = signed(token)
    assert (host, parameters["Action"], parameters["X-Amz-Expires"]) == ("kafka.eu-west-1.amazonaws.com", "kafka-cluster:Connect", "900")
    assert parameters["X-Amz-Credential"].startswith("AKIAENV/") and "/eu-west-1/kafka-cluster/" in parameters["X-Amz-Credential"]
    assert parameters["X-Amz-Signature"] == signature(host, parameters, "env-secret")
    assert 880 < token.expires - time.time() <= 900


def test_a_profile_comes_before_the_default_chain_which_helps_out_unless_it_must_not(caplog):
    _, parameters = signed(MskIamTokens(BOOTSTRAP | {"awsProfileName": "other"}).token())
    assert parameters["X-Amz-Credential"].startswith("AKIAPROFILE/")
    missing = BOOTSTRAP | {"awsProfileName": "missing"}
    _, parameters = signed(MskIamTokens(missing).token())
    assert parameters["X-Amz-Credential"].startswith("AKIAENV/")
    assert "AWS credentials come from AWS's default chain, for the profile missing: " in caplog.text
    with pytest.raises(ValueError, match=r"there are no AWS credentials: the profile missing: .*missing"):
        MskIamTokens(missing | {"awsAddDefaultProviders": "false"}).token()


def test_a_role_is_assumed_by_its_name_session_and_external_id(monkeypatch):
    with endpoint([(200, ASSUMED)]) as (url, asked):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        options = {
            "awsRoleSessionName": "mirror",
            "awsRoleExternalId": "x1",
            "awsRoleAccessKeyId": "AKIAOWN",
            "awsRoleSecretAccessKey": "o",
        }
        host, parameters = signed(MskIamTokens(BOOTSTRAP | ROLE | options).token())
        MskIamTokens(BOOTSTRAP | ROLE).token()
    ((login, form), (default_login, default_form)) = asked
    assert (form["RoleArn"], form["RoleSessionName"], form["ExternalId"]) == (ROLE["awsRoleArn"], "mirror", "x1")
    assert "Credential=AKIAOWN/" in login and "/eu-west-1/sts/" in login
    assert (default_form["RoleSessionName"], "ExternalId" in default_form) == ("aws-msk-iam-auth", False)
    assert "Credential=AKIAENV/" in default_login
    assert (parameters["X-Amz-Credential"].split("/")[0], parameters["X-Amz-Security-Token"]) == ("ASIAROLE", "role-session")
    assert parameters["X-Amz-Signature"] == signature(host, parameters, "role-secret")


def test_a_role_without_a_region_of_its_own_is_assumed_at_the_global_endpoint(monkeypatch):
    with endpoint([(200, ASSUMED)]) as (url, asked):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        MskIamTokens(BOOTSTRAP | {name: text for name, text in ROLE.items() if name != "awsStsRegion"}).token()
    # At AWS's own address (https://sts.amazonaws.com) its client signs for us-east-1.
    assert "/aws-global/sts/" in asked[0][0]


def test_a_role_that_may_not_be_assumed_is_told_with_the_reason(monkeypatch):
    with (
        endpoint([(403, DENIED)]) as (url, _),
        pytest.raises(ValueError, match=r"the role arn:.*AccessDenied.*not allowed"),
    ):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        MskIamTokens(BOOTSTRAP | ROLE | {"awsAddDefaultProviders": "false"}).token()


@pytest.mark.parametrize(
    ("host", "region"),
    [
        ("b-1.my-cluster-1.abc.c2.kafka.us-east-1.amazonaws.com", "us-east-1"),
        ("boot-abc.c3.kafka-serverless.ap-southeast-2.amazonaws.com", "ap-southeast-2"),
        ("b-1.x.y.c1.kafka.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("b-1.x.y.c1.kafka.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("vpce-0a1b-2.vpce-svc-3.us-west-2.vpce.amazonaws.com", "us-west-2"),
        ("kafka.eu-west-1.example.org", None),
        ("127.0.0.1", None),
    ],
)
def test_the_region_stands_in_the_name_of_a_host(host, region):
    assert region_of(host) == region


def test_the_region_of_hosts_that_do_not_say_it_is_the_environments(monkeypatch):
    elsewhere = MskIamTokens({"bootstrap.servers": "kafka.example.org:9098"})
    with pytest.raises(ValueError, match="the region of the MSK cluster is unknown"):
        elsewhere.token()
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    assert elsewhere.find_region() == "eu-north-1"
    monkeypatch.setenv("AWS_REGION", "eu-south-1")
    assert elsewhere.find_region() == "eu-south-1"


def test_a_java_class_that_knows_the_region_is_refused():
    with pytest.raises(ValueError, match="awsMskRegionProvider names a Java class"):
        MskIamTokens(BOOTSTRAP | {"awsMskRegionProvider": "software.amazon.Route53RegionProvider"})


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
