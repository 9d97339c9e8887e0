"""From librdkafka's settings to kafka-python's: how to connect, and nothing else."""

import base64
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from mirror.kafka.kafka_python import python_settings
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

    from mirror.config.clients.key_stores import identity
    from mirror.config.clients.key_stores import trusted_certificates as certificates

    own = identity(Path(store["ssl.keystore.location"]).read_bytes(), "PEM", None, store.get("ssl.key.password"))
    ca = certificates(Path(trusted["ssl.truststore.location"]).read_bytes(), "PEM", None)
    settings = {"security.protocol": "ssl", "ssl.ca.pem": ca, "ssl.certificate.pem": own.chain, "ssl.key.pem": own.key}
    context = python_settings(PLAIN | settings)["ssl_context"]
    assert (context.check_hostname, context.verify_mode, len(context.get_ca_certs())) == (True, ssl.CERT_REQUIRED, 1)
    loose = python_settings(PLAIN | settings | {"ssl.endpoint.identification.algorithm": "none"})["ssl_context"]
    assert (loose.check_hostname, loose.verify_mode) == (False, ssl.CERT_REQUIRED)


@pytest.fixture
def endpoint():
    """A token endpoint that keeps what it was asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append((self.headers["Authorization"], self.rfile.read(int(self.headers["Content-Length"])).decode()))
            body = json.dumps({"access_token": f"token-{len(asked)}", "expires_in": 3600}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/token", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_tokens_come_by_client_credentials_and_are_kept(endpoint):
    address, asked = endpoint
    oauth = {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": address,
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "secret",
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1",
    }
    provider = python_settings(PLAIN | oauth)["sasl_oauth_token_provider"]
    assert [provider.token(), provider.token()] == ["token-1", "token-1"]
    assert provider.extensions() == {"logicalCluster": "lkc-1"}
    assert asked == [(f"Basic {base64.b64encode(b'me:secret').decode()}", "grant_type=client_credentials&scope=kafka")]
