"""What a configuration leaves open on the network is said once, by the key that says it."""

import pytest

from kafka_mirror.config import load

FLOW = ("clusters = east, west", "east.bootstrap.servers = e:9093", "west.bootstrap.servers = w:9092", "east->west.enabled = true")
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='p';"
SASL = ("east.sasl.mechanism = PLAIN", f"east.sasl.jaas.config = {LOGIN}")
OAUTH = (
    "east.security.protocol = SASL_SSL",
    "east.sasl.mechanism = OAUTHBEARER",
    "east.sasl.oauthbearer.client.credentials.client.id = me",
    "east.sasl.oauthbearer.client.credentials.client.secret = s",
    "east.sasl.login.callback.handler.class = org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
)
REGISTRIES = ("mirror.schemas.source.url = {}", "mirror.schemas.target.url = https://w.example")


@pytest.fixture
def notices(tmp_path):
    def read(*lines):
        file = tmp_path / "mm2.properties"
        file.write_text("\n".join((*FLOW, *lines)))
        return [
            notice for notice in load([file], {}).flow("east->west").notices if "unencrypted" in notice or "taken for a broker" in notice
        ]

    return read


@pytest.mark.parametrize(
    ("lines", "key", "what"),
    [
        (("east.security.protocol = SASL_PLAINTEXT", *SASL), "east.security.protocol", "the login and all records"),
        (("east.security.protocol = SSL", "east.ssl.endpoint.identification.algorithm ="), "east.ssl.endpoint.identification", "any host"),
        (
            (*OAUTH, "east.sasl.oauthbearer.token.endpoint.url = http://id.example/token"),
            "east.sasl.oauthbearer.token.endpoint.url",
            "the client's login and its tokens",
        ),
        (
            (REGISTRIES[0].format("http://e.example"), REGISTRIES[1], "mirror.schemas.source.basic.auth.user.info = u:p"),
            "mirror.schemas.source.url",
            "the registry's login",
        ),
    ],
)
def test_what_is_open_is_said_once_without_any_secret(notices, lines, key, what):
    (notice,) = notices(*lines)
    assert notice.startswith(key)
    assert what in notice
    assert "password" not in notice


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("east.security.protocol = SASL_SSL", *SASL),
        ("east.security.protocol = SSL", "east.ssl.endpoint.identification.algorithm = https"),
        (*OAUTH, "east.sasl.oauthbearer.token.endpoint.url = https://id.example/token"),
        (REGISTRIES[0].format("http://e.example"), REGISTRIES[1]),
    ],
)
def test_what_is_closed_is_not_talked_about(notices, lines):
    assert notices(*lines) == []
