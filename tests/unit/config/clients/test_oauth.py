"""Which class gives a client's tokens, by the names that Java's users write, and what is refused."""

import json
import time

import pytest
from confluent_kafka.admin import AdminClient

import kafka_mirror.logins.token
from kafka_mirror.kafka.admin import ClientErrors, settings_with
from kafka_mirror.logins.token import CLASS, PROPERTIES
from tests.unit.config.clients.java_client import complaints_of, map_java

KAFKA = "org.apache.kafka.common.security.oauthbearer."
MSK = "software.amazon.msk.auth.iam."
OAUTH = f"{KAFKA}OAuthBearerLoginModule required"
HANDLER = f"{KAFKA}OAuthBearerLoginCallbackHandler"
PROVIDERS = "tests.unit.logins.token_providers."
BOOTSTRAP = "b-1.x.y.c2.kafka.us-east-1.amazonaws.com:9098"


def mapped(java, unresolved=()):
    settings = {"bootstrap.servers": BOOTSTRAP, "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    return map_java(settings | {f"sasl.{name}": text for name, text in java.items()}, unresolved=unresolved)


def class_and_properties(java):
    found = mapped(java)
    assert found.problems == []
    return found.settings[CLASS], json.loads(found.settings[PROPERTIES])


def complaints(java):
    return complaints_of(mapped(java))


# As AWS's guide for its Java library has them.
IAM = {
    "mechanism": "AWS_MSK_IAM",
    "jaas.config": f'{MSK}IAMLoginModule required awsProfileName="p" awsRoleArn="arn:r" awsRoleSessionName="s" awsStsRegion="eu-west-1";',
    "client.callback.handler.class": f"{MSK}IAMClientCallbackHandler",
}
IAM_BY_TOKENS = {
    "jaas.config": f'{OAUTH} awsRoleArn="arn:r";',
    "login.callback.handler.class": f"{MSK}IAMOAuthBearerLoginCallbackHandler",
    "client.callback.handler.class": f"{MSK}IAMOAuthBearerLoginCallbackHandler",
}


def test_msk_iam_becomes_a_login_by_tokens():
    found = mapped(IAM)
    assert (found.problems, found.settings["sasl.mechanism"]) == ([], "OAUTHBEARER")
    assert class_and_properties(IAM) == (
        "kafka_mirror.logins.clouds.MskIamTokens",
        {
            "bootstrap.servers": BOOTSTRAP,
            "awsProfileName": "p",
            "awsRoleArn": "arn:r",
            "awsRoleSessionName": "s",
            "awsStsRegion": "eu-west-1",
        },
    )
    named, properties = class_and_properties(IAM_BY_TOKENS)
    assert (named, properties["awsRoleArn"]) == ("kafka_mirror.logins.clouds.MskIamTokens", "arn:r")


def test_librdkafka_takes_what_becomes_of_msk_iam(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    settings = mapped(IAM | {"jaas.config": f"{MSK}IAMLoginModule required;"}).settings | {"bootstrap.servers": "127.0.0.1:1"}
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    settings[PROPERTIES] = json.dumps({"bootstrap.servers": BOOTSTRAP})
    accepted = settings_with(settings, ClientErrors("east", settings))
    AdminClient(accepted)
    value, expires, _principal, _extensions = accepted["oauth_cb"]("")
    assert value
    assert expires > time.time()


@pytest.mark.parametrize(
    ("java", "named"),
    [
        ({"login.callback.handler.class": "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"}, "clouds.GoogleTokens"),
        (
            {"login.callback.handler.class": "kafka_mirror.logins.azure_entra.EntraTokens", "oauthbearer.scope": "s"},
            "azure_entra.EntraTokens",
        ),
        ({"login.callback.handler.class": HANDLER, "oauthbearer.token.endpoint.url": "file:///run/token"}, "oauth.TokenFile"),
        (
            {"oauthbearer.jwt.retriever.class": f"{KAFKA}FileJwtRetriever", "oauthbearer.token.endpoint.url": "file:///run/token"},
            "oauth.TokenFile",
        ),
        (
            {
                "oauthbearer.jwt.retriever.class": f"{KAFKA}JwtBearerJwtRetriever",
                "oauthbearer.token.endpoint.url": "https://idp/token",
                "oauthbearer.assertion.private.key.file": "/run/key.pem",
            },
            "oauth.JwtBearer",
        ),
        (
            {"oauthbearer.token.endpoint.url": "https://idp/token", "oauthbearer.assertion.file": "/run/assertion"},
            "oauth.ClientAssertion",
        ),
        (
            {
                "oauthbearer.jwt.retriever.class": f"{KAFKA}ClientCredentialsJwtRetriever",
                "oauthbearer.token.endpoint.url": "https://idp/token",
                "oauthbearer.assertion.claim.iss": "me",
                "oauthbearer.assertion.private.key.file": "/run/key.pem",
            },
            "oauth.ClientAssertion",
        ),
    ],
)
def test_javas_names_lead_to_a_class_that_does_the_same(java, named):
    found, properties = class_and_properties(java)
    assert found == f"kafka_mirror.logins.{named}"
    assert {f"sasl.{name}": text for name, text in java.items() if name.startswith("oauthbearer.")}.items() <= properties.items()


def test_a_class_of_the_users_own_gets_the_options_of_the_login_module():
    java = {"login.callback.handler.class": f"{PROVIDERS}Choosy", "jaas.config": f'{OAUTH} tenant="t";'}
    assert class_and_properties(java) == (f"{PROVIDERS}Choosy", {"bootstrap.servers": BOOTSTRAP, "tenant": "t"})


@pytest.mark.parametrize(
    ("java", "name", "reason"),
    [
        (
            {"login.callback.handler.class": "io.strimzi.H"},
            "sasl.login.callback.handler.class",
            "Java classes cannot be loaded here. Write it as a Python class that derives from kafka_mirror.logins.TokenProvider",
        ),
        ({"login.callback.handler.class": "io.strimzi.H"}, "sasl.login.callback.handler.class", "For client credentials name Kafka's own"),
        (
            {"login.callback.handler.class": "collections.OrderedDict"},
            "sasl.login.callback.handler.class",
            "is no class that derives from kafka_mirror.logins.TokenProvider",
        ),
        ({"login.callback.handler.class": f"{PROVIDERS}Choosy"}, "sasl.login.callback.handler.class", "the option tenant is missing"),
        ({"oauthbearer.token.endpoint.url": "file:token"}, "sasl.mechanism", "must be the address of a file"),
        (
            {"oauthbearer.jwt.retriever.class": f"{KAFKA}JwtBearerJwtRetriever", "oauthbearer.token.endpoint.url": "https://idp/token"},
            "sasl.mechanism",
            "sasl.oauthbearer.assertion.private.key.file is missing",
        ),
        ({"oauthbearer.jwt.retriever.class": "my.R"}, "sasl.oauthbearer.jwt.retriever.class", "known are org.apache.kafka"),
        (
            {"mechanism": "AWS_MSK_IAM", "jaas.config": f"{OAUTH};"},
            "sasl.jaas.config",
            "names the OAuthBearerLoginModule, but AWS_MSK_IAM needs the IAMLoginModule",
        ),
        ({"mechanism": "AWS_MSK_IAM", "client.callback.handler.class": "my.H"}, "sasl.client.callback.handler.class", "a Java class"),
        (
            {"mechanism": "AWS_MSK_IAM", "jaas.config": f"{MSK}IAMLoginModule required awsMskRegionProvider=c;"},
            "sasl.mechanism",
            "awsMskRegionProvider names a Java class",
        ),
    ],
)
def test_what_is_refused_is_told_with_what_works(java, name, reason):
    assert reason in complaints(java)[f"east.{name}"]


@pytest.mark.parametrize(
    ("module", "extra", "java"),
    [
        ("aws_msk_iam_sasl_signer", "msk", IAM),
        ("google.auth", "google", {"login.callback.handler.class": "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"}),
        (
            "azure.identity",
            "azure",
            {"login.callback.handler.class": "kafka_mirror.logins.azure_entra.EntraTokens", "oauthbearer.scope": "s"},
        ),
    ],
)
def test_a_missing_package_is_told_with_the_extra_that_brings_it(monkeypatch, module, extra, java):
    monkeypatch.setattr(kafka_mirror.logins.token.importlib.util, "find_spec", lambda name: None if name == module else 1 / 0)
    (message,) = complaints(java).values()
    assert message == f"needs the Python package of {module}, on Spark's workers too: pip install 'airflow-kafka-mirror[{extra}]'"


@pytest.mark.parametrize("unresolved", ["sasl.jaas.config", "sasl.login.callback.handler.class", "bootstrap.servers"])
def test_what_is_not_resolved_yet_is_left_for_later(unresolved):
    java = {"login.callback.handler.class": f"{PROVIDERS}Choosy", "jaas.config": f'{OAUTH} tenant="${{env:T}}";'}
    found = mapped(java, {unresolved})
    assert (found.problems, CLASS in found.settings) == ([], False)


def test_where_the_secrets_come_from_is_known_so_that_no_page_shows_them():
    found = mapped({"login.callback.handler.class": f"{PROVIDERS}Choosy", "jaas.config": f'{OAUTH} tenant="t";'})
    assert "east.sasl.jaas.config" in {setting.origin for setting in found.origins[PROPERTIES]}
    assert [setting.origin for setting in found.origins[CLASS]] == ["east.sasl.login.callback.handler.class"]
