import base64
import json
import time

import pytest

from kafka_mirror.logins.oauth import URL, TokenFile
from kafka_mirror.logins.token import expiry_of_jwt


def jwt(**claims):
    return ".".join([*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "none"}, claims)), ""])


def test_the_file_is_read_anew_for_each_token_and_its_own_claim_says_when_it_ends(tmp_path):
    file = tmp_path / "my token"
    file.write_text(jwt(exp=5000) + "\n")
    provider = TokenFile({URL: f"file://{str(file).replace(' ', '%20')}", "extension_logicalCluster": "lkc-1"})
    first = provider.token()
    assert (first.value, first.expires, first.extensions) == (jwt(exp=5000), 5000.0, {"logicalCluster": "lkc-1"})
    file.write_text(jwt(exp=6000))
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
