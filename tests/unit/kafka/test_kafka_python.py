"""From librdkafka's settings to kafka-python's: how to connect, and nothing else."""

import ssl

import pytest

from kafka_mirror.kafka.client_login import python_settings
from services.certificates import Authority

PLAIN = {"bootstrap.servers": "one:9092,two:9092", "client.id": "mine", "fetch.wait.max.ms": 5}


def test_without_security_it_is_the_addresses_and_the_name():
    assert python_settings(PLAIN) == {"bootstrap_servers": ["one:9092", "two:9092"], "client_id": "mine", "security_protocol": "PLAINTEXT"}


@pytest.mark.parametrize(("mechanism", "user"), [("PLAIN", "a=b,c"), ("SCRAM-SHA-512", "a=3Db=2Cc")])
def test_a_login_is_written_as_its_mechanism_wants_it(mechanism, user):
    login = {"security.protocol": "sasl_plaintext", "sasl.mechanism": mechanism, "sasl.username": "a=b,c", "sasl.password": "p=,"}
    found = python_settings(PLAIN | login)
    assert (found["sasl_mechanism"], found["sasl_plain_username"], found["sasl_plain_password"]) == (mechanism, user, "p=,")


def test_certificates_come_from_text_and_leave_no_file(tmp_path):
    authority = Authority(tmp_path / "authority")
    client = authority.issue("client", hosts=())
    trusted, store = authority.trust_store("PEM"), authority.key_store(client, "PEM")
    from pathlib import Path

    from kafka_mirror.config.clients.key_stores import identity
    from kafka_mirror.config.clients.key_stores import trusted_certificates as certificates

    own = identity(Path(store["ssl.keystore.location"]).read_bytes(), "PEM", None, store.get("ssl.key.password"))
    ca = certificates(Path(trusted["ssl.truststore.location"]).read_bytes(), "PEM", None)
    settings = {"security.protocol": "ssl", "ssl.ca.pem": ca, "ssl.certificate.pem": own.chain, "ssl.key.pem": own.key}
    context = python_settings(PLAIN | settings)["ssl_context"]
    assert (context.check_hostname, context.verify_mode, len(context.get_ca_certs())) == (True, ssl.CERT_REQUIRED, 1)
    loose = python_settings(PLAIN | settings | {"ssl.endpoint.identification.algorithm": "none"})["ssl_context"]
    assert (loose.check_hostname, loose.verify_mode) == (False, ssl.CERT_REQUIRED)
