"""What is said of certificates by what the client and its settings tell; what needs a broker: test_secured_brokers.py."""

import socket

import pytest

from kafka_mirror.kafka.connection_errors import explain_report, refuses_certificate
from services.certificates import Authority

ALERT = "ssl://127.0.0.1:9093/bootstrap: Receive failed: error:0A000412:SSL routines::ssl/tls alert bad certificate: SSL alert number {}"
UNVERIFIED = (
    "ssl://{}/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker certificate (after 3ms)"
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.mark.parametrize(("number", "about_us"), [(42, True), (46, True), (48, True), (116, True), (0, False), (70, False), (80, False)])
def test_alerts_about_the_clients_certificate_are_refusals(number, about_us):
    assert refuses_certificate(ALERT.format(number)) is about_us


@pytest.mark.parametrize(
    ("days", "said"),
    [
        ((-3, -1), "'CN=mirror' in east.ssl.keystore.* expired on "),
        ((1, 3), "'CN=mirror' in east.ssl.keystore.* is not valid before "),
        (
            (-1, 1),
            "does not accept the client certificate 'CN=mirror' in east.ssl.keystore.*; its truststore has to hold the issuer",
        ),
    ],
)
def test_a_refused_client_is_told_what_is_wrong_with_its_certificate(authority, days, said):
    assert said in explain_report(ALERT.format(46), {"ssl.certificate.pem": authority.issue("mirror", days=days).pem}, "east")


def test_a_client_without_a_certificate_is_told_that_one_is_wanted():
    assert explain_report(ALERT.format(116), {}, "east") == "the broker asks for a client certificate, and east.ssl.keystore.* names none"


def test_a_broker_that_is_gone_by_then_leaves_the_clients_own_words():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        assert explain_report(UNVERIFIED.format(f"127.0.0.1:{probe.getsockname()[1]}"), {}, "east") is None


@pytest.mark.parametrize("text", ["sasl_ssl://a:1/bootstrap: SASL authentication error", "Local: Timed out", "certificate verify failed"])
def test_what_is_not_about_a_certificate_is_not_explained(text):
    assert explain_report(text, {}, "east") is None
