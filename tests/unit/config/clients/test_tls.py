"""TLS settings, checked by real handshakes of librdkafka with a server that wants a client certificate."""

import datetime
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat, pkcs12
from cryptography.x509.oid import NameOID

from services.waiting import PATIENCE
from tests.unit.config.clients.java_client import complaints_of, map_java


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
                connection.settimeout(PATIENCE)
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
    return map_java({"security.protocol": "SSL", **java}, files=files)


def complaints(java, files=True):
    return complaints_of(mapped(java, files))


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


def keytool(*arguments):
    subprocess.run(
        ["keytool", "-J-XX:TieredStopAtLevel=1", *map(str, arguments)], check=True, capture_output=True, stdin=subprocess.DEVNULL
    )


@pytest.fixture(scope="module")
def jks(authority):
    """A JKS key store as Java's own keytool makes it, with a password of its own for the key; its alias is not ASCII."""
    p12, path = authority.file("for-jks.p12", authority.keystore("two-two")), authority.directory / "keystore.jks"
    source = ("-srckeystore", p12, "-srcstorepass", "two-two", "-srcalias", "client")
    target = (
        "-destkeystore",
        path,
        "-deststoretype",
        "JKS",
        "-deststorepass",
        "store-pass",
        "-destkeypass",
        "key-pass",
        "-destalias",
        "schlüssel",
    )
    keytool("-importkeystore", *source, *target)
    return str(path)


JKS = {"ssl.keystore.password": "store-pass", "ssl.key.password": "key-pass"}


def test_a_jks_store_of_javas_own_tool(authority, handshake, jks):
    java = ANY_NAME | JKS | {"ssl.keystore.location": jks, "ssl.truststore.type": "PEM"}
    assert handshake(java | {"ssl.truststore.certificates": authority.pem(authority.root)}) == "client"


@pytest.mark.parametrize(
    ("wrong", "name", "reason"),
    [
        ({"ssl.keystore.password": "no"}, "ssl.keystore.password", "is not the password of the store in east.ssl.keystore.location"),
        ({"ssl.key.password": "no"}, "ssl.key.password", "is not the password of the private key in east.ssl.keystore.location"),
        ({"ssl.key.password": None}, "ssl.keystore.location", "a private key with a password of its own, and ssl.key.password is missing"),
    ],
)
def test_a_wrong_password_of_a_jks_store_or_of_its_key_is_told_apart(jks, wrong, name, reason):
    java = {key: text for key, text in ({"ssl.keystore.location": jks} | JKS | wrong).items() if text is not None}
    (found,) = complaints(java).items()
    assert found[0] == f"east.{name}"
    assert reason in found[1]


def test_a_client_gets_texts_and_no_file_so_that_a_spark_worker_needs_none(authority, jks):
    java = {"ssl.truststore.type": "PEM", "ssl.truststore.location": authority.file("root.pem", authority.pem(authority.root))}
    settings = mapped(java | JKS | {"ssl.keystore.location": jks}).settings
    assert {name for name in settings if name.startswith("ssl.")} == {"ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem"}
    assert str(authority.directory) not in repr(settings)


@pytest.mark.parametrize(
    ("java", "name", "reason"),
    [
        ({"ssl.truststore.type": "BCFKS"}, "ssl.truststore.type", "must be PEM, PKCS12 or JKS"),
        ({"ssl.truststore.certificates": "-----BEGIN "}, "ssl.truststore.certificates", "need the type PEM"),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "hidden"}, "ssl.truststore.certificates", "must be PEM text"),
        ({"ssl.keystore.type": "PEM", "ssl.keystore.key": "-----BEGIN "}, "ssl.keystore.certificate.chain", "belong together"),
        ({"ssl.keystore.type": "PEM", "ssl.keystore.location": "/none.pem"}, "ssl.keystore.location", "cannot be read: No such file"),
        ({"ssl.truststore.location": "/none.p12"}, "ssl.truststore.location", "cannot be read: No such file"),
        ({"ssl.engine.factory.class": "my.Factory"}, "ssl.engine.factory.class", "a Java class cannot be loaded"),
        ({"ssl.endpoint.identification.algorithm": "none"}, "ssl.endpoint.identification.algorithm", "must be https, or empty"),
    ],
)
def test_what_is_refused(java, name, reason):
    assert reason in complaints(java)[f"east.{name}"]


def test_a_wrong_password_of_a_store_is_said(authority):
    stores = {"trust.p12": authority.truststore("one"), "keystore.p12": authority.keystore("two")}
    for kind, (name, content) in zip(("truststore", "keystore"), stores.items(), strict=True):
        java = {f"ssl.{kind}.location": authority.file(name, content), f"ssl.{kind}.password": "hidden"}
        complaint = f"is not the password of the store in east.ssl.{kind}.location, or that file is damaged"
        assert complaints(java) == {f"east.ssl.{kind}.password": complaint}
        del java[f"ssl.{kind}.password"]
        assert complaints(java) == {f"east.ssl.{kind}.location": "this store has a password, and the setting for it is missing"}


def test_what_is_wrong_inside_a_store_is_said(authority):
    pem = authority.pem(authority.client)
    own, other = authority.key(authority.client_key), authority.key(authority.server_key)
    encrypted = authority.key(authority.client_key, "secret")
    for content, extra, reason in (
        (own, {}, "holds no certificate"),
        (pem, {}, "holds no private key: -----BEGIN PRIVATE KEY-----"),
        (pem + other, {}, "a certificate that does not belong to its private key"),
        (pem + encrypted, {}, "an encrypted private key, and ssl.key.password is missing"),
        (pem.replace("MI", "QQ") + own, {}, "a certificate that cannot be read"),
        (pem + own.replace("MI", "QQ"), {}, "a private key that cannot be read"),
    ):
        java = {"ssl.keystore.type": "PEM", "ssl.keystore.location": authority.file("odd.pem", content), **extra}
        assert reason in complaints(java)["east.ssl.keystore.location"]
    java = {"ssl.keystore.type": "PEM", "ssl.keystore.location": authority.file("odd.pem", pem + encrypted), "ssl.key.password": "no"}
    assert "is not the password of the private key" in complaints(java)["east.ssl.key.password"]
    assert "say so by its type: PEM" in complaints({"ssl.truststore.location": authority.file("a", pem)})["east.ssl.truststore.location"]
    assert complaints({"ssl.truststore.location": authority.file("b", "text")}) == {
        "east.ssl.truststore.location": "is neither a JKS nor a PKCS12 store"
    }


def test_files_are_not_opened_while_the_configuration_is_loaded():
    java = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/none.pem", "ssl.keystore.location": "/none.p12"}
    assert complaints(java, files=False) == {}


def test_settings_of_javas_own_library_have_no_effect():
    assert set(mapped({"ssl.protocol": "TLSv1.3", "ssl.provider": "X"}).without_effect) == {"east.ssl.protocol", "east.ssl.provider"}
