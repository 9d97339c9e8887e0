"""The three grants as they stand in the request, with the assertion checked by the public key; and a token that a file holds."""

import base64
import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from kafka_mirror.logins.oauth import CLIENT_ID, CLIENT_SECRET, SCOPE, URL, ClientAssertion, ClientSecret, JwtBearer, TokenFile
from kafka_mirror.logins.token import expiry_of_jwt
from tests.unit.logins.token_providers import endpoint

GIVEN = (200, {"access_token": "abc", "expires_in": 3600})
PREFIX = "sasl.oauthbearer.assertion."
CLAIMS = {f"{PREFIX}claim.{name}": name.upper() for name in ("aud", "iss", "sub")}


@pytest.fixture(params=["RS256", "ES256"])
def key(request, tmp_path):
    """(algorithm, properties that name the key's file, public key)."""
    private = rsa.generate_private_key(65537, 2048) if request.param == "RS256" else ec.generate_private_key(ec.SECP256R1())
    closed = serialization.BestAvailableEncryption(b"open sesame")
    file = tmp_path / "key.pem"
    file.write_bytes(private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, closed))
    named = {f"{PREFIX}private.key.file": str(file), f"{PREFIX}private.key.passphrase": "open sesame", f"{PREFIX}algorithm": request.param}
    return request.param, named, private.public_key()


def test_client_credentials_with_a_secret():
    with endpoint([GIVEN]) as (url, asked):
        options = {"clientId": "me", "clientSecret": "s", "scope": "kafka", "extension_logicalCluster": "lkc-1"}
        token = ClientSecret(options | {URL: url}).token()
        ClientSecret(options | {URL: url, CLIENT_ID: "you", CLIENT_SECRET: "t", SCOPE: "other"}).token()
    assert (token.value, token.extensions) == ("abc", {"logicalCluster": "lkc-1"})
    assert 3590 < token.expires - time.time() <= 3600
    logins = [f"Basic {base64.b64encode(login).decode()}" for login in (b"me:s", b"you:t")]
    assert asked == [
        (logins[0], {"grant_type": "client_credentials", "scope": "kafka"}),
        (logins[1], {"grant_type": "client_credentials", "scope": "other"}),
    ]


def test_client_credentials_with_an_assertion_that_the_private_key_signs(key):
    algorithm, named, public = key
    with endpoint([GIVEN]) as (url, asked):
        ClientAssertion({URL: url, CLIENT_ID: "me", SCOPE: "kafka", f"{PREFIX}claim.jti.include": "true"} | CLAIMS | named).token()
    ((login, form),) = asked
    claims = jwt.decode(form.pop("client_assertion"), public, [algorithm], audience="AUD")
    assert (login, form) == (
        None,
        {
            "grant_type": "client_credentials",
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_id": "me",
            "scope": "kafka",
        },
    )
    assert (claims["iss"], claims["sub"], claims["exp"] - claims["iat"], claims["iat"] - claims["nbf"]) == ("ISS", "SUB", 300, 60)
    assert claims["jti"]


def test_jwt_bearer_with_a_template(key, tmp_path):
    algorithm, named, public = key
    (tmp_path / "template.json").write_text(json.dumps({"header": {"kid": "k1"}, "payload": {"sub": "of the file", "iat": 1, "more": [1]}}))
    with endpoint([GIVEN]) as (url, asked):
        more = {f"{PREFIX}template.file": f"{tmp_path}/template.json", f"{PREFIX}claim.exp.seconds": "30"}
        JwtBearer({URL: url} | CLAIMS | named | more).token()
    ((_, form),) = asked
    claims = jwt.decode(form["assertion"], public, [algorithm], audience="AUD")
    assert (form["grant_type"], jwt.get_unverified_header(form["assertion"])["kid"]) == (
        "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "k1",
    )
    assert (claims["sub"], claims["more"], claims["exp"] - claims["iat"], "jti" in claims) == ("of the file", [1], 30, False)
    assert claims["iat"] > 1


def test_an_assertion_out_of_a_file_is_read_anew_each_time(tmp_path):
    (tmp_path / "assertion").write_text("first\n")
    with endpoint([GIVEN]) as (url, asked):
        provider = JwtBearer({URL: url, f"{PREFIX}file": f"{tmp_path}/assertion"})
        provider.token()
        (tmp_path / "assertion").write_text("second")
        provider.token()
    assert [form["assertion"] for _, form in asked] == ["first", "second"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((401, {"error": "invalid_client", "error_description": "secret s3cret"}), r"answered 401 Unauthorized \(invalid_client\)$"),
        ((503, b"<html>s3cret"), "answered 503 Service Unavailable$"),
        ((200, {"token": "s3cret"}), "something that is no token$"),
        ((200, b"s3cret"), "something that is no token$"),
    ],
)
def test_an_answer_without_a_token_is_told_and_its_text_is_not(answer, reason):
    with endpoint([answer]) as (url, _), pytest.raises(ValueError, match=reason) as refusal:
        ClientSecret({URL: url, "clientId": "me", "clientSecret": "s"}).token()
    assert "s3cret" not in str(refusal.value)


def test_a_token_whose_end_only_its_own_claim_says():
    token = jwt.encode({"exp": 4_000_000_000}, "x" * 32, "HS256")
    with endpoint([(200, {"access_token": token})]) as (url, _):
        assert ClientSecret({URL: url}).token().expires == 4_000_000_000


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, "private.key.file is missing"),
        ({"private.key.file": "k", "algorithm": "HS256"}, "algorithm must be RS256 or ES256"),
        ({"private.key.file": "k", "claim.exp.seconds": "soon"}, "claim.exp.seconds must be a whole number"),
    ],
)
def test_properties_that_give_no_assertion_are_refused_before_anything_is_read(more, reason):
    with pytest.raises(ValueError, match=reason):
        JwtBearer({URL: "https://idp/token"} | {PREFIX + name: text for name, text in more.items()})


def test_a_key_of_another_kind_and_a_wrong_passphrase_are_told(key):
    algorithm, named, _ = key
    other = {"RS256": "ES256", "ES256": "RS256"}[algorithm]
    with pytest.raises(ValueError, match=f"another kind of key than {other} needs"):
        JwtBearer({URL: "https://127.0.0.1:1/token"} | named | {f"{PREFIX}algorithm": other}).token()
    with pytest.raises(ValueError, match=r"private\.key\.passphrase opens") as refusal:
        JwtBearer({URL: "https://127.0.0.1:1/token"} | named | {f"{PREFIX}private.key.passphrase": "s3cret"}).token()
    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("make", [ClientSecret, ClientAssertion, JwtBearer])
def test_a_redirect_is_refused_and_the_next_host_hears_of_nothing(make, status, tmp_path):
    (tmp_path / "assertion").write_text("signed\n")
    options = {"clientId": "me", "clientSecret": "s", f"{PREFIX}file": f"{tmp_path}/assertion"}
    with endpoint([GIVEN]) as (elsewhere, heard), endpoint([(status, {})], {"Location": elsewhere}) as (url, asked):
        with pytest.raises(ValueError, match=f"answered {status}"):
            make(options | {URL: url}).token()
        assert (len(asked), heard) == (1, [])


@pytest.mark.parametrize("status", [200, 400])
def test_an_answer_that_is_too_long_for_a_token_is_not_read_to_its_end(status):
    long = b'{"access_token": "abc", "error": "abc", "more": "' + b"x" * 3_000_000 + b'"}'
    with endpoint([(status, long)]) as (url, _), pytest.raises(ValueError, match=r"something that is no token|answered 400 Bad Request$"):
        ClientSecret({URL: url}).token()


def unsigned(**claims):
    return ".".join([*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "none"}, claims)), ""])


def test_the_file_is_read_anew_for_each_token_and_its_own_claim_says_when_it_ends(tmp_path):
    file = tmp_path / "my token"
    file.write_text(unsigned(exp=5000) + "\n")
    provider = TokenFile({URL: f"file://{str(file).replace(' ', '%20')}", "extension_logicalCluster": "lkc-1"})
    first = provider.token()
    assert (first.value, first.expires, first.extensions) == (unsigned(exp=5000), 5000.0, {"logicalCluster": "lkc-1"})
    file.write_text(unsigned(exp=6000))
    assert provider.token().expires == 6000.0


def test_a_token_that_does_not_say_when_it_ends_is_read_again_after_minutes(tmp_path):
    (tmp_path / "token").write_text("opaque")
    assert 0 < TokenFile({URL: f"file://{tmp_path}/token"}).token().expires - time.time() <= 300


def test_an_empty_file_and_a_missing_one_give_no_token(tmp_path):
    (tmp_path / "token").write_text("\n")
    with pytest.raises(ValueError, match="token is empty"):
        TokenFile({URL: f"file://{tmp_path}/token"}).token()
    with pytest.raises(FileNotFoundError):
        TokenFile({URL: f"file://{tmp_path}/none"}).token()


@pytest.mark.parametrize("url", ["", "https://idp/token", "file:token", "file://elsewhere/token"])
def test_another_address_than_a_files_is_refused(url):
    with pytest.raises(ValueError, match="must be the address of a file"):
        TokenFile({URL: url})


@pytest.mark.parametrize("text", ["", "a.b", "a.b.c", "a.e30.c", "a.bnVsbA.c", "a.eyJleHAiOiJ4In0.c"])
def test_what_is_no_jwt_with_an_end_has_none(text):
    assert expiry_of_jwt(text) is None
