"""One token a process: when the next is asked for, and what becomes of one that cannot be had."""

import json

import pytest

from kafka_mirror.logins import LoginToken, TokenProvider
from kafka_mirror.logins.token import CLASS, PROPERTIES, NoToken, TokenSource, token_source
from tests.unit.logins.token_providers import Counting


class Scripted(TokenProvider):
    """Gives what it is told: a life in seconds, or an error."""

    def __init__(self, clock, script):
        super().__init__({})
        self.clock, self.script, self.given = clock, list(script), 0

    def token(self):
        self.given += 1
        following = self.script.pop(0)
        if isinstance(following, Exception):
            raise following
        return LoginToken(f"token-{self.given}", self.clock() + following)


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def scripted(*script):
    clock = Clock()
    provider = Scripted(clock, script)
    return TokenSource(lambda: provider, clock), clock, provider


def test_a_token_is_given_out_until_three_quarters_of_its_life_are_over():
    source, clock, provider = scripted(100, 100)
    assert source.token().value == "token-1"
    clock.now += 74
    assert (source.token().value, provider.given) == ("token-1", 1)
    clock.now += 2
    assert (source.token().value, provider.given) == ("token-2", 2)


def test_the_old_token_serves_on_while_it_is_valid_and_no_new_one_can_be_had(caplog):
    source, clock, _ = scripted(100, OSError("down"), OSError("down"), 100)
    source.token()
    clock.now += 80
    assert source.token().value == "token-1"
    assert "the old one is valid for 20 s more" in caplog.text
    clock.now += 20
    with pytest.raises(NoToken, match="OSError: down"):
        source.token()
    assert source.token().value == "token-4"


def test_a_token_that_is_over_already_is_none():
    source, _, _ = scripted(-5)
    with pytest.raises(NoToken, match="the token ended 5 s ago"):
        source.token()


def test_all_clients_of_a_process_share_one_token_of_a_class_and_its_properties():
    settings = {CLASS: f"{Counting.__module__}.Counting", PROPERTIES: json.dumps({"who": "me"})}
    one, two = token_source(settings), token_source(dict(settings))
    other = token_source(settings | {PROPERTIES: json.dumps({"who": "you"})})
    assert one is two is not other
    assert (one.token().value, two.token().value, other.token().value) == ("token-1", "token-1", "token-1")
    assert token_source({"sasl.mechanism": "PLAIN"}) is None


def test_the_text_of_a_token_shows_no_token():
    assert "hidden" not in repr(LoginToken("hidden", 1.0))
