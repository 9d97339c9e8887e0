"""TLS settings, checked by real handshakes of librdkafka with a server that wants a client certificate."""

import datetime
import socket
import ssl
import threading
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat, pkcs12
from cryptography.x509.oid import NameOID

from mirror.config.clients import Client, client_settings
from mirror.config.setting import Setting


class Authority:
    """A root, an intermediate authority, a server certificate by the root, a client certificate by the intermediate."""

    def __init__(self, directory: Path) -> None:
        self.root_key, self.root = self._issue("root", None, None, True)
        self.middle_key, self.middle = self._issue("middle", self.root_key, self.root, True)
        self.server_key, self.server = self._issue("server", self.root_key, self.root, False)
        self.client_key, self.client = self._issue("client", self.middle_key, self.middle, False)
        self.directory = directory

    @staticmethod
    def _issue(name, issuer_key, issuer, authority):
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.subject if issuer else subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(authority, None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("elsewhere")]), critical=False)
        )
        return key, builder.sign(issuer_key or key, hashes.SHA256())

    def pem(self, *certificates):
        return "".join(each.public_bytes(Encoding.PEM).decode() for each in certificates)

    def key(self, key, password=None):
        encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()

    def file(self, name, content):
        path = self.directory / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def truststore(self, password):
        return pkcs12.serialize_key_and_certificates(None, None, None, [self.middle, self.root], BestAvailableEncryption(password.encode()))

    def keystore(self, password):
        encryption = BestAvailableEncryption(password.encode())
        return pkcs12.serialize_key_and_certificates(b"client", self.client_key, self.client, [self.middle], encryption)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def handshake(authority):
    """`handshake(java settings)`: what a server that wants a client certificate by the root saw: the client's name, or the error."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # the client's certificate is judged inside the handshake
    context.load_cert_chain(
        authority.file("server.pem", authority.pem(authority.server)), authority.file("server.key", authority.key(authority.server_key))
    )
    context.load_verify_locations(authority.file("root.pem", authority.pem(authority.root)))
    context.verify_mode = ssl.CERT_REQUIRED

    def run(java):
        seen = []
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.settimeout(10)

            def serve():
                connection, _ = listening.accept()
                connection.settimeout(10)
                try:
                    with context.wrap_socket(connection, server_side=True) as secured:
                        seen.append(dict(part[0] for part in secured.getpeercert()["subject"])["commonName"])
                except (ssl.SSLError, OSError) as error:
                    seen.append(str(error))

            thread = threading.Thread(target=serve)
            thread.start()
            found = mapped({"bootstrap.servers": f"127.0.0.1:{listening.getsockname()[1]}", **java})
            assert found.problems == []
            client = AdminClient({**found.settings, "log_level": 0, "error_cb": lambda _: None})
            while thread.is_alive():
                client.poll(0.05)
            thread.join()
        return seen[0]

    return run


def mapped(java, files=True):
    settings = {"bootstrap.servers": "127.0.0.1:9", "security.protocol": "SSL"} | java
    return client_settings(
        {name: Setting(text, f"east.{name}") for name, text in settings.items()},
        Client("east->west", "east", "source", "admin", files=files),
    )


def complaints(java, files=True):
    return {problem.property: problem.message for problem in mapped(java, files).problems}


ANY_NAME = {"ssl.endpoint.identification.algorithm": ""}


def test_pem_in_the_configuration_itself(authority, handshake):
    java = ANY_NAME | {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority.pem(authority.middle, authority.root),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": authority.pem(authority.client, authority.middle),
        "ssl.keystore.key": authority.key(authority.client_key, "secret"),
        "ssl.key.password": "secret",
    }
    assert handshake(java) == "client"


def test_pem_files(authority, handshake):
    keystore = authority.key(authority.client_key) + authority.pem(authority.client, authority.middle)
    java = ANY_NAME | {
        "ssl.truststore.type": "pem",
        "ssl.truststore.location": authority.file("trust.pem", authority.pem(authority.root)),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": authority.file("keystore.pem", keystore),
    }
    assert handshake(java) == "client"


@pytest.mark.parametrize("named", [{"ssl.truststore.type": "PKCS12", "ssl.keystore.type": "PKCS12"}, {}])
def test_pkcs12_stores_which_java_reads_as_jks_too(authority, handshake, named):
    java = (
        ANY_NAME
        | named
        | {
            "ssl.truststore.location": authority.file("trust.p12", authority.truststore("one")),
            "ssl.truststore.password": "one",
            "ssl.keystore.location": authority.file("keystore.p12", authority.keystore("two")),
            "ssl.keystore.password": "two",
        }
    )
    assert handshake(java) == "client"


def test_the_servers_name_is_checked_unless_the_algorithm_is_empty(authority, handshake):
    java = {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority.pem(authority.root),
        "ssl.keystore.location": authority.file("keystore.p12", authority.keystore("two")),
        "ssl.keystore.password": "two",
    }
    assert handshake(java | ANY_NAME) == "client"
    assert handshake(java | {"ssl.endpoint.identification.algorithm": "HTTPS"}) != "client"
    assert handshake(java) != "client"


def test_another_authority_is_not_trusted(authority, handshake, tmp_path):
    java = ANY_NAME | {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority.pem(Authority(tmp_path).root)}
    assert handshake(java) != "client"


@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_jks_is_refused_with_the_way_out(tmp_path, store):
    path = tmp_path / "store.bin"
    path.write_bytes(bytes.fromhex("feedfeed") + b"rest")

    assert "-deststoretype PKCS12" in complaints({f"ssl.{store}.location": str(path)})[f"east.ssl.{store}.location"]
    assert "-deststoretype PKCS12" in complaints({f"ssl.{store}.location": "/none/store.jks"}, files=False)[f"east.ssl.{store}.location"]


@pytest.mark.parametrize(
    ("java", "name", "reason"),
    [
        ({"ssl.truststore.type": "BCFKS"}, "ssl.truststore.type", "has to be PEM or PKCS12"),
        ({"ssl.truststore.certificates": "-----BEGIN "}, "ssl.truststore.certificates", "need the type PEM"),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "hidden"}, "ssl.truststore.certificates", "has to be PEM text"),
        ({"ssl.keystore.type": "PEM", "ssl.keystore.key": "-----BEGIN "}, "ssl.keystore.certificate.chain", "belong together"),
        ({"ssl.keystore.type": "PEM", "ssl.keystore.location": "/none.pem"}, "ssl.keystore.location", "cannot be read: No such file"),
        ({"ssl.truststore.location": "/none.p12"}, "ssl.truststore.location", "cannot be read: No such file"),
        ({"ssl.engine.factory.class": "my.Factory"}, "ssl.engine.factory.class", "a Java class cannot be loaded"),
        ({"ssl.endpoint.identification.algorithm": "none"}, "ssl.endpoint.identification.algorithm", "has to be https, or empty"),
    ],
)
def test_what_is_refused(java, name, reason):
    assert reason in complaints(java)[f"east.{name}"]


def test_a_wrong_password_of_a_truststore_is_said(authority):
    java = {"ssl.truststore.location": authority.file("trust.p12", authority.truststore("one")), "ssl.truststore.password": "hidden"}
    assert complaints(java) == {"east.ssl.truststore.location": "is no PKCS12 store, or ssl.truststore.password is not its password"}


def test_files_are_not_opened_while_the_configuration_is_loaded():
    java = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/none.pem", "ssl.keystore.location": "/none.p12"}
    assert complaints(java, files=False) == {}


def test_settings_of_javas_own_library_have_no_effect():
    assert set(mapped({"ssl.protocol": "TLSv1.3", "ssl.provider": "X"}).without_effect) == {"east.ssl.protocol", "east.ssl.provider"}
