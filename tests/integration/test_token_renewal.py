"""Tokens that are valid for seconds, and brokers that end a connection with its token: every client of a long run logs in again."""

import json
import threading
import time

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from kafka_mirror.__main__ import main
from kafka_mirror.logins import LoginToken, TokenProvider
from services.consumers import read_offsets, set_offsets
from services.kafka import KafkaCluster, Listener
from services.oracle import Side
from services.tokens import AUDIENCE, TokenEndpoint, unsigned_token
from services.waiting import eventually
from tests.session import running

SECRET = "correct-horse-battery"
TOKEN_SECONDS = 6
RUN_SECONDS = 2 * TOKEN_SECONDS
RECORDS, VALUE_BYTES = 600, 1000
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
BEARER = "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever"
BY_TOKEN = {
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "oauthbearer.sasl.jaas.config": f"{MODULE};",
    "oauthbearer.connections.max.reauth.ms": str(3600 * 1000),  # with it, a broker closes what sends on an ended token (KIP-368)
}


@pytest.fixture(scope="module")
def clusters(services_directory):
    """Two clusters that are entered by tokens alone, but by the test."""
    listeners = {"tokens": Listener("SASL_PLAINTEXT", BY_TOKEN)}
    both = [KafkaCluster(services_directory / alias, alias, listeners=listeners) for alias in ("tokens-east", "tokens-west")]
    with running(*both):
        yield both


@pytest.fixture(scope="module")
def private_key():
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture
def endpoint(private_key):
    started = TokenEndpoint("mirror", SECRET, TOKEN_SECONDS, private_key.public_key())
    yield started
    started.stop()


class OwnTokens(TokenProvider):
    """A user's own class."""

    given = 0

    def token(self) -> LoginToken:
        OwnTokens.given += 1
        return LoginToken(unsigned_token("mirror", TOKEN_SECONDS), time.time() + TOKEN_SECONDS)


@pytest.fixture
def by_secret(endpoint):
    """A login by client credentials, and how many tokens were given."""
    jaas = f'{MODULE} clientId="mirror" clientSecret="{SECRET}";'
    return {"sasl.jaas.config": jaas, "sasl.oauthbearer.token.endpoint.url": endpoint.url}, endpoint.given.total


@pytest.fixture
def signing(endpoint, private_key, tmp_path):
    """The settings of a client that signs its assertions with its own key."""
    file = tmp_path / "key.pem"
    unencrypted = serialization.NoEncryption()
    file.write_bytes(private_key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, unencrypted))
    assertion = {"private.key.file": file, "algorithm": "RS256", "claim.iss": "mirror", "claim.sub": "mirror", "claim.aud": AUDIENCE}
    return {
        "sasl.jaas.config": f"{MODULE};",
        "sasl.oauthbearer.token.endpoint.url": endpoint.url,
        **{f"sasl.oauthbearer.assertion.{name}": str(value) for name, value in assertion.items()},
    }


@pytest.fixture
def by_assertion(signing, endpoint):
    """A login by client credentials with an assertion in the place of the secret (KIP-1258)."""
    return signing | {"sasl.oauthbearer.client.credentials.client.id": "mirror"}, endpoint.given.total


@pytest.fixture
def by_jwt_bearer(signing, endpoint):
    """A login by the assertion alone (KIP-1139)."""
    return signing | {"sasl.oauthbearer.jwt.retriever.class": BEARER}, endpoint.given.total


@pytest.fixture
def by_file(tmp_path):
    """A login by a token in a file, which somebody writes anew before it ends."""
    file, over, written = tmp_path / "token", threading.Event(), []

    def write():
        while not over.is_set():
            (tmp_path / "new").write_text(unsigned_token("mirror", TOKEN_SECONDS))
            (tmp_path / "new").rename(file)
            written.append(1)
            over.wait(TOKEN_SECONDS / 12)  # a token that was read has most of its time before it

    writer = threading.Thread(target=write)
    writer.start()
    eventually(file.exists, "the first token")
    yield {"sasl.jaas.config": f"{MODULE};", "sasl.oauthbearer.token.endpoint.url": file.as_uri()}, lambda: len(written)
    over.set()
    writer.join()


@pytest.fixture
def by_class():
    """A login by a class of the user's own."""
    OwnTokens.given = 0
    named = f"{OwnTokens.__module__}.{OwnTokens.__name__}"
    return {"sasl.jaas.config": f"{MODULE};", "sasl.login.callback.handler.class": named}, lambda: OwnTokens.given


@pytest.fixture
def long_run(make_pair, clusters, oracle, capfd):
    """`long_run(login, *options)` copies for two tokens' time, throttled; gives the pair, the topic and the file."""

    def run(login, *options):
        pair = make_pair(*clusters)
        topic = pair.topic("orders")
        oracle.create_topic(pair.source_bootstrap, topic, 2)
        oracle.produce(pair.source_bootstrap, topic, RECORDS, seed=1, min_size=VALUE_BYTES, max_size=VALUE_BYTES, batch_size=16_000)
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", **login}
        extra = {f"{side}.{name}": value for side in ("source", "target") for name, value in login.items()}
        extra |= {
            f"{side}.bootstrap.servers": cluster.bootstrap_of("tokens")
            for side, cluster in zip(("source", "target"), clusters, strict=True)
        }
        extra |= {
            "source->target.mirror.lanes": "2",
            "source->target.mirror.max.bytes.per.second": str(RECORDS * VALUE_BYTES // RUN_SECONDS),
            "groups": f".*-{pair.mark}",
        }
        file = pair.properties(extra=extra)
        began = time.monotonic()
        code = main(["--config", str(file), "copy", *options, "--json"])
        seconds = time.monotonic() - began
        output, words = capfd.readouterr()
        [flow] = json.loads(output)["flows"]
        assert (code, flow["errors"], flow["result"]["records"]) == (0, [], RECORDS), words
        assert seconds > RUN_SECONDS * 0.6, "no token ended in so short a run"
        assert SECRET not in output + words
        oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic)))
        return pair, topic, file

    return run


@pytest.mark.parametrize("way", ["by_secret", "by_file", "by_class", "by_assertion", "by_jwt_bearer"])
def test_a_long_copy_outlives_its_tokens(long_run, request, way):
    login, given = request.getfixturevalue(way)
    long_run(login, "--without-spark")
    assert given() >= 3


def test_spark_workers_renew_their_tokens_and_groups_are_committed_for_by_a_new_one(long_run, by_secret):
    login, given = by_secret
    pair, topic, file = long_run(login)
    set_offsets(pair.source_bootstrap, f"shop-{pair.mark}", {(topic, 0): 7})
    assert main(["--config", str(file), "group-offsets"]) == 0
    assert set(read_offsets(pair.target_bootstrap, f"shop-{pair.mark}").values()) == {7}
    assert given() >= 4
