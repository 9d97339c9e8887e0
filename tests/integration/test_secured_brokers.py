"""Brokers that want TLS and a login: every way in, with every kind of store, and one sentence for every way to get it wrong."""

import json
import time

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from kafka_mirror.__main__ import main
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.certificates import KEY_PASSWORD, PASSWORD, Authority
from services.consumers import read_offsets, set_offsets
from services.kafka import KafkaCluster, Listener
from services.oracle import Side
from services.tokens import TokenEndpoint
from tests.integration.access import LONG_BEFORE

LOGIN, WRONG = "correct-horse-battery", "staple-battery"
SECURITY = "org.apache.kafka.common.security."
KINDS = ("PEM", "PKCS12", "JKS")


class Secured:
    """One broker with a listener for each situation, and the Java settings of those who connect."""

    def __init__(self, directory) -> None:
        self.authority = Authority(directory / "authority")
        self.stranger = Authority(directory / "stranger", "stranger")
        issue, trust = self.authority.issue, self.authority.trust_store("PKCS12")
        self.client = issue("client", hosts=())
        self.expired_client = issue("expired-client", hosts=(), days=(-3, -1))

        def server(name, **more):
            return self.authority.key_store(issue(name, **more), "PKCS12")

        sasl = {
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            "plain.sasl.jaas.config": f'{SECURITY}plain.PlainLoginModule required user_mirror="{LOGIN}";',
            "scram-sha-512.sasl.jaas.config": f"{SECURITY}scram.ScramLoginModule required;",
        }
        good = server("broker")
        tokens = {
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "oauthbearer.sasl.jaas.config": f"{SECURITY}oauthbearer.OAuthBearerLoginModule required;",
        }
        listeners = {
            "tokens": Listener("SASL_SSL", good | tokens),
            "login": Listener("SASL_SSL", good | sasl),
            "mutual": Listener("SSL", good | trust | {"ssl.client.auth": "required"}),
            "expired": Listener("SSL", server("expired-broker", days=(-3, -1))),
            "elsewhere": Listener("SSL", server("elsewhere", hosts=("kafka.example.org",))),
        }
        self.cluster = KafkaCluster(directory / "kafka", "secured", listeners=listeners)

    def start(self) -> None:
        self.cluster.start()
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap})
        scram = UserScramCredentialUpsertion("mirror", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), LOGIN.encode())
        for answer in admin.alter_user_scram_credentials([scram]).values():
            answer.result(30)

    def scram(self, kind="PEM", password=LOGIN):
        return self._login("SCRAM-SHA-512", "scram.Scram", password) | self.authority.trust_store(kind)

    def plain(self, kind="PEM", password=LOGIN):
        return self._login("PLAIN", "plain.Plain", password) | self.authority.trust_store(kind)

    def oauth(self, endpoint, secret=LOGIN):
        login = f'{SECURITY}oauthbearer.OAuthBearerLoginModule required clientId="mirror" clientSecret="{secret}";'
        sasl = {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": login, "sasl.oauthbearer.token.endpoint.url": endpoint}
        return self._tls("tokens") | {"security.protocol": "SASL_SSL"} | sasl | self.authority.trust_store("PEM")

    def mutual(self, kind="PEM", client=None):
        trust = self.authority.trust_store(kind)
        return self._tls("mutual") | trust | self.authority.key_store(client or self.client, kind)

    def _login(self, mechanism, module, password):
        login = f'{SECURITY}{module}LoginModule required username="mirror" password="{password}";'
        sasl = {"security.protocol": "SASL_SSL", "sasl.mechanism": mechanism, "sasl.jaas.config": login}
        return {"bootstrap.servers": self.cluster.bootstrap_of("login"), **sasl}

    def _tls(self, listener):
        return {"bootstrap.servers": self.cluster.bootstrap_of(listener), "security.protocol": "SSL"}

    # ------------------------------------------------------------ what goes wrong, by name

    def wrong(self, what):
        """Settings with this mistake."""
        trust = self.authority.trust_store("PKCS12")
        mistakes = {
            "password of SCRAM": lambda: self.scram(password=WRONG),
            "password of PLAIN": lambda: self.plain(password=WRONG),
            "authority of the broker": lambda: self.plain() | self.stranger.trust_store("JKS"),
            "no truststore": lambda: {name: value for name, value in self.plain().items() if "truststore" not in name},
            "expired broker": lambda: self._tls("expired") | trust,
            "host name": lambda: self._tls("elsewhere") | trust,
            "expired client": lambda: self.mutual("JKS", self.expired_client),
            "authority of the client": lambda: (
                self._tls("mutual") | trust | self.stranger.key_store(self.stranger.issue("foreign", hosts=()), "PEM")
            ),
            "no client certificate": lambda: self._tls("mutual") | trust,
        }
        return mistakes[what]()


@pytest.fixture(scope="module")
def secured(services_directory):
    made = Secured(services_directory / "secured")
    made.start()
    yield made
    made.cluster.discard()


@pytest.fixture
def token_endpoint():
    endpoint = TokenEndpoint("mirror", LOGIN)
    yield endpoint
    endpoint.stop()


@pytest.fixture
def run(capfd):
    """`run(file, "copy", ...)` gives exit code, the flow's part of the JSON document, all that was said, and seconds."""

    def call(file, *arguments):
        started = time.monotonic()
        code = main(["--config", str(file), *arguments, "--json"])
        seconds = time.monotonic() - started
        output, words = capfd.readouterr()
        (flow,) = json.loads(output)["flows"]
        return code, flow, output + words, seconds

    return call


def properties(pair, side, java, more=None):
    """The pair's file with these settings of Java for one side, and `more` of the flow's own."""
    named = {f"{side}.{name}": value for name, value in java.items()}
    return pair.properties(extra={"source->target.mirror.lanes": "2", **named, **(more or {})})


WAYS = [(way, kind) for way in ("scram", "plain", "mutual") for kind in KINDS]


@pytest.mark.parametrize(("way", "kind", "side"), [(*each, "source" if place % 2 else "target") for place, each in enumerate(WAYS)])
def test_a_copy_runs_through_every_way_in_with_every_kind_of_store(make_pair, run, secured, east, oracle, way, kind, side):
    source, target = (secured.cluster, east) if side == "source" else (east, secured.cluster)
    pair = make_pair(source, target)
    topic = pair.topic("orders")
    oracle.create_topic(source.bootstrap, topic, 2)
    oracle.produce(source.bootstrap, topic, 40, seed=1)
    # Once through Spark: what its tasks get of a store has to travel with them.
    how = [] if (way, kind) == ("mutual", "JKS") else ["--without-spark"]
    code, flow, said, _ = run(properties(pair, side, getattr(secured, way)(kind)), "copy", *how)
    assert (code, flow["errors"], flow["result"]["records"]) == (0, [], 40)
    oracle.assert_mirrored(Side(source.bootstrap, topic), Side(target.bootstrap, pair.remote(topic)))
    assert not [secret for secret in (LOGIN, PASSWORD, KEY_PASSWORD) if secret in said]


@pytest.mark.parametrize("way", ["scram", "plain", "mutual"])
def test_a_copy_runs_behind_every_way_in(make_pair, run, secured, east, oracle, way):
    pair = make_pair(east, secured.cluster)
    topic = pair.topic("orders")
    oracle.create_topic(east.bootstrap, topic, 2)
    oracle.produce(east.bootstrap, topic, 40, seed=1)
    file = properties(pair, "target", getattr(secured, way)())
    code, flow, said, _ = run(file, "copy", "--without-spark")
    assert (code, flow["errors"], flow["result"]["records"]) == (0, [], 40)
    oracle.assert_mirrored(Side(east.bootstrap, topic), Side(secured.cluster.bootstrap, pair.remote(topic)))
    assert LOGIN not in said


def test_a_copy_runs_behind_a_login_by_tokens(make_pair, run, secured, east, oracle, token_endpoint):
    pair = make_pair(east, secured.cluster)
    topic = pair.topic("orders")
    oracle.create_topic(east.bootstrap, topic, 2)
    oracle.produce(east.bootstrap, topic, 40, seed=1)
    file = properties(pair, "target", secured.oauth(token_endpoint.url))
    code, flow, said, _ = run(file, "copy", "--without-spark")
    assert (code, flow["errors"], flow["result"]["records"]) == (0, [], 40)
    oracle.assert_mirrored(Side(east.bootstrap, topic), Side(secured.cluster.bootstrap, pair.remote(topic)))
    assert LOGIN not in said


@pytest.mark.parametrize("way", ["scram", "plain", "mutual"])
def test_groups_are_read_and_committed_for_through_every_way_in(make_pair, run, secured, east, oracle, way):
    """Another client library talks to the group coordinators, with the same settings."""
    pair = make_pair(east, secured.cluster)
    topic, group = pair.topic("orders"), f"shop-{pair.mark}"
    oracle.create_topic(east.bootstrap, topic, 1)
    oracle.produce(east.bootstrap, topic, 20, seed=1)
    set_offsets(east.bootstrap, group, {(topic, 0): 7})
    file = properties(pair, "target", getattr(secured, way)("PKCS12") | {"groups": f".*-{pair.mark}"})
    assert run(file, "copy", "--without-spark")[0] == 0
    code, flow, said, _ = run(file, "group-offsets")
    assert (code, flow["errors"]) == (0, [])
    assert read_offsets(secured.cluster.bootstrap, group) == {TopicPartition(pair.remote(topic), 0): 7}
    assert not [secret for secret in (LOGIN, PASSWORD, KEY_PASSWORD) if secret in said]


MISTAKES = {
    "password of SCRAM": "invalid credentials with SASL mechanism SCRAM-SHA-512",
    "password of PLAIN": "Invalid username or password",
    "authority of the broker": "{alias}.ssl.truststore.* does not trust the certificate of {address}, issued by 'CN=authority'",
    "no truststore": "{alias}.ssl.truststore.* is not set, and the authorities known to this system do not vouch for the certificate",
    "expired broker": "the certificate of {address} expired on ",
    "host name": "the certificate of {address} is for kafka.example.org, not for 127.0.0.1; correct {alias}.bootstrap.servers",
    "expired client": "the client certificate 'CN=expired-client' in {alias}.ssl.keystore.* expired on ",
    "authority of the client": "does not accept the client certificate 'CN=foreign' in {alias}.ssl.keystore.*; its truststore has to hold",
    "no client certificate": "the broker asks for a client certificate, and {alias}.ssl.keystore.* names none",
}


@pytest.mark.parametrize(("what", "side"), [(what, "source" if place % 2 else "target") for place, what in enumerate(MISTAKES)])
def test_what_is_wrong_is_said_in_one_sentence_soon_and_is_not_tried_again(make_pair, run, secured, east, what, side):
    pair = make_pair(secured.cluster, east) if side == "source" else make_pair(east, secured.cluster)
    java = secured.wrong(what)
    code, flow, words, seconds = run(properties(pair, side, java), "plan")
    (error,) = flow["errors"]
    assert (code, error["code"], error["retriable"]) == (1, "AuthenticationFailed", False)
    alias = getattr(pair, side)
    assert MISTAKES[what].format(alias=alias, address=java["bootstrap.servers"]) in error["message"]
    assert f"Cluster '{alias}' at {java['bootstrap.servers']} refused the connection" in error["message"]
    assert "\n" not in error["message"]
    assert seconds < LONG_BEFORE
    assert not [secret for secret in (LOGIN, WRONG, PASSWORD, KEY_PASSWORD) if secret in words]


def test_a_host_name_is_not_looked_at_if_the_algorithm_is_empty(make_pair, run, secured, east):
    java = secured.wrong("host name") | {"ssl.endpoint.identification.algorithm": ""}
    assert run(properties(make_pair(secured.cluster, east), "source", java), "plan")[0] == 0


@pytest.mark.parametrize("kind", ["PKCS12", "JKS"])
@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_a_wrong_password_of_a_store_is_said_before_anything_connects(make_pair, run, secured, east, kind, store):
    pair = make_pair(secured.cluster, east)
    file = properties(pair, "source", secured.mutual(kind) | {f"ssl.{store}.password": WRONG})
    code, flow, words, _ = run(file, "plan")
    (error,) = flow["errors"]
    assert (code, error["code"]) == (2, "ConfigurationError")
    assert f"{pair.source}.ssl.{store}.password: is not the password of the store in {pair.source}.ssl.{store}.location" in error["message"]
    assert WRONG not in words
