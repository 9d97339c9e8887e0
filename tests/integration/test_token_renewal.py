"""Tokens that are valid for seconds, and brokers that end a connection with its token: every client of a long run logs in again."""

import json
import time

import pytest

from mirror.__main__ import main
from services.kafka import KafkaCluster, Listener
from services.oracle import Side
from services.tokens import TokenEndpoint
from tests.integration.consumers import committed, set_offsets

SECRET = "correct-horse-battery"
TOKEN_SECONDS = 6
RUN_SECONDS = 3 * TOKEN_SECONDS
RECORDS, VALUE_BYTES = 600, 1000
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
BY_TOKEN = {
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "oauthbearer.sasl.jaas.config": f"{MODULE};",
    "oauthbearer.connections.max.reauth.ms": str(3600 * 1000),  # with it, a broker closes what sends on an ended token (KIP-368)
}


@pytest.fixture(scope="module")
def clusters(services_directory):
    """Two clusters that are entered by tokens alone, but by the test."""
    both = [
        KafkaCluster(services_directory / f"tokens-{alias}", f"tokens-{alias}", listeners={"tokens": Listener("SASL_PLAINTEXT", BY_TOKEN)})
        for alias in ("east", "west")
    ]
    for cluster in both:
        cluster.start()
    yield both
    for cluster in both:
        cluster.discard()


@pytest.fixture
def endpoint():
    started = TokenEndpoint("mirror", SECRET, TOKEN_SECONDS)
    yield started
    started.stop()


def login(cluster, url):
    """The settings of a cluster behind tokens."""
    return {
        "bootstrap.servers": cluster.bootstrap_of("tokens"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f'{MODULE} clientId="mirror" clientSecret="{SECRET}";',
        "sasl.oauthbearer.token.endpoint.url": url,
    }


@pytest.fixture
def long_run(make_pair, clusters, endpoint, oracle, capfd):
    """`long_run(engine, *options)` copies for some tokens' time, throttled; gives the pair, the topic and the flow's part of the result."""

    def run(engine, *options):
        pair = make_pair(*clusters)
        topic = pair.topic("orders")
        oracle.create_topic(pair.source_bootstrap, topic, 2)
        oracle.produce(pair.source_bootstrap, topic, RECORDS, seed=1, min_size=VALUE_BYTES, max_size=VALUE_BYTES, batch_size=16_000)
        extra = {
            f"{side}.{name}": value
            for side, cluster in zip(("source", "target"), clusters, strict=True)
            for name, value in login(cluster, endpoint.url).items()
        }
        extra |= {
            "source->target.mirror.engine": engine,
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


@pytest.mark.parametrize("engine", ["records", "batches"])
def test_a_long_copy_outlives_its_tokens(long_run, endpoint, engine):
    long_run(engine, "--without-spark")
    assert endpoint.given.total() >= 3, endpoint.given


def test_spark_workers_renew_their_tokens_and_groups_are_committed_for_by_a_new_one(long_run, endpoint, clusters):
    pair, topic, file = long_run("batches")
    set_offsets(pair.source_bootstrap, f"shop-{pair.mark}", {(topic, 0): 7})
    assert main(["--config", str(file), "group-offsets"]) == 0
    assert set(committed(pair.target_bootstrap, f"shop-{pair.mark}").values()) == {7}
    assert endpoint.given.total() >= 4, endpoint.given
